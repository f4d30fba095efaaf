"""Writes Lance tables with pylance.

    create TABLE [--rows N] [--start ID] [--v1-names] [--stable-row-ids]
    append TABLE --rows N --start ID
    overwrite TABLE --rows N --start ID
    delete TABLE --where SQL
    config TABLE [KEY=VALUE …] [--remove KEY …]
    tend TABLE                           an update, a merge, an index, a compaction, a cleanup of old versions
    mixed TABLE --commits N --seed S     creates the table if there is none (which counts as a commit)

Prints `{"commits": [{"version", "operation", "num_rows", "rows_hash", "fragments", "config"}], "version", "num_rows",
"ids", "rows_hash", "rows"}`: each commit with the state it left behind, then the newest version's rows, sorted by id.
Everything but names and times of files follows from the arguments and the table's content.
"""

import os
import random

import lance

from common import key_values, parser, run
from lance_table import batch, content, state


class Mixed:
    """A seeded series of commits on one table."""

    def __init__(self, path, seed):
        self.path = path
        self.rng = random.Random(seed)

    def kinds(self, count):
        """The kinds of `count` commits: shuffled by the seed, every kind among them if there is room."""
        pattern = ["append"] * 9 + ["delete"] * 5 + ["delete_fragment"] * 2 + ["config"] * 3 + ["overwrite"]
        kinds = [pattern[step % len(pattern)] for step in range(count)]
        self.rng.shuffle(kinds)
        return kinds

    def commit(self, kind):
        """Commits once; what the table's content does not allow becomes an append."""
        dataset = lance.dataset(self.path)
        ids = dataset.to_table(columns=["id"]).column("id").to_pylist()
        after = max(ids, default=-1) + 1
        if kind == "delete" and ids:
            gone = sorted(self.rng.sample(sorted(ids), min(len(ids), self.rng.randint(1, 4))))
            dataset.delete(f"id IN ({', '.join(map(str, gone))})")
        elif kind == "delete_fragment" and ids:
            fragment = self.rng.choice(dataset.get_fragments())
            gone = sorted(fragment.to_table(columns=["id"]).column("id").to_pylist())
            dataset.delete(f"id IN ({', '.join(map(str, gone))})")
        elif kind == "config":
            key = f"interop.key{self.rng.randint(0, 4)}"
            if key in dataset.config() and self.rng.random() < 0.3:
                dataset.delete_config_keys([key])
            else:
                dataset.update_config({key: str(self.rng.randint(0, 999))})
        elif kind == "overwrite":
            dataset = lance.write_dataset(batch(list(range(after, after + 8))), dataset, mode="overwrite")
        else:
            more = self.rng.randint(2, 9)
            dataset = lance.write_dataset(batch(list(range(after, after + more))), dataset, mode="append")
        return state(dataset)

    def run(self, count):
        """Commits `count` times, the creation of a missing table included."""
        commits = []
        if not os.path.exists(self.path):
            commits.append(state(lance.write_dataset(batch(list(range(10))), self.path)))
        return commits + [self.commit(kind) for kind in self.kinds(count - len(commits))]


def commands():
    """The command line."""
    arguments = parser(__doc__)
    group = arguments.add_subparsers(dest="command", required=True)
    by_name = {name: group.add_parser(name) for name in ("create", "append", "overwrite", "delete", "config", "tend", "mixed")}
    for name, one in by_name.items():
        one.add_argument("table")
        if name in ("create", "append", "overwrite"):
            one.add_argument("--rows", type=int, default=10)
            one.add_argument("--start", type=int, default=0)
    by_name["create"].add_argument("--v1-names", action="store_true")
    by_name["create"].add_argument("--stable-row-ids", action="store_true")
    by_name["delete"].add_argument("--where", required=True)
    by_name["config"].add_argument("values", nargs="*", metavar="KEY=VALUE")
    by_name["config"].add_argument("--remove", nargs="*", default=[], metavar="KEY")
    by_name["mixed"].add_argument("--commits", type=int, default=50)
    by_name["mixed"].add_argument("--seed", type=int, default=0)
    return arguments


def tend(path):
    """What a table's keeper does with it; the state after each step, the last of which commits nothing."""
    dataset = lance.dataset(path)
    ids = sorted(dataset.to_table(columns=["id"]).column("id").to_pylist())
    dataset.update({"s": "'updated'"}, where=f"id = {ids[0]}")
    commits = [state(dataset)]
    merged = batch([ids[-1], ids[-1] + 1])
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(merged)
    commits.append(state(dataset))
    dataset.create_scalar_index("id", "BTREE")
    commits.append(state(dataset))
    dataset.optimize.compact_files()
    commits.append(state(dataset))
    dataset.cleanup_old_versions(retain_versions=1, delete_unverified=True)
    dataset.validate()
    return commits


def write(given):
    """Carries out one command; answers the commits."""
    if given.command == "mixed":
        return Mixed(given.table, given.seed).run(given.commits)
    if given.command == "create":
        rows = batch(list(range(given.start, given.start + given.rows)))
        options = {"enable_v2_manifest_paths": not given.v1_names, "enable_stable_row_ids": given.stable_row_ids}
        return [state(lance.write_dataset(rows, given.table, mode="create", **options))]
    if given.command == "tend":
        return tend(given.table)
    dataset = lance.dataset(given.table)
    if given.command in ("append", "overwrite"):
        rows = batch(list(range(given.start, given.start + given.rows)))
        return [state(lance.write_dataset(rows, dataset, mode=given.command))]
    if given.command == "delete":
        dataset.delete(given.where)
        return [state(dataset)]
    commits = []
    if given.values:
        dataset.update_config(key_values(given.values))
        commits.append(state(dataset))
    if given.remove:
        dataset.delete_config_keys(given.remove)
        commits.append(state(dataset))
    return commits


def main():
    given = commands().parse_args()
    commits = write(given)
    dataset = lance.dataset(given.table)
    return {"commits": commits, "version": dataset.version} | content(dataset)


if __name__ == "__main__":
    run(main)
