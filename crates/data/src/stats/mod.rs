//! Statistics of a file as Delta's `stats` holds them, collected batch by batch.
//!
//! The form is the one that Spark writes: bounds for the first 32 leaf columns, none for booleans, binaries, lists and
//! maps; strings cut at 32 characters, times at milliseconds; NaN and infinities as strings. A NaN counts as the greatest
//! number, so that it is never left out of a maximum.

mod leaf;
mod text;
mod truncate;

pub use truncate::{truncate_max, truncate_min};

use crate::DataError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use lakebed_transaction::{Column, ColumnBounds, ColumnType};
use leaf::Leaf;
use std::fmt::Write;
use std::sync::Arc;

/// Which columns get statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsColumns {
    /// The first so many leaf columns in schema order (`delta.dataSkippingNumIndexedCols`).
    First(usize),
    /// All leaf columns.
    All,
    /// These columns with all that is within them, by path with dots (`delta.dataSkippingStatsColumns`).
    Named(Vec<String>),
}

impl Default for StatsColumns {
    fn default() -> Self {
        Self::First(32)
    }
}

/// What is known of one column or nested field.
#[derive(Debug)]
struct Node {
    name: String,
    kind: NodeKind,
}

#[derive(Debug)]
enum NodeKind {
    Struct(Vec<(usize, Node)>),
    Leaf(Leaf),
}

/// Collects statistics of the rows that it is shown.
#[derive(Debug)]
pub struct Collector {
    /// With the position of each in the rows.
    nodes: Vec<(usize, Node)>,
    rows: u64,
}

impl Collector {
    /// A collector for rows of these columns (in this order, with the types of
    /// [`arrow_schema`](crate::arrow_schema)).
    #[must_use]
    pub fn new(columns: &[Column], which: &StatsColumns) -> Self {
        let mut left = match which {
            StatsColumns::First(count) => *count,
            StatsColumns::All | StatsColumns::Named(_) => usize::MAX,
        };
        let named = if let StatsColumns::Named(names) = which { Some(names.as_slice()) } else { None };
        Self { nodes: nodes(columns, "", named, &mut left), rows: 0 }
    }

    /// Takes in rows.
    ///
    /// # Errors
    /// The rows do not have the types of the columns.
    pub fn update(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        self.rows += batch.num_rows() as u64;
        update_all(&mut self.nodes, batch.columns(), None)
    }

    /// Rows seen.
    #[must_use]
    pub const fn num_rows(&self) -> u64 {
        self.rows
    }

    /// The text of Delta's `stats`.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = format!("{{\"numRecords\":{}", self.rows);
        for (key, part) in [("minValues", Part::Min), ("maxValues", Part::Max), ("nullCount", Part::Nulls)] {
            let _ = write!(out, ",\"{key}\":");
            write_part(&self.nodes, part, &mut out);
        }
        out.push('}');
        out
    }

    /// Bounds of the top-level columns, exact.
    #[must_use]
    pub fn bounds(&self) -> Vec<(Arc<str>, ColumnBounds)> {
        let of = |node: &Node| match &node.kind {
            NodeKind::Struct(_) => None,
            NodeKind::Leaf(leaf) => Some((Arc::from(node.name.as_str()), leaf.bounds())),
        };
        self.nodes.iter().filter_map(|(_, node)| of(node)).collect()
    }
}

fn nodes(columns: &[Column], within: &str, named: Option<&[String]>, left: &mut usize) -> Vec<(usize, Node)> {
    let mut found = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let path = crate::schema::join(within, &column.name);
        let wanted = named.is_none_or(|names| names.iter().any(|name| covers(name, &path)));
        let kind = if let ColumnType::Struct(children) = &column.column_type {
            let children = nodes(children, &path, if wanted { None } else { named }, left);
            if children.is_empty() {
                continue;
            }
            NodeKind::Struct(children)
        } else if wanted && *left > 0 {
            *left -= 1;
            NodeKind::Leaf(Leaf::new(&column.column_type))
        } else {
            continue;
        };
        found.push((at, Node { name: column.name.clone(), kind }));
    }
    found
}

fn covers(name: &str, path: &str) -> bool {
    let plain = name.replace('`', "");
    crate::schema::same_name(plain.trim(), path)
}

fn update_all(nodes: &mut [(usize, Node)], arrays: &[ArrayRef], present: Option<&NullBuffer>) -> Result<(), DataError> {
    for (at, node) in nodes {
        let Some(array) = arrays.get(*at) else { continue };
        match &mut node.kind {
            NodeKind::Leaf(leaf) => leaf.update(&node.name, array, present)?,
            NodeKind::Struct(children) => {
                let Some(array) = array.as_struct_opt() else { continue };
                let present = NullBuffer::union(present, array.nulls());
                update_all(children, array.columns(), present.as_ref())?;
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Part {
    Min,
    Max,
    Nulls,
}

impl Node {
    /// Whether the node stands in this part: a struct with anything that could have a bound stands there even when empty.
    fn belongs(&self, part: Part) -> bool {
        match (&self.kind, part) {
            (_, Part::Nulls) => true,
            (NodeKind::Leaf(leaf), Part::Min | Part::Max) => leaf.has_bounds(),
            (NodeKind::Struct(children), Part::Min | Part::Max) => {
                children.iter().any(|(_, child)| child.belongs(part))
            }
        }
    }
}

fn write_part(nodes: &[(usize, Node)], part: Part, out: &mut String) {
    out.push('{');
    let mut first = true;
    for (_, node) in nodes.iter().filter(|(_, node)| node.belongs(part)) {
        let value = match &node.kind {
            NodeKind::Struct(children) => {
                let mut inner = String::new();
                write_part(children, part, &mut inner);
                Some(inner)
            }
            NodeKind::Leaf(leaf) => match part {
                Part::Min => leaf.min_text(),
                Part::Max => leaf.max_text(),
                Part::Nulls => Some(leaf.null_count().to_string()),
            },
        };
        let Some(value) = value else { continue };
        let comma = if first { "" } else { "," };
        first = false;
        let _ = write!(out, "{comma}{}:{value}", text::quoted(&node.name));
    }
    out.push('}');
}
