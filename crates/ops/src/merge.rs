//! MERGE by key.

use crate::append::Batches;
use crate::delete::{Match, by_statistics, files_by_partition, none_of, split};
use crate::statement::{Writers, Writing};
use crate::touch::{Touched, touch};
use crate::values::with_column;
use crate::{OpsError, Plan, SnapshotView, ViewFile};
use arrow_array::{BooleanArray, RecordBatch, UInt64Array};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use arrow_select::take::{take, take_record_batch};
use lakebed_data::{align, arrow_schema, filter_mask, scalar_at};
use lakebed_storage::Store;
use lakebed_transaction::{BinaryOp, Column, Expr, KeyProbe, Scalar};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a merge does with rows of the table that have a key of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matched {
    /// They take the source's values.
    #[default]
    Update,
    /// They go.
    Delete,
    /// They stay.
    Ignore,
}

/// What a merge does with rows of the source whose key the table does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotMatched {
    /// They are added.
    #[default]
    Insert,
    /// They are left out.
    Ignore,
}

/// What a merge does with rows of the table whose key the source does not have. A row without a key is one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NotMatchedBySource {
    /// They stay.
    #[default]
    Ignore,
    /// They go, or of them those that meet a predicate, in SQL over the table's columns.
    Delete(Option<String>),
}

impl NotMatchedBySource {
    /// The predicate of those that go, in SQL; `None` where all stay.
    #[must_use]
    pub fn gone(&self) -> Option<&str> {
        match self {
            Self::Ignore => None,
            Self::Delete(predicate) => Some(predicate.as_deref().unwrap_or("TRUE")),
        }
    }
}

/// A merge by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeSpec {
    /// The columns of the key; a row with NULL in one of them has no key.
    pub on: Vec<String>,
    /// Rows that both sides have.
    pub matched: Matched,
    /// Rows that only the source has.
    pub not_matched: NotMatched,
    /// Rows that only the table has.
    pub not_matched_by_source: NotMatchedBySource,
}

/// Up to so many values of a key column are named in what the merge is said to have read.
const NAMED_VALUES_MAX: usize = 200;

/// Plans a merge. The source is held in memory. `gone` is the predicate of `spec` for rows that only the table has, bound to the table's
/// columns.
///
/// # Errors
/// The rows do not fit the table, two of them have one key, or a data file cannot be read or written.
pub async fn merge(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    source: Batches,
    (spec, gone): (&MergeSpec, Option<&Expr>),
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let layout = view.layout()?;
    let source = Source::read(source, &layout.columns, spec)?;
    let mut plan = Plan { operation: "MERGE", rows_given: source.rows.num_rows() as u64, ..Plan::default() };
    parameters(&mut plan, spec);
    let condition = source.condition();
    let partition_columns = view.partition_columns();
    plan.predicates.extend([Some(&condition), gone].into_iter().flatten().map(|one| split(one, &partition_columns)));
    plan.taking.all_met = spec.matched != Matched::Ignore && source.is_named_by(&condition);
    plan.keys.push(source.probe(&condition));
    let mut writers = Writers::changing(store, &layout, writing)?;
    let or_gone = |found: Expr| gone.cloned().map_or(found.clone(), |gone| found.or(gone));
    let wanted = or_gone(condition.clone().and(source.span()));
    let may_hold = |(file, _): &(ViewFile, Match)| by_statistics(view, &wanted, file);
    let files = files_by_partition(view, &or_gone(condition))?;
    let (files, ruled_out): (Vec<_>, Vec<_>) = files.into_iter().partition(may_hold);
    // The levels of Delta count a merge as a reader of them: Spark joins with every file.
    plan.read.extend(ruled_out.into_iter().map(|(file, _)| file.id));
    let mut found = HashSet::new();
    touch(store, files, false, &mut plan, &mut writers, |batch, writers| {
        let rows = source.matches(batch)?;
        found.extend(rows.iter().flatten().copied());
        let gone = gone.map(|gone| filter_mask(gone, batch)).transpose()?;
        touched(spec.matched, rows, gone.as_ref(), |mask, taken| writers.recheck(&source.replace(batch, mask, taken)?))
    })
    .await?;
    if spec.not_matched == NotMatched::Insert {
        let new = source.not_in(&found)?;
        if new.num_rows() > 0 {
            plan.rows_inserted += writers.insert(&new).await?;
        }
    }
    writers.finish(store, &mut plan).await?;
    Ok(plan)
}

