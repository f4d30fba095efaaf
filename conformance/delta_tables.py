"""The Delta tables of the conformance data, written and described by deltalake, and replayed beside it."""

import datetime
import glob
import hashlib
import json
import os
import urllib.parse

import deltalake
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Transaction, write_deltalake

CLIENT = deltalake.__version__

PLAIN = pa.schema([("id", pa.int64()), ("s", pa.string())])
PARTITIONED = pa.schema([("id", pa.int64()), ("v", pa.float64()), ("p", pa.string()), ("d", pa.date32())])


def plain(ids):
    """Rows of the unpartitioned tables; every seventh has no string."""
    return pa.table({"id": ids, "s": [None if one % 7 == 6 else f"s{one}" for one in ids]}, schema=PLAIN)


def partitioned(ids, text, day):
    """Rows of one partition; every third has no value."""
    count = len(ids)
    values = [None if one % 3 == 2 else one / 4 for one in ids]
    return pa.table({"id": ids, "v": values, "p": [text] * count, "d": [day] * count}, schema=PARTITIONED)


def create(path, schema, **options):
    """An empty table, made by a write without rows: deltalake's own CREATE puts the absolute place of the table into the log."""
    write_deltalake(path, schema.empty_table(), **options)
    return DeltaTable(path)


def partitioned_nulls(path):
    """Partitioned by a string and a date: nulls, blanks, a slash, a percent sign and letters beyond ASCII as partition values;
    a delete within a partition, a delete of one, an append to an old one."""
    table = create(path, PARTITIONED, partition_by=["p", "d"])
    day = datetime.date(2024, 2, 29)
    places = [("a", day), (None, day), ("b c", None), ("x/y=100%", day), ("grün", datetime.date(1969, 12, 31))]
    parts = [partitioned(list(range(at * 10, at * 10 + 4)), *place) for at, place in enumerate(places)]
    write_deltalake(table, pa.concat_tables(parts), mode="append")
    table.delete("id IN (1, 2, 41)")
    table.delete("p = 'b c'")
    write_deltalake(table, partitioned([50, 51], "a", day), mode="append")


def checkpoint(path):
    """A checkpoint interval of 5: deltalake writes a checkpoint of its own accord, and commits follow it."""
    table = create(path, PLAIN, configuration={"delta.checkpointInterval": "5"})
    for step in range(4):
        write_deltalake(table, plain([step * 10, step * 10 + 6]), mode="append")
    table.delete("id >= 10 AND id < 20")
    table.delete("id = 26")
    write_deltalake(table, plain([90]), mode="append")


def properties(path):
    """Properties set and changed, an application transaction, a constraint (which raises the protocol), appends between."""
    named = {"name": "named", "description": "described", "configuration": {"delta.appendOnly": "false"}}
    table = create(path, PLAIN, **named)
    write_deltalake(table, plain([1, 2]), mode="append", commit_properties=CommitProperties(app_transactions=[Transaction("loader", 7)]))
    table.alter.set_table_properties({"owner": "conformance", "delta.isolationLevel": "Serializable"}, raise_if_not_exists=False)
    table.alter.add_constraint({"positive": "id > 0"})
    write_deltalake(table, plain([3]), mode="append", commit_properties=CommitProperties(app_transactions=[Transaction("loader", 8)]))


def overwrite(path):
    """Overwrite of everything, overwrite of what matches a predicate, an update, an optimize."""
    write_deltalake(path, plain([1, 2, 6]))
    table = DeltaTable(path)
    write_deltalake(table, plain([10, 11, 12, 13]), mode="overwrite")
    write_deltalake(table, plain([20, 21]), mode="append")
    write_deltalake(table, plain([12, 13, 14]), mode="overwrite", predicate="id >= 12 AND id < 20")
    table.update(predicate="id = 20", updates={"s": "'updated'"})
    table.optimize.compact()


