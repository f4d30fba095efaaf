"""The partitions of a Spark job write Parquet into a Delta table; the driver commits all of it as one version.

    python examples/spark/write.py TABLE --lakebed target/release/lakebed --rows 1000000 --partitions 4

Spark needs no Delta library for this: each partition writes one file through pyarrow and gives back its `add` action with statistics. A
partition that is run again writes under a new name, and only what came back is committed.
"""

import argparse
import itertools
import json
import os
import sys

from pyspark.sql import SparkSession

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import prepared


def writer(table, home):
    """What each partition runs: its rows into one file; the action of that file as JSON."""

    def write(rows):
        import pyarrow as pa

        sys.path.insert(0, home)
        import prepared as there

        def batches():
            while some := list(itertools.islice(rows, 1 << 16)):
                yield pa.record_batch([pa.array(column) for column in zip(*some, strict=True)], schema=there.SCHEMA)

        yield json.dumps(there.write_file(table, batches(), there.SCHEMA))

    return write


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("table", help="the folder of the table")
    arguments.add_argument("--lakebed", default="lakebed", help="the program")
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--partitions", type=int, default=4)
    arguments.add_argument("--job", default="measurements")
    arguments.add_argument("--piece", type=int, default=0, help="which piece of the job's work this is, counted up")
    given = arguments.parse_args()

    table = os.path.abspath(given.table)
    if not os.path.exists(os.path.join(table, "_delta_log")):
        prepared.run(given.lakebed, "create", table, "--format", "delta", "--schema", prepared.COLUMNS)

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master(f"local[{given.partitions}]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        first = given.piece * given.rows
        ids = session.range(first, first + given.rows, numPartitions=given.partitions)
        rows = ids.selectExpr("id", "id % 1000 as sensor", "cast(id as double) / 7 as value").rdd.map(tuple)
        adds = [json.loads(add) for add in rows.mapPartitions(writer(table, os.path.dirname(os.path.abspath(prepared.__file__)))).collect()]
    finally:
        session.stop()
    answer = prepared.commit_once(given.lakebed, table, adds, given.job, given.piece)
    print(json.dumps({**answer, "files": len(adds), "bytes": sum(add["add"]["size"] for add in adds)}))


if __name__ == "__main__":
    main()
