//! Every Delta name survives the way out and back, and a listing means the same in any order.

use lakebed_naming::delta::{
    CheckpointEncoding, CheckpointForm, CheckpointName, CheckpointPart, DataPath, DeletionVectorName, LogListing,
    LogName, ReplayFile, TemporaryName, encode_path,
};
use lakebed_naming::{NameError, Uuid, Version, VersionRange};
use proptest::collection::vec;
use proptest::prelude::*;

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![0..12_u64, any::<u64>()].prop_map(Version::new)
}

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid::from_bytes)
}

fn form() -> impl Strategy<Value = CheckpointForm> {
    let encoding = prop_oneof![Just(CheckpointEncoding::Json), Just(CheckpointEncoding::Parquet)];
    prop_oneof![
        Just(CheckpointForm::Classic),
        (1..=u32::MAX, 1..=u32::MAX)
            .prop_map(|(a, b)| { CheckpointForm::MultiPart(CheckpointPart::new(a.min(b), a.max(b)).unwrap()) }),
        (uuid(), encoding).prop_map(|(id, encoding)| CheckpointForm::Uuid { id, encoding }),
    ]
}

fn temporary() -> impl Strategy<Value = TemporaryName> {
    let of = "[a-z0-9._#é-]{1,12}";
    prop_oneof![
        (of, uuid()).prop_map(|(of, id)| TemporaryName::Renamed { of, id }),
        (version(), uuid()).prop_map(|(version, id)| TemporaryName::DynamoCommit { version, id }),
        uuid().prop_map(TemporaryName::DeltaRs),
        (of, any::<u64>()).prop_map(|(of, number)| TemporaryName::LocalPut { of, number }),
    ]
}

fn compacted() -> impl Strategy<Value = LogName> {
    (version(), version()).prop_filter_map("one version is no run", |(a, b)| {
        (a != b).then(|| LogName::Compacted(VersionRange::new(a.min(b), a.max(b)).unwrap()))
    })
}

fn log_name() -> impl Strategy<Value = LogName> {
    prop_oneof![
        version().prop_map(LogName::Commit),
        (0..1_000_000_u64).prop_map(|number| LogName::UnpaddedCommit(Version::new(number))),
        (version(), form()).prop_map(|(version, form)| LogName::Checkpoint(CheckpointName { version, form })),
        compacted(),
        version().prop_map(LogName::Checksum),
        Just(LogName::LastCheckpoint),
        Just(LogName::LastVacuumInfo),
        (version(), uuid()).prop_map(|(version, id)| LogName::StagedCommit { version, id }),
        "[a-z0-9][a-z0-9.-]{0,12}".prop_map(|stem| LogName::Sidecar { file: format!("{stem}.parquet") }),
        ("([a-z_]{1,6}/)?", "[a-z0-9._é-]{1,12}").prop_map(|(folder, of)| LogName::HadoopChecksum { folder, of }),
        temporary().prop_map(LogName::Temporary),
    ]
}

/// A small log in which versions collide often: commits, checkpoints of every form, compacted logs, strays.
fn small_log() -> impl Strategy<Value = Vec<(String, u64)>> {
    let low = 0..8_u64;
    let entry = prop_oneof![
        4 => low.clone().prop_map(|number| format!("{number:020}.json")),
        1 => low.clone().prop_map(|number| format!("{number:020}.checkpoint.parquet")),
        2 => (low.clone(), 1..=2_u32, 1..=2_u32).prop_map(|(number, a, b)| {
            format!("{number:020}.checkpoint.{:010}.{:010}.parquet", a.min(b), a.max(b))
        }),
        1 => (low.clone(), 0..2_u8).prop_map(|(number, id)| {
            format!("{number:020}.checkpoint.{}.json", Uuid::from_bytes([id; 16]))
        }),
        1 => (low.clone(), 1..4_u64).prop_map(|(number, more)| format!("{number:020}.{:020}.compacted.json", number + more)),
        1 => low.prop_map(|number| format!("{number}.json")),
        1 => "[a-z0-9._/]{0,12}",
    ];
    vec((entry, 0..3_u64), 0..40)
}