/// What a merge does to rows of the table, of which some have a row of the source; of the others those go that `gone` tells. `replace` makes
/// the rows in the place of those that the mask tells, from the rows of the source at these places.
pub(crate) fn touched(
    matched: Matched,
    rows: Vec<Option<u64>>,
    gone: Option<&BooleanArray>,
    replace: impl FnOnce(&BooleanArray, Vec<u64>) -> Result<RecordBatch, OpsError>,
) -> Result<Touched, OpsError> {
    let goes = |(at, row): (usize, &Option<u64>)| match row {
        Some(_) => matched == Matched::Delete,
        None => gone.is_some_and(|gone| gone.value(at)),
    };
    let deleted: BooleanArray = rows.iter().enumerate().map(|row| Some(goes(row))).collect();
    if matched != Matched::Update {
        return Ok(Touched { deleted, updated: none_of(rows.len()), replacement: None });
    }
    let updated: BooleanArray = rows.iter().map(|row| Some(row.is_some())).collect();
    let taken: Vec<u64> = rows.into_iter().flatten().collect();
    let replacement = (!taken.is_empty()).then(|| replace(&updated, taken)).transpose()?;
    Ok(Touched { deleted, updated, replacement })
}

/// The rows of the source, found by their keys.
pub(crate) struct Source {
    pub(crate) rows: RecordBatch,
    pub(crate) columns: Vec<Column>,
    key: Vec<Column>,
    by_key: HashMap<String, u64>,
}

impl Source {
    /// The rows that are not at these places.
    pub(crate) fn not_in(&self, found: &HashSet<u64>) -> Result<RecordBatch, OpsError> {
        let new = (0..self.rows.num_rows() as u64).filter(|row| !found.contains(row));
        self.at(new.collect())
    }

    /// The rows at these places.
    pub(crate) fn at(&self, rows: Vec<u64>) -> Result<RecordBatch, OpsError> {
        take_record_batch(&self.rows, &UInt64Array::from(rows)).map_err(OpsError::rows("the source"))
    }

    /// The rows of a source for a table of these columns.
    pub(crate) fn read(batches: Batches, known: &[Column], spec: &MergeSpec) -> Result<Self, OpsError> {
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        let columns = given_columns(known, &batches);
        let key = key_columns(known, spec, &columns)?;
        let aligned = batches.iter().map(|batch| align(batch, &columns)).collect::<Result<Vec<_>, _>>()?;
        let rows = concat_batches(&arrow_schema(&columns)?, &aligned).map_err(OpsError::rows("the source"))?;
        let mut by_key = HashMap::with_capacity(rows.num_rows());
        for row in 0..rows.num_rows() {
            let Some(text) = key_of(&rows, &key, row)? else { continue };
            if by_key.insert(text.clone(), row as u64).is_some() {
                return Err(OpsError::Invalid {
                    problem: format!(
                        "[DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE] two rows of the source have the key {}",
                        shown(&rows, &key, row)
                    ),
                    advice: "give one row for each key".to_owned(),
                });
            }
        }
        Ok(Self { rows, columns, key, by_key })
    }

    /// A condition that every row with one of the keys meets.
    pub(crate) fn condition(&self) -> Expr {
        let named = |column: &Column| {
            let array = self.rows.column_by_name(&column.name)?;
            let mut seen = HashSet::new();
            let mut values = Vec::new();
            for row in 0..self.rows.num_rows() {
                let value = scalar_at(array, row)?;
                // NULL is in no key, and numbers that only compare equal are not told apart by their text.
                if value.is_null() || !seen.insert(value.to_string()) {
                    continue;
                }
                if values.len() == NAMED_VALUES_MAX || matches!(value, Scalar::Float(_) | Scalar::Binary(_)) {
                    return None;
                }
                values.push(Expr::Literal(value));
            }
            (!values.is_empty()).then(|| Expr::In {
                operand: Box::new(Expr::column(&column.name)),
                list: values,
                negated: false,
            })
        };
        self.key.iter().filter_map(named).reduce(Expr::and).unwrap_or_else(Expr::always)
    }

