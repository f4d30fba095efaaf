//! The scenarios of the reference, as text.

use super::reader;
use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, DeltaPolicy, MetadataChange, MetadataState, PartitionColumn, ProtocolAccess, ProtocolChange,
    ProtocolState, TableState, operation_changes_data, partitions_in, split_read,
};
use lakebed_transaction::{ColumnType, Judgement, UnitId, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

const SCENARIOS: &str = include_str!("../../testdata/delta-scenarios.txt");

struct Scenario<'a> {
    title: &'a str,
    lines: BTreeMap<&'a str, &'a str>,
}

fn scenarios() -> Vec<Scenario<'static>> {
    let stanzas = SCENARIOS.split("\n\n").map(|stanza| stanza.lines().filter(|line| !line.starts_with('#')));
    let read = |mut lines: Box<dyn Iterator<Item = &'static str>>| {
        let title = lines.next()?;
        let lines =
            lines.map(|line| line.split_once(':').map(|(key, value)| (key, value.trim())).expect(title)).collect();
        Some(Scenario { title, lines })
    };
    stanzas.filter_map(|lines| read(Box::new(lines))).collect()
}

impl<'a> Scenario<'a> {
    fn list(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.lines.get(key).copied().unwrap_or("").split(',').map(str::trim).filter(|item| !item.is_empty())
    }

    fn table(&self) -> TableState {
        let column = |item: &str| {
            let (name, column_type) = item.split_once(' ').unwrap();
            let name: Arc<str> = Arc::from(name);
            PartitionColumn { physical_name: Arc::clone(&name), name, column_type: reader::column_type(column_type) }
        };
        let property =
            |item: &str| item.split_once('=').map(|(key, value)| (Arc::from(key), Arc::from(value))).unwrap();
        TableState {
            access: ProtocolAccess::Usable,
            protocol: ProtocolState {
                reader_version: 3,
                writer_version: 7,
                writer_features: self.list("features").map(Arc::from).collect(),
                ..ProtocolState::default()
            },
            metadata: MetadataState {
                configuration: self.list("property").map(property).collect(),
                ..MetadataState::default()
            },
            partition_columns: self.list("partitioned by").map(column).collect(),
        }
    }

    fn ours(&self) -> DeltaFacts {
        let operation = self.lines.get("operation").copied().unwrap_or("Manual Update");
        let mut facts = DeltaFacts {
            operation: Arc::from(operation),
            changes_data: operation_changes_data(operation),
            table: self.table(),
            app_ids_read: self.list("looks up").map(Arc::from).collect(),
            ..DeltaFacts::default()
        };
        for read in self.lines.get("reads").into_iter().flat_map(|reads| reads.split('|')).map(str::trim) {
            if read == "whole table" {
                facts.footprint.read_whole_table = true;
            } else {
                let filters = read.split(';').map(|filter| lakebed_sql::parse_expression(filter).unwrap()).collect();
                facts.footprint.predicates.push(split_read(filters, &facts.table.partition_columns));
            }
        }
        facts.footprint.read_units = self.list("read files").map(UnitId::file).collect();
        self.act(facts, "ours")
    }

    fn landed(&self, blind: bool) -> DeltaFacts {
        let facts = DeltaFacts { declared_blind: Some(blind), ..DeltaFacts::default() };
        let mut facts = self.act(facts, "landed");
        facts.declared_blind = Some(blind && facts.removed.is_empty());
        facts
    }

    fn act(&self, mut facts: DeltaFacts, side: &str) -> DeltaFacts {
        for action in self.list(side) {
            let (data_change, action) = action.strip_prefix("relayout ").map_or((true, action), |rest| (false, rest));
            let mut words = action.split(' ');
            let verb = words.next().unwrap();
            match verb {
                "add" | "remove" => {
                    let unit = UnitId::file(words.next().unwrap());
                    let values: Vec<_> = words
                        .map(|word| {
                            word.split_once('=').map(|(key, text)| (Arc::from(key), Some(Arc::from(text)))).unwrap()
                        })
                        .collect();
                    let file = DeltaFile { unit, partition: Some(values), data_change };
                    facts.data_change |= data_change;
                    if verb == "add" { facts.added.push(file) } else { facts.removed.push(file) }
                }
                "protocol" => {
                    facts.protocol =
                        Some(ProtocolChange { state: self.table().protocol, access: ProtocolAccess::Usable });
                }
                "txn" => facts.app_ids_written.extend(words.next().map(Arc::<str>::from)),
                "domain" => facts.domains.extend(words.next().map(Arc::<str>::from)),
                "meta" => facts.metadata = Some(MetadataChange { state: self.changed(words), identity_only: false }),
                "identity" => facts.metadata = Some(MetadataChange { state: self.changed(words), identity_only: true }),
                other => panic!("{}: unknown action {other}", self.title),
            }
        }
        facts.footprint.removed_units = facts.removed.iter().map(|file| file.unit.clone()).collect();
        facts
    }

