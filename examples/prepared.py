"""What writers on many machines share: a Parquet file written into a Delta table's folder, its `add` action, and one commit of all of them.

A worker calls `write_file`, which gives the action of a finished file; the driver collects the actions and calls `commit_once`. Between
the two only small JSON travels. The table must be on a file system that all of them see under one path.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq


def write_file(table, batches, schema):
    """Writes one Parquet file into the folder `table` and returns the `add` action that names it.

    The name is drawn anew for every attempt: a worker that dies and is run again leaves a file that no version names, never one that two
    attempts wrote. `batches` are Arrow record batches of the Arrow schema `schema`; one of them is held in memory at a time.
    """
    name = f"part-{uuid.uuid4()}.parquet"
    path = os.path.join(table, name)
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for batch in batches:
            writer.write_batch(batch)
    with open(path, "rb+") as file:
        os.fsync(file.fileno())
    return {
        "add": {
            "path": name,
            "partitionValues": {},
            "size": os.path.getsize(path),
            "modificationTime": int(time.time() * 1000),
            "dataChange": True,
            "stats": json.dumps(statistics(path)),
        }
    }


def statistics(path):
    """The statistics of a Parquet file of flat columns as Delta wants them, from its footer alone.

    Numbers and text have bounds; a column of any other type has only its count of nulls.
    """
    footer = pq.ParquetFile(path).metadata
    least, most, nulls = {}, {}, {}
    for at in range(footer.num_columns):
        column = footer.schema.column(at)
        name = column.path
        found = [footer.row_group(group).column(at).statistics for group in range(footer.num_row_groups)]
        if any(one is None or one.null_count is None for one in found):
            continue
        nulls[name] = sum(one.null_count for one in found)
        bounded = [one for one in found if one.has_min_max]
        # A row group without bounds holds nothing but nulls, or values whose bounds are not known.
        known = all(one.has_min_max or one.num_values == 0 for one in found)
        plain = bounded and all(isinstance(one.min, (int, float, str)) and not isinstance(one.min, bool) for one in bounded)
        if known and plain:
            least[name] = min(one.min for one in bounded)
            most[name] = max(one.max for one in bounded)
    return {"numRecords": footer.num_rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def arguments(page, parallel):
    """The arguments that the examples share; `parallel` names the option that says how many write side by side."""
    wanted = argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    wanted.add_argument("table", help="the folder of the table")
    wanted.add_argument("--lakebed", default="lakebed", help="the program")
    wanted.add_argument("--rows", type=int, default=1_000_000)
    wanted.add_argument(parallel, type=int, default=4)
    wanted.add_argument("--job", default="measurements")
    wanted.add_argument("--piece", type=int, default=0, help="which piece of the job's work this is, counted up")
    return wanted


def made(lakebed, table):
    """The whole path of the example's table, which is made where there is none."""
    table = os.path.abspath(table)
    if not os.path.exists(os.path.join(table, "_delta_log")):
        run(lakebed, "create", table, "--format", "delta", "--schema", COLUMNS)
    return table


def finish(given, table, adds):
    """Commits what came back, and prints the answer."""
    answer = commit_once(given.lakebed, table, adds, given.job, given.piece)
    print(json.dumps({**answer, "files": len(adds), "bytes": sum(add["add"]["size"] for add in adds)}))


def committed_before(lakebed, table, application, version):
    """Whether this application has committed this version of its work, or a later one."""
    shown = run(lakebed, "show", table)
    return shown.get("app_transactions", {}).get(application, -1) >= version


def commit_once(lakebed, table, adds, application, version):
    """Commits all files as one version of the table, unless this piece of work is in the table already; returns the answer.

    `application` names the job and `version` counts its pieces of work. They travel in the commit, so that a driver that is run again, or
    that never heard the answer, adds nothing twice.
    """
    if committed_before(lakebed, table, application, version):
        return {"outcome": "nothing", "reason": f"{application} has committed {version} before"}
    says = {"reads": {"predicates": [], "files": [], "whole_table": False, "app_ids": [application]}, "operation": "WRITE", "parameters": {"mode": "Append"}}
    txn = {"txn": {"appId": application, "version": version, "lastUpdated": int(time.time() * 1000)}}
    with tempfile.TemporaryDirectory() as folder:
        prepared = os.path.join(folder, "actions.json")
        with open(prepared, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in [says, txn, *adds])
        return run(lakebed, "commit", table, prepared, "--check-files")


def run(lakebed, *arguments):
    """Runs the program; its JSON answer."""
    done = subprocess.run([lakebed, *arguments, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"lakebed {arguments[0]} ended with status {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measurements(first, count, seed):
    """`count` rows of the example, from the id `first` on, as record batches of at most 256 Ki rows."""
    import numpy as np

    generator = np.random.default_rng(seed)
    while count > 0:
        step = min(count, 1 << 18)
        yield pa.record_batch(
            [
                pa.array(np.arange(first, first + step, dtype="int64")),
                pa.array(generator.integers(0, 1000, step, dtype="int64")),
                pa.array(generator.normal(20.0, 5.0, step)),
            ],
            schema=SCHEMA,
        )
        first, count = first + step, count - step


# The table of the example, for Arrow and for `lakebed create --schema`.
SCHEMA = pa.schema([("id", pa.int64()), ("sensor", pa.int64()), ("value", pa.float64())])
COLUMNS = "id long, sensor long, value double"
