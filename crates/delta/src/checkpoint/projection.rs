//! Which columns of a checkpoint's object are decoded.

use parquet::arrow::ProjectionMask;
use parquet::file::metadata::ParquetMetaData;

/// Which leaf columns are decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// Everything that an action needs.
    All,
    /// Everything that is about files.
    Files,
    /// The same, but for the text of the statistics.
    FilesWithoutStats,
    /// The text of the statistics.
    Stats,
    /// Everything that is not about files.
    Others,
    /// Of that, what stands in no list and no map.
    OthersFlat,
}

/// What is asked for, but for what is null in every row; parsed partition values where their texts do not stand beside them, and of
/// parsed statistics only the row count where their text does.
pub(super) fn of(metadata: &ParquetMetaData, columns: Columns) -> ProjectionMask {
    let leaves = Leaves::new(metadata);
    let wanted = |leaf: &usize| leaves.is_wanted(*leaf, columns);
    ProjectionMask::leaves(metadata.file_metadata().schema_descr(), (0..leaves.paths.len()).filter(wanted))
}

/// Whether rows that hold anything but files can be told by columns that are quick to decode: in each group of columns
/// that has anything at all, one that stands in no list and no map.
pub(super) fn tells_others_by_flat_columns(metadata: &ParquetMetaData) -> bool {
    let leaves = Leaves::new(metadata);
    let group = |leaf: usize| leaves.paths.get(leaf).and_then(|path| path.first().copied());
    let all = || 0..leaves.paths.len();
    let flat: Vec<&str> = all().filter(|leaf| leaves.is_wanted(*leaf, Columns::OthersFlat)).filter_map(group).collect();
    all().filter(|leaf| leaves.is_wanted(*leaf, Columns::Others)).filter_map(group).all(|group| flat.contains(&group))
}

/// The leaf columns of an object, by their paths.
struct Leaves<'a> {
    metadata: &'a ParquetMetaData,
    paths: Vec<Vec<&'a str>>,
    has_stats_text: bool,
    has_partition_texts: bool,
}

impl<'a> Leaves<'a> {
    fn new(metadata: &'a ParquetMetaData) -> Self {
        let columns = metadata.file_metadata().schema_descr().columns();
        let paths: Vec<Vec<&str>> =
            columns.iter().map(|leaf| leaf.path().parts().iter().map(String::as_str).collect()).collect();
        let has_stats_text = paths.iter().any(|path| matches!(path.as_slice(), ["add", "stats"]));
        let has_partition_texts = paths.iter().any(|path| matches!(path.as_slice(), ["add", "partitionValues", ..]));
        Self { metadata, paths, has_stats_text, has_partition_texts }
    }

    fn is_wanted(&self, leaf: usize, columns: Columns) -> bool {
        let Some(path) = self.paths.get(leaf).map(Vec::as_slice) else { return false };
        let is_of_files = matches!(path, ["add" | "remove", ..]);
        let is_stats = matches!(path, ["add", "stats"]);
        let asked = match columns {
            Columns::All => true,
            Columns::Files => is_of_files,
            Columns::FilesWithoutStats => is_of_files && !is_stats,
            Columns::Stats => is_stats,
            Columns::Others => !is_of_files,
            Columns::OthersFlat => !is_of_files && self.is_flat(leaf),
        };
        asked && self.is_needed(path) && !self.says_nothing(leaf, path)
    }

    fn is_needed(&self, path: &[&str]) -> bool {
        match path {
            ["add", "partitionValues_parsed", ..] => !self.has_partition_texts,
            ["remove", "partitionValues_parsed" | "stats_parsed", ..] => false,
            ["add", "stats_parsed", rest @ ..] => !self.has_stats_text || matches!(rest, ["numRecords"]),
            [
                "add" | "remove" | "metaData" | "protocol" | "txn" | "domainMetadata" | "checkpointMetadata"
                | "sidecar",
                ..,
            ] => true,
            _ => false,
        }
    }

    /// Whether a column reads as one that is not there: null in every row, or in a group or a map of which nothing stands anywhere.
    fn says_nothing(&self, leaf: usize, path: &[&str]) -> bool {
        match path {
            ["add", "path" | "stats"] => false,
            ["add", "partitionValues", ..] => self.is_all_empty(&["add", "partitionValues"]),
            ["add", ..] => self.is_flat(leaf) && self.is_empty(leaf),
            [group, ..] => self.is_flat(leaf) && self.is_empty(leaf) || self.is_all_empty(&[*group]),
            [] => true,
        }
    }

    fn is_all_empty(&self, within: &[&str]) -> bool {
        let inside = self.paths.iter().enumerate().filter(|(_, path)| path.starts_with(within));
        inside.map(|(leaf, _)| leaf).all(|leaf| self.is_empty(leaf))
    }

    /// Whether it stands in no list and no map.
    fn is_flat(&self, leaf: usize) -> bool {
        let columns = self.metadata.file_metadata().schema_descr().columns();
        columns.get(leaf).is_some_and(|leaf| leaf.max_rep_level() == 0)
    }

    /// Whether the footer says that a column has no value: null in every row, and of what stands in lists and maps, that they are null
    /// or empty (which of the two, it does not tell).
    fn is_empty(&self, leaf: usize) -> bool {
        self.metadata.row_groups().iter().all(|group| {
            let Some(column) = group.columns().get(leaf) else { return false };
            let nulls = column.statistics().and_then(parquet::file::statistics::Statistics::null_count_opt);
            let is_sound = !self.is_flat(leaf) || column.num_values() == group.num_rows();
            is_sound && nulls.is_some_and(|nulls| u64::try_from(column.num_values()) == Ok(nulls))
        })
    }
}
