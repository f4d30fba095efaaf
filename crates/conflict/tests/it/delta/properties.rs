//! What holds for arbitrary facts.

use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, DeltaPolicy, IsolationLevel, MetadataChange, MetadataState, PartitionColumn, PartitionText,
    ProtocolAccess, ProtocolChange, ProtocolState, split_read, table_of,
};
use lakebed_transaction::{BinaryOp, ColumnType, DeltaKind, Expr, Kind, Scalar, UnitId, Verdict};
use proptest::prelude::*;
use std::sync::Arc;

fn text() -> impl Strategy<Value = Option<Arc<str>>> {
    let known = prop::sample::select(vec!["1", "2", "01", "", "abc", "2024-1-1", "NaN", "99999999999"]);
    prop_oneof![
        known.prop_map(|text| Some(Arc::from(text))),
        Just(None),
        "\\PC{0,4}".prop_map(|text| Some(Arc::from(text)))
    ]
}

fn partition() -> impl Strategy<Value = Option<Vec<PartitionText>>> {
    let key = prop::sample::select(vec!["p", "q", "P"]).prop_map(Arc::from);
    prop::option::weighted(0.9, prop::collection::vec((key, text()), 0..3))
}

fn file() -> impl Strategy<Value = DeltaFile> {
    (prop::sample::select(vec!["a", "b", "c", "d"]), partition(), any::<bool>())
        .prop_map(|(path, partition, data_change)| DeltaFile { unit: UnitId::file(path), partition, data_change })
}

fn filter() -> impl Strategy<Value = Expr> {
    let literal = prop_oneof![
        any::<i8>().prop_map(|x| Expr::Literal(Scalar::Int(i64::from(x)))),
        text().prop_map(|text| Expr::Literal(text.map_or(Scalar::Null, Scalar::String))),
        any::<bool>().prop_map(|x| Expr::Literal(Scalar::Boolean(x))),
    ];
    let column = prop::sample::select(vec!["p", "q", "id"]).prop_map(Expr::column);
    let unknown = Just(Expr::Unknown { name: "rand".to_owned(), arguments: Vec::new() });
    let leaf = prop_oneof![4 => literal, 4 => column, 1 => unknown];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let op = prop::sample::select(vec![
            BinaryOp::Add,
            BinaryOp::Divide,
            BinaryOp::Modulo,
            BinaryOp::Equal,
            BinaryOp::Less,
            BinaryOp::NullSafeEqual,
            BinaryOp::And,
            BinaryOp::Or,
        ]);
        prop_oneof![
            (op, inner.clone(), inner.clone()).prop_map(|(op, a, b)| a.binary(op, b)),
            (inner.clone(), any::<bool>()).prop_map(|(x, negated)| Expr::IsNull { operand: Box::new(x), negated }),
            (inner.clone(), prop::collection::vec(inner, 0..3), any::<bool>())
                .prop_map(|(x, list, negated)| Expr::In { operand: Box::new(x), list, negated }),
        ]
    })
}

fn columns() -> impl Strategy<Value = Vec<PartitionColumn>> {
    let column_type = prop::sample::select(vec![
        ColumnType::Integer,
        ColumnType::String,
        ColumnType::Date,
        ColumnType::Double,
        ColumnType::Decimal { precision: 5, scale: 2 },
        ColumnType::Timestamp,
        ColumnType::Boolean,
        ColumnType::Other("variant".to_owned()),
    ]);
    let column = |name: &'static str| {
        move |column_type| PartitionColumn { name: Arc::from(name), physical_name: Arc::from(name), column_type }
    };
    let both = (column_type.clone().prop_map(column("p")), column_type.prop_map(column("q")));
    prop_oneof![Just(Vec::new()), both.prop_map(|(p, q)| vec![p, q])]
}