proptest! {
    #[test]
    fn log_names_round_trip(name in log_name()) {
        let file = name.file_name().unwrap();
        prop_assert_eq!(LogName::parse(&file), name);
    }

    #[test]
    fn no_name_panics(
        name in prop_oneof![any::<String>(), "[_.]?[0-9]{0,21}\\.?(checkpoint|compacted|json|crc|tmp|é)?[.#/0-9]{0,24}(json|parquet|tmp|crc)?"],
        size_bytes in any::<u64>(),
    ) {
        let parsed = LogName::parse(&name);
        if let Some(printed) = parsed.file_name() {
            prop_assert_eq!(LogName::parse(&printed), parsed);
        }
        let _ = LogListing::new([(&name, size_bytes)]).plan(None);
        let _ = DataPath::decode(&name);
        let _ = DeletionVectorName::from_descriptor(&name);
        prop_assert!(DeletionVectorName::parse(&name).is_none());
    }

    #[test]
    fn deletion_vector_names_round_trip(prefix in "[a-zA-Z0-9é._-]{0,6}", id in uuid()) {
        prop_assume!(prefix != "." && prefix != "..");
        let name = DeletionVectorName::with_prefix(&prefix, id).unwrap();
        prop_assert_eq!(DeletionVectorName::parse(&name.path()), Some(name.clone()));
        prop_assert_eq!(name.descriptor().len(), prefix.len() + 20);
        prop_assert_eq!(DeletionVectorName::from_descriptor(&name.descriptor()), Ok(name));
    }

    #[test]
    fn paths_round_trip(name in "[^/][^\\\\]{0,20}") {
        prop_assume!(!name.split('/').any(|segment| matches!(segment, "" | "." | "..")));
        prop_assert_eq!(DataPath::decode(&encode_path(&name)), Ok(DataPath::Relative(name)));
    }

    #[test]
    fn the_order_of_a_listing_and_repeats_do_not_matter(
        log in small_log().prop_flat_map(|log| (Just(log.clone()), Just(log).prop_shuffle())), repeats in 0..5_usize,
    ) {
        let (straight, mut shuffled) = log;
        let again: Vec<_> = shuffled.iter().take(repeats).cloned().collect();
        shuffled.extend(again);
        prop_assert_eq!(LogListing::new(straight), LogListing::new(shuffled));
    }

    #[test]
    fn a_plan_is_whole_or_an_error(log in small_log(), at in proptest::option::of(0..9_u64)) {
        let listing = LogListing::new(log);
        match listing.plan(at.map(Version::new)) {
            Ok(segment) => {
                prop_assert_eq!(Some(segment.version), at.map(Version::new).or(listing.newest()));
                // Every version above the start is there exactly once, in order.
                let start = segment.checkpoint.as_ref().map_or(Some(0), |checkpoint| checkpoint.version.get().checked_add(1)).unwrap();
                let versions: Vec<u64> = segment.commits.iter().map(|commit| commit.version.get()).collect();
                prop_assert_eq!(&versions, &(start..=segment.version.get()).collect::<Vec<u64>>());
                let covered: Vec<u64> = segment.with_compacted().iter().flat_map(|file| match file {
                    ReplayFile::Commit(commit) => commit.version.get()..=commit.version.get(),
                    ReplayFile::Compacted(log) => log.range.first().get()..=log.range.last().get(),
                }).collect();
                prop_assert_eq!(covered, versions);
                // No better start was passed over.
                let best = listing.checkpoints().iter().filter(|found| found.version <= segment.version).map(|found| found.version).max();
                prop_assert_eq!(segment.checkpoint.as_ref().map(|checkpoint| checkpoint.version), best);
                prop_assert!(segment.checkpoint.is_none_or(|found| found.files.iter().all(|file| file.size_bytes > 0)));
            }
            Err(NameError::NoTable) => prop_assert_eq!(listing.newest(), None),
            Err(NameError::NotReached { newest, .. }) => prop_assert_eq!(Some(newest), listing.newest()),
            Err(NameError::Gap { at, missing, .. }) => {
                prop_assert!(!missing.is_empty());
                for range in missing {
                    prop_assert!(range.last() <= at && !listing.has_commit(range.first()) && !listing.has_commit(range.last()));
                }
            }
            Err(NameError::NoStart { at, .. }) => {
                prop_assert!(!listing.has_commit(Version::new(0)) && listing.candidates(at).next().is_none());
            }
            Err(other) => prop_assert!(false, "an unexpected error: {other}"),
        }
    }
}
