//! What a table demands of the values of its rows: constraints, defaults, generated and identity columns, lengths.
//!
//! Expressions of our grammar are computed here; others by the caller's [`SqlEngine`], and without one the rows are refused by the
//! constraint's name.

use crate::OpsError;
use crate::lengths::Lengths;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{Field, Schema};
use lakebed_data::{align, evaluate_as, json_row};
use lakebed_delta::Core;
use lakebed_delta::schema::StructField;
use lakebed_transaction::{BinaryOp, Column, ColumnType, Expr};
use serde_json::Value;
use std::fmt::Debug;
use std::sync::Arc;

/// An engine that computes SQL beyond our grammar, for the constraints, defaults and generated columns of a table.
pub trait SqlEngine: Debug + Send + Sync {
    /// The value of an expression (SQL text as the table holds it) for each of the rows, of any type that fits `column`
    /// without loss. `rows` have the table's column names.
    ///
    /// # Errors
    /// The engine cannot compute it; the text says why.
    fn evaluate(&self, sql: &str, rows: &RecordBatch, column: &Column) -> Result<ArrayRef, String>;
}

/// What a table demands of the values of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    columns: Vec<Column>,
    rules: Vec<ColumnRule>,
    checks: Vec<Check>,
}

/// What is demanded of one column.
#[derive(Clone, Debug)]
struct ColumnRule {
    name: String,
    demand: Demand,
}

#[derive(Clone, Debug)]
enum Demand {
    Default(Text),
    Generated(Text),
    Identity { explicit: bool },
    Lengths(Lengths),
}

/// A condition that every row meets.
#[derive(Clone, Debug)]
struct Check {
    name: String,
    text: Text,
}

/// SQL of the table, bound to its columns where it is within our grammar.
#[derive(Clone, Debug)]
struct Text {
    sql: String,
    bound: Option<Expr>,
}

impl Text {
    fn new(sql: &str, columns: &[Column]) -> Self {
        let parsed = lakebed_sql::parse_expression(sql).and_then(|expr| lakebed_sql::bind(&expr, columns));
        Self { sql: sql.to_owned(), bound: parsed.ok().filter(|expr| !has_unknown(expr)) }
    }
}

fn has_unknown(expr: &Expr) -> bool {
    matches!(expr, Expr::Unknown { .. }) || expr.children().into_iter().any(has_unknown)
}

impl Values {
    /// What a version demands.
    ///
    /// # Errors
    /// An invariant of the schema cannot be read.
    pub(crate) fn of(core: &Core) -> Result<Self, OpsError> {
        let columns = core.schema.columns();
        let mut values = Self { columns, ..Self::default() };
        for field in &core.schema.fields {
            values.add_column(field);
        }
        for field in core.schema.all_fields() {
            values.add_invariant(field)?;
        }
        for (key, text) in core.metadata.configuration.iter() {
            if let (Some(name), Some(sql)) = (key.strip_prefix("delta.constraints."), text) {
                values.checks.push(Check { name: name.to_owned(), text: Text::new(sql, &values.columns) });
            }
        }
        Ok(values)
    }

    fn add_column(&mut self, field: &StructField) {
        let text = |key: &str| field.metadata.get(key).and_then(Value::as_str);
        let mut rule = |demand: Demand| self.rules.push(ColumnRule { name: field.name.clone(), demand });
        if let Some(sql) = text("CURRENT_DEFAULT") {
            rule(Demand::Default(Text::new(sql, &self.columns)));
        }
        if let Some(sql) = text("delta.generationExpression") {
            rule(Demand::Generated(Text::new(sql, &self.columns)));
        }
        if field.metadata.contains_key("delta.identity.start") {
            let explicit = field.metadata.get("delta.identity.allowExplicitInsert").and_then(Value::as_bool);
            rule(Demand::Identity { explicit: explicit == Some(true) });
        }
        if let Some(lengths) = text("__CHAR_VARCHAR_TYPE_STRING").and_then(Lengths::read) {
            rule(Demand::Lengths(lengths));
        }
    }

    /// An invariant of a column or of a field within one; it speaks of the whole row.
    fn add_invariant(&mut self, field: &StructField) -> Result<(), OpsError> {
        if let Some(invariant) = field.metadata.get("delta.invariants").and_then(Value::as_str) {
            let sql = serde_json::from_str::<Value>(invariant).ok();
            let sql = sql.as_ref().and_then(|json| json.pointer("/expression/expression")?.as_str());
            let sql = sql.ok_or_else(|| OpsError::Unsupported {
                feature: format!("invariants (of {}: {invariant})", field.name),
                statement: "writing rows",
                advice: "write with a client that knows this form of invariant".to_owned(),
            })?;
            let name = format!("invariant of {}", field.name);
            self.checks.push(Check { name, text: Text::new(sql, &self.columns) });
        }
        Ok(())
    }

