//! Statistics and partition values as columns of a checkpoint.
//!
//! Source: the protocol's checkpoint schema. Column names are the physical ones; a value that has no exact form in its
//! column's type stays out, for a bound that is off by a digit would hide rows.

use super::{failed, scalars};
use crate::action::{Add, TextMap};
use crate::schema::{ColumnMapping, DataType as DeltaType, StructType};
use crate::stats::exact_value;
use crate::{DeltaError, Snapshot, partition};
use arrow_array::{ArrayRef, BooleanArray, Int64Array, StructArray};
use arrow_schema::{DataType, Field, Fields};
use lakebed_transaction::{ColumnType, Scalar};
use serde_json::Value;
use std::sync::Arc;

/// In which forms a checkpoint holds statistics.
pub(super) struct StatsForm {
    as_text: bool,
    parsed: Option<Parsed>,
}

/// The columns of parsed statistics and partition values.
struct Parsed {
    partition: Vec<(Arc<str>, ColumnType)>,
    bounds: Vec<Leaf>,
    nulls: Vec<Leaf>,
    with_tightness: bool,
}

/// A column of statistics: a value, or a group of them.
struct Leaf {
    name: String,
    form: Form,
}

enum Form {
    Value(ColumnType),
    Group(Vec<Leaf>),
}

impl StatsForm {
    /// By the table's properties. Where the text is switched off and nothing is said of columns, there are columns, for a
    /// table without any statistics is not what was asked for.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let flag = |key: &str| snapshot.properties().get(key).map(|text| text.trim().eq_ignore_ascii_case("true"));
        let as_text = flag("delta.checkpoint.writeStatsAsJson").unwrap_or(true);
        let as_columns = flag("delta.checkpoint.writeStatsAsStruct").unwrap_or(!as_text);
        Self { as_text, parsed: as_columns.then(|| Parsed::of(snapshot)) }
    }

    /// The text that stands in the checkpoint. A deletion vector makes the row count mandatory.
    pub(super) fn text<'a>(&self, add: &'a Add) -> Option<&'a str> {
        let needed = self.as_text || (self.parsed.is_none() && add.deletion_vector.is_some());
        add.stats.as_deref().filter(|_| needed)
    }

    /// Whether what was read back says of a file's statistics what this form keeps of them.
    pub(super) fn kept(&self, live: &Add, read: &Add) -> bool {
        if self.text(live).is_some() {
            return live.stats == read.stats;
        }
        self.parsed.is_none() || live.num_records() == read.num_records()
    }

    /// The fields of [`StatsForm::columns`].
    pub(super) fn fields(&self) -> Vec<Arc<Field>> {
        self.parsed.as_ref().map(Parsed::fields).unwrap_or_default()
    }

    /// The columns that stand beside the others of `add`.
    pub(super) fn columns(&self, adds: &[&Arc<Add>]) -> Result<Vec<ArrayRef>, DeltaError> {
        self.parsed.as_ref().map_or_else(|| Ok(Vec::new()), |parsed| parsed.columns(adds))
    }
}

impl Parsed {
    fn of(snapshot: &Snapshot) -> Self {
        let partition: Vec<_> =
            snapshot.core().partition_columns().into_iter().map(|c| (c.physical_name, c.column_type)).collect();
        let mapping = snapshot.column_mapping();
        let data = |leaf: &Leaf| !partition.iter().any(|(name, _)| **name == leaf.name);
        let columns = |all: bool| leaves(snapshot.schema(), mapping, all).into_iter().filter(data).collect();
        let (bounds, nulls) = (columns(false), columns(true));
        Self { partition, bounds, nulls, with_tightness: snapshot.protocol().supports("deletionVectors") }
    }

    fn fields(&self) -> Vec<Arc<Field>> {
        let mut fields = Vec::new();
        if !self.partition.is_empty() {
            let typed = self.partition.iter().filter_map(|(name, column)| field(name, &scalars::data_type(column)?));
            fields.extend(field("partitionValues_parsed", &DataType::Struct(typed.collect())));
        }
        let mut stats = vec![field("numRecords", &DataType::Int64)];
        if !self.bounds.is_empty() {
            let group = group_type(&self.bounds, &scalars::data_type);
            stats.extend([field("minValues", &group), field("maxValues", &group)]);
        }
        if !self.nulls.is_empty() {
            stats.push(field("nullCount", &group_type(&self.nulls, &|_| Some(DataType::Int64))));
        }
        if self.with_tightness {
            stats.push(field("tightBounds", &DataType::Boolean));
        }
        fields.extend(field("stats_parsed", &DataType::Struct(stats.into_iter().flatten().collect())));
        fields
    }

