//! Statements at random.

use super::Random;
use super::rows::{IDS, PROPERTY, Row, columns, source};
use lakebed_table::{
    ColumnChange, CommitOptions, CompactRequest, Compaction, Matched, MergeSpec, NotMatched, Report, Scope, Table,
    TableError, TableFormat, VersionSpec,
};
use lakebed_transaction::{Column, ColumnType};
use std::collections::BTreeMap;

/// One statement. Where it names a version, that is a version which its handle knew.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Append(Vec<Row>),
    AppendMerging(Vec<Row>, String),
    Overwrite(Vec<Row>, Option<String>),
    OverwritePartitions(Vec<Row>),
    Delete(String),
    Update(Vec<String>, Option<String>),
    Merge(Vec<Row>, MergeSpec),
    Compact(CompactRequest),
    AddColumn(String),
    DropColumn(String),
    Rename(String, String),
    Set(String, String),
    Restore(u64),
}

/// What statements are drawn for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
    pub(super) format: TableFormat,
    pub(super) partitioned: bool,
    /// Whether columns may go and get other names.
    pub(super) renames: bool,
}

impl Statement {
    /// A statement for a handle that stands at a version.
    pub(super) fn random(random: &mut Random, ground: Ground, version: u64) -> Self {
        match random.below(100) {
            0..18 => Self::Append(rows(random, 3)),
            18..36 => Self::Delete(predicate(random, 2)),
            36..56 => Self::Update(assignments(random), Some(predicate(random, 2)).filter(|_| random.below(12) > 0)),
            56..70 => merge(random),
            70..78 => overwrite(random, ground),
            78..90 => Self::Compact(compaction(random, ground)),
            90..92 => Self::AppendMerging(rows(random, 2), new_name(random)),
            92..94 => Self::AddColumn(new_name(random)),
            94..96 if ground.renames => Self::DropColumn((*random.one(&["b", "t", "extra"])).to_owned()),
            96..97 if ground.renames => Self::Rename("n".to_owned(), "m".to_owned()),
            94..98 => Self::Set(format!("{PROPERTY}{}", random.below(2)), random.below(9).to_string()),
            _ => Self::Restore(1 + random.below(version)),
        }
    }

    pub(super) async fn run(&self, table: &mut Table, commit: &CommitOptions) -> Result<Report, TableError> {
        match self {
            Self::Append(rows) => table.append(source(rows, &[]), commit).await,
            Self::AppendMerging(rows, name) => {
                let given: Vec<Column> = columns().into_iter().chain([text(name)]).collect();
                table.append_merging(source(rows, std::slice::from_ref(name)), &given, commit).await
            }
            Self::Overwrite(rows, None) => table.overwrite(source(rows, &[]), &Scope::Whole, commit).await,
            Self::Overwrite(rows, Some(range)) => {
                table.overwrite(source(rows, &[]), &Scope::Where(range.clone()), commit).await
            }
            Self::OverwritePartitions(rows) => table.overwrite(source(rows, &[]), &Scope::Partitions, commit).await,
            Self::Delete(predicate) => table.delete(predicate, commit).await,
            Self::Update(set, predicate) => table.update(set, predicate.as_deref(), commit).await,
            Self::Merge(rows, spec) => table.merge(source(rows, &[]), spec, commit).await,
            Self::Compact(request) => table.compact(request, commit).await,
            Self::AddColumn(name) => {
                let change = ColumnChange::Add { within: Vec::new(), columns: vec![text(name)] };
                table.change_columns(&change, false, commit).await
            }
            Self::DropColumn(name) => {
                table.change_columns(&ColumnChange::Drop(vec![vec![name.clone()]]), false, commit).await
            }
            Self::Rename(from, to) => {
                let change = ColumnChange::Rename { path: vec![from.clone()], name: to.clone() };
                table.change_columns(&change, false, commit).await
            }
            Self::Set(key, value) => {
                table.set_properties(BTreeMap::from([(key.clone(), value.clone())]), Vec::new(), commit).await
            }
            Self::Restore(version) => table.restore(VersionSpec::Number(*version), commit).await,
        }
    }
}

fn text(name: &str) -> Column {
    Column::new(name, ColumnType::String, true)
}

fn new_name(random: &mut Random) -> String {
    (*random.one(&["extra", "y"])).to_owned()
}

fn rows(random: &mut Random, most: u64) -> Vec<Row> {
    (0..=random.below(most)).map(|_| Row::random(random)).collect()
}

fn merge(random: &mut Random) -> Statement {
    let on: &[&str] =
        random.one::<&[&str]>(&[&["id"], &["id"], &["id"], &["id", "p"], &["s"], &["x"], &["t"], &["n", "d"]]);
    let mut given = rows(random, 3);
    let key = |row: &Row| -> String {
        let value = |name: &&str| match *name {
            "id" => row.id.to_string(),
            "p" => format!("{:?}", row.p),
            "s" => format!("{:?}", row.s),
            "x" => format!("{:?}", row.x.map(|x| if x == 0.0 { 0.0 } else { x })),
            "t" => format!("{:?}", row.t),
            "n" => format!("{:?}", row.n),
            _ => format!("{:?}", row.d),
        };
        on.iter().map(value).collect::<Vec<_>>().join(" ")
    };
    let mut seen = std::collections::BTreeSet::new();
    given.retain(|row| seen.insert(key(row)));
    let matched = *random.one(&[Matched::Update, Matched::Update, Matched::Delete, Matched::Ignore]);
    let not_matched = *random.one(&[NotMatched::Insert, NotMatched::Insert, NotMatched::Ignore]);
    let on = on.iter().map(|name| (*name).to_owned()).collect();
    Statement::Merge(given, MergeSpec { on, matched, not_matched, ..MergeSpec::default() })
}

