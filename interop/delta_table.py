"""Delta tables through deltalake: what the Delta scripts share."""

import json
import os

import pyarrow as pa
from deltalake import QueryBuilder

from common import rows_hash, sorted_ids, sorted_rows

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("w", pa.int32())])


def batch(ids, writer):
    """The rows with these ids, of one writer."""
    columns = [pa.array(ids, pa.int64()), pa.array([f"s{one}" for one in ids]), pa.array([writer] * len(ids), pa.int32())]
    return pa.table(columns, schema=SCHEMA)


def scan(table):
    """All rows of a version, through deltalake's own query engine, which also applies deletion vectors."""
    return pa.table(QueryBuilder().register("scanned", table).execute("SELECT * FROM scanned").read_all())


def content(table):
    """Rows of a version in every form that a comparison may want."""
    found = scan(table)
    rows = sorted_rows(found)
    return {"num_rows": len(rows), "ids": sorted_ids(found), "rows_hash": rows_hash(rows), "rows": rows}


def properties(table):
    """The table's properties."""
    return dict(sorted(table.metadata().configuration.items()))


def files(table):
    """The live files, sorted by path."""
    actions = pa.table(table.get_add_actions()).to_pylist()
    found = [
        {
            "path": one["path"],
            "size_bytes": one["size_bytes"],
            "num_rows": one.get("num_records"),
            "partition_values": {key: None if value is None else str(value) for key, value in (one.get("partition") or {}).items()},
        }
        for one in actions
    ]
    return sorted(found, key=lambda one: one["path"])


def commit_info(path, version):
    """The commitInfo of one commit, read from the log itself; None where there is none."""
    name = os.path.join(path, "_delta_log", f"{version:020}.json")
    with open(name, encoding="utf-8") as log:
        for line in log:
            action = json.loads(line) if line.strip() else {}
            if "commitInfo" in action:
                return action["commitInfo"]
    return None


def state(path, table):
    """A version's number, operation, counts and row hash, without the rows."""
    rows = content(table)
    return {
        "version": table.version(),
        "operation": (commit_info(path, table.version()) or {}).get("operation"),
        "num_rows": rows["num_rows"],
        "rows_hash": rows["rows_hash"],
        "num_files": len(files(table)),
        "properties": properties(table),
    }
