"""Lance tables through pylance: what the Lance scripts share."""

import os

# Released clients read overlays only where they are told to.
os.environ.setdefault("LANCE_ENABLE_UNSTABLE_DATA_OVERLAY_FILES", "1")

import pyarrow as pa
from lance.commit import CommitConflictError

from common import rows_hash, sorted_ids, sorted_rows

# Texts by which pylance says that a transaction lost and nothing was committed.
REFUSALS = (
    "Retryable commit conflict",
    "Incompatible transaction",
    "Too many concurrent writers",
    "Commit conflict for version",
    "Failed to commit the transaction after",
)


def batch(ids):
    """The rows with these ids."""
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array([f"s{one}" for one in ids], pa.string())})


def is_refusal(error):
    """Whether an error of pylance means that the commit lost a race."""
    return isinstance(error, CommitConflictError) or any(text in str(error) for text in REFUSALS)


def operation(dataset, version):
    """The name of the operation that made a version; None where pylance cannot read its transaction."""
    try:
        transaction = dataset.read_transaction(version)
    except (OSError, ValueError, RuntimeError, TypeError):
        return None
    return type(transaction.operation).__name__ if transaction is not None else None


def fragments(dataset):
    """The fragments in manifest order."""
    found = [fragment.metadata for fragment in dataset.get_fragments()]
    return [{"id": one.id, "physical_rows": one.physical_rows, "num_deletions": one.num_deletions} for one in found]


def config(dataset):
    """The table's configuration."""
    return dict(sorted(dataset.config().items()))


def addresses(dataset):
    """Fragment, physical position and id of every row, sorted."""
    table = dataset.to_table(columns=["id"], with_row_address=True)
    pairs = zip(table.column("_rowaddr").to_pylist(), table.column("id").to_pylist())
    return sorted([address >> 32, address & 0xFFFFFFFF, one] for address, one in pairs)


def row_ids(dataset):
    """The row id of every row, sorted."""
    return sorted(dataset.to_table(columns=[], with_row_id=True).column("_rowid").to_pylist())


def content(dataset):
    """Rows of a version in every form that a comparison may want."""
    table = dataset.to_table()
    rows = sorted_rows(table)
    return {"num_rows": len(rows), "ids": sorted_ids(table), "rows_hash": rows_hash(rows), "rows": rows}


def state(dataset):
    """A version's number, operation, counts and row hash, without the rows."""
    rows = content(dataset)
    return {
        "version": dataset.version,
        "operation": operation(dataset, dataset.version),
        "num_rows": rows["num_rows"],
        "rows_hash": rows["rows_hash"],
        "fragments": fragments(dataset),
        "config": config(dataset),
    }
