//! What can go wrong with rows.

use arrow_schema::ArrowError;
use lakebed_storage::StoreError;
use parquet::errors::ParquetError;

/// Why rows could not be read, computed or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A data file that a table names is gone.
    #[error("data file {file} is not at {root}: read a newer version of the table, or restore the file")]
    MissingFile {
        /// The file, relative to the table.
        file: String,
        /// The table.
        root: String,
    },
    /// Columns are told apart by their field ids, and the file has none.
    #[error(
        "{file}: its columns have no field ids, by which this table tells columns apart; write the file anew with a client \
         that knows column mapping"
    )]
    NoFieldIds {
        /// The file.
        file: String,
    },
    /// The store could not be asked.
    #[error("data file {file} could not be read: {source}")]
    Store {
        /// The file.
        file: String,
        /// What the store said.
        source: StoreError,
    },
    /// Bytes that are no Parquet file, or rows that cannot be written as one.
    #[error("{file}: not readable as Parquet, check that the file is whole: {source}")]
    Parquet {
        /// The file.
        file: String,
        /// What the decoder said.
        source: ParquetError,
    },
    /// Bytes that are no Lance data file, or rows that cannot be written as one.
    #[error("{file}: not readable or writable as a Lance data file: {reason}; check that the file is whole")]
    Lance {
        /// The file.
        file: String,
        /// What the decoder or encoder said.
        reason: String,
    },
    /// A local file that holds rows to write could not be opened or read.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A source of rows whose kind we do not know.
    #[error("{file}: name a file that ends in .parquet, .csv or .jsonl, or - for JSON lines on standard input")]
    UnknownKind {
        /// The file.
        file: String,
    },
    /// Text that is no row of the table.
    #[error("{file}: {reason}; correct the file and run again")]
    BadSource {
        /// The file.
        file: String,
        /// What is wrong, with the column and row where known.
        reason: String,
    },
    /// A type that rows cannot have here.
    #[error("column {column}: type {type_name} cannot be read or written here; leave the column out")]
    UnsupportedType {
        /// The column, nested fields with dots.
        column: String,
        /// The type as its format spells it.
        type_name: String,
    },
    /// A column of a file is in a form that is not decoded here.
    #[error(
        "column {column} needs {feature}, which cannot be decoded here; read it with a client that knows the feature, or leave the column out"
    )]
    Feature {
        /// The column, nested fields with dots.
        column: String,
        /// The table feature by its name.
        feature: &'static str,
    },
    /// The rows have a column that the table does not.
    #[error(
        "column {column} is not in the table, which has {known}; drop it, or append with the schema merged (`append --merge-schema`)"
    )]
    ExtraColumn {
        /// The column.
        column: String,
        /// The columns there are.
        known: String,
    },
    /// The rows have two columns of one name.
    #[error("columns {first} and {column} have one name; names count without regard to case, so rename or drop one")]
    TwinColumn {
        /// The first.
        first: String,
        /// The second.
        column: String,
    },
    /// The rows lack a column that may not be NULL.
    #[error("column {column} is missing from the rows and may not be NULL; supply it")]
    MissingColumn {
        /// The column.
        column: String,
    },
    /// An expression names a column that is not there.
    #[error("no column {column}; there are {known}")]
    UnknownColumn {
        /// The column as written.
        column: String,
        /// The columns there are.
        known: String,
    },
    /// Values of one type where a column has another, and no lossless way between them.
    #[error("column {column}: {from} does not fit {to} without loss; cast it first, or widen the column")]
    TypeMismatch {
        /// The column, nested fields with dots.
        column: String,
        /// The type of the rows.
        from: String,
        /// The type of the table.
        to: String,
    },
    /// NULLs where none may stand.
    #[error(
        "column {column} may not be NULL, but {count} rows are, the first at row {first_row} (from 0) of the batch"
    )]
    NotNull {
        /// The column, nested fields with dots.
        column: String,
        /// How many.
        count: usize,
        /// The first row, from 0.
        first_row: usize,
    },
    /// A function that cannot be evaluated here.
    #[error("function {name} is not known here; compute the value before and pass it as a literal")]
    UnknownFunction {
        /// The name as written.
        name: String,
    },
    /// SQL says that the evaluation fails.
    #[error("cannot evaluate {expression}: {failure}")]
    Evaluate {
        /// The expression, shortened.
        expression: String,
        /// Why.
        failure: EvalFailure,
    },
    /// A value of a partition that its column's type does not hold.
    #[error("partition column {column}: {value} is no {type_name}; the log of the table is damaged there")]
    PartitionValue {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// The type.
        type_name: String,
    },
    /// Bytes are missing at the end of a file.
    #[error("{file} ends before the {size_bytes} bytes that it should have; restore it from a copy")]
    Truncated {
        /// The file.
        file: String,
        /// The size that the log, or the file itself, claims.
        size_bytes: u64,
    },
    /// Any of these, in the rows of a file.
    #[error("{file}: {source}")]
    InFile {
        /// The file.
        file: String,
        /// What is wrong there.
        source: Box<DataError>,
    },
    /// Arrow refused something that should have been in order.
    #[error("{what}: {source}")]
    Arrow {
        /// What was being done.
        what: String,
        /// What Arrow said.
        source: ArrowError,
    },
}

