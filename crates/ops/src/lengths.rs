//! Lengths of texts that a column states: `char(n)` and `varchar(n)`, themselves or anywhere within its type.
//!
//! Such columns are plain texts in the log; Spark keeps the type as it was stated in the column's metadata, and holds rows to it
//! when they are written.

use crate::OpsError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, StringArray, StructArray};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// Types that a stated type may hold within each other.
const DEPTH_MAX: usize = 128;

/// How long the texts of a type may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lengths {
    /// As long as they like.
    Free,
    /// Characters at most; `padded`: shorter texts are filled up with blanks.
    Text {
        characters: usize,
        padded: bool,
    },
    Struct(Vec<(String, Self)>),
    List(Box<Self>),
    Map(Box<[Self; 2]>),
}

impl Lengths {
    /// Reads a type as SQL states it. `None`: it says nothing of lengths, or cannot be read.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut stated = Stated { rest: text };
        let lengths = stated.read(DEPTH_MAX)?;
        (lengths.says_anything() && stated.rest.trim().is_empty()).then_some(lengths)
    }

    fn says_anything(&self) -> bool {
        match self {
            Self::Free => false,
            Self::Text { .. } => true,
            Self::Struct(fields) => fields.iter().any(|(_, field)| field.says_anything()),
            Self::List(element) => element.says_anything(),
            Self::Map(entry) => entry.iter().any(Self::says_anything),
        }
    }

    /// The values with every text brought to its length.
    ///
    /// # Errors
    /// A text is too long; the message names the column.
    pub(crate) fn fit(&self, column: &str, array: &ArrayRef) -> Result<ArrayRef, OpsError> {
        let failed = |source: ArrowError| OpsError::rows(column)(source);
        match self {
            Self::Free => Ok(Arc::clone(array)),
            Self::Text { characters, padded } => match array.as_string_opt::<i32>() {
                Some(texts) => Ok(Arc::new(fit_texts(column, texts, *characters, *padded)?)),
                None => Ok(Arc::clone(array)),
            },
            Self::Struct(stated) => {
                let Some(values) = array.as_struct_opt() else { return Ok(Arc::clone(array)) };
                let of = |name: &str| stated.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                let fields =
                    values.fields().iter().zip(values.columns()).map(|(field, inner)| match of(field.name()) {
                        Some((_, lengths)) => lengths.fit(&format!("{column}.{}", field.name()), inner),
                        None => Ok(Arc::clone(inner)),
                    });
                let fields = fields.collect::<Result<Vec<_>, _>>()?;
                let made = StructArray::try_new(values.fields().clone(), fields, values.nulls().cloned());
                Ok(Arc::new(made.map_err(failed)?))
            }
            Self::List(element) => {
                let (Some(list), Some(field)) = (array.as_list_opt::<i32>(), list_field(array)) else {
                    return Ok(Arc::clone(array));
                };
                let values = element.fit(&format!("{column}.element"), list.values())?;
                let made = ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned());
                Ok(Arc::new(made.map_err(failed)?))
            }
            Self::Map(stated) => fit_map(column, array, stated),
        }
    }
}

fn list_field(array: &ArrayRef) -> Option<arrow_schema::FieldRef> {
    if let arrow_schema::DataType::List(field) = array.data_type() { Some(Arc::clone(field)) } else { None }
}

fn fit_map(column: &str, array: &ArrayRef, [key, value]: &[Lengths; 2]) -> Result<ArrayRef, OpsError> {
    let failed = |source: ArrowError| OpsError::rows(column)(source);
    let (Some(map), arrow_schema::DataType::Map(field, sorted)) = (array.as_map_opt(), array.data_type()) else {
        return Ok(Arc::clone(array));
    };
    let keys = key.fit(&format!("{column}.key"), map.keys())?;
    let values = value.fit(&format!("{column}.value"), map.values())?;
    let entries = StructArray::try_new(map.entries().fields().clone(), vec![keys, values], None).map_err(failed)?;
    let made = MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, map.nulls().cloned(), *sorted);
    Ok(Arc::new(made.map_err(failed)?))
}

