"""Writes Delta tables with deltalake.

    create TABLE [--unpartitioned] [--property KEY=VALUE …]       an empty table, partitioned by `w`
    append TABLE --rows N --start ID [--writer W]
    overwrite TABLE --rows N --start ID [--writer W] [--where SQL]
    delete TABLE --where SQL
    config TABLE KEY=VALUE …
    checkpoint TABLE                                              a checkpoint is no commit
    tend TABLE                           an update, a merge, a compaction, a checkpoint, a vacuum of all that is unused
    mixed TABLE --commits N --seed S     creates the table if there is none (which counts as a commit)

Prints `{"commits": [{"version", "operation", "num_rows", "rows_hash", "num_files", "properties"}], "version",
"num_rows", "ids", "rows_hash", "rows"}`: each commit with the state it left behind, then the newest version's rows,
sorted by id. Everything but names and times of files follows from the arguments and the table's content. `mixed`
creates its table with `delta.checkpointInterval=10`, so that its fifty commits leave checkpoints behind.
"""

import os
import random

from deltalake import DeltaTable, Schema, write_deltalake

from common import key_values, parser, run
from delta_table import SCHEMA, batch, content, scan, state


def create(path, partitioned, configuration):
    """Creates an empty table."""
    by = ["w"] if partitioned else None
    return DeltaTable.create(path, Schema.from_arrow(SCHEMA), partition_by=by, configuration=configuration, raise_if_key_not_exists=False)


class Mixed:
    """A seeded series of commits on one table."""

    def __init__(self, path, seed):
        self.path = path
        self.rng = random.Random(seed)

    def kinds(self, count):
        """The kinds of `count` commits: shuffled by the seed, every kind among them if there is room."""
        pattern = ["append"] * 9 + ["delete"] * 4 + ["update"] * 2 + ["config"] * 2 + ["delete_partition", "overwrite", "overwrite_partition"]
        kinds = [pattern[step % len(pattern)] for step in range(count)]
        self.rng.shuffle(kinds)
        return kinds

    def commit(self, kind):
        """Commits once; what the table's content does not allow becomes an append."""
        table = DeltaTable(self.path)
        found = scan(table)
        ids = sorted(found.column("id").to_pylist())
        writers = sorted(one for one in set(found.column("w").to_pylist()) if one is not None)
        after = max(ids, default=-1) + 1
        some = sorted(self.rng.sample(ids, min(len(ids), self.rng.randint(1, 4))))
        listed = ", ".join(map(str, some))
        if kind == "delete" and ids:
            table.delete(f"id IN ({listed})")
        elif kind == "update" and ids:
            table.update(predicate=f"id IN ({listed})", updates={"s": f"'u{table.version() + 1}'"})
        elif kind == "delete_partition" and writers:
            table.delete(f"w = {self.rng.choice(writers)}")
        elif kind == "config":
            pair = {f"interop.key{self.rng.randint(0, 4)}": str(self.rng.randint(0, 999))}
            table.alter.set_table_properties(pair, raise_if_not_exists=False)
        elif kind == "overwrite":
            write_deltalake(table, batch(list(range(after, after + 8)), self.rng.randint(0, 2)), mode="overwrite")
        elif kind == "overwrite_partition" and writers:
            writer = self.rng.choice(writers)
            write_deltalake(table, batch(list(range(after, after + 4)), writer), mode="overwrite", predicate=f"w = {writer}")
        else:
            rows = batch(list(range(after, after + self.rng.randint(2, 9))), self.rng.randint(0, 2))
            write_deltalake(table, rows, mode="append")
        return state(self.path, DeltaTable(self.path))

    def run(self, count):
        """Commits `count` times, the creation of a missing table included."""
        commits = []
        if not os.path.exists(os.path.join(self.path, "_delta_log")):
            commits.append(state(self.path, create(self.path, True, {"delta.checkpointInterval": "10"})))
        return commits + [self.commit(kind) for kind in self.kinds(count - len(commits))]


def commands():
    """The command line."""
    arguments = parser(__doc__)
    group = arguments.add_subparsers(dest="command", required=True)
    by_name = {name: group.add_parser(name) for name in ("create", "append", "overwrite", "delete", "config", "checkpoint", "tend", "mixed")}
    for name, one in by_name.items():
        one.add_argument("table")
        if name in ("append", "overwrite"):
            one.add_argument("--rows", type=int, default=10)
            one.add_argument("--start", type=int, default=0)
            one.add_argument("--writer", type=int, default=0)
    by_name["create"].add_argument("--unpartitioned", action="store_true")
    by_name["create"].add_argument("--property", action="append", default=[], metavar="KEY=VALUE")
    by_name["overwrite"].add_argument("--where", help="replace only the rows that match")
    by_name["delete"].add_argument("--where", required=True)
    by_name["config"].add_argument("values", nargs="+", metavar="KEY=VALUE")
    by_name["mixed"].add_argument("--commits", type=int, default=50)
    by_name["mixed"].add_argument("--seed", type=int, default=0)
    return arguments


def tend(path):
    """What a table's keeper does with it; the state after each step."""
    table = DeltaTable(path)
    ids = sorted(scan(table).column("id").to_pylist())
    table.update(predicate=f"id = {ids[0]}", updates={"s": "'updated'"})
    commits = [state(path, DeltaTable(path))]
    found = table.merge(batch([ids[-1], ids[-1] + 1], 1), predicate="t.id = s.id", source_alias="s", target_alias="t")
    found.when_matched_update_all().when_not_matched_insert_all().execute()
    commits.append(state(path, DeltaTable(path)))
    table.optimize.compact()
    commits.append(state(path, DeltaTable(path)))
    table.create_checkpoint()
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    return commits + [state(path, DeltaTable(path))]


def write(given):
    """Carries out one command; answers the commits."""
    if given.command == "mixed":
        return Mixed(given.table, given.seed).run(given.commits)
    if given.command == "create":
        return [state(given.table, create(given.table, not given.unpartitioned, key_values(given.property)))]
    if given.command == "tend":
        return tend(given.table)
    table = DeltaTable(given.table)
    if given.command == "checkpoint":
        table.create_checkpoint()
        return []
    if given.command == "append":
        write_deltalake(table, batch(list(range(given.start, given.start + given.rows)), given.writer), mode="append")
    elif given.command == "overwrite":
        rows = batch(list(range(given.start, given.start + given.rows)), given.writer)
        write_deltalake(table, rows, mode="overwrite", predicate=given.where)
    elif given.command == "delete":
        table.delete(given.where)
    else:
        table.alter.set_table_properties(key_values(given.values), raise_if_not_exists=False)
    return [state(given.table, DeltaTable(given.table))]


def main():
    given = commands().parse_args()
    commits = write(given)
    table = DeltaTable(given.table)
    return {"commits": commits, "version": table.version()} | content(table)


if __name__ == "__main__":
    run(main)
