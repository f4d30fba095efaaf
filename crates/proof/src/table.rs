//! Tables of a few rows over two columns, `k` and `v`, each 0 or 1.

/// One row with an identity that copies keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its identity.
    pub id: u32,
    /// Column `k`.
    pub k: u8,
    /// Column `v`.
    pub v: u8,
}

/// A data file: rows at positions, some of them deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub id: u32,
    /// Every row that was ever in it.
    pub rows: Vec<Row>,
    /// Deleted positions, one bit each.
    pub dead: u32,
}

impl File {
    /// Rows that are not deleted, with their positions.
    pub fn live(&self) -> impl Iterator<Item = (u64, Row)> + '_ {
        (0_u64..).zip(&self.rows).filter(|(at, _)| self.dead >> at & 1 == 0).map(|(at, row)| (at, *row))
    }

    /// Whether every row is deleted.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.live().next().is_none()
    }

    /// Deletes the row of this identity, if it is here.
    pub fn delete(&mut self, id: u32) {
        for (at, row) in self.rows.iter().enumerate() {
            if row.id == id {
                self.dead |= 1 << at;
            }
        }
    }
}

/// One version of a table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Table {
    /// Its files.
    pub files: Vec<File>,
    /// The schema, 0 or 1: what a writer stores for a value of `v` depends on it.
    pub schema: u8,
    /// The last batch of the one application.
    pub batch: u8,
    /// The next file name.
    pub next_file: u32,
    /// The next row identity.
    pub next_row: u32,
}

impl Table {
    /// The file of this name.
    #[must_use]
    pub fn file(&self, id: u32) -> Option<&File> {
        self.files.iter().find(|file| file.id == id)
    }

    /// Rows that are not deleted, with their files and positions.
    pub fn live(&self) -> impl Iterator<Item = (u32, u64, Row)> + '_ {
        self.files.iter().flat_map(|file| file.live().map(|(at, row)| (file.id, at, row)))
    }

    /// Puts a file in that holds these rows, and nothing for no rows.
    pub fn put(&mut self, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.files.push(File { id: self.next_file, rows, dead: 0 });
            self.next_file += 1;
        }
    }

    /// Rows that are new to the table.
    pub fn new_rows(&mut self, values: &[(u8, u8)]) -> Vec<Row> {
        let rows = values.iter().zip(self.next_row..).map(|((k, v), id)| Row { id, k: *k, v: *v }).collect();
        self.next_row += u32::try_from(values.len()).unwrap_or_default();
        rows
    }

    /// What is compared: rows without identity, order or place, and the registers.
    #[must_use]
    pub fn bag(&self) -> Bag {
        let mut bag = Bag { counts: [[0; 2]; 2], schema: self.schema, batch: self.batch };
        for (_, _, row) in self.live() {
            bag.add(row.k, row.v, 1);
        }
        bag
    }
}

/// The abstract state of a table: how often each row stands in it, and its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bag {
    /// By `k`, then `v`.
    pub counts: [[u8; 2]; 2],
    /// The schema.
    pub schema: u8,
    /// The last batch of the application.
    pub batch: u8,
}

impl Bag {
    /// Puts a row in, several times.
    pub fn add(&mut self, k: u8, v: u8, times: u8) {
        if let Some(count) = self.counts.get_mut(usize::from(k)).and_then(|row| row.get_mut(usize::from(v))) {
            *count += times;
        }
    }

    /// How often a row stands in it.
    #[must_use]
    pub fn count(&self, k: u8, v: u8) -> u8 {
        self.counts.get(usize::from(k)).and_then(|row| row.get(usize::from(v))).copied().unwrap_or_default()
    }
}

/// Every table of up to `rows` rows, in every grouping into files; rows of equal values are not told apart.
#[must_use]
pub fn every_table(rows: usize) -> Vec<Table> {
    let mut tables = Vec::new();
    for count in 0..=rows {
        for values in multisets(count) {
            let mut known: Vec<Vec<Vec<(u8, u8)>>> = Vec::new();
            for groups in groupings(&values) {
                let mut sorted = groups.clone();
                sorted.iter_mut().for_each(|group| group.sort_unstable());
                sorted.sort();
                if !known.contains(&sorted) {
                    known.push(sorted);
                    tables.push(table_of(&groups));
                }
            }
        }
    }
    tables
}

fn table_of(groups: &[Vec<(u8, u8)>]) -> Table {
    let mut table = Table::default();
    for group in groups {
        let rows = table.new_rows(group);
        table.put(rows);
    }
    table
}

/// Every ascending list of `count` rows.
fn multisets(count: usize) -> Vec<Vec<(u8, u8)>> {
    const ROWS: [(u8, u8); 4] = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let mut lists: Vec<Vec<(u8, u8)>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = lists.iter().flat_map(|list| {
            ROWS.iter()
                .filter(|row| list.last().is_none_or(|last| last <= row))
                .map(|row| [&list[..], &[*row]].concat())
        });
        lists = longer.collect();
    }
    lists
}

/// Every way to put the values into groups.
fn groupings(values: &[(u8, u8)]) -> Vec<Vec<Vec<(u8, u8)>>> {
    let mut found: Vec<Vec<Vec<(u8, u8)>>> = vec![Vec::new()];
    for value in values {
        let mut next = Vec::new();
        for groups in &found {
            for at in 0..groups.len() {
                let mut joined = groups.clone();
                if let Some(group) = joined.get_mut(at) {
                    group.push(*value);
                }
                next.push(joined);
            }
            let mut alone = groups.clone();
            alone.push(vec![*value]);
            next.push(alone);
        }
        found = next;
    }
    found
}
