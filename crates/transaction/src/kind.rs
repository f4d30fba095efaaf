//! Operation kinds, one enum per family of rules.

use std::fmt;

/// The operation kinds of one family. A policy is total over them by type, not by discipline.
pub trait Kind: Copy + Eq + fmt::Debug + 'static {
    /// Every kind, in the order of the policy's rows and columns.
    const ALL: &'static [Self];

    /// The place in [`Kind::ALL`].
    fn index(self) -> usize;

    /// The name that tables and messages print.
    fn name(self) -> &'static str;
}

macro_rules! kinds {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $kind:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$doc])* $kind),+ }

        impl $name {
            /// How many kinds there are.
            pub const COUNT: usize = Self::ALL_KINDS.len();
            const ALL_KINDS: &'static [Self] = &[$(Self::$kind),+];

            /// The place in the order of declaration, usable in constants.
            #[must_use]
            pub const fn at(self) -> usize { self as usize }
        }

        impl Kind for $name {
            const ALL: &'static [Self] = Self::ALL_KINDS;

            fn index(self) -> usize { self.at() }

            fn name(self) -> &'static str {
                match self { $(Self::$kind => $text),+ }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.name()) }
        }
    };
}

kinds! {
    /// Lance's sixteen operations, and the one that we do not know.
    LanceKind {
        /// New fragments beside the existing ones.
        Append = "Append",
        /// Rows deleted through deletion files, or whole fragments removed.
        Delete = "Delete",
        /// Rows rewritten or columns replaced.
        Update = "Update",
        /// All fragments replaced, the schema too.
        Overwrite = "Overwrite",
        /// Indices added, replaced or dropped.
        CreateIndex = "CreateIndex",
        /// Compaction.
        Rewrite = "Rewrite",
        /// Data files of whole columns replaced.
        DataReplacement = "DataReplacement",
        /// Overlay files put over fragments.
        DataOverlay = "DataOverlay",
        /// Columns added or rewritten in every fragment.
        Merge = "Merge",
        /// An earlier version made current.
        Restore = "Restore",
        /// Fragment ids set aside.
        ReserveFragments = "ReserveFragments",
        /// Columns dropped or renamed.
        Project = "Project",
        /// Configuration and metadata maps changed.
        UpdateConfig = "UpdateConfig",
        /// State of memtable shards.
        UpdateMemWalState = "UpdateMemWalState",
        /// Base paths added.
        UpdateBases = "UpdateBases",
        /// A copy that shares files.
        Clone = "Clone",
        /// An operation that this version does not know. It is never rebased over.
        Unknown = "Unknown",
    }
}

kinds! {
    /// Delta commits by what they do. The rules of Delta's policies look at actions, not at names; the kind serves
    /// messages, statistics and the `precise` policy.
    DeltaKind {
        /// Adds rows, removes none, read nothing.
        Append = "Append",
        /// Adds rows that depend on what was read.
        AppendWithReads = "AppendWithReads",
        /// Deletes rows (files, or vectors over them).
        Delete = "Delete",
        /// Rewrites rows.
        Update = "Update",
        /// Inserts, updates and deletes by key.
        Merge = "Merge",
        /// Replaces what a predicate selects.
        Overwrite = "Overwrite",
        /// Rewrites files and changes no row.
        Compact = "Compact",
        /// An earlier version made current.
        Restore = "Restore",
        /// Schema, properties, protocol or domains.
        Metadata = "Metadata",
        /// Nothing but a note.
        Empty = "Empty",
        /// Anything else.
        Other = "Other",
    }
}

impl Default for DeltaKind {
    /// What a commit is before anything is known of it.
    fn default() -> Self {
        Self::Other
    }
}

kinds! {
    /// The operations of MaxCompute's conflict matrix.
    MaxComputeKind {
        /// INSERT OVERWRITE or TRUNCATE.
        Overwrite = "INSERT OVERWRITE",
        /// INSERT INTO.
        Insert = "INSERT INTO",
        /// UPDATE, DELETE or MERGE.
        Update = "UPDATE",
        /// Minor compaction, and clustering.
        MinorCompact = "COMPACT MINOR",
        /// Major compaction.
        MajorCompact = "COMPACT MAJOR",
        /// Outside the matrix.
        Unspecified = "unspecified",
    }
}

kinds! {
    /// What the `precise` policies tell apart, in either format.
    PreciseKind {
        /// Changes no row: properties, an application's number, an index, a constraint. What it reads and writes are registers, and rows
        /// where it looked at them.
        Note = "note",
        /// Only adds rows.
        Insert = "insert",
        /// Only deletes the rows that its predicates and probes matched.
        Delete = "delete",
        /// Anything else that changes rows it found: update, merge, delete and insert.
        Change = "change",
        /// Replaces what stands in its scope at the moment it commits.
        Overwrite = "overwrite",
        /// Moves rows and changes none: compaction, clustering.
        Layout = "layout",
        /// An operation that is not understood.
        Unknown = "unknown",
        /// A log entry that cannot be read any more.
        Hole = "hole",
    }
}

impl Default for PreciseKind {
    /// What a transaction is before anything is known of it.
    fn default() -> Self {
        Self::Unknown
    }
}