    /// Rows to be added, completed and checked: in the table's columns, defaults and generated values filled in.
    ///
    /// # Errors
    /// The rows do not meet what the table demands; the message names the column or constraint.
    pub(crate) fn complete(
        &self,
        batch: &RecordBatch,
        engine: Option<&dyn SqlEngine>,
    ) -> Result<RecordBatch, OpsError> {
        let mut given = batch.clone();
        for rule in &self.rules {
            let absent = !has_column(&given, &rule.name);
            match &rule.demand {
                Demand::Default(text) if absent => {
                    let column = self.column(&rule.name)?;
                    let value = compute(text, &given, column, &format!("the default of {}", rule.name), engine)?;
                    given = with_column(&given, &column.name, value)?;
                }
                Demand::Identity { explicit } if absent || !explicit => return Err(identity(&rule.name, absent)),
                Demand::Default(_) | Demand::Identity { .. } | Demand::Generated(_) | Demand::Lengths(_) => {}
            }
        }
        let open = self.aligned_but_generated(&given)?;
        self.finish(self.generate(&given, open, engine)?, engine)
    }

    /// Rows that were changed in place: generated values made anew, everything checked.
    ///
    /// # Errors
    /// As [`Values::complete`].
    pub(crate) fn recheck(&self, batch: &RecordBatch, engine: Option<&dyn SqlEngine>) -> Result<RecordBatch, OpsError> {
        let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
        self.finish(self.generate(&none, batch.clone(), engine)?, engine)
    }

    /// Whether a column's values are made by the table.
    pub(crate) fn is_made(&self, name: &str) -> bool {
        let made =
            |rule: &ColumnRule| matches!(rule.demand, Demand::Generated(_) | Demand::Identity { explicit: false });
        self.rules.iter().any(|rule| rule.name.eq_ignore_ascii_case(name) && made(rule))
    }

    fn column(&self, name: &str) -> Result<&Column, OpsError> {
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| OpsError::Invalid {
            problem: format!("there is no column {name}"),
            advice: "open the table again".to_owned(),
        })
    }

    /// Aligned to the table's columns; generated ones that are absent may be NULL for now.
    fn aligned_but_generated(&self, given: &RecordBatch) -> Result<RecordBatch, OpsError> {
        let is_open = |column: &Column| {
            let generated = |rule: &ColumnRule| rule.name == column.name && matches!(rule.demand, Demand::Generated(_));
            self.rules.iter().any(generated) && !has_column(given, &column.name)
        };
        let columns: Vec<Column> = self
            .columns
            .iter()
            .map(|column| Column { nullable: column.nullable || is_open(column), ..column.clone() })
            .collect();
        Ok(align(given, &columns)?)
    }

    /// Fills in generated columns that were not given, and checks those that were.
    fn generate(
        &self,
        given: &RecordBatch,
        mut rows: RecordBatch,
        engine: Option<&dyn SqlEngine>,
    ) -> Result<RecordBatch, OpsError> {
        for rule in &self.rules {
            let Demand::Generated(text) = &rule.demand else { continue };
            let column = self.column(&rule.name)?;
            let what = format!("the generated column {}", rule.name);
            let value = compute(text, &rows, column, &what, engine)?;
            if has_column(given, &rule.name) {
                let made = with_column(&rows, MADE, value)?;
                let same = Expr::column(&rule.name).binary(BinaryOp::NullSafeEqual, Expr::column(MADE));
                demand_true(&rule.name, &text.sql, &lakebed_data::evaluate(&same, &made)?, &rows)?;
            } else {
                rows = with_column(&rows, &column.name, value)?;
            }
        }
        Ok(rows)
    }

    fn finish(&self, rows: RecordBatch, engine: Option<&dyn SqlEngine>) -> Result<RecordBatch, OpsError> {
        let mut rows = align(&rows, &self.columns)?;
        for rule in &self.rules {
            if let Demand::Lengths(lengths) = &rule.demand
                && let Some(texts) = rows.column_by_name(&rule.name)
            {
                let fitted = lengths.fit(&rule.name, texts)?;
                rows = with_column(&rows, &rule.name, fitted)?;
            }
        }
        let verdict = Column::new("the constraint", ColumnType::Boolean, true);
        for check in &self.checks {
            let values = compute(&check.text, &rows, &verdict, &format!("the constraint {}", check.name), engine)?;
            demand_true(&check.name, &check.text.sql, &values, &rows)?;
        }
        Ok(rows)
    }
}

