"""Reads one version of a Lance table with pylance.

Prints `{"version", "num_rows", "ids" (sorted), "rows_hash" (of the sorted rows), "fragments": [{"id", "physical_rows",
"num_deletions"}], "config", "schema": [{"name", "type", "nullable"}], "stable_row_ids", "data_storage_version"}`; with
`--rows` also `"rows"`, with `--history` also `"history"`: every version, oldest first, as `{"version", "operation",
"read_version", "uuid"}`, where the last three are null if pylance cannot read the transaction. `--addresses` adds
`"addresses"`: `[fragment id, physical position, id]` of every row, sorted, and `"row_ids"`, sorted too. `--each VERSION …` adds `"each"`: the same of
every version named, in that order, without the history.
"""

import lance

from common import parser, run
from lance_table import addresses, config, content, fragments, row_ids


def past(dataset, version):
    """One version of the history."""
    try:
        transaction = dataset.read_transaction(version)
    except (OSError, ValueError, RuntimeError, TypeError):
        transaction = None
    if transaction is None:
        return {"version": version, "operation": None, "read_version": None, "uuid": None}
    name = type(transaction.operation).__name__
    return {"version": version, "operation": name, "read_version": transaction.read_version, "uuid": transaction.uuid}


def look(dataset, given):
    """One version as this script prints it."""
    dataset.validate()
    answer = {"version": dataset.version} | content(dataset)
    if not given.rows:
        del answer["rows"]
    if given.addresses:
        answer |= {"addresses": addresses(dataset), "row_ids": row_ids(dataset)}
    return answer | {
        "fragments": fragments(dataset),
        "config": config(dataset),
        "schema": [{"name": one.name, "type": str(one.type), "nullable": one.nullable} for one in dataset.schema],
        "stable_row_ids": dataset.has_stable_row_ids,
        "data_storage_version": dataset.data_storage_version,
    }


def main():
    arguments = parser(__doc__)
    arguments.add_argument("table")
    arguments.add_argument("--version", type=int, help="default: the newest")
    arguments.add_argument("--each", type=int, nargs="+", metavar="VERSION", default=[])
    arguments.add_argument("--rows", action="store_true")
    arguments.add_argument("--addresses", action="store_true")
    arguments.add_argument("--history", action="store_true")
    given = arguments.parse_args()

    dataset = lance.dataset(given.table, version=given.version)
    answer = look(dataset, given)
    if given.each:
        answer["each"] = [look(lance.dataset(given.table, version=one), given) for one in given.each]
    if given.history:
        answer["history"] = [past(dataset, one["version"]) for one in sorted(dataset.versions(), key=lambda one: one["version"])]
    return answer


if __name__ == "__main__":
    run(main)
