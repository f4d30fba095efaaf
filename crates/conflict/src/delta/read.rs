//! Reads as Delta's rules compare them.

use super::{PartitionColumn, PartitionText};
use lakebed_transaction::{BinaryOp, Expr, ReadPredicate, Scalar};

/// Splits the filters of one read in those that mention partition columns only and the others. Each filter is a whole,
/// as the writer recorded it: a conjunction that mixes both kinds of columns is a data filter, and a filter that mentions no
/// column is a partition filter. Names match without regard to case.
#[must_use]
pub fn split_read(filters: Vec<Expr>, partition_columns: &[PartitionColumn]) -> ReadPredicate {
    let over_partitions = |filter: &Expr| {
        filter.columns().iter().all(|path| match path {
            [name] => partition_columns.iter().any(|column| column.name.eq_ignore_ascii_case(name)),
            _ => false,
        })
    };
    let (partition, data) = filters.into_iter().partition(over_partitions);
    ReadPredicate { partition, data }
}

/// The filter that holds in exactly the named partitions: what a dynamic partition overwrite records of its read. Keys
/// are logical column names; an absent text is NULL, which here equals NULL. A key that is no partition column is left out of
/// the comparison, which widens the filter.
#[must_use]
pub fn partitions_in(partitions: &[Vec<PartitionText>], columns: &[PartitionColumn]) -> Expr {
    let one = |partition: &Vec<PartitionText>| {
        partition.iter().filter_map(|(name, text)| value_equals(name, text.as_deref(), columns)).reduce(Expr::and)
    };
    any_of(partitions.iter().map(|partition| one(partition).unwrap_or_else(Expr::always)).collect())
}

/// The disjunction as a balanced tree, so that its depth stays small however many partitions there are.
fn any_of(mut terms: Vec<Expr>) -> Expr {
    while terms.len() > 1 {
        let mut rest = terms.into_iter();
        let mut paired = Vec::new();
        while let Some(a) = rest.next() {
            paired.push(match rest.next() {
                Some(b) => a.binary(BinaryOp::Or, b),
                None => a,
            });
        }
        terms = paired;
    }
    terms.pop().unwrap_or(Expr::Literal(Scalar::Boolean(false)))
}

fn value_equals(name: &str, text: Option<&str>, columns: &[PartitionColumn]) -> Option<Expr> {
    let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(name))?;
    let literal = match text {
        None => Expr::Literal(Scalar::Null),
        Some(text) => Expr::Cast(Box::new(Expr::Literal(Scalar::string(text))), column.column_type.clone()),
    };
    Some(Expr::column(&column.name).binary(BinaryOp::NullSafeEqual, literal))
}