    fn changed(&self, words: std::str::Split<'_, char>) -> MetadataState {
        let mut state = self.table().metadata;
        for word in words {
            match (word.strip_prefix('-'), word.split_once('=')) {
                (Some(key), _) => drop(state.configuration.remove(key)),
                (None, Some((key, value))) => drop(state.configuration.insert(Arc::from(key), Arc::from(value))),
                (None, None) => panic!("{}: {word}", self.title),
            }
        }
        state
    }
}

/// The verdict in the words of the scenarios.
fn spelled(answer: &Judgement) -> String {
    let Some(reason) = answer.reason else { return "ok".to_owned() };
    if answer.verdict == Verdict::Rebase {
        return format!("ok {}", reason.check);
    }
    assert!(!answer.verdict.accepts(), "{reason:?}");
    let evidence = answer.evidence.as_ref().map(ToString::to_string).unwrap_or_default();
    let hint = evidence.find(" [").map_or("", |at| &evidence[at..]);
    format!("{}{hint}", reason.error_class.unwrap_or(reason.check))
}

#[test]
fn verdicts_of_the_scenarios() {
    let mut wrong = Vec::new();
    let scenarios = scenarios();
    assert!(scenarios.len() >= 37, "{} scenarios", scenarios.len());
    for scenario in &scenarios {
        let ours = scenario.ours();
        let verdict = scenario.lines["verdict"];
        let blind_verdict = scenario.lines.get("blind").copied().unwrap_or(verdict);
        for (policy, blind, expected) in [
            (DeltaPolicy::Serializable, false, verdict),
            (DeltaPolicy::Serializable, true, verdict),
            (DeltaPolicy::WriteSerializable, false, verdict),
            (DeltaPolicy::WriteSerializable, true, blind_verdict),
        ] {
            let answer = spelled(&policy.judge(&ours, &scenario.landed(blind)));
            if answer != expected {
                wrong.push(format!(
                    "{} under {}, blind {blind}: {answer}, not {expected}",
                    scenario.title,
                    policy.name()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn snapshot_lets_every_added_file_pass() {
    for scenario in scenarios() {
        let answer = DeltaPolicy::Snapshot.judge(&scenario.ours(), &scenario.landed(false));
        let class = answer.reason.and_then(|reason| reason.error_class);
        assert_ne!(class, Some("DELTA_CONCURRENT_APPEND"), "{}", scenario.title);
        let verdict = scenario.lines["verdict"];
        if !verdict.starts_with("DELTA_CONCURRENT_APPEND") {
            assert_eq!(spelled(&answer), verdict, "{}", scenario.title);
        }
    }
}

#[test]
fn a_dynamic_overwrite_meets_its_own_partitions_only() {
    let columns =
        [PartitionColumn { name: Arc::from("p"), physical_name: Arc::from("c1"), column_type: ColumnType::Integer }];
    let written: Vec<_> = (0..5_000).map(|at| vec![(Arc::from("P"), Some(Arc::from(at.to_string())))]).collect();
    let mut ours = DeltaFacts { data_change: true, ..DeltaFacts::default() };
    ours.footprint.predicates = vec![split_read(vec![partitions_in(&written, &columns)], &columns)];
    ours.table.partition_columns = columns.to_vec();
    let check = |text: Option<&str>| {
        let partition = Some(vec![(Arc::from("c1"), text.map(Arc::from))]);
        let file = DeltaFile { unit: UnitId::file("n"), partition, data_change: true };
        let landed = DeltaFacts { added: vec![file], ..DeltaFacts::default() };
        DeltaPolicy::Serializable.judge(&ours, &landed).reason.map(|reason| reason.check)
    };
    assert_eq!(check(Some("4999")), Some("added-files"));
    assert_eq!(check(Some("007")), Some("added-files"));
    assert_eq!(check(Some("5000")), None);
    assert_eq!(check(None), None);
    assert_eq!(check(Some("x")), Some("unreadable-partition-value"));
}
