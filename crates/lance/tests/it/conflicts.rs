//! The transactions of the conflict data.

use crate::common::{conformance, files, read};
use lakebed_lance::transaction::Transaction;
use lakebed_lance::{Snapshot, facts_of};
use lakebed_transaction::{Kind, LanceKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The kind that the name of a file says.
fn kind_in_name(name: &str) -> LanceKind {
    let kinds = [
        ("append", LanceKind::Append),
        ("delete", LanceKind::Delete),
        ("update-", LanceKind::Update),
        ("overwrite", LanceKind::Overwrite),
        ("createindex", LanceKind::CreateIndex),
        ("rewrite", LanceKind::Rewrite),
        ("datarepl", LanceKind::DataReplacement),
        ("dataoverlay", LanceKind::DataOverlay),
        ("merge", LanceKind::Merge),
        ("restore", LanceKind::Restore),
        ("reservefragments", LanceKind::ReserveFragments),
        ("project", LanceKind::Project),
        ("updcfg", LanceKind::UpdateConfig),
        ("updatememwalstate", LanceKind::UpdateMemWalState),
        ("updatebases", LanceKind::UpdateBases),
        ("clone", LanceKind::Clone),
        ("unknown", LanceKind::Unknown),
    ];
    kinds.iter().find(|(prefix, _)| name.starts_with(prefix)).unwrap_or_else(|| panic!("{name}")).1
}

#[test]
fn every_transaction_decodes_to_its_kind() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let base = Snapshot::open("base", &read(&folder.join("base.manifest"))).unwrap();
    let mut seen = BTreeSet::new();
    for side in ["ours", "landed"] {
        for path in files(&folder.join(side)) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let transaction = Transaction::decode(name, &read(&path)).unwrap();
            assert_eq!(transaction.kind(), kind_in_name(name), "{name}");
            assert_eq!(transaction.read_version().get(), 4, "{name}");
            if transaction.kind() != LanceKind::Unknown {
                assert_eq!(Transaction::new(transaction.message().clone()).encoded(), transaction.encoded(), "{name}");
            }
            let facts = facts_of(transaction.message(), Some(&base), None);
            let writes = !facts.footprint.modified_units().is_empty() || !facts.footprint.added_units.is_empty();
            let rows = matches!(
                transaction.kind(),
                LanceKind::Append | LanceKind::Delete | LanceKind::Update | LanceKind::Rewrite
            );
            assert!(writes || !rows, "{name}");
            seen.insert(transaction.kind());
        }
    }
    assert_eq!(seen.len(), LanceKind::ALL.len(), "every kind occurs");
}

/// The policy is told by others; this holds that the facts which reach it from real messages are the right ones.
#[test]
fn real_transactions_get_the_verdicts_of_pylance() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let base = Arc::new(Snapshot::open("base", &read(&folder.join("base.manifest"))).unwrap());
    let verdicts = String::from_utf8(read(&folder.join("verdicts.tsv")).to_vec()).unwrap();
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in verdicts.lines().skip(1) {
        let [ours, landed, expected] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let load = |side: &str, name: &str| {
            Transaction::decode(name, &read(&folder.join(side).join(format!("{name}.txn")))).unwrap()
        };
        let (mine, theirs) = (load("ours", ours), load("landed", landed));
        let mine_kind = mine.kind();
        let pending = lakebed_lance::Pending::new(Arc::clone(&base), mine.message().clone(), 1).unwrap();
        let facts = facts_of(theirs.message(), Some(&base), None);
        let judgement = lakebed_conflict::lance::judge((mine_kind, pending.facts()), (theirs.kind(), &facts));
        let found = if judgement.verdict.accepts() { "compatible" } else { judgement.verdict.name() };
        if found != expected {
            wrong.push(format!("{ours} over {landed}: {found}, pylance says {expected}"));
        }
        rows += 1;
    }
    assert_eq!(rows, 861);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