    /// What every row with one of the keys meets, however many there are: it lies between the least and the greatest of each column.
    /// It tells files apart, and is no part of what the merge says that it read.
    fn span(&self) -> Expr {
        let between = |column: &Column| {
            let array = self.rows.column_by_name(&column.name)?;
            let mut ends: Option<(Scalar, Scalar)> = None;
            for row in 0..self.rows.num_rows() {
                let value = scalar_at(array, row)?;
                if value.is_null() {
                    continue;
                }
                let (least, greatest) = ends.get_or_insert_with(|| (value.clone(), value.clone()));
                if is_less(&value, least)? {
                    *least = value;
                } else if is_less(greatest, &value)? {
                    *greatest = value;
                }
            }
            let (least, greatest) = ends?;
            let bound = |op, value| Expr::column(&column.name).binary(op, Expr::Literal(value));
            Some(bound(BinaryOp::GreaterOrEqual, least).and(bound(BinaryOp::LessOrEqual, greatest)))
        };
        self.key.iter().filter_map(between).reduce(Expr::and).unwrap_or_else(Expr::always)
    }

    /// The look-up of its keys, which a row must meet this condition to answer.
    pub(crate) fn probe(&self, condition: &Expr) -> KeyProbe {
        let columns = self.key.iter().map(|column| Arc::from(column.name.as_str())).collect();
        KeyProbe { columns, matches: condition.clone() }
    }

    /// Whether only rows with a key of the source meet its condition: where several columns have several values each, so do
    /// others, and what cannot be named is widened to every row.
    pub(crate) fn is_named_by(&self, condition: &Expr) -> bool {
        let conjuncts = condition.conjuncts();
        let values = |conjunct: &&Expr| if let Expr::In { list, .. } = conjunct { list.len() } else { usize::MAX };
        conjuncts.len() == self.key.len()
            && conjuncts.iter().map(values).filter(|count| *count != 1).count() <= 1
            && conjuncts.iter().all(|conjunct| values(conjunct) != usize::MAX)
    }

    /// For each row of the table the row of the source with its key.
    pub(crate) fn matches(&self, batch: &RecordBatch) -> Result<Vec<Option<u64>>, OpsError> {
        (0..batch.num_rows())
            .map(|row| Ok(key_of(batch, &self.key, row)?.and_then(|key| self.by_key.get(&key).copied())))
            .collect()
    }

    /// The rows of a mask with the source's values.
    fn replace(&self, batch: &RecordBatch, mask: &BooleanArray, rows: Vec<u64>) -> Result<RecordBatch, OpsError> {
        let mut replaced = filter_record_batch(batch, mask).map_err(OpsError::rows("a batch"))?;
        let rows = UInt64Array::from(rows);
        for (column, array) in self.columns.iter().zip(self.rows.columns()) {
            let values = take(array, &rows, None).map_err(OpsError::rows("the source"))?;
            replaced = with_column(&replaced, &column.name, values)?;
        }
        Ok(replaced)
    }
}

/// Whether one value of a column is less than another; `None` for types whose order is not that of their values here.
fn is_less(a: &Scalar, b: &Scalar) -> Option<bool> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) | (Scalar::Timestamp(a), Scalar::Timestamp(b)) => Some(a < b),
        (Scalar::TimestampNtz(a), Scalar::TimestampNtz(b)) => Some(a < b),
        (Scalar::Date(a), Scalar::Date(b)) => Some(a < b),
        (Scalar::String(a), Scalar::String(b)) => Some(a < b),
        (
            Scalar::Null
            | Scalar::Boolean(_)
            | Scalar::Int(_)
            | Scalar::Float(_)
            | Scalar::Decimal { .. }
            | Scalar::Date(_)
            | Scalar::Timestamp(_)
            | Scalar::TimestampNtz(_)
            | Scalar::String(_)
            | Scalar::Binary(_),
            _,
        ) => None,
    }
}

