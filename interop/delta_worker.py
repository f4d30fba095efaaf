"""deltalake as one of two writers of a history: carries out commands for as long as somebody asks.

Unlike the other scripts it reads one JSON document per line on standard input, and answers each with one line on standard
output: `{"version": N, …}`, or `{"error": TEXT}` where deltalake refuses, and goes on. It ends when its input ends.

    {"do": "create", "table": PATH, "partitioned": BOOL, "properties": {…}}
    {"do": "append", "table": PATH, "rows": [[id, s, w], …]}
    {"do": "overwrite", "table": PATH, "rows": […], "where": SQL or null}
    {"do": "delete", "table": PATH, "where": SQL}
    {"do": "update", "table": PATH, "set": {COLUMN: SQL}, "where": SQL}
    {"do": "merge", "table": PATH, "rows": […], "matched": "update" | "delete" | "ignore", "insert": BOOL}
    {"do": "set", "table": PATH, "properties": {…}}
    {"do": "restore", "table": PATH, "to": VERSION}
    {"do": "checkpoint" | "optimize" | "vacuum", "table": PATH}
    {"do": "read", "table": PATH, "at": VERSION or null}          answers also "rows" (sorted by id) and "properties"

With `"fresh": true` the table is opened anew; otherwise the handle of the last command goes on, brought up to date.
"""

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from common import serve, sorted_rows
from delta_table import SCHEMA, properties, scan
from delta_write import create


def source(rows):
    """The rows as an Arrow table."""
    columns = list(zip(*rows)) or [(), (), ()]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA)], schema=SCHEMA)


def merge(table, asked):
    """Brings rows in by id."""
    found = table.merge(source(asked["rows"]), predicate="t.id = s.id", source_alias="s", target_alias="t")
    if asked["matched"] == "update":
        found = found.when_matched_update_all()
    elif asked["matched"] == "delete":
        found = found.when_matched_delete()
    if asked["insert"]:
        found = found.when_not_matched_insert_all()
    found.execute()


def change(table, asked):
    """Carries out a statement."""
    what = asked["do"]
    if what == "append":
        write_deltalake(table, source(asked["rows"]), mode="append")
    elif what == "overwrite":
        write_deltalake(table, source(asked["rows"]), mode="overwrite", predicate=asked["where"])
    elif what == "delete":
        table.delete(asked["where"])
    elif what == "update":
        table.update(updates=asked["set"], predicate=asked["where"])
    elif what == "merge":
        merge(table, asked)
    elif what == "set":
        table.alter.set_table_properties(asked["properties"], raise_if_not_exists=False)
    elif what == "restore":
        table.restore(asked["to"])
    elif what == "checkpoint":
        table.create_checkpoint()
    elif what == "optimize":
        table.optimize.compact()
    elif what == "vacuum":
        table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
    else:
        raise ValueError(f"no such command: {what}")


class Worker:
    """The handle that is open, of the table that was asked for last."""

    def __init__(self):
        self.path, self.table = None, None

    def opened(self, asked):
        """The table at its newest version."""
        if asked.get("fresh") or self.path != asked["table"]:
            self.path, self.table = asked["table"], DeltaTable(asked["table"])
        else:
            self.table.update_incremental()
        return self.table

    def read(self, asked):
        """The rows of a version."""
        table = self.opened(asked)
        if asked.get("at") is not None:
            table = DeltaTable(asked["table"], version=asked["at"])
        return {"version": table.version(), "rows": sorted_rows(scan(table)), "properties": properties(table)}

    def answer(self, asked):
        """What comes of a command."""
        if asked["do"] == "create":
            self.path, self.table = asked["table"], create(asked["table"], asked["partitioned"], asked["properties"])
        elif asked["do"] == "read":
            return self.read(asked)
        else:
            change(self.opened(asked), asked)
        # Where a statement had nothing to do, its handle is not moved.
        self.table.update_incremental()
        return {"version": self.table.version()}


def main():
    serve(Worker(), (DeltaError, OSError, ValueError))


if __name__ == "__main__":
    main()
