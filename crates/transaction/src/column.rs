//! Columns and their types, as both formats and the SQL grammar see them.

/// The type of a column. Spellings of each format are that format's business.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// TRUE or FALSE.
    Boolean,
    /// 8-bit signed integer.
    Byte,
    /// 16-bit signed integer.
    Short,
    /// 32-bit signed integer.
    Integer,
    /// 64-bit signed integer.
    Long,
    /// 32-bit IEEE float.
    Float,
    /// 64-bit IEEE float.
    Double,
    /// Exact decimal of `precision` digits, `scale` of them after the point.
    Decimal {
        /// All digits, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: u8,
    },
    /// Calendar day.
    Date,
    /// Instant, in microseconds.
    Timestamp,
    /// Wall-clock time without a zone, in microseconds.
    TimestampNtz,
    /// Unicode text.
    String,
    /// Bytes.
    Binary,
    /// A list of elements.
    Array(Box<Column>),
    /// A map of keys to values.
    Map(Box<Column>, Box<Column>),
    /// Named fields.
    Struct(Vec<Column>),
    /// A type that a format knows and this model does not compute with; the text is the format's own spelling.
    Other(String),
}

/// One column or nested field: name, type, nullability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name as the format stores it (element and key fields of lists and maps have conventional names).
    pub name: String,
    /// The type.
    pub column_type: ColumnType,
    /// Whether NULL may stand in it.
    pub nullable: bool,
}

impl Column {
    /// A column of this name and type.
    #[must_use]
    pub fn new(name: impl Into<String>, column_type: ColumnType, nullable: bool) -> Self {
        Self { name: name.into(), column_type, nullable }
    }
}