fn protocol() -> impl Strategy<Value = ProtocolChange> {
    let features =
        prop_oneof![3 => Just(Vec::new()), 1 => Just(vec!["rowTracking"]), 1 => Just(vec!["vacuumProtocolCheck"])];
    let access = prop_oneof![
        4 => Just(ProtocolAccess::Usable),
        1 => Just(ProtocolAccess::UnsupportedVersion),
        1 => Just(ProtocolAccess::UnsupportedReaderFeatures(vec![Arc::from("x")])),
        1 => Just(ProtocolAccess::UnsupportedWriterFeatures(vec![Arc::from("x")])),
    ];
    (any::<i64>(), any::<i64>(), features, access).prop_map(|(reader_version, writer_version, features, access)| {
        let writer_features = features.into_iter().map(Arc::from).collect();
        let state = ProtocolState { reader_version, writer_version, writer_features, ..ProtocolState::default() };
        ProtocolChange { state, access }
    })
}

fn metadata() -> impl Strategy<Value = MetadataChange> {
    let key = prop::sample::select(vec![
        "foo",
        "delta.enableDeletionVectors",
        "delta.enableInCommitTimestamps",
        "delta.isolationLevel",
    ]);
    let value = prop::sample::select(vec!["true", "false", "Serializable", "writeSerializable"]);
    (prop::collection::btree_map(key.prop_map(Arc::from), value.prop_map(Arc::from), 0..3), any::<bool>()).prop_map(
        |(configuration, identity_only)| MetadataChange {
            state: MetadataState { configuration, ..MetadataState::default() },
            identity_only,
        },
    )
}

prop_compose! {
    /// A commit of any kind.
    pub(crate) fn facts()(
        kind in prop::sample::select(DeltaKind::ALL.to_vec()),
        operation in prop::sample::select(vec!["WRITE", "OPTIMIZE", "ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"]),
        (changes_data, large, skip_if_empty) in (any::<bool>(), prop::bool::weighted(0.1), any::<bool>()),
        (added, removed) in (prop::collection::vec(file(), 0..3), prop::collection::vec(file(), 0..3)),
        declared_blind in any::<Option<bool>>(),
        (protocol, metadata) in (prop::option::weighted(0.2, protocol()), prop::option::weighted(0.2, metadata())),
        columns in columns(),
        reads in prop::collection::vec(prop::collection::vec(filter(), 0..3), 0..3),
        (whole, read) in (prop::bool::weighted(0.2), prop::collection::vec(file(), 0..3)),
        (table_protocol, table_metadata) in (prop::option::weighted(0.3, protocol()), prop::option::weighted(0.3, metadata())),
        traces in prop::bool::weighted(0.05),
        (domain, looked, txn) in (prop::bool::weighted(0.2), prop::bool::weighted(0.2), prop::bool::weighted(0.2)),
    ) -> DeltaFacts {
        let mut facts = DeltaFacts {
            kind, operation: Arc::from(operation), changes_data, large, skip_if_empty, added, removed, declared_blind,
            protocol, metadata, ..DeltaFacts::default()
        };
        facts.data_change = facts.added.iter().chain(&facts.removed).any(|file| file.data_change);
        facts.footprint.removed_units = facts.removed.iter().map(|file| file.unit.clone()).collect();
        facts.footprint.read_units = read.into_iter().map(|file| file.unit).collect();
        facts.footprint.read_whole_table = whole;
        facts.footprint.predicates = reads.into_iter().map(|filters| split_read(filters, &columns)).collect();
        facts.table.partition_columns = columns;
        facts.table.protocol = table_protocol.map(|change| change.state).unwrap_or_default();
        facts.table.metadata = table_metadata.map(|change| change.state).unwrap_or_default();
        facts.dropped_features_with_traces.extend(traces.then(|| Arc::<str>::from("x")));
        facts.domains.extend(domain.then(|| Arc::<str>::from("x")));
        facts.app_ids_read.extend(looked.then(|| Arc::<str>::from("app")));
        facts.app_ids_written.extend(txn.then(|| Arc::<str>::from("app")));
        facts
    }
}

const LEVELS: [IsolationLevel; 3] =
    [IsolationLevel::Serializable, IsolationLevel::WriteSerializable, IsolationLevel::SnapshotIsolation];