fn overwrite(random: &mut Random, ground: Ground) -> Statement {
    let mut given = rows(random, 3);
    match random.below(6) {
        0 => Statement::Overwrite(given, None),
        1 | 2 if ground.partitioned => Statement::OverwritePartitions(given),
        3 => {
            given.iter_mut().for_each(|row| row.id = 12 + row.id % 4);
            Statement::Overwrite(given, Some("id >= 12".to_owned()))
        }
        4 => {
            given.iter_mut().for_each(|row| row.s = Some("a"));
            Statement::Overwrite(given, Some("S = 'a'".to_owned()))
        }
        _ => {
            given.iter_mut().for_each(|row| row.p = Some("a"));
            Statement::Overwrite(given, Some("p = 'a'".to_owned()))
        }
    }
}

fn compaction(random: &mut Random, ground: Ground) -> CompactRequest {
    let cluster_by: &[&str] = random.one::<&[&str]>(&[&[], &[], &[], &["id"], &["s"], &["id", "d"]]);
    let partition = ground.partitioned && random.below(3) == 0;
    CompactRequest {
        compaction: if cluster_by.is_empty() && random.below(2) == 0 { Compaction::Minor } else { Compaction::Major },
        predicate: partition.then(|| "p = 'a' OR p IS NULL".to_owned()),
        target_size_bytes: (random.below(4) == 0).then_some(1),
        cluster_by: cluster_by.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn assignments(random: &mut Random) -> Vec<String> {
    let all = [
        "s = 'a'",
        "s = NULL",
        "s = 'a text that is longer than what statistics hold of it: two'",
        "x = x * 2",
        "x = 0.0",
        "n = n + 1.25",
        "n = id",
        "p = 'b'",
        "p = s",
        "d = DATE '2024-01-02'",
        "b = NOT b",
        "id = id + 1",
        "id = 3",
        "t = TIMESTAMP '2024-01-01 00:00:00.000001Z'",
    ];
    let count = 1 + usize::try_from(random.below(2)).unwrap();
    let chosen = random.some(&all, count);
    let mut columns = std::collections::BTreeSet::new();
    chosen.into_iter().filter(|text| columns.insert(text[..1].to_owned())).map(str::to_owned).collect()
}

/// A condition, of others to this depth.
fn predicate(random: &mut Random, depth: u32) -> String {
    match random.below(5) {
        0 if depth > 0 => format!("({} OR {})", predicate(random, depth - 1), predicate(random, depth - 1)),
        1 if depth > 0 => format!("({} AND {})", predicate(random, depth - 1), predicate(random, depth - 1)),
        2 if depth > 0 && random.below(3) == 0 => format!("NOT ({})", predicate(random, depth - 1)),
        _ => condition(random),
    }
}

fn condition(random: &mut Random) -> String {
    let id = random.below(IDS);
    let sign = *random.one(&["=", "<", ">", "<=", ">=", "<>", "<=>"]);
    match random.below(20) {
        0..5 => format!("id {sign} {id}"),
        5 => format!("id IN ({id}, {})", random.below(IDS)),
        6 => format!("Id % 4 = {}", random.below(4)),
        7 => format!("id BETWEEN {id} AND {}", id + 3),
        8 => format!("p {sign} '{}'", random.one(&["a", "b", "B", "c d/é%"])),
        9 => format!("{} IS {}NULL", random.one(&["p", "d", "s", "x", "n", "t", "b"]), random.one(&["", "NOT "])),
        10 => format!("p IN ('a', 'b') AND id < {id}"),
        11 => {
            format!("s {sign} 'a text that is longer than what statistics hold of it: {}'", random.one(&["one", "two"]))
        }
        12 => format!("s LIKE '{}'", random.one(&["a%", "%: t_o", "a text that is longer than what statistics%", "é"])),
        13 => format!("x {sign} {}", random.one(&["0.0", "1.5", "-2.5", "1e300"])),
        14 => format!("n {sign} {}", random.one(&["0", "1.50", "-2.25", "9999.99", "1.5"])),
        15 => {
            let micros = *random.one(&["000001", "000999", "000000", "001000"]);
            format!("t {sign} TIMESTAMP '2024-01-01 00:00:00.{micros}Z'")
        }
        16 => format!("d {sign} DATE '{}'", random.one(&["2024-01-01", "2024-01-02", "1969-12-31"])),
        17 => (*random.one(&["b", "NOT b", "b = FALSE", "b <=> NULL"])).to_owned(),
        18 => format!("s = p OR id = {id}"),
        _ => format!("coalesce(s, p) = 'a' AND id >= {id}"),
    }
}
