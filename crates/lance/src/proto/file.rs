// @generated from `protos/lance` by `cargo xtask codegen`; edit the schemas instead.
//! Schema messages, protobuf package `lance.file`.

/// What a data file holds: its schema and how many rows.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FileDescriptor {
    /// Schema of the rows.
    #[prost(message, optional, tag = "1")]
    pub schema: ::core::option::Option<Schema>,
    /// Number of rows.
    #[prost(uint64, tag = "2")]
    pub length: u64,
}
/// A schema, its fields flattened depth first.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Schema {
    /// Every field, parents before children.
    #[prost(message, repeated, tag = "1")]
    pub fields: ::prost::alloc::vec::Vec<Field>,
    /// Metadata of the schema as a whole.
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub metadata: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::bytes::Bytes>,
}
/// Footer of a file in the first data format.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Metadata {
    /// Byte offset of an embedded manifest; 0 when there is none.
    #[prost(uint64, tag = "1")]
    pub manifest_position: u64,
    /// First row of each batch, then the number of rows.
    #[prost(int32, repeated, tag = "2")]
    pub batch_offsets: ::prost::alloc::vec::Vec<i32>,
    /// Byte offset of the page table.
    #[prost(uint64, tag = "3")]
    pub page_table_position: u64,
    /// Absent when no statistics were collected.
    #[prost(message, optional, tag = "5")]
    pub statistics: ::core::option::Option<metadata::StatisticsMetadata>,
}
/// Nested message and enum types in `Metadata`.
pub mod metadata {
    /// Statistics of the columns, kept as pages of their own.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct StatisticsMetadata {
        /// Schema of the statistics.
        #[prost(message, repeated, tag = "1")]
        pub schema: ::prost::alloc::vec::Vec<super::Field>,
        /// Ids of the fields that have statistics.
        #[prost(int32, repeated, tag = "2")]
        pub fields: ::prost::alloc::vec::Vec<i32>,
        /// Byte offset of the page table of the statistics.
        #[prost(uint64, tag = "3")]
        pub page_table_position: u64,
    }
}
/// Where the dictionary of a field stands in its file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Dictionary {
    /// Byte offset.
    #[prost(int64, tag = "1")]
    pub offset: i64,
    /// Number of values.
    #[prost(int64, tag = "2")]
    pub length: i64,
}
/// One field of a schema.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Field {
    /// The place in the tree.
    #[prost(enumeration = "field::Type", tag = "1")]
    pub r#type: i32,
    /// The name, without those of its parents.
    #[prost(string, tag = "2")]
    pub name: ::prost::alloc::string::String,
    /// Never given to another field of the table, even after a drop.
    #[prost(int32, tag = "3")]
    pub id: i32,
    /// Id of the parent; -1 at the top level.
    #[prost(int32, tag = "4")]
    pub parent_id: i32,
    /// Type in Lance's own text form, such as `int32` or `fixed_size_list:float:4`.
    #[prost(string, tag = "5")]
    pub logical_type: ::prost::alloc::string::String,
    /// Whether nulls may occur.
    #[prost(bool, tag = "6")]
    pub nullable: bool,
    /// Layout in the first data format.
    #[prost(enumeration = "Encoding", tag = "7")]
    pub encoding: i32,
    /// Dictionary in the first data format.
    #[prost(message, optional, tag = "8")]
    pub dictionary: ::core::option::Option<Dictionary>,
    /// Name of an Arrow extension type.
    #[prost(string, tag = "9")]
    pub extension_name: ::prost::alloc::string::String,
    /// Metadata of the field.
    #[prost(btree_map = "string, bytes", tag = "10")]
    pub metadata: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::bytes::Bytes>,
    /// Part of a primary key that nobody checks.
    #[prost(bool, tag = "12")]
    pub unenforced_primary_key: bool,
    /// Place in that key, from 1; 0 where no order was given.
    #[prost(uint32, tag = "13")]
    pub unenforced_primary_key_position: u32,
    /// Part of a clustering key that nobody checks.
    #[prost(bool, tag = "14")]
    pub unenforced_clustering_key: bool,
    /// Place in that key, from 1; 0 where no order was given.
    #[prost(uint32, tag = "15")]
    pub unenforced_clustering_key_position: u32,
}
/// Nested message and enum types in `Field`.
pub mod field {
    /// The place of a field in the tree.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
    #[repr(i32)]
    pub enum Type {
        /// A struct.
        Parent = 0,
        /// A list.
        Repeated = 1,
        /// A field that holds values itself.
        Leaf = 2,
    }
    impl Type {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::Parent => "PARENT",
                Self::Repeated => "REPEATED",
                Self::Leaf => "LEAF",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "PARENT" => Some(Self::Parent),
                "REPEATED" => Some(Self::Repeated),
                "LEAF" => Some(Self::Leaf),
                _ => None,
            }
        }
    }
}
/// How the values of a field are laid out in the first data format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Encoding {
    /// Not stated.
    None = 0,
    /// Values one after another.
    Plain = 1,
    /// Values of different lengths, with offsets.
    VarBinary = 2,
    /// Codes into a dictionary.
    Dictionary = 3,
    /// Run lengths.
    Rle = 4,
}
impl Encoding {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Plain => "PLAIN",
            Self::VarBinary => "VAR_BINARY",
            Self::Dictionary => "DICTIONARY",
            Self::Rle => "RLE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "NONE" => Some(Self::None),
            "PLAIN" => Some(Self::Plain),
            "VAR_BINARY" => Some(Self::VarBinary),
            "DICTIONARY" => Some(Self::Dictionary),
            "RLE" => Some(Self::Rle),
            _ => None,
        }
    }
}