    fn columns(&self, adds: &[&Arc<Add>]) -> Result<Vec<ArrayRef>, DeltaError> {
        let mut columns = Vec::new();
        if !self.partition.is_empty() {
            columns.push(self.partition_values(adds)?);
        }
        let stats: Vec<Option<Value>> =
            adds.iter().map(|add| serde_json::from_str(add.stats.as_deref()?).ok()).collect();
        let of = |key: &str| stats.iter().map(|stats| stats.as_ref()?.get(key)).collect::<Vec<_>>();
        let counts: Int64Array = of("numRecords").iter().map(|count| count.and_then(Value::as_i64)).collect();
        let mut parts: Vec<ArrayRef> = vec![Arc::new(counts)];
        if !self.bounds.is_empty() {
            for key in ["minValues", "maxValues"] {
                parts.push(group(&self.bounds, &of(key), bounds)?);
            }
        }
        if !self.nulls.is_empty() {
            parts.push(group(&self.nulls, &of("nullCount"), null_counts)?);
        }
        if self.with_tightness {
            let tight: BooleanArray = of("tightBounds").iter().map(|flag| flag.and_then(Value::as_bool)).collect();
            parts.push(Arc::new(tight));
        }
        let fields = self.fields();
        let Some(DataType::Struct(fields)) = fields.last().map(|field| field.data_type().clone()) else {
            return Err(failed(&"statistics have no columns"));
        };
        let known = stats.iter().map(Option::is_some).collect::<Vec<_>>();
        let parsed = StructArray::try_new(fields, parts, Some(known.into())).map_err(|error| failed(&error))?;
        columns.push(Arc::new(parsed));
        Ok(columns)
    }

    fn partition_values(&self, adds: &[&Arc<Add>]) -> Result<ArrayRef, DeltaError> {
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (name, column_type) in &self.partition {
            let Some(data_type) = scalars::data_type(column_type) else { continue };
            let value = |map: &TextMap| partition::parse(map.get(name), column_type).unwrap_or(Scalar::Null);
            let values: Vec<Scalar> = adds.iter().map(|add| value(&add.partition_values)).collect();
            columns.push(scalars::array(column_type, &values)?);
            fields.extend(field(name, &data_type));
        }
        let parsed = StructArray::try_new(Fields::from(fields), columns, None).map_err(|error| failed(&error))?;
        Ok(Arc::new(parsed))
    }
}

fn field(name: &str, data_type: &DataType) -> Option<Arc<Field>> {
    Some(Arc::new(Field::new(name, data_type.clone(), true)))
}

/// The columns that have statistics: those with an order for bounds, `all` of them for counts of nulls. Recursion is bounded
/// by the depth that the JSON reader allows.
fn leaves(schema: &StructType, mapping: ColumnMapping, all: bool) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for column in &schema.fields {
        let form = match &column.data_type {
            DeltaType::Struct(inner) => {
                let inner = self::leaves(inner, mapping, all);
                if inner.is_empty() {
                    continue;
                }
                Form::Group(inner)
            }
            DeltaType::Primitive(_) | DeltaType::Array { .. } | DeltaType::Map { .. } => {
                let column_type = column.data_type.column_type();
                if !all && !scalars::has_bounds(&column_type) {
                    continue;
                }
                Form::Value(column_type)
            }
        };
        leaves.push(Leaf { name: column.physical_name(mapping).to_owned(), form });
    }
    leaves
}

fn group_type(leaves: &[Leaf], of: &dyn Fn(&ColumnType) -> Option<DataType>) -> DataType {
    let typed = leaves.iter().filter_map(|leaf| {
        let data_type = match &leaf.form {
            Form::Value(column_type) => of(column_type)?,
            Form::Group(inner) => group_type(inner, of),
        };
        field(&leaf.name, &data_type)
    });
    DataType::Struct(typed.collect())
}

/// How the values of the text become a column.
type Read = fn(&ColumnType, &[Option<&Value>]) -> Result<ArrayRef, DeltaError>;

fn bounds(column_type: &ColumnType, values: &[Option<&Value>]) -> Result<ArrayRef, DeltaError> {
    let exact = |value: &Option<&Value>| value.and_then(|value| exact_value(value, column_type));
    let scalars: Vec<Scalar> = values.iter().map(|value| exact(value).unwrap_or(Scalar::Null)).collect();
    scalars::array(column_type, &scalars)
}

#[expect(clippy::unnecessary_wraps, reason = "it stands beside one that may fail")]
fn null_counts(_: &ColumnType, values: &[Option<&Value>]) -> Result<ArrayRef, DeltaError> {
    let counts: Int64Array = values.iter().map(|count| count.and_then(Value::as_i64)).collect();
    Ok(Arc::new(counts))
}

fn group(leaves: &[Leaf], values: &[Option<&Value>], read: Read) -> Result<ArrayRef, DeltaError> {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for leaf in leaves {
        let inner: Vec<Option<&Value>> = values.iter().map(|value| (*value)?.get(&leaf.name)).collect();
        let column = match &leaf.form {
            Form::Group(inner_leaves) => group(inner_leaves, &inner, read)?,
            Form::Value(column_type) => read(column_type, &inner)?,
        };
        fields.extend(field(&leaf.name, column.data_type()));
        columns.push(column);
    }
    let known: Vec<bool> = values.iter().map(|value| value.is_some_and(Value::is_object)).collect();
    let group = StructArray::try_new(Fields::from(fields), columns, Some(known.into())).map_err(|e| failed(&e))?;
    Ok(Arc::new(group))
}