/// Texts cut to a length where only blanks are cut, and filled up to it where they are padded.
fn fit_texts(column: &str, texts: &StringArray, characters: usize, padded: bool) -> Result<StringArray, OpsError> {
    let one = |text: Option<&str>| -> Result<Option<String>, OpsError> {
        let Some(text) = text else { return Ok(None) };
        let count = text.chars().count();
        if count > characters {
            let kept: String = text.chars().take(characters).collect();
            if text.chars().skip(characters).all(|character| character == ' ') {
                return Ok(Some(kept));
            }
            return Err(OpsError::Invalid {
                problem: format!("a text of {count} characters does not fit column {column}, which takes {characters}"),
                advice: "shorten it".to_owned(),
            });
        }
        let blanks = if padded { characters - count } else { 0 };
        Ok(Some(format!("{text}{}", " ".repeat(blanks))))
    };
    texts.iter().map(one).collect()
}

/// A type as SQL states it, as far as it is not read yet.
struct Stated<'a> {
    rest: &'a str,
}

impl<'a> Stated<'a> {
    fn read(&mut self, depth: usize) -> Option<Lengths> {
        let inner = depth.checked_sub(1)?;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_').to_ascii_lowercase();
        match word.as_str() {
            "char" | "varchar" => {
                self.expect('(')?;
                let characters = self.take_while(|c| c.is_ascii_digit()).parse().ok()?;
                self.expect(')')?;
                Some(Lengths::Text { characters, padded: word == "char" })
            }
            "struct" => self.read_fields(inner),
            "array" => {
                self.expect('<')?;
                let element = self.read(inner)?;
                self.expect('>')?;
                Some(Lengths::List(Box::new(element)))
            }
            "map" => {
                self.expect('<')?;
                let key = self.read(inner)?;
                self.expect(',')?;
                let value = self.read(inner)?;
                self.expect('>')?;
                Some(Lengths::Map(Box::new([key, value])))
            }
            _ => {
                // Digits of a decimal, words of an interval.
                self.take_while(|c| c == ' ' || c.is_ascii_alphanumeric());
                if self.expect('(').is_some() {
                    self.take_while(|c| c != ')');
                    self.expect(')')?;
                }
                Some(Lengths::Free)
            }
        }
    }

    fn read_fields(&mut self, depth: usize) -> Option<Lengths> {
        let mut fields = Vec::new();
        self.expect('<')?;
        while self.expect('>').is_none() {
            if !fields.is_empty() {
                self.expect(',')?;
            }
            let name = self.name()?;
            self.expect(':')?;
            fields.push((name, self.read(depth)?));
        }
        Some(Lengths::Struct(fields))
    }

    /// A name, in backquotes where it has other characters than those of a word.
    fn name(&mut self) -> Option<String> {
        if self.expect('`').is_none() {
            return Some(self.take_while(|c| !matches!(c, ':' | ',' | '<' | '>')).to_owned());
        }
        let mut name = String::new();
        loop {
            name.push_str(self.take_while(|c| c != '`'));
            self.expect('`')?;
            if self.expect('`').is_none() {
                return Some(name);
            }
            name.push('`');
        }
    }

    fn take_while(&mut self, mut is_part: impl FnMut(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        part
    }

    fn expect(&mut self, wanted: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(wanted)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::Lengths;

    #[test]
    fn types_are_read_as_spark_states_them() {
        let text = |characters, padded| Lengths::Text { characters, padded };
        assert_eq!(Lengths::read("varchar(3)"), Some(text(3, false)));
        assert_eq!(Lengths::read("CHAR(12)"), Some(text(12, true)));
        let list = Lengths::List(Box::new(text(2, false)));
        assert_eq!(Lengths::read("array<varchar(2)>"), Some(list.clone()));
        let map = Lengths::Map(Box::new([text(1, true), list]));
        let fields = vec![("a".to_owned(), Lengths::Free), ("x`:y".to_owned(), map), ("t".to_owned(), Lengths::Free)];
        let stated = "struct<a:decimal(10,2),`x``:y`:map<char(1),array<varchar(2)>>,t:timestamp_ntz>";
        assert_eq!(Lengths::read(stated), Some(Lengths::Struct(fields)));
        for nothing in ["", "string", "array<string>", "varchar(", "varchar(2", "struct<a>", "char(x)", "varchar(2))"] {
            assert_eq!(Lengths::read(nothing), None, "{nothing}");
        }
        assert_eq!(Lengths::read(&"array<".repeat(100_000)), None);
    }
}
