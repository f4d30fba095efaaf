"""pylance's commands on a handle that was opened before somebody else committed.

Unlike the other scripts it reads one JSON document per line on standard input, and answers each with one line on standard
output; it ends when its input ends.

    {"do": "hold", "table": PATH, "command": NAME, "text": TEXT}     opens the table; answers {"version": N}
    {"do": "run", "again": BOOL}                                     the command on that handle, which may run itself again or not
    {"do": "look", "table": PATH}                                    what the newest version holds
    {"do": "follow", "table": PATH, "from": PATH, "read": N}         commits the operation that made version N + 1 of another copy of
                                                                     the table, as a writer that read version N

`command` and `text` are those of `commands.tsv` of the conformance data: most texts are the call itself, on the handle `H`. `run` and `follow` answer
`{"outcome": "accepted" | "retryable" | "incompatible" | "other", "message"}`, or null where it does not know the command. `look` answers
`{"rows": {"columns", "rows"}, "state": {"columns", "config", "metadata", "schema_metadata", "indices"}}`, the rows in the order of their JSON.
"""

import os
import re

# First, for it says that overlays may be read.
import lance_table
import lance
import pyarrow as pa
from lance.file import LanceFileWriter
from lance.optimize import Compaction

from common import message, serve

# A call whose rows stand as a list of tuples, with their columns behind where they are not all.
EXECUTED = re.compile(r"\.execute\((\[.*\])(?: columns ([a-z,]+))?\)$")
# Statements that run themselves again unless they are told not to.
KNOB = ("H.delete(", "H.update(")


def rows(dataset, tuples, names="id,p,v"):
    """Rows of some columns of the table; the others of each tuple are left out."""
    wanted = names.split(",")
    columns = zip(("id", "p", "v"), zip(*tuples))
    return pa.table({name: pa.array(values, dataset.schema.field(name).type) for name, values in columns if name in wanted}).select(wanted).cast(
        pa.schema([dataset.schema.field(name) for name in wanted])
    )


def append(dataset, *tuples):
    """Appends rows."""
    return lance.write_dataset(rows(dataset, tuples), dataset, mode="append")


def append_read(dataset):
    """Appends what the handle sees, under other ids."""
    seen = dataset.to_table(filter="p = 'a'").to_pylist()
    return append(dataset, *[(row["id"] + 500, row["p"], row["v"]) for row in seen])


def append_fragments(dataset):
    """Writes a fragment, then commits it."""
    fragments = lance.fragment.write_fragments(rows(dataset, [(103, "n", 1030)]), dataset)
    return commit(dataset, lance.LanceOperation.Append(fragments))


def commit(dataset, operation):
    """Commits an operation on the version of the handle."""
    return lance.LanceDataset.commit(dataset.uri, operation, read_version=dataset.version)


def replace_column(dataset, at, start):
    """Another file for column `v` of a fragment."""
    fragment = dataset.get_fragments()[at]
    name, kind = f"replaced-{at}.lance", dataset.schema.field("v").type
    target = os.path.join(dataset.uri, "data", name)
    schema = pa.schema([pa.field("v", kind)])
    with LanceFileWriter(target, schema, version=dataset.data_storage_version) as writer:
        values = pa.array([start + one for one in range(fragment.physical_rows)], kind)
        writer.write_batch(pa.record_batch([values], schema=schema))
    major, minor = (int(part) for part in dataset.data_storage_version.split("."))
    field = next(field.id() for field in dataset.lance_schema.fields() if field.name() == "v")
    file = lance.fragment.DataFile(name, [field], [0], major, minor, os.path.getsize(target))
    group = lance.LanceOperation.DataReplacementGroup(fragment.fragment_id, file)
    return commit(dataset, lance.LanceOperation.DataReplacement([group]))