/// The name of a column that stands beside the table's while generated values are compared.
const MADE: &str = "\u{1}made";

fn has_column(batch: &RecordBatch, name: &str) -> bool {
    batch.schema_ref().fields().iter().any(|field| field.name().eq_ignore_ascii_case(name))
}

/// The rows with a column put in, in its place where it is there.
pub(crate) fn with_column(batch: &RecordBatch, name: &str, array: ArrayRef) -> Result<RecordBatch, OpsError> {
    let mut fields: Vec<Arc<Field>> = batch.schema_ref().fields().iter().cloned().collect();
    let mut arrays = batch.columns().to_vec();
    let field = Arc::new(Field::new(name, array.data_type().clone(), true));
    match fields.iter().position(|field| field.name().eq_ignore_ascii_case(name)) {
        Some(at) => {
            if let (Some(slot), Some(old)) = (fields.get_mut(at), arrays.get_mut(at)) {
                (*slot, *old) = (field, array);
            }
        }
        None => {
            fields.push(field);
            arrays.push(array);
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(OpsError::rows("rows to be written"))
}

fn compute(
    text: &Text,
    rows: &RecordBatch,
    column: &Column,
    what: &str,
    engine: Option<&dyn SqlEngine>,
) -> Result<ArrayRef, OpsError> {
    if let Some(bound) = &text.bound {
        return Ok(evaluate_as(bound, rows, column)?);
    }
    let Some(engine) = engine else {
        return Err(OpsError::Unsupported {
            feature: format!("{what} ({})", text.sql),
            statement: "computing SQL beyond our grammar",
            advice: "give an engine that computes it (CommitOptions::engine), or write with one".to_owned(),
        });
    };
    let failed = |reason: String| OpsError::Invalid {
        problem: format!("{what} ({}) could not be computed by the engine: {reason}", text.sql),
        advice: "correct the rows, or the engine".to_owned(),
    };
    let array = engine.evaluate(&text.sql, rows, column).map_err(failed)?;
    if array.len() != rows.num_rows() {
        return Err(failed(format!("it gave {} values for {} rows", array.len(), rows.num_rows())));
    }
    let field = Field::new(&column.name, array.data_type().clone(), true);
    let one = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]);
    let one = one.map_err(OpsError::rows("the engine's values"))?;
    let open = Column { nullable: true, ..column.clone() };
    Ok(Arc::clone(align(&one, &[open])?.column(0)))
}

/// # Errors
/// A row for which a condition is not TRUE; NULL is not TRUE.
fn demand_true(name: &str, sql: &str, values: &ArrayRef, rows: &RecordBatch) -> Result<(), OpsError> {
    let Some(values) = values.as_boolean_opt() else {
        return Err(OpsError::Invalid {
            problem: format!("the constraint {name} ({sql}) is no condition but of type {}", values.data_type()),
            advice: "drop the constraint".to_owned(),
        });
    };
    let failing = |row: &usize| !(values.is_valid(*row) && values.value(*row));
    let mut failing = (0..values.len()).filter(failing);
    let Some(first) = failing.next() else { return Ok(()) };
    let row = json_row(rows, first).unwrap_or_default();
    Err(OpsError::Invalid {
        problem: format!(
            "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] {} of the rows violate {name} ({sql}), the first: {row}",
            failing.count() + 1
        ),
        advice: "correct the rows; nothing was written".to_owned(),
    })
}

fn identity(name: &str, absent: bool) -> OpsError {
    let problem = if absent {
        format!("identityColumns: values of the identity column {name} are not made here")
    } else {
        format!("identityColumns: {name} is always made by the table, and values were given")
    };
    let advice = if absent {
        "supply them, or write with a client that makes them"
    } else {
        "leave the column out, and write with a client that makes them"
    };
    OpsError::Invalid { problem, advice: advice.to_owned() }
}

/// The rows of a mask, counted.
pub(crate) fn count(mask: &BooleanArray) -> u64 {
    mask.true_count() as u64
}

/// A column of one text for every row.
pub(crate) fn repeated(text: &str, rows: usize) -> ArrayRef {
    Arc::new(StringArray::from(vec![text; rows]))
}