TABLES = {"partitioned_nulls": partitioned_nulls, "checkpoint": checkpoint, "properties": properties, "overwrite": overwrite}



def replay(path, last):
    """The state after commit `last`, from the JSON commits alone."""
    live, gone, metadata, protocol, applications = {}, {}, {}, {}, {}
    for version in range(last + 1):
        with open(os.path.join(path, "_delta_log", f"{version:020}.json"), encoding="utf-8") as commit:
            actions = [json.loads(line) for line in commit if line.strip()]
        # Within one commit the order of actions means nothing; no path here is both removed and added.
        for action in actions:
            (kind, body), = action.items()
            if kind == "add":
                live[body["path"]] = body
                gone.pop(body["path"], None)
            elif kind == "remove":
                live.pop(body["path"], None)
                gone[body["path"]] = body
            elif kind == "metaData":
                metadata = body
            elif kind == "protocol":
                protocol = {key: value for key, value in body.items() if value is not None}
            elif kind == "txn":
                applications[body["appId"]] = body["version"]
    found = sorted(glob.glob(os.path.join(path, "_delta_log", "*.checkpoint.parquet")))
    starts = [int(os.path.basename(one).split(".")[0]) for one in found]
    starts = [one for one in starts if one <= last]
    return {
        "version": last,
        "checkpoint": [max(starts), "classic"] if starts else None,
        "configuration": metadata["configuration"],
        "domain_metadata": {},
        "files": sorted(live),
        "live_rows_from_stats": sum(json.loads(one["stats"])["numRecords"] for one in live.values()),
        "missing_commits": [],
        "num_dv": 0,
        "num_files": len(live),
        "num_tombstones": len(gone),
        "partition_columns": metadata["partitionColumns"],
        "protocol": protocol,
        "table_size_bytes": sum(one["size"] for one in live.values()),
        "txns": applications,
    }


def described_version(path, version):
    """One version as deltalake sees it; fails where the replay sees another."""
    table = DeltaTable(path, version=version)
    scanned = QueryBuilder().register("scanned", table).execute("SELECT * FROM scanned ORDER BY id").read_all()
    columns = {name: [str(one) if isinstance(one, datetime.date) else one for one in values] for name, values in pa.table(scanned).to_pydict().items()}
    actions = pa.table(table.get_add_actions()).to_pylist()
    replayed = replay(path, version)
    paths = sorted(one["path"] for one in actions)
    same_files = sorted(map(urllib.parse.unquote, paths)) == sorted(map(urllib.parse.unquote, replayed["files"]))
    if not same_files or len(columns["id"]) != replayed["live_rows_from_stats"]:
        raise RuntimeError(f"version {version} of {os.path.basename(path)}: deltalake and the replay disagree")
    return {
        "num_files": len(actions),
        "num_rows": len(columns["id"]),
        "configuration": dict(sorted(table.metadata().configuration.items())),
        "rows": columns,
        "rows_sha256": hashlib.sha256(json.dumps(columns).encode()).hexdigest(),
    }


def expected(path, name, note):
    """Everything that deltalake answers about a table, and the replay of its newest version."""
    table = DeltaTable(path)
    metadata, protocol = table.metadata(), table.protocol()
    versions = {str(version): described_version(path, version) for version in range(table.version() + 1)}
    newest = versions[str(table.version())]
    return {
        "table": name,
        "note": note,
        "origin": f"deltalake-{CLIENT}",
        "version": table.version(),
        "num_files": newest["num_files"],
        "num_rows": newest["num_rows"],
        "configuration": newest["configuration"],
        "partition_columns": list(metadata.partition_columns),
        "schema_string": table.schema().to_json(),
        "table_id": str(metadata.id),
        "table_name": metadata.name,
        "table_subdir": "",
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": sorted(map(str, protocol.reader_features or [])),
        "writer_features": sorted(map(str, protocol.writer_features or [])),
        "replay": replay(path, table.version()),
        "versions": versions,
    }
