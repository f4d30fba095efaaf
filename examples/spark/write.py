"""The partitions of a Spark job write Parquet into a Delta table; the driver commits all of it as one version.

    python examples/spark/write.py TABLE --lakebed target/release/lakebed --rows 1000000 --partitions 4

Spark needs no Delta library for this: each partition writes one file through pyarrow and gives back its `add` action with statistics. A
partition that is run again writes under a new name, and only what came back is committed.
"""

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
    arguments = prepared.arguments(__doc__, "--partitions")
    given = arguments.parse_args()

    table = prepared.made(given.lakebed, given.table)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master(f"local[{given.partitions}]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        first = given.piece * given.rows
        ids = session.range(first, first + given.rows, numPartitions=given.partitions)
        rows = ids.selectExpr("id", "id % 1000 as sensor", "cast(id as double) / 7 as value").rdd.map(tuple)
        adds = [json.loads(add) for add in rows.mapPartitions(writer(table, os.path.dirname(os.path.abspath(prepared.__file__)))).collect()]
    finally:
        session.stop()
    prepared.finish(given, table, adds)


if __name__ == "__main__":
    main()