NAMED = {
    "app": lambda H: append(H, (100, "n", 1000)),
    "app200": lambda H: append(H, (200, "n", 1)),
    "app_null": lambda H: append(H, (101, "n", None)),
    "app_v30": lambda H: append(H, (102, "n", 30)),
    "app_txn": append_fragments,
    "app_read": append_read,
    "ovw": lambda H: lance.write_dataset(rows(H, [(0, "o", 0), (1, "o", 1), (300, "o", 3)]), H, mode="overwrite"),
    "cmp_x0": lambda H: H.optimize.compact_files(excluded_fragment_ids=[H.get_fragments()[0].fragment_id]),
    "rst_txn": lambda H: commit(H, lance.LanceOperation.Restore(2)),
    "drep0": lambda H: replace_column(H, 0, 7000),
    "drep1": lambda H: replace_column(H, 1, 8000),
}


def call(text, again):
    """The text of a command as Python."""
    found = EXECUTED.search(text)
    if found:
        knob = "" if again else ".conflict_retries(0)"
        names = f", {found[2]!r}" if found[2] else ""
        return f"{text[: found.start()]}{knob}.execute(rows(H, {found[1]}{names}))"
    if not again and text.startswith(KNOB):
        return text[:-1] + ", conflict_retries=0)"
    return text


def outcome(error):
    """As what a command failed."""
    text = str(error)
    if "Incompatible transaction" in text:
        return "incompatible"
    if "Retryable commit conflict" in text or "Too many concurrent writers" in text:
        return "retryable"
    if isinstance(error, lance_table.CommitConflictError):
        return "retryable" if error.retryable else "incompatible"
    return "other"


def told(work):
    """What comes of a commit."""
    try:
        work()
    except (OSError, ValueError, RuntimeError) as error:
        return {"outcome": outcome(error), "message": message(error)}
    return {"outcome": "accepted", "message": ""}


def texts(metadata):
    """Metadata as Arrow has it, as texts."""
    return {key.decode(): value.decode() for key, value in (metadata or {}).items()}


def look(path):
    """What the newest version holds."""
    dataset = lance.dataset(path)
    dataset.validate()
    table = dataset.to_table()
    found = [list(row.values()) for row in table.to_pylist()]
    indices = [[one.name, list(one.field_names), one.index_type] for one in dataset.describe_indices()]
    return {
        "rows": {"columns": [[field.name, str(field.type)] for field in dataset.schema], "rows": found},
        "state": {
            "columns": [[field.name, str(field.type), field.nullable, texts(field.metadata)] for field in dataset.schema],
            "config": dict(dataset.config()),
            "metadata": dict(dataset.metadata),
            "schema_metadata": dict(dataset.schema_metadata),
            "indices": sorted(indices),
        },
    }


class Worker:
    """The handle that is held, and the command for it."""

    def __init__(self):
        self.path, self.dataset, self.command, self.half = None, None, None, None

    def hold(self, asked):
        """Opens the table, and does the first half of a command that has two."""
        self.path, self.dataset, self.command = asked["table"], lance.dataset(asked["table"]), (asked["command"], asked["text"])
        self.half = None
        if asked["command"] == "cmp_2ph":
            plan = Compaction.plan(self.dataset, {})
            self.half = [task.execute(self.dataset) for task in plan.tasks]
        return {"version": self.dataset.version}

    def run(self, again):
        """Runs the command."""
        name, text = self.command
        held = self.dataset
        if self.half is not None:
            return told(lambda: Compaction.commit(held, self.half))
        if name in NAMED:
            return told(lambda: NAMED[name](held))
        if text.startswith("H."):
            return told(lambda: eval(call(text, again), {"H": held, "rows": rows, "pa": pa, "int32": pa.int32()}))
        return None

    def follow(self, asked):
        """Commits an operation on a version that is not the newest any more."""
        made = lance.dataset(asked["from"]).read_transaction(asked["read"] + 1)
        return told(lambda: lance.LanceDataset.commit(asked["table"], made.operation, read_version=asked["read"]))

    def answer(self, asked):
        """What comes of a command."""
        if asked["do"] == "hold":
            return self.hold(asked)
        if asked["do"] == "run":
            return self.run(asked["again"])
        if asked["do"] == "follow":
            return self.follow(asked)
        return look(asked["table"])


def main():
    serve(Worker(), (OSError, ValueError, RuntimeError))


if __name__ == "__main__":
    main()