/// The columns of the table that the source has; whether NULL may stand in them is judged where rows are written.
fn given_columns(known: &[Column], batches: &[RecordBatch]) -> Vec<Column> {
    let given = |column: &&Column| {
        let named = |batch: &RecordBatch| {
            batch.schema_ref().fields().iter().any(|field| field.name().eq_ignore_ascii_case(&column.name))
        };
        batches.is_empty() || batches.iter().any(named)
    };
    known.iter().filter(given).map(|column| Column { nullable: true, ..column.clone() }).collect()
}

fn key_columns(known: &[Column], spec: &MergeSpec, given: &[Column]) -> Result<Vec<Column>, OpsError> {
    let invalid = |problem: String, advice: &str| OpsError::Invalid { problem, advice: advice.to_owned() };
    if spec.on.is_empty() {
        return Err(invalid("the merge has no key".to_owned(), "name the key's columns"));
    }
    let find = |name: &String| {
        if !known.iter().any(|column| column.name.eq_ignore_ascii_case(name)) {
            let names: Vec<&str> = known.iter().map(|column| column.name.as_str()).collect();
            return Err(invalid(
                format!("there is no column {name}; the columns are {}", names.join(", ")),
                "merge by one of them",
            ));
        }
        let found = given.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        found.cloned().ok_or_else(|| invalid(format!("the source lacks the key column {name}"), "supply it"))
    };
    spec.on.iter().map(find).collect()
}

/// A text that is the same exactly for equal keys; `None` where part of it is NULL.
fn key_of(batch: &RecordBatch, key: &[Column], row: usize) -> Result<Option<String>, OpsError> {
    let mut text = String::new();
    for column in key {
        let value = batch.column_by_name(&column.name).and_then(|array| scalar_at(array, row));
        let value = value.ok_or_else(|| OpsError::Invalid {
            problem: format!("column {} cannot be part of a key with its type", column.name),
            advice: "merge by columns of simple types".to_owned(),
        })?;
        match value {
            Scalar::Null => return Ok(None),
            // Zero has two signs and one value.
            Scalar::Float(0.0) => part(&mut text, "0"),
            Scalar::Float(_)
            | Scalar::Boolean(_)
            | Scalar::Int(_)
            | Scalar::Decimal { .. }
            | Scalar::Date(_)
            | Scalar::Timestamp(_)
            | Scalar::TimestampNtz(_)
            | Scalar::String(_)
            | Scalar::Binary(_) => part(&mut text, &value.to_string()),
        }
    }
    Ok(Some(text))
}

/// A key, for people.
fn shown(batch: &RecordBatch, key: &[Column], row: usize) -> String {
    let one = |column: &Column| {
        let value = batch.column_by_name(&column.name).and_then(|array| scalar_at(array, row));
        format!("{} = {}", column.name, value.unwrap_or(Scalar::Null))
    };
    key.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The length in front keeps the parts of a key apart, whatever they hold.
fn part(text: &mut String, value: &str) {
    text.push_str(&format!("{}:{value} ", value.len()));
}

fn parameters(plan: &mut Plan, spec: &MergeSpec) {
    let on: Vec<String> = spec.on.iter().map(|name| format!("(target.{name} = source.{name})")).collect();
    let action = |kind: Option<&str>| match kind {
        Some(kind) => serde_json::json!([{"actionType": kind}]).to_string(),
        None => "[]".to_owned(),
    };
    let matched = match spec.matched {
        Matched::Update => Some("update"),
        Matched::Delete => Some("delete"),
        Matched::Ignore => None,
    };
    let not_matched = (spec.not_matched == NotMatched::Insert).then_some("insert");
    let by_source = match &spec.not_matched_by_source {
        NotMatchedBySource::Ignore | NotMatchedBySource::Delete(None) => {
            action(spec.not_matched_by_source.gone().map(|_| "delete"))
        }
        NotMatchedBySource::Delete(Some(predicate)) => {
            serde_json::json!([{"actionType": "delete", "predicate": predicate}]).to_string()
        }
    };
    let pairs = [
        ("predicate", serde_json::json!([on.join(" AND ")]).to_string()),
        ("matchedPredicates", action(matched)),
        ("notMatchedPredicates", action(not_matched)),
        ("notMatchedBySourcePredicates", by_source),
    ];
    plan.parameters.extend(pairs.into_iter().map(|(key, value)| (key.to_owned(), value)));
}
