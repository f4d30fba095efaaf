"""One deltalake writer in a race on a Delta table that is partitioned by `w`, the number of the writer.

It commits `--commits` times: mostly appends of ids from its own range to its own partition, some deletes of its own rows.
deltalake takes every append as a read of the whole table, so whoever deletes or sets properties meanwhile makes it refuse;
deletes read their own partition only. What it refuses is recorded as refused and tried again, with new ids if an append.

Prints `{"writer", "committed", "refused", "errors", "ids_live", "log": [{"version", "kind" (append, delete), "ids_added",
"ids_deleted", "outcome" (committed, refused, error), "mark", "message"}]}`, one entry per attempt. Every attempt puts its
own `interop.mark` into the commitInfo, and the version is where the log holds that mark after deltalake said that it had
committed. Rows of refused appends must be nowhere, rows of refused deletes still there.
"""

import random

from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from common import Race, message, parser, race_arguments, run, wait_for_start
from delta_table import batch, commit_info


def landed_at(path, mark, after, last):
    """The version between `after` (exclusive) and `last` whose commit bears the mark; None if there is none."""
    for version in range(after + 1, last + 1):
        if (commit_info(path, version) or {}).get("interop.mark") == mark:
            return version
    return None


def attempt(race, table, kind):
    """One commit on a handle. Answers the handle to go on with."""
    given = race.arguments
    mark = f"{given.writer}.{len(race.log)}"
    properties = CommitProperties(custom_metadata={"interop.mark": mark})
    read_version = table.version()
    ids = race.fresh_ids() if kind == "append" else race.some_live_ids()
    what = {"added" if kind == "append" else "deleted": ids, "mark": mark}
    try:
        if kind == "append":
            write_deltalake(table, batch(ids, given.writer), mode="append", commit_properties=properties)
        else:
            listed = ", ".join(map(str, ids))
            table.delete(f"w = {given.writer} AND id IN ({listed})", commit_properties=properties)
    except CommitFailedError as error:
        race.record(kind, "refused", message=message(error), **what)
        return DeltaTable(given.table)
    except (DeltaError, OSError, ValueError) as error:
        race.record(kind, "error", message=message(error), **what)
        return table
    version = landed_at(given.table, mark, read_version, table.version())
    if version is None:
        what["message"] = f"deltalake said that it had committed; no version up to {table.version()} holds it"
    race.record(kind, "error" if version is None else "committed", version=version, **what)
    return table


def main():
    arguments = parser(__doc__)
    race_arguments(arguments)
    given = arguments.parse_args()
    race = Race(given, random.Random(f"{given.seed}.{given.writer}"))
    table = DeltaTable(given.table)
    wait_for_start(given.ready, given.go)
    while race.goes_on():
        race.pause()
        kind = race.rng.choices(("append", "delete"), (8, 2))[0]
        if kind == "delete" and not race.live:
            kind = "append"
        table = attempt(race, table, kind)
        if race.refusals_in_a_row:
            race.back_off()
    return race.document()


if __name__ == "__main__":
    run(main)