fn at(level: IsolationLevel, ours: &DeltaFacts, landed: &DeltaFacts) -> Verdict {
    table_of(level).judge((ours.kind.index(), ours), (landed.kind.index(), landed)).verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any facts are judged, and whatever is not compatible says why, with advice and a place.
    #[test]
    fn every_verdict_is_explained(ours in facts(), landed in facts()) {
        for policy in DeltaPolicy::ALL {
            let answer = policy.judge(&ours, &landed);
            prop_assert!(!matches!(answer.verdict, Verdict::Unspecified | Verdict::NeedFacts));
            if !answer.verdict.accepts() {
                let reason = answer.reason.unwrap();
                prop_assert!(!reason.sentence.is_empty() && !reason.advice.is_empty());
                prop_assert!(reason.error_class.is_some());
                prop_assert!(answer.evidence.is_some());
            }
        }
    }

    /// Property 12: what a stronger level accepts, a weaker one accepts (but for empty commits that may be left out: Spark
    /// leaves none out at WriteSerializable).
    #[test]
    fn levels_are_ordered(mut ours in facts(), landed in facts()) {
        ours.skip_if_empty = false;
        let [serializable, write_serializable, snapshot] = LEVELS.map(|level| at(level, &ours, &landed).accepts());
        prop_assert!(write_serializable || !serializable);
        prop_assert!(snapshot || !write_serializable);
    }

    /// The operation's kind is for messages: it decides nothing.
    #[test]
    fn kinds_decide_nothing(ours in facts(), landed in facts(), kind in prop::sample::select(DeltaKind::ALL.to_vec())) {
        let renamed = DeltaFacts { kind, ..ours.clone() };
        for level in LEVELS {
            prop_assert_eq!(at(level, &ours, &landed), at(level, &renamed, &landed));
        }
    }

    /// A protocol that cannot be read or written stops everything that is checked at all.
    #[test]
    fn unusable_protocols_fail_closed(mut ours in facts(), mut landed in facts(), change in protocol()) {
        prop_assume!(change.access != ProtocolAccess::Usable);
        ours.skip_if_empty = false;
        landed.protocol = Some(change.clone());
        for level in LEVELS {
            prop_assert!(!at(level, &ours, &landed).accepts());
        }
        (ours.table.protocol, ours.table.access) = (change.state, change.access);
        ours.protocol = None;
        for policy in DeltaPolicy::ALL {
            prop_assert_eq!(policy.judge_alone(&ours).verdict, Verdict::Incompatible);
            prop_assert_eq!(policy.judge(&ours, &DeltaFacts::default()).verdict, Verdict::Incompatible);
        }
    }

    /// Two that remove one file, and one that removes what the other read, never both stand.
    #[test]
    fn removed_files_stop_whoever_read_or_removes_them(mut ours in facts(), mut landed in facts(), read in any::<bool>()) {
        ours.skip_if_empty = false;
        landed.removed.push(DeltaFile { unit: UnitId::file("a"), partition: None, data_change: false });
        landed.footprint.removed_units.insert(UnitId::file("a"));
        let units = if read { &mut ours.footprint.read_units } else { &mut ours.footprint.removed_units };
        units.insert(UnitId::file("a"));
        for level in LEVELS {
            prop_assert!(!at(level, &ours, &landed).accepts());
        }
    }

    /// Property 4: a filter that is widened never accepts what the filter itself refuses.
    #[test]
    fn widening_refuses_more(mut ours in facts(), landed in facts(), which in any::<prop::sample::Index>()) {
        prop_assume!(!ours.footprint.predicates.is_empty());
        let narrow = at(IsolationLevel::Serializable, &ours, &landed).accepts();
        let count = ours.footprint.predicates.len();
        let read = &mut ours.footprint.predicates[which.index(count)];
        let unknown = Expr::Unknown { name: "udf".to_owned(), arguments: Vec::new() };
        read.partition = read.partition.drain(..).map(|filter| filter.binary(BinaryOp::Or, unknown.clone())).collect();
        let wide = at(IsolationLevel::Serializable, &ours, &landed).accepts();
        prop_assert!(narrow || !wide);
    }
}