impl DataError {
    pub(crate) fn arrow(what: impl Into<String>) -> impl FnOnce(ArrowError) -> Self {
        let what = what.into();
        move |source| Self::Arrow { what, source }
    }

    /// Adds the file's name where the message does not have it.
    pub(crate) fn in_file(self, file: &str) -> Self {
        match self {
            Self::MissingFile { .. }
            | Self::NoFieldIds { .. }
            | Self::Store { .. }
            | Self::Parquet { .. }
            | Self::Lance { .. }
            | Self::Io { .. }
            | Self::UnknownKind { .. }
            | Self::BadSource { .. }
            | Self::Truncated { .. }
            | Self::InFile { .. } => self,
            Self::UnsupportedType { .. }
            | Self::Feature { .. }
            | Self::ExtraColumn { .. }
            | Self::TwinColumn { .. }
            | Self::MissingColumn { .. }
            | Self::UnknownColumn { .. }
            | Self::TypeMismatch { .. }
            | Self::NotNull { .. }
            | Self::UnknownFunction { .. }
            | Self::Evaluate { .. }
            | Self::PartitionValue { .. }
            | Self::Arrow { .. } => Self::InFile { file: file.to_owned(), source: Box::new(self) },
        }
    }

    pub(crate) fn parquet(file: &str) -> impl FnOnce(ParquetError) -> Self {
        move |source| Self::Parquet { file: file.to_owned(), source }
    }
}

/// Why an expression has no value, in the classes of Spark's ANSI mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalFailure {
    /// A number outside the range of its type.
    #[error("a number is outside the range of {type_name}; cast to a wider type")]
    Overflow {
        /// The type.
        type_name: String,
    },
    /// `/` or `%` by zero.
    #[error("division by zero; guard it with IF or CASE")]
    DivideByZero,
    /// A text or value that is not one of the type.
    #[error("'{text}' is not a value of type {to}")]
    Cast {
        /// The value, shortened.
        text: String,
        /// The type.
        to: String,
    },
    /// Types that the operator or function does not take.
    #[error("it does not take {types}; add a CAST")]
    Types {
        /// The types of the operands.
        types: String,
    },
    /// A wrong number of arguments, or a row value where none can stand.
    #[error("it takes {expected}")]
    Arguments {
        /// What it takes.
        expected: String,
    },
    /// Deeper than we evaluate.
    #[error("it is nested too deeply; simplify it")]
    TooDeep,
    /// Arrow refused.
    #[error("{0}")]
    Arrow(String),
}
