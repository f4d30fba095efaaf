//! Conditions on rows, as text and as what they mean.

use crate::support::Random;
use crate::support::rows::Rows;

/// A condition on `id`, `s` and `w`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Predicate {
    Ids(Vec<i64>),
    From(i64),
    /// The second end is not in it.
    Between(i64, i64),
    Writer(i32),
    NotWriter(i32),
    WriterNull,
    TextNull,
    Text(String),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

impl Predicate {
    /// As a writer is given it. What stands for a backslash in a text is Spark's escape with us, and plain with deltalake.
    pub(crate) fn sql(&self, backslash: &str) -> String {
        match self {
            Self::Ids(ids) => format!("id IN ({})", ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
            Self::From(from) => format!("id >= {from}"),
            Self::Between(from, to) => format!("id >= {from} AND id < {to}"),
            Self::Writer(w) => format!("w = {w}"),
            Self::NotWriter(w) => format!("w <> {w}"),
            Self::WriterNull => "w IS NULL".to_owned(),
            Self::TextNull => "s IS NULL".to_owned(),
            Self::Text(text) => format!("s = '{}'", text.replace('\'', "''").replace('\\', backslash)),
            Self::And(left, right) => format!("({}) AND ({})", left.sql(backslash), right.sql(backslash)),
            Self::Or(left, right) => format!("({}) OR ({})", left.sql(backslash), right.sql(backslash)),
        }
    }

    /// Whether it is true of a row; what is unknown is not true. There is no negation over unknowns here.
    pub(crate) fn holds(&self, id: i64, (s, w): &(Option<String>, Option<i32>)) -> bool {
        match self {
            Self::Ids(ids) => ids.contains(&id),
            Self::From(from) => id >= *from,
            Self::Between(from, to) => (*from..*to).contains(&id),
            Self::Writer(writer) => *w == Some(*writer),
            Self::NotWriter(writer) => w.is_some_and(|w| w != *writer),
            Self::WriterNull => w.is_none(),
            Self::TextNull => s.is_none(),
            Self::Text(text) => s.as_ref() == Some(text),
            Self::And(left, right) => left.holds(id, &(s.clone(), *w)) && right.holds(id, &(s.clone(), *w)),
            Self::Or(left, right) => left.holds(id, &(s.clone(), *w)) || right.holds(id, &(s.clone(), *w)),
        }
    }

    /// A condition that fits the rows there are, more or less.
    pub(crate) fn random(random: &mut Random, rows: &Rows) -> Self {
        let ids: Vec<i64> = rows.keys().copied().collect();
        let some_id = |random: &mut Random| if ids.is_empty() { 0 } else { *random.one(&ids) };
        match random.below(10) {
            0..3 => {
                let mut chosen = random.some(&ids, 4);
                chosen.push(-1);
                Self::Ids(chosen)
            }
            3 => Self::From(some_id(random)),
            4 => {
                let from = some_id(random);
                Self::Between(from, from + 6)
            }
            5 => Self::Writer(writer(random)),
            6 => Self::NotWriter(writer(random)),
            7 => match random.below(3) {
                0 => Self::WriterNull,
                1 => Self::TextNull,
                _ => Self::Text(rows.get(&some_id(random)).and_then(|(s, _)| s.clone()).unwrap_or_default()),
            },
            8 => Self::And(Box::new(Self::Writer(writer(random))), Box::new(Self::From(some_id(random)))),
            _ => Self::Or(Box::new(Self::WriterNull), Box::new(Self::Ids(random.some(&ids, 2)).or_nothing())),
        }
    }

    /// An empty list is no SQL.
    fn or_nothing(self) -> Self {
        if self == Self::Ids(Vec::new()) { Self::Ids(vec![-1]) } else { self }
    }
}

/// One of the partitions.
pub(crate) fn writer(random: &mut Random) -> i32 {
    i32::try_from(random.below(3)).unwrap()
}
