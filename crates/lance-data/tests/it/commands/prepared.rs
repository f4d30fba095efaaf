//! The commands for which we have no statement, but whose transactions we commit: pylance prepared them on the same version.

use super::case::Case;
use super::place::files;
use super::statement::Answer;
use lakebed_lance::transaction::Transaction;
use lakebed_table::{CommitOptions, Prepared, Table};
use lakebed_transaction::LanceKind;
use std::path::Path;

/// Commits what pylance prepared as ours; `None` where a transaction does not hold all that the command knew, or where pylance ran
/// the command again, which a transaction cannot.
pub(crate) async fn run(table: &mut Table, root: &Path, case: &Case, commit: &CommitOptions) -> Option<Answer> {
    if case.ran_again {
        return None;
    }
    let folder = root.join("ours").join(format!("{}.{}", case.base, case.ours));
    commit_from(table, &folder, |kind| is_whole(kind, &case.ours), commit).await
}

/// Commits the transaction of the winner, which has nothing in its way.
pub(crate) async fn land(table: &mut Table, root: &Path, case: &Case, commit: &CommitOptions) -> Option<Answer> {
    let folder = root.join("landed").join(format!("{}.{}", case.base, case.winner));
    commit_from(table, &folder, |_| true, commit).await
}

/// Whether a transaction says all that matters for following others.
fn is_whole(kind: LanceKind, command: &str) -> bool {
    match kind {
        // The rows that they touch stand in no transaction; where whole columns are rewritten, they play no part.
        LanceKind::Update => command.starts_with("mi_col") || command == "updcol_txn",
        LanceKind::Merge
        | LanceKind::Project
        | LanceKind::CreateIndex
        | LanceKind::UpdateConfig
        | LanceKind::DataReplacement
        | LanceKind::Restore => true,
        LanceKind::Append
        | LanceKind::Delete
        | LanceKind::Overwrite
        // Ids that pylance reserved for a compaction may be others' after the winner.
        | LanceKind::Rewrite
        | LanceKind::ReserveFragments
        | LanceKind::UpdateMemWalState
        | LanceKind::Clone
        | LanceKind::UpdateBases
        | LanceKind::DataOverlay
        | LanceKind::Unknown => false,
    }
}

/// Commits the transaction that stands beside a folder, with the files in the folder; `None` where there is none of its own.
async fn commit_from(
    table: &mut Table,
    folder: &Path,
    takes: impl Fn(LanceKind) -> bool,
    commit: &CommitOptions,
) -> Option<Answer> {
    let name = folder.to_str().unwrap();
    let bytes = std::fs::read(format!("{name}.txn")).ok()?;
    let transaction = Transaction::decode(name, &bytes.into()).unwrap();
    // What came before or after it in the folder has no transaction of its own.
    if !takes(transaction.kind()) || folder.join("REMOVED.txt").exists() {
        return None;
    }
    for (name, path) in files(folder) {
        if !name.starts_with("_versions/") && !name.starts_with("_transactions/") {
            table.store().put(&name, std::fs::read(&path).unwrap().into()).await.unwrap();
        }
    }
    Some(table.commit_prepared(Prepared::LanceTransaction(transaction.encoded().clone()), commit).await)
}
