// @generated from `protos/lance` by `cargo xtask codegen`; edit the schemas instead.
//! Manifest, transaction, index and row id messages, protobuf package `lance.table`.

/// One clustering of the rows, which fragments name by its id.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Clustering {
    /// Never given to another clustering of the table.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Ids of the fields that the rows are clustered by.
    #[prost(int32, repeated, tag = "2")]
    pub columns: ::prost::alloc::vec::Vec<i32>,
    /// Who lays the rows out.
    #[prost(string, tag = "3")]
    pub provider: ::prost::alloc::string::String,
    /// Version of the provider's layout.
    #[prost(uint64, tag = "4")]
    pub version: u64,
}
/// A slice of the rows of a table, in one or more data files side by side.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct DataFragment {
    /// Never given to another fragment of the table.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Files side by side, each with some of the columns.
    #[prost(message, repeated, tag = "2")]
    pub files: ::prost::alloc::vec::Vec<DataFile>,
    /// Values that replace some cells of the data files.
    #[prost(message, repeated, tag = "11")]
    pub overlays: ::prost::alloc::vec::Vec<DataOverlayFile>,
    /// Rows that are gone; absent when none is.
    #[prost(message, optional, tag = "3")]
    pub deletion_file: ::core::option::Option<DeletionFile>,
    /// Rows in the files, deleted ones included; 0 in tables of very old writers.
    #[prost(uint64, tag = "4")]
    pub physical_rows: u64,
    /// The clustering that the rows follow.
    #[prost(uint32, optional, tag = "15")]
    pub clustering_id: ::core::option::Option<u32>,
    /// Free text about the fragment.
    #[prost(btree_map = "string, string", tag = "16")]
    pub metadata: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
    /// Stable row ids, one for each physical row; absent without that feature.
    #[prost(oneof = "data_fragment::RowIdSequence", tags = "5, 12")]
    pub row_id_sequence: ::core::option::Option<data_fragment::RowIdSequence>,
    /// The version that last changed each row.
    #[prost(oneof = "data_fragment::LastUpdatedAtVersionSequence", tags = "7, 13")]
    pub last_updated_at_version_sequence: ::core::option::Option<data_fragment::LastUpdatedAtVersionSequence>,
    /// The version that created each row.
    #[prost(oneof = "data_fragment::CreatedAtVersionSequence", tags = "9, 14")]
    pub created_at_version_sequence: ::core::option::Option<data_fragment::CreatedAtVersionSequence>,
}
/// Nested message and enum types in `DataFragment`.
pub mod data_fragment {
    /// Stable row ids, one for each physical row; absent without that feature.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum RowIdSequence {
        /// An encoded `RowIdSequence`.
        #[prost(bytes, tag = "5")]
        InlineRowIds(::prost::bytes::Bytes),
        /// Kept as a hidden column of a data file.
        #[prost(message, tag = "12")]
        ColumnRowIds(super::RowLineageColumn),
    }
    /// The version that last changed each row.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum LastUpdatedAtVersionSequence {
        /// An encoded `RowDatasetVersionSequence`.
        #[prost(bytes, tag = "7")]
        InlineLastUpdatedAtVersions(::prost::bytes::Bytes),
        /// Kept as a hidden column of a data file.
        #[prost(message, tag = "13")]
        ColumnLastUpdatedAtVersions(super::RowLineageColumn),
    }
    /// The version that created each row.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum CreatedAtVersionSequence {
        /// An encoded `RowDatasetVersionSequence`.
        #[prost(bytes, tag = "9")]
        InlineCreatedAtVersions(::prost::bytes::Bytes),
        /// Kept as a hidden column of a data file.
        #[prost(message, tag = "14")]
        ColumnCreatedAtVersions(super::RowLineageColumn),
    }
}
/// One data file of a fragment.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct DataFile {
    /// Name below the folder of data files.
    #[prost(string, tag = "1")]
    pub path: ::prost::alloc::string::String,
    /// Field ids that the file holds; -2 marks a field that is no longer used.
    #[prost(int32, repeated, tag = "2")]
    pub fields: ::prost::alloc::vec::Vec<i32>,
    /// Column of the file for each entry of `fields`; -1 where it has none.
    #[prost(int32, repeated, tag = "3")]
    pub column_indices: ::prost::alloc::vec::Vec<i32>,
    /// Major version of the data format.
    #[prost(uint32, tag = "4")]
    pub file_major_version: u32,
    /// Minor version of the data format.
    #[prost(uint32, tag = "5")]
    pub file_minor_version: u32,
    /// Size of the file; 0 where it is not known.
    #[prost(uint64, tag = "6")]
    pub file_size_bytes: u64,
    /// The base path that the file lies under; absent means the table itself.
    #[prost(uint32, optional, tag = "7")]
    pub base_id: ::core::option::Option<u32>,
}
/// Values that replace some cells of a fragment without rewriting its files.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct DataOverlayFile {
    /// The file with the new values.
    #[prost(message, optional, tag = "1")]
    pub data_file: ::core::option::Option<DataFile>,
    /// The version that the overlay came with.
    #[prost(uint64, tag = "3")]
    pub committed_version: u64,
    /// Which rows have new values.
    #[prost(oneof = "data_overlay_file::Coverage", tags = "2, 4")]
    pub coverage: ::core::option::Option<data_overlay_file::Coverage>,
}
/// Nested message and enum types in `DataOverlayFile`.
pub mod data_overlay_file {
    /// Which rows have new values.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum Coverage {
        /// One bitmap of row offsets for all fields of the file.
        #[prost(bytes, tag = "2")]
        SharedOffsetBitmap(::prost::bytes::Bytes),
        /// One bitmap for each field.
        #[prost(message, tag = "4")]
        FieldCoverage(super::FieldCoverage),
    }
}
/// One bitmap of row offsets for each field of an overlay.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FieldCoverage {
    /// In the order of the fields of the file.
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pub offset_bitmaps: ::prost::alloc::vec::Vec<::prost::bytes::Bytes>,
}
/// The file that lists the deleted rows of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct DeletionFile {
    /// The form, and with it the ending of the name.
    #[prost(enumeration = "deletion_file::DeletionFileType", tag = "1")]
    pub file_type: i32,
    /// Part of the name: the version that the writer had read.
    #[prost(uint64, tag = "2")]
    pub read_version: u64,
    /// Part of the name: a random number.
    #[prost(uint64, tag = "3")]
    pub id: u64,
    /// How many rows are gone; 0 where it is not known.
    #[prost(uint64, tag = "4")]
    pub num_deleted_rows: u64,
    /// The base path that the file lies under; absent means the table itself.
    #[prost(uint32, optional, tag = "7")]
    pub base_id: ::core::option::Option<u32>,
}
/// Nested message and enum types in `DeletionFile`.
pub mod deletion_file {
    /// The form of the list.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
    #[repr(i32)]
    pub enum DeletionFileType {
        /// An Arrow file with the row offsets.
        ArrowArray = 0,
        /// A Roaring bitmap of the row offsets.
        Bitmap = 1,
    }
    impl DeletionFileType {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::ArrowArray => "ARROW_ARRAY",
                Self::Bitmap => "BITMAP",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "ARROW_ARRAY" => Some(Self::ArrowArray),
                "BITMAP" => Some(Self::Bitmap),
                _ => None,
            }
        }
    }
}
/// Says that a sequence is stored as a hidden column of a data file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct RowLineageColumn {}
/// A byte range of another file.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ExternalFile {
    /// Name of the file, relative to the table.
    #[prost(string, tag = "1")]
    pub path: ::prost::alloc::string::String,
    /// First byte.
    #[prost(uint64, tag = "2")]
    pub offset: u64,
    /// Number of bytes.
    #[prost(uint64, tag = "3")]
    pub size: u64,
}
/// Fragments kept outside the manifest.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentTreeMetadata {
    /// How they are kept.
    #[prost(oneof = "fragment_tree_metadata::Layout", tags = "1")]
    pub layout: ::core::option::Option<fragment_tree_metadata::Layout>,
}
/// Nested message and enum types in `FragmentTreeMetadata`.
pub mod fragment_tree_metadata {
    /// How they are kept.
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Layout {
        /// As a buffered tree.
        #[prost(message, tag = "1")]
        Tree(super::FragmentTree),
    }
}
/// A buffered tree of fragments and what happened since its root was written.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentTree {
    /// Newer than the root, oldest first.
    #[prost(message, repeated, tag = "3")]
    pub mutations_since_root: ::prost::alloc::vec::Vec<FragmentTreeMutation>,
    /// Number of the next action.
    #[prost(uint64, tag = "4")]
    pub next_action_sequence: u64,
    /// The root.
    #[prost(oneof = "fragment_tree::Root", tags = "1, 2")]
    pub root: ::core::option::Option<fragment_tree::Root>,
}
/// Nested message and enum types in `FragmentTree`.
pub mod fragment_tree {
    /// The root.
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Root {
        /// Held in the manifest.
        #[prost(message, tag = "1")]
        InlineRoot(super::FragmentTreeRoot),
        /// In an object of its own that this id names.
        #[prost(bytes, tag = "2")]
        RootUuid(::prost::bytes::Bytes),
    }
}
/// Root of a tree of fragments.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentTreeRoot {
    /// In the order of their keys.
    #[prost(message, repeated, tag = "1")]
    pub children: ::prost::alloc::vec::Vec<FragmentTreeChild>,
    /// Not yet pushed down to the children.
    #[prost(message, repeated, tag = "2")]
    pub buffer: ::prost::alloc::vec::Vec<FragmentTreeMutation>,
    /// Number of the next action when the root was written.
    #[prost(uint64, tag = "3")]
    pub next_action_sequence: u64,
}
/// A pointer from a node of the tree to the one below.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FragmentTreeChild {
    /// Object that holds the child.
    #[prost(string, tag = "1")]
    pub path: ::prost::alloc::string::String,
    /// The base path that it lies under; absent means the table itself.
    #[prost(uint32, optional, tag = "2")]
    pub base_id: ::core::option::Option<u32>,
    /// Smallest fragment id below.
    #[prost(uint64, tag = "3")]
    pub min_key: u64,
    /// Number of fragments below.
    #[prost(uint64, tag = "4")]
    pub num_keys: u64,
    /// Levels below; 0 at a leaf.
    #[prost(uint32, tag = "5")]
    pub height: u32,
    /// Children of the child.
    #[prost(uint32, tag = "6")]
    pub num_children: u32,
    /// Physical rows below.
    #[prost(uint64, tag = "7")]
    pub total_rows: u64,
    /// Size of the object in bytes.
    #[prost(uint64, tag = "8")]
    pub object_size: u64,
    /// The newest action that the child contains.
    #[prost(uint64, tag = "9")]
    pub materialized_through_action_sequence: u64,
    /// Rows below that are not deleted.
    #[prost(uint64, tag = "10")]
    pub visible_rows: u64,
}
/// An inner node of a tree of fragments.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentTreeNode {
    /// In the order of their keys.
    #[prost(message, repeated, tag = "1")]
    pub children: ::prost::alloc::vec::Vec<FragmentTreeChild>,
    /// Not yet pushed down to the children.
    #[prost(message, repeated, tag = "2")]
    pub buffer: ::prost::alloc::vec::Vec<FragmentTreeMutation>,
}
/// One numbered change to a tree of fragments.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentTreeMutation {
    /// Position in the order of changes.
    #[prost(uint64, tag = "1")]
    pub action_sequence: u64,
    /// What changed.
    #[prost(message, optional, tag = "2")]
    pub action: ::core::option::Option<FragmentAction>,
    /// Change in the number of fragments.
    #[prost(sint64, tag = "3")]
    pub fragment_count_delta: i64,
    /// Change in the number of physical rows.
    #[prost(sint64, tag = "4")]
    pub total_rows_delta: i64,
    /// Change in the number of rows that are not deleted.
    #[prost(sint64, tag = "5")]
    pub visible_rows_delta: i64,
}
/// A change to one fragment.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentAction {
    /// The change.
    #[prost(oneof = "fragment_action::Action", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub action: ::core::option::Option<fragment_action::Action>,
}
/// Nested message and enum types in `FragmentAction`.
pub mod fragment_action {
    /// The change.
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Action {
        /// Add the fragment or replace the one with its id.
        #[prost(message, tag = "1")]
        UpsertFragment(super::DataFragment),
        /// Remove the fragment with this id.
        #[prost(uint64, tag = "2")]
        RemoveFragment(u64),
        /// Put a file beside the others.
        #[prost(message, tag = "3")]
        AddDataFile(super::AddDataFile),
        /// Take a file away.
        #[prost(message, tag = "4")]
        RemoveDataFile(super::RemoveDataFile),
        /// Set the deletion file.
        #[prost(message, tag = "5")]
        AddDeletionFile(super::AddDeletionFile),
        /// Drop the deletion file.
        #[prost(message, tag = "6")]
        ClearDeletionFile(super::ClearDeletionFile),
        /// Put one file in the place of another.
        #[prost(message, tag = "7")]
        ReplaceDataFile(super::ReplaceDataFile),
    }
}
/// Puts a data file beside the others of a fragment.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AddDataFile {
    /// The fragment.
    #[prost(uint64, tag = "1")]
    pub frag_id: u64,
    /// The new file.
    #[prost(message, optional, tag = "2")]
    pub file: ::core::option::Option<DataFile>,
}
/// Takes a data file from a fragment.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct RemoveDataFile {
    /// The fragment.
    #[prost(uint64, tag = "1")]
    pub frag_id: u64,
    /// The file.
    #[prost(string, tag = "2")]
    pub path: ::prost::alloc::string::String,
}
/// Sets the deletion file of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct AddDeletionFile {
    /// The fragment.
    #[prost(uint64, tag = "1")]
    pub frag_id: u64,
    /// The new deletion file.
    #[prost(message, optional, tag = "2")]
    pub deletion_file: ::core::option::Option<DeletionFile>,
}
/// Drops the deletion file of a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ClearDeletionFile {
    /// The fragment.
    #[prost(uint64, tag = "1")]
    pub frag_id: u64,
}
/// Puts one data file of a fragment in the place of another.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ReplaceDataFile {
    /// The fragment.
    #[prost(uint64, tag = "1")]
    pub frag_id: u64,
    /// The file that must be there now.
    #[prost(string, tag = "2")]
    pub expected_path: ::prost::alloc::string::String,
    /// The file to put there.
    #[prost(string, tag = "3")]
    pub path: ::prost::alloc::string::String,
    /// Size of the new file.
    #[prost(uint64, tag = "4")]
    pub file_size_bytes: u64,
    /// The base path of the new file; absent means the table itself.
    #[prost(uint32, optional, tag = "5")]
    pub base_id: ::core::option::Option<u32>,
}
/// The row ids of a fragment, in the order of its physical rows.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RowIdSequence {
    /// One after another.
    #[prost(message, repeated, tag = "1")]
    pub segments: ::prost::alloc::vec::Vec<U64Segment>,
}
/// A run of row ids in the form that takes least room.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct U64Segment {
    /// The form.
    #[prost(oneof = "u64_segment::Segment", tags = "1, 2, 3, 4, 5")]
    pub segment: ::core::option::Option<u64_segment::Segment>,
}
/// Nested message and enum types in `U64Segment`.
pub mod u64_segment {
    /// Every number from a first up to an excluded last.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Range {
        /// First number.
        #[prost(uint64, tag = "1")]
        pub start: u64,
        /// One past the last number.
        #[prost(uint64, tag = "2")]
        pub end: u64,
    }
    /// A range without the numbers listed.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct RangeWithHoles {
        /// First number.
        #[prost(uint64, tag = "1")]
        pub start: u64,
        /// One past the last number.
        #[prost(uint64, tag = "2")]
        pub end: u64,
        /// Numbers that are left out, ascending.
        #[prost(message, optional, tag = "3")]
        pub holes: ::core::option::Option<super::EncodedU64Array>,
    }
    /// A range of which a bitmap says what is in.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct RangeWithBitmap {
        /// First number.
        #[prost(uint64, tag = "1")]
        pub start: u64,
        /// One past the last number.
        #[prost(uint64, tag = "2")]
        pub end: u64,
        /// One bit for each number, least significant first, padded with zeros.
        #[prost(bytes = "bytes", tag = "3")]
        pub bitmap: ::prost::bytes::Bytes,
    }
    /// The form.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum Segment {
        /// Without gaps.
        #[prost(message, tag = "1")]
        Range(Range),
        /// With few gaps.
        #[prost(message, tag = "2")]
        RangeWithHoles(RangeWithHoles),
        /// With many gaps.
        #[prost(message, tag = "3")]
        RangeWithBitmap(RangeWithBitmap),
        /// Any numbers, ascending.
        #[prost(message, tag = "4")]
        SortedArray(super::EncodedU64Array),
        /// Any numbers in any order.
        #[prost(message, tag = "5")]
        Array(super::EncodedU64Array),
    }
}
/// An array of numbers in the narrowest width that fits, little endian.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct EncodedU64Array {
    /// The width.
    #[prost(oneof = "encoded_u64_array::Array", tags = "1, 2, 3")]
    pub array: ::core::option::Option<encoded_u64_array::Array>,
}
/// Nested message and enum types in `EncodedU64Array`.
pub mod encoded_u64_array {
    /// Two bytes each.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct U16Array {
        /// Added to every offset.
        #[prost(uint64, tag = "1")]
        pub base: u64,
        /// Two bytes for each number.
        #[prost(bytes = "bytes", tag = "2")]
        pub offsets: ::prost::bytes::Bytes,
    }
    /// Four bytes each.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct U32Array {
        /// Added to every offset.
        #[prost(uint64, tag = "1")]
        pub base: u64,
        /// Four bytes for each number.
        #[prost(bytes = "bytes", tag = "2")]
        pub offsets: ::prost::bytes::Bytes,
    }
    /// Eight bytes each.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct U64Array {
        /// Eight bytes for each number.
        #[prost(bytes = "bytes", tag = "2")]
        pub values: ::prost::bytes::Bytes,
    }
    /// The width.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum Array {
        /// Two bytes each.
        #[prost(message, tag = "1")]
        U16Array(U16Array),
        /// Four bytes each.
        #[prost(message, tag = "2")]
        U32Array(U32Array),
        /// Eight bytes each.
        #[prost(message, tag = "3")]
        U64Array(U64Array),
    }
}
/// A version for each physical row of a fragment, as run lengths.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct RowDatasetVersionSequence {
    /// One after another.
    #[prost(message, repeated, tag = "1")]
    pub runs: ::prost::alloc::vec::Vec<RowDatasetVersionRun>,
}
/// Rows in a row that share a version.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct RowDatasetVersionRun {
    /// Positions of the rows; only their number is to be relied on.
    #[prost(message, optional, tag = "1")]
    pub span: ::core::option::Option<U64Segment>,
    /// The version that they share.
    #[prost(uint64, tag = "2")]
    pub version: u64,
}
/// A universally unique id.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Uuid {
    /// Sixteen bytes.
    #[prost(bytes = "bytes", tag = "1")]
    pub uuid: ::prost::bytes::Bytes,
}
/// One version of a table.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Manifest {
    /// The schema, flattened depth first.
    #[prost(message, repeated, tag = "1")]
    pub fields: ::prost::alloc::vec::Vec<super::file::Field>,
    /// Metadata of the schema.
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub schema_metadata: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::bytes::Bytes>,
    /// The fragments, in the order of a scan.
    #[prost(message, repeated, tag = "2")]
    pub fragments: ::prost::alloc::vec::Vec<DataFragment>,
    /// Fragments that are kept outside the manifest.
    #[prost(message, optional, tag = "22")]
    pub fragment_tree: ::core::option::Option<FragmentTreeMetadata>,
    /// The version that this manifest is.
    #[prost(uint64, tag = "3")]
    pub version: u64,
    /// Byte offset of auxiliary data in this file; 0 where there is none.
    #[prost(uint64, tag = "4")]
    pub version_aux_data: u64,
    /// Who wrote it.
    #[prost(message, optional, tag = "13")]
    pub writer_version: ::core::option::Option<manifest::WriterVersion>,
    /// Byte offset of the `IndexSection` in this file.
    #[prost(uint64, optional, tag = "6")]
    pub index_section: ::core::option::Option<u64>,
    /// When the version was committed.
    #[prost(message, optional, tag = "7")]
    pub timestamp: ::core::option::Option<::prost_types::Timestamp>,
    /// A name for the version, from before tags were objects of their own.
    #[prost(string, tag = "8")]
    pub tag: ::prost::alloc::string::String,
    /// Features that a reader must know.
    #[prost(uint64, tag = "9")]
    pub reader_feature_flags: u64,
    /// Features that a writer must know.
    #[prost(uint64, tag = "10")]
    pub writer_feature_flags: u64,
    /// Highest fragment id ever given; absent before the first.
    #[prost(uint32, optional, tag = "11")]
    pub max_fragment_id: ::core::option::Option<u32>,
    /// Name of the transaction's side file; empty where it has none.
    #[prost(string, tag = "12")]
    pub transaction_file: ::prost::alloc::string::String,
    /// What `transaction_section` was once called.
    #[prost(uint64, optional, tag = "21")]
    pub transaction_section_deprecated: ::core::option::Option<u64>,
    /// Byte offset of the inline `Transaction` in this file.
    #[prost(uint64, optional, tag = "23")]
    pub transaction_section: ::core::option::Option<u64>,
    /// The next stable row id.
    #[prost(uint64, tag = "14")]
    pub next_row_id: u64,
    /// Format of new data files.
    #[prost(message, optional, tag = "15")]
    pub data_format: ::core::option::Option<manifest::DataStorageFormat>,
    /// Settings that writers obey.
    #[prost(btree_map = "string, string", tag = "16")]
    pub config: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
    /// Free text about the table.
    #[prost(btree_map = "string, string", tag = "19")]
    pub table_metadata:
        ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
    /// Other places where files of this table lie.
    #[prost(message, repeated, tag = "18")]
    pub base_paths: ::prost::alloc::vec::Vec<BasePath>,
    /// The branch that the version belongs to; absent means the main one.
    #[prost(string, optional, tag = "20")]
    pub branch: ::core::option::Option<::prost::alloc::string::String>,
    /// Highest field id ever given.
    #[prost(int32, optional, tag = "24")]
    pub max_allocated_field_id: ::core::option::Option<i32>,
    /// Declared clusterings.
    #[prost(message, repeated, tag = "25")]
    pub clustering: ::prost::alloc::vec::Vec<Clustering>,
    /// Highest clustering id ever given.
    #[prost(uint32, tag = "26")]
    pub max_clustering_id: u32,
}
/// Nested message and enum types in `Manifest`.
pub mod manifest {
    /// The program that wrote the manifest.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct WriterVersion {
        /// Its name.
        #[prost(string, tag = "1")]
        pub library: ::prost::alloc::string::String,
        /// Its version, `major.minor.patch`.
        #[prost(string, tag = "2")]
        pub version: ::prost::alloc::string::String,
        /// What follows the hyphen of a semantic version.
        #[prost(string, optional, tag = "3")]
        pub prerelease: ::core::option::Option<::prost::alloc::string::String>,
        /// What follows the plus sign of a semantic version.
        #[prost(string, optional, tag = "4")]
        pub build_metadata: ::core::option::Option<::prost::alloc::string::String>,
    }
    /// The format of the data files.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct DataStorageFormat {
        /// `lance`.
        #[prost(string, tag = "1")]
        pub file_format: ::prost::alloc::string::String,
        /// Version of the format, `major.minor`.
        #[prost(string, tag = "2")]
        pub version: ::prost::alloc::string::String,
    }
}
/// A place outside the table where some of its files lie.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct BasePath {
    /// What files name in `base_id`.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// A name for people.
    #[prost(string, optional, tag = "2")]
    pub name: ::core::option::Option<::prost::alloc::string::String>,
    /// Whether the usual folders stand below, or the files directly.
    #[prost(bool, tag = "3")]
    pub is_dataset_root: bool,
    /// Where it is.
    #[prost(string, tag = "4")]
    pub path: ::prost::alloc::string::String,
}
/// Auxiliary data of a version.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct VersionAuxData {
    /// By name.
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub metadata: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::bytes::Bytes>,
}
/// One index, or one segment of an index.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct IndexMetadata {
    /// Names the folder with its files.
    #[prost(message, optional, tag = "1")]
    pub uuid: ::core::option::Option<Uuid>,
    /// Ids of the key fields and the covering fields.
    #[prost(int32, repeated, tag = "2")]
    pub fields: ::prost::alloc::vec::Vec<i32>,
    /// Shared by all segments of an index.
    #[prost(string, tag = "3")]
    pub name: ::prost::alloc::string::String,
    /// The version that it was built from.
    #[prost(uint64, tag = "4")]
    pub dataset_version: u64,
    /// Roaring bitmap of the ids of the fragments that it covers.
    #[prost(bytes = "bytes", tag = "5")]
    pub fragment_bitmap: ::prost::bytes::Bytes,
    /// What its type needs; carried through as it is.
    #[prost(message, optional, tag = "6")]
    pub index_details: ::core::option::Option<::prost_types::Any>,
    /// Version of its own format.
    #[prost(int32, optional, tag = "7")]
    pub index_version: ::core::option::Option<i32>,
    /// Milliseconds since the epoch.
    #[prost(uint64, optional, tag = "8")]
    pub created_at: ::core::option::Option<u64>,
    /// The base path that its files lie under; absent means the table itself.
    #[prost(uint32, optional, tag = "9")]
    pub base_id: ::core::option::Option<u32>,
    /// Its files.
    #[prost(message, repeated, tag = "10")]
    pub files: ::prost::alloc::vec::Vec<IndexFile>,
    /// Those of `fields` that are carried but not searched by.
    #[prost(int32, repeated, tag = "11")]
    pub covering_fields: ::prost::alloc::vec::Vec<i32>,
    /// The clustering that it belongs to.
    #[prost(uint32, optional, tag = "12")]
    pub clustering_id: ::core::option::Option<u32>,
    /// Free text about the index.
    #[prost(btree_map = "string, string", tag = "13")]
    pub metadata: ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
}
/// One file of an index.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct IndexFile {
    /// Name below the folder of the index.
    #[prost(string, tag = "1")]
    pub path: ::prost::alloc::string::String,
    /// Size of the file.
    #[prost(uint64, tag = "2")]
    pub size_bytes: u64,
}
/// Every index of a version.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct IndexSection {
    /// In no order that matters.
    #[prost(message, repeated, tag = "1")]
    pub indices: ::prost::alloc::vec::Vec<IndexMetadata>,
}
/// Details of the index that remembers where compaction put rows.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct FragmentReuseIndexDetails {
    /// Where the history stands.
    #[prost(oneof = "fragment_reuse_index_details::Content", tags = "1, 2")]
    pub content: ::core::option::Option<fragment_reuse_index_details::Content>,
}
/// Nested message and enum types in `FragmentReuseIndexDetails`.
pub mod fragment_reuse_index_details {
    /// The history itself.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct InlineContent {
        /// In the older form, oldest first.
        #[prost(message, repeated, tag = "1")]
        pub legacy_versions: ::prost::alloc::vec::Vec<Version>,
        /// In the newer form, oldest first.
        #[prost(message, repeated, tag = "2")]
        pub transitions: ::prost::alloc::vec::Vec<Transition>,
    }
    /// One rewrite of fragments.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Transition {
        /// What was read, in order.
        #[prost(message, repeated, tag = "1")]
        pub sources: ::prost::alloc::vec::Vec<FragmentDigest>,
        /// What was written, in order.
        #[prost(message, repeated, tag = "2")]
        pub destinations: ::prost::alloc::vec::Vec<FragmentDigest>,
        /// How rows moved.
        #[prost(oneof = "transition::Mapping", tags = "3, 4")]
        pub mapping: ::core::option::Option<transition::Mapping>,
    }
    /// Nested message and enum types in `Transition`.
    pub mod transition {
        /// How rows moved.
        #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
        pub enum Mapping {
            /// Every row kept its place among the others.
            #[prost(message, tag = "3")]
            OrderedCompaction(super::OrderedCompaction),
            /// Rows were sorted into partitions.
            #[prost(message, tag = "4")]
            StablePartition(super::StablePartition),
        }
    }
    /// Rows kept their order.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct OrderedCompaction {
        /// Roaring treemap of the row addresses that were moved.
        #[prost(bytes = "bytes", tag = "1")]
        pub changed_row_addrs: ::prost::bytes::Bytes,
    }
    /// Rows were sorted into partitions, each keeping the order.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct StablePartition {
        /// Names the object with the map.
        #[prost(string, tag = "1")]
        pub map_id: ::prost::alloc::string::String,
        /// Size of that object.
        #[prost(uint64, tag = "2")]
        pub map_size_bytes: u64,
        /// The base path that it lies under; absent means the table itself.
        #[prost(uint32, optional, tag = "3")]
        pub base_id: ::core::option::Option<u32>,
    }
    /// A fragment in short.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct FragmentDigest {
        /// Id of the fragment.
        #[prost(uint64, tag = "1")]
        pub id: u64,
        /// Rows in its files.
        #[prost(uint64, tag = "2")]
        pub physical_rows: u64,
        /// Rows that were deleted.
        #[prost(uint64, tag = "3")]
        pub num_deleted_rows: u64,
    }
    /// Fragments that were rewritten together.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Group {
        /// Roaring treemap of the row addresses that were moved.
        #[prost(bytes = "bytes", tag = "1")]
        pub changed_row_addrs: ::prost::bytes::Bytes,
        /// What was read, in order.
        #[prost(message, repeated, tag = "2")]
        pub old_fragments: ::prost::alloc::vec::Vec<FragmentDigest>,
        /// What was written, in order.
        #[prost(message, repeated, tag = "3")]
        pub new_fragments: ::prost::alloc::vec::Vec<FragmentDigest>,
    }
    /// Everything that one commit rewrote.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Version {
        /// The version that it read.
        #[prost(uint64, tag = "1")]
        pub dataset_version: u64,
        /// Rewritten together.
        #[prost(message, repeated, tag = "3")]
        pub groups: ::prost::alloc::vec::Vec<Group>,
    }
    /// Where the history stands.
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Content {
        /// Here.
        #[prost(message, tag = "1")]
        Inline(InlineContent),
        /// In a file, as an encoded `InlineContent`.
        #[prost(message, tag = "2")]
        External(super::ExternalFile),
    }
}
/// State of one shard of a table that takes writes through memory and a log.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ShardManifest {
    /// The shard.
    #[prost(message, optional, tag = "11")]
    pub shard_id: ::core::option::Option<Uuid>,
    /// Version of this state.
    #[prost(uint64, tag = "1")]
    pub version: u64,
    /// The sharding that it belongs to.
    #[prost(uint32, tag = "10")]
    pub shard_spec_id: u32,
    /// The values that lead rows to it.
    #[prost(message, repeated, tag = "14")]
    pub shard_field_entries: ::prost::alloc::vec::Vec<ShardFieldEntry>,
    /// Raised by each writer that takes the shard over.
    #[prost(uint64, tag = "2")]
    pub writer_epoch: u64,
    /// Entries of the log up to here are in files.
    #[prost(uint64, tag = "3")]
    pub replay_after_wal_entry_position: u64,
    /// The newest entry that was known of.
    #[prost(uint64, tag = "4")]
    pub wal_entry_position_last_seen: u64,
    /// Generation of the table in memory.
    #[prost(uint64, tag = "6")]
    pub current_generation: u64,
    /// Flushed generations.
    #[prost(message, repeated, tag = "8")]
    pub sstables: ::prost::alloc::vec::Vec<SsTable>,
    /// Whether it takes writes.
    #[prost(enumeration = "ShardStatus", tag = "15")]
    pub status: i32,
}
/// The value of one sharding field.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct ShardFieldEntry {
    /// The sharding field.
    #[prost(string, tag = "1")]
    pub field_id: ::prost::alloc::string::String,
    /// Its value, encoded.
    #[prost(bytes = "bytes", tag = "2")]
    pub value: ::prost::bytes::Bytes,
}
/// One flushed generation of a shard.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct SsTable {
    /// Its number.
    #[prost(uint64, tag = "1")]
    pub generation: u64,
    /// Where it is.
    #[prost(string, tag = "2")]
    pub path: ::prost::alloc::string::String,
    /// Size that it had in memory.
    #[prost(uint64, optional, tag = "3")]
    pub in_memory_bytes: ::core::option::Option<u64>,
    /// Rows in it.
    #[prost(uint64, optional, tag = "4")]
    pub physical_rows: ::core::option::Option<u64>,
    /// Size of its primary keys.
    #[prost(uint64, optional, tag = "5")]
    pub primary_key_bytes: ::core::option::Option<u64>,
}
/// Says that a generation of a shard is in the table now.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct CompactedSsTable {
    /// The shard.
    #[prost(message, optional, tag = "1")]
    pub shard_id: ::core::option::Option<Uuid>,
    /// The generation, and with it all before.
    #[prost(uint64, tag = "2")]
    pub generation: u64,
}
/// How far an index has taken in what was compacted.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct IndexCatchupProgress {
    /// The index.
    #[prost(string, tag = "1")]
    pub index_name: ::prost::alloc::string::String,
    /// What it contains, by shard.
    #[prost(message, repeated, tag = "2")]
    pub caught_up_generations: ::prost::alloc::vec::Vec<CompactedSsTable>,
}
/// Details of the index that describes shards.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct MemWalIndexDetails {
    /// When it was taken, in milliseconds since the epoch.
    #[prost(int64, tag = "1")]
    pub snapshot_ts_millis: i64,
    /// Number of shards.
    #[prost(uint32, tag = "2")]
    pub num_shards: u32,
    /// States of the shards, encoded.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub inline_snapshots: ::core::option::Option<::prost::bytes::Bytes>,
    /// How rows are led to shards.
    #[prost(message, repeated, tag = "7")]
    pub sharding_specs: ::prost::alloc::vec::Vec<ShardingSpec>,
    /// Indexes that shards keep as well.
    #[prost(string, repeated, tag = "8")]
    pub maintained_indexes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    /// Whether they keep all.
    #[prost(bool, optional, tag = "12")]
    pub maintain_all_indexes: ::core::option::Option<bool>,
    /// What is in the table, by shard.
    #[prost(message, repeated, tag = "9")]
    pub compacted_sstables: ::prost::alloc::vec::Vec<CompactedSsTable>,
    /// What each index has taken in.
    #[prost(message, repeated, tag = "10")]
    pub index_catchup: ::prost::alloc::vec::Vec<IndexCatchupProgress>,
    /// Settings for writers.
    #[prost(btree_map = "string, string", tag = "11")]
    pub writer_config_defaults:
        ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
}
/// One way of leading rows to shards.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ShardingSpec {
    /// Its id.
    #[prost(uint32, tag = "1")]
    pub spec_id: u32,
    /// What the shard of a row is derived from.
    #[prost(message, repeated, tag = "2")]
    pub fields: ::prost::alloc::vec::Vec<ShardingField>,
}
/// One value that a shard is derived from.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ShardingField {
    /// Its id.
    #[prost(string, tag = "1")]
    pub field_id: ::prost::alloc::string::String,
    /// Ids of the schema fields that it reads.
    #[prost(int32, repeated, tag = "2")]
    pub source_ids: ::prost::alloc::vec::Vec<i32>,
    /// A named transform.
    #[prost(string, optional, tag = "3")]
    pub transform: ::core::option::Option<::prost::alloc::string::String>,
    /// An expression in its place.
    #[prost(string, optional, tag = "4")]
    pub expression: ::core::option::Option<::prost::alloc::string::String>,
    /// Type of the value.
    #[prost(string, tag = "5")]
    pub result_type: ::prost::alloc::string::String,
    /// Parameters of the transform.
    #[prost(btree_map = "string, string", tag = "6")]
    pub parameters:
        ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
}
/// Whether a shard takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum ShardStatus {
    /// It does.
    Active = 0,
    /// Not any more.
    Sealed = 1,
}
impl ShardStatus {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Self::Active => "ACTIVE",
            Self::Sealed => "SEALED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "ACTIVE" => Some(Self::Active),
            "SEALED" => Some(Self::Sealed),
            _ => None,
        }
    }
}
/// One transaction: an operation upon a version that was read.
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Transaction {
    /// The version that the writer had read.
    #[prost(uint64, tag = "1")]
    pub read_version: u64,
    /// Its id, unique for all time.
    #[prost(string, tag = "2")]
    pub uuid: ::prost::alloc::string::String,
    /// A name for the version that it makes.
    #[prost(string, tag = "3")]
    pub tag: ::prost::alloc::string::String,
    /// Free text about the commit.
    #[prost(btree_map = "string, string", tag = "4")]
    pub transaction_properties:
        ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
    /// What is done. A number that is not listed here is an operation of a later writer.
    #[prost(
        oneof = "transaction::Operation",
        tags = "100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115"
    )]
    pub operation: ::core::option::Option<transaction::Operation>,
}
/// Nested message and enum types in `Transaction`.
pub mod transaction {
    /// Adds rows.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Append {
        /// New fragments; their ids are given at commit.
        #[prost(message, repeated, tag = "1")]
        pub fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
    }
    /// Takes rows away.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Delete {
        /// Fragments with a new deletion file.
        #[prost(message, repeated, tag = "1")]
        pub updated_fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// Fragments that are gone whole.
        #[prost(uint64, repeated, tag = "2")]
        pub deleted_fragment_ids: ::prost::alloc::vec::Vec<u64>,
        /// The condition, as text.
        #[prost(string, tag = "3")]
        pub predicate: ::prost::alloc::string::String,
    }
    /// Replaces everything, or creates the table.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Overwrite {
        /// All fragments of the new version.
        #[prost(message, repeated, tag = "1")]
        pub fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// The new schema.
        #[prost(message, repeated, tag = "2")]
        pub schema: ::prost::alloc::vec::Vec<super::super::file::Field>,
        /// Metadata of the schema; lance 14 leaves it to the manifest.
        #[prost(btree_map = "string, bytes", tag = "3")]
        pub schema_metadata:
            ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::bytes::Bytes>,
        /// Settings to add or change.
        #[prost(btree_map = "string, string", tag = "4")]
        pub config_upsert_values:
            ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
        /// Base paths of a table that is created.
        #[prost(message, repeated, tag = "5")]
        pub initial_bases: ::prost::alloc::vec::Vec<super::BasePath>,
    }
    /// Adds and removes index segments.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct CreateIndex {
        /// To add.
        #[prost(message, repeated, tag = "1")]
        pub new_indices: ::prost::alloc::vec::Vec<super::IndexMetadata>,
        /// To remove.
        #[prost(message, repeated, tag = "2")]
        pub removed_indices: ::prost::alloc::vec::Vec<super::IndexMetadata>,
    }
    /// Writes rows anew without changing any.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Rewrite {
        /// What was read; used only when `groups` is empty.
        #[prost(message, repeated, tag = "1")]
        pub old_fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// What was written; used only when `groups` is empty.
        #[prost(message, repeated, tag = "2")]
        pub new_fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// Each on its own.
        #[prost(message, repeated, tag = "3")]
        pub groups: ::prost::alloc::vec::Vec<rewrite::RewriteGroup>,
        /// Indexes that were carried over.
        #[prost(message, repeated, tag = "4")]
        pub rewritten_indices: ::prost::alloc::vec::Vec<rewrite::RewrittenIndex>,
    }
    /// Nested message and enum types in `Rewrite`.
    pub mod rewrite {
        /// An index that was carried over to the new rows.
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct RewrittenIndex {
            /// The index before.
            #[prost(message, optional, tag = "1")]
            pub old_id: ::core::option::Option<super::super::Uuid>,
            /// The index after.
            #[prost(message, optional, tag = "2")]
            pub new_id: ::core::option::Option<super::super::Uuid>,
            /// What its type needs.
            #[prost(message, optional, tag = "3")]
            pub new_index_details: ::core::option::Option<::prost_types::Any>,
            /// Version of its own format.
            #[prost(uint32, tag = "4")]
            pub new_index_version: u32,
            /// Its files.
            #[prost(message, repeated, tag = "5")]
            pub new_index_files: ::prost::alloc::vec::Vec<super::super::IndexFile>,
        }
        /// Fragments that were rewritten together.
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct RewriteGroup {
            /// What was read.
            #[prost(message, repeated, tag = "1")]
            pub old_fragments: ::prost::alloc::vec::Vec<super::super::DataFragment>,
            /// What was written.
            #[prost(message, repeated, tag = "2")]
            pub new_fragments: ::prost::alloc::vec::Vec<super::super::DataFragment>,
        }
    }
    /// Adds columns, or changes the schema with the data.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Merge {
        /// All fragments of the new version.
        #[prost(message, repeated, tag = "1")]
        pub fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// The new schema.
        #[prost(message, repeated, tag = "2")]
        pub schema: ::prost::alloc::vec::Vec<super::super::file::Field>,
        /// Metadata of the schema; lance 14 leaves it to the manifest.
        #[prost(btree_map = "string, bytes", tag = "3")]
        pub schema_metadata:
            ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::bytes::Bytes>,
        /// Whether every field that was there stays as nullable as it was.
        #[prost(bool, tag = "4")]
        pub preserves_nullability: bool,
    }
    /// Drops or renames columns without touching data.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Project {
        /// The new schema.
        #[prost(message, repeated, tag = "1")]
        pub schema: ::prost::alloc::vec::Vec<super::super::file::Field>,
        /// Whether every field that was there stays as nullable as it was.
        #[prost(bool, tag = "2")]
        pub preserves_nullability: bool,
    }
    /// Makes an older version the newest.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Restore {
        /// The older version.
        #[prost(uint64, tag = "1")]
        pub version: u64,
    }
    /// Takes fragment ids for later use.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct ReserveFragments {
        /// How many.
        #[prost(uint32, tag = "1")]
        pub num_fragments: u32,
    }
    /// Starts a table from a version of another.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct Clone {
        /// Whether data stays where it is.
        #[prost(bool, tag = "1")]
        pub is_shallow: bool,
        /// Branch or tag of the source.
        #[prost(string, optional, tag = "2")]
        pub ref_name: ::core::option::Option<::prost::alloc::string::String>,
        /// Version of the source.
        #[prost(uint64, tag = "3")]
        pub ref_version: u64,
        /// Where the source is.
        #[prost(string, tag = "4")]
        pub ref_path: ::prost::alloc::string::String,
        /// The branch that is made.
        #[prost(string, optional, tag = "5")]
        pub branch_name: ::core::option::Option<::prost::alloc::string::String>,
    }
    /// Key hashes, all of them.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct ExactKeySetFilter {
        /// One for each key.
        #[prost(uint64, repeated, tag = "1")]
        pub key_hashes: ::prost::alloc::vec::Vec<u64>,
    }
    /// Key hashes in a split-block Bloom filter.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct BloomFilter {
        /// The blocks.
        #[prost(bytes = "bytes", tag = "1")]
        pub bitmap: ::prost::bytes::Bytes,
        /// Size of the filter in bits; 0 stands for the default.
        #[prost(uint32, tag = "2")]
        pub num_bits: u32,
        /// Items that it was sized for; 0 stands for the default.
        #[prost(uint64, tag = "3")]
        pub number_of_items: u64,
        /// Rate of false positives that it was sized for; 0 stands for the default.
        #[prost(double, tag = "4")]
        pub probability: f64,
    }
    /// Keys that a writer found absent and then inserted.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct KeyExistenceFilter {
        /// The fields of the key, in order.
        #[prost(int32, repeated, tag = "1")]
        pub field_ids: ::prost::alloc::vec::Vec<i32>,
        /// The keys.
        #[prost(oneof = "key_existence_filter::Data", tags = "2, 3")]
        pub data: ::core::option::Option<key_existence_filter::Data>,
    }
    /// Nested message and enum types in `KeyExistenceFilter`.
    pub mod key_existence_filter {
        /// The keys.
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub enum Data {
            /// Every hash.
            #[prost(message, tag = "2")]
            Exact(super::ExactKeySetFilter),
            /// A filter that may answer yes too often.
            #[prost(message, tag = "3")]
            Bloom(super::BloomFilter),
        }
    }
    /// Numbers in a list, as the value of a map.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct UInt32List {
        /// The numbers.
        #[prost(uint32, repeated, tag = "1")]
        pub values: ::prost::alloc::vec::Vec<u32>,
    }
    /// Changes, removes and adds rows.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct Update {
        /// Fragments that are gone whole.
        #[prost(uint64, repeated, tag = "1")]
        pub removed_fragment_ids: ::prost::alloc::vec::Vec<u64>,
        /// Fragments with new deletions or columns.
        #[prost(message, repeated, tag = "2")]
        pub updated_fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// New fragments; their ids are given at commit.
        #[prost(message, repeated, tag = "3")]
        pub new_fragments: ::prost::alloc::vec::Vec<super::DataFragment>,
        /// Ids of the fields that were written anew.
        #[prost(uint32, repeated, tag = "4")]
        pub fields_modified: ::prost::alloc::vec::Vec<u32>,
        /// Generations of shards that came with it.
        #[prost(message, repeated, tag = "5")]
        pub compacted_sstables: ::prost::alloc::vec::Vec<super::CompactedSsTable>,
        /// Fields whose indexes keep their coverage.
        #[prost(uint32, repeated, tag = "6")]
        pub fields_for_preserving_frag_bitmap: ::prost::alloc::vec::Vec<u32>,
        /// What was written anew.
        #[prost(enumeration = "UpdateMode", tag = "7")]
        pub update_mode: i32,
        /// Keys that must not have been inserted meanwhile.
        #[prost(message, optional, tag = "8")]
        pub inserted_rows: ::core::option::Option<KeyExistenceFilter>,
        /// Rows that changed, by fragment, as a list.
        #[prost(btree_map = "uint64, message", tag = "9")]
        pub updated_fragment_offsets: ::prost::alloc::collections::BTreeMap<u64, UInt32List>,
        /// Rows that changed, by fragment, as a bitmap.
        #[prost(btree_map = "uint64, bytes", tag = "10")]
        pub updated_fragment_offset_bitmaps: ::prost::alloc::collections::BTreeMap<u64, ::prost::bytes::Bytes>,
    }
    /// One change to a map of texts.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct UpdateMapEntry {
        /// The key.
        #[prost(string, tag = "1")]
        pub key: ::prost::alloc::string::String,
        /// The new value; absent deletes the key.
        #[prost(string, optional, tag = "2")]
        pub value: ::core::option::Option<::prost::alloc::string::String>,
    }
    /// Changes to a map of texts.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct UpdateMap {
        /// Each change.
        #[prost(message, repeated, tag = "1")]
        pub update_entries: ::prost::alloc::vec::Vec<UpdateMapEntry>,
        /// Whether keys that are not named go.
        #[prost(bool, tag = "2")]
        pub replace: bool,
    }
    /// Changes settings and metadata. The numbers 1 to 4 are the older form and never stand beside 6 to 9.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct UpdateConfig {
        /// Changes to the settings.
        #[prost(message, optional, tag = "6")]
        pub config_updates: ::core::option::Option<UpdateMap>,
        /// Changes to the metadata of the table.
        #[prost(message, optional, tag = "7")]
        pub table_metadata_updates: ::core::option::Option<UpdateMap>,
        /// Changes to the metadata of the schema.
        #[prost(message, optional, tag = "8")]
        pub schema_metadata_updates: ::core::option::Option<UpdateMap>,
        /// Changes to the metadata of fields, by id.
        #[prost(btree_map = "int32, message", tag = "9")]
        pub field_metadata_updates: ::prost::alloc::collections::BTreeMap<i32, UpdateMap>,
        /// Older form: settings to add or change.
        #[prost(btree_map = "string, string", tag = "1")]
        pub upsert_values:
            ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
        /// Older form: settings to delete.
        #[prost(string, repeated, tag = "2")]
        pub delete_keys: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        /// Older form: all metadata of the schema.
        #[prost(btree_map = "string, string", tag = "3")]
        pub schema_metadata:
            ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
        /// Older form: metadata of fields, by id.
        #[prost(btree_map = "uint32, message", tag = "4")]
        pub field_metadata: ::prost::alloc::collections::BTreeMap<u32, update_config::FieldMetadataUpdate>,
    }
    /// Nested message and enum types in `UpdateConfig`.
    pub mod update_config {
        /// New metadata of a field, in the older form.
        #[derive(Clone, PartialEq, ::prost::Message)]
        pub struct FieldMetadataUpdate {
            /// All of it.
            #[prost(btree_map = "string, string", tag = "5")]
            pub metadata:
                ::prost::alloc::collections::BTreeMap<::prost::alloc::string::String, ::prost::alloc::string::String>,
        }
    }
    /// A file that takes the place of one with the same fields.
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub struct DataReplacementGroup {
        /// The fragment.
        #[prost(uint64, tag = "1")]
        pub fragment_id: u64,
        /// The file.
        #[prost(message, optional, tag = "2")]
        pub new_file: ::core::option::Option<super::DataFile>,
    }
    /// Replaces data files, columns at a time.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct DataReplacement {
        /// Each on its own.
        #[prost(message, repeated, tag = "1")]
        pub replacements: ::prost::alloc::vec::Vec<DataReplacementGroup>,
    }
    /// Overlays for one fragment.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct DataOverlayGroup {
        /// The fragment.
        #[prost(uint64, tag = "1")]
        pub fragment_id: u64,
        /// The overlays.
        #[prost(message, repeated, tag = "2")]
        pub overlays: ::prost::alloc::vec::Vec<super::DataOverlayFile>,
    }
    /// Replaces cells through overlays.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct DataOverlay {
        /// By fragment.
        #[prost(message, repeated, tag = "1")]
        pub groups: ::prost::alloc::vec::Vec<DataOverlayGroup>,
    }
    /// Records what of the shards is in the table.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct UpdateMemWalState {
        /// By shard.
        #[prost(message, repeated, tag = "1")]
        pub compacted_sstables: ::prost::alloc::vec::Vec<super::CompactedSsTable>,
    }
    /// Adds base paths.
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub struct UpdateBases {
        /// To add.
        #[prost(message, repeated, tag = "1")]
        pub new_bases: ::prost::alloc::vec::Vec<super::BasePath>,
    }
    /// What an update wrote anew.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
    #[repr(i32)]
    pub enum UpdateMode {
        /// Whole rows, in new fragments.
        RewriteRows = 0,
        /// Some columns, in the same fragments.
        RewriteColumns = 1,
    }
    impl UpdateMode {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub fn as_str_name(&self) -> &'static str {
            match self {
                Self::RewriteRows => "REWRITE_ROWS",
                Self::RewriteColumns => "REWRITE_COLUMNS",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "REWRITE_ROWS" => Some(Self::RewriteRows),
                "REWRITE_COLUMNS" => Some(Self::RewriteColumns),
                _ => None,
            }
        }
    }
    /// What is done. A number that is not listed here is an operation of a later writer.
    #[derive(Clone, PartialEq, ::prost::Oneof)]
    pub enum Operation {
        /// Adds rows.
        #[prost(message, tag = "100")]
        Append(Append),
        /// Takes rows away.
        #[prost(message, tag = "101")]
        Delete(Delete),
        /// Replaces everything.
        #[prost(message, tag = "102")]
        Overwrite(Overwrite),
        /// Adds and removes index segments.
        #[prost(message, tag = "103")]
        CreateIndex(CreateIndex),
        /// Writes rows anew.
        #[prost(message, tag = "104")]
        Rewrite(Rewrite),
        /// Adds columns.
        #[prost(message, tag = "105")]
        Merge(Merge),
        /// Makes an older version the newest.
        #[prost(message, tag = "106")]
        Restore(Restore),
        /// Takes fragment ids.
        #[prost(message, tag = "107")]
        ReserveFragments(ReserveFragments),
        /// Changes rows.
        #[prost(message, tag = "108")]
        Update(Update),
        /// Drops or renames columns.
        #[prost(message, tag = "109")]
        Project(Project),
        /// Changes settings and metadata.
        #[prost(message, tag = "110")]
        UpdateConfig(UpdateConfig),
        /// Replaces data files.
        #[prost(message, tag = "111")]
        DataReplacement(DataReplacement),
        /// Records what of the shards is in the table.
        #[prost(message, tag = "112")]
        UpdateMemWalState(UpdateMemWalState),
        /// Starts a table from another.
        #[prost(message, tag = "113")]
        Clone(Clone),
        /// Adds base paths.
        #[prost(message, tag = "114")]
        UpdateBases(UpdateBases),
        /// Replaces cells through overlays.
        #[prost(message, tag = "115")]
        DataOverlay(DataOverlay),
    }
}
