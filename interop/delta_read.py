"""Reads one version of a Delta table with deltalake.

Prints `{"version", "num_files", "files": [{"path", "size_bytes", "num_rows" (from statistics), "partition_values"}],
"num_rows" (scanned), "ids" (sorted), "rows_hash" (of the sorted rows), "partition_columns", "properties", "schema":
[{"name", "type", "nullable"}], "table_id", "protocol": {"min_reader_version", "min_writer_version", "reader_features",
"writer_features"}}`; with `--rows` also `"rows"`, with `--history` also `"history"`: every version that still has a
commit, oldest first, as `{"version", "operation", "engine"}`. `--no-scan` leaves the rows out, for tables without data files.
`--each VERSION …` adds `"each"`: the same of every version named, in that order, without the history.
"""

import json

from deltalake import DeltaTable

from common import parser, run
from delta_table import content, files, properties


def look(table, given):
    """One version as this script prints it."""
    found = files(table)
    answer = {"version": table.version(), "num_files": len(found), "files": found}
    if not given.no_scan:
        answer |= content(table)
        if not given.rows:
            del answer["rows"]
    metadata, protocol = table.metadata(), table.protocol()
    fields = [json.loads(field.to_json()) for field in table.schema().fields]
    return answer | {
        "partition_columns": list(metadata.partition_columns),
        "properties": properties(table),
        "schema": [{"name": one["name"], "type": one["type"], "nullable": one["nullable"]} for one in fields],
        "table_id": str(metadata.id),
        "protocol": {
            "min_reader_version": protocol.min_reader_version,
            "min_writer_version": protocol.min_writer_version,
            "reader_features": sorted(map(str, protocol.reader_features or [])),
            "writer_features": sorted(map(str, protocol.writer_features or [])),
        },
    }


def main():
    arguments = parser(__doc__)
    arguments.add_argument("table")
    arguments.add_argument("--version", type=int, help="default: the newest")
    arguments.add_argument("--each", type=int, nargs="+", metavar="VERSION", default=[])
    arguments.add_argument("--rows", action="store_true")
    arguments.add_argument("--no-scan", action="store_true")
    arguments.add_argument("--history", action="store_true")
    given = arguments.parse_args()

    table = DeltaTable(given.table, version=given.version)
    answer = look(table, given)
    if given.each:
        answer["each"] = [look(DeltaTable(given.table, version=one), given) for one in given.each]
    if given.history:
        past = sorted(table.history(), key=lambda one: one["version"])
        keys = {"version": "version", "operation": "operation", "engine": "engineInfo"}
        answer["history"] = [{key: one.get(source) for key, source in keys.items()} for one in past]
    return answer


if __name__ == "__main__":
    run(main)
