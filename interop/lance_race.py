"""One pylance writer in a race on a Lance table.

It commits `--commits` times: mostly appends of ids from its own range, some updates of configuration keys of its own,
some deletes of its own rows. What pylance refuses is tried again with new ids or a new key.

Prints `{"writer", "committed", "refused", "errors", "ids_live", "log": [{"version", "kind" (append, delete, config),
"ids_added", "ids_deleted", "outcome" (committed, refused, error), "config_key", "uuid", "message"}]}`, one entry per
attempt. Committed entries carry the version and the transaction's id, both confirmed in that version's transaction: what
this writer believes. Rows of refused appends must be nowhere, rows of refused deletes still there.
"""

import random

import lance

from common import Race, message, parser, race_arguments, run, wait_for_start
from lance_table import batch, is_refusal


def attempt(race, dataset, kind):
    """One commit on a handle. Answers the handle to go on with, and what to record."""
    mark = f"{race.arguments.writer}.{len(race.log)}"
    if kind == "append":
        ids = race.fresh_ids()
        what = {"added": ids}
        act = lambda: lance.write_dataset(batch(ids), dataset, mode="append", transaction_properties={"interop.mark": mark})
    elif kind == "delete":
        ids = race.some_live_ids()
        predicate = f"id IN ({', '.join(map(str, ids))})"
        what = {"deleted": ids}
        act = lambda: dataset.delete(predicate)
    else:
        what = {"config_key": f"interop.w{mark}"}
        act = lambda: dataset.update_config({what["config_key"]: mark})
    try:
        result = act()
    except (OSError, ValueError, RuntimeError) as error:
        outcome = "refused" if is_refusal(error) else "error"
        race.record(kind, outcome, message=message(error), **what)
        return lance.dataset(race.arguments.table)
    if kind == "append":
        dataset = result
    transaction = dataset.read_transaction(dataset.version)
    made = transaction.operation
    if kind == "append":
        confirmed = transaction.transaction_properties.get("interop.mark") == mark
    elif kind == "delete":
        confirmed = getattr(made, "predicate", None) == predicate and result["num_deleted_rows"] == len(ids)
    else:
        confirmed = what["config_key"] in made.config_updates.updates
    outcome = "committed" if confirmed else "error"
    if not confirmed:
        what["message"] = f"version {dataset.version} does not hold what was committed"
    race.record(kind, outcome, version=dataset.version, uuid=transaction.uuid, **what)
    return dataset


def main():
    arguments = parser(__doc__)
    race_arguments(arguments)
    given = arguments.parse_args()
    race = Race(given, random.Random(f"{given.seed}.{given.writer}"))
    dataset = lance.dataset(given.table)
    wait_for_start(given.ready, given.go)
    while race.goes_on():
        race.pause()
        kind = race.rng.choices(("append", "config", "delete"), (6, 2, 2))[0]
        if kind == "delete" and not race.live:
            kind = "append"
        dataset = attempt(race, dataset, kind)
        if race.refusals_in_a_row:
            race.back_off()
    return race.document()


if __name__ == "__main__":
    run(main)
