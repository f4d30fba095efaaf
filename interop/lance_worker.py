"""pylance as one of two writers of a history: carries out commands for as long as somebody asks.

Unlike the other scripts it reads one JSON document per line on standard input, and answers each with one line on standard
output: `{"version": N, …}`, or `{"error": TEXT}` where pylance refuses, and goes on. It ends when its input ends.

    {"do": "create", "table": PATH, "rows": [{…}, …], "format": "2.2", "stable": BOOL, "v1_names": BOOL}
    {"do": "append" | "overwrite", "table": PATH, "rows": […]}
    {"do": "delete", "table": PATH, "where": SQL}
    {"do": "truncate", "table": PATH}
    {"do": "update", "table": PATH, "set": {COLUMN: SQL}, "where": SQL}
    {"do": "merge", "table": PATH, "rows": […], "matched": "update" | "delete" | "ignore", "insert": BOOL,
     "gone": SQL or null}                                    rows that only the table has and that go
    {"do": "compact", "table": PATH, "below": ROWS}
    {"do": "add", "table": PATH, "name": COLUMN, "sql": SQL or "type": TYPE}      with values, or NULL throughout
    {"do": "drop", "table": PATH, "name": COLUMN}
    {"do": "rename", "table": PATH, "name": COLUMN, "to": COLUMN}
    {"do": "set", "table": PATH, "map": "config" | "metadata" | "schema_metadata", "key": KEY, "value": TEXT or null}
    {"do": "describe", "table": PATH, "name": COLUMN, "value": TEXT}              metadata of a column
    {"do": "index", "table": PATH, "name": NAME, "column": COLUMN}
    {"do": "drop_index", "table": PATH, "name": NAME}
    {"do": "optimize_indices", "table": PATH}
    {"do": "restore", "table": PATH, "to": VERSION}
    {"do": "tag" | "branch", "table": PATH, "name": NAME, "version": VERSION}
    {"do": "untag" | "unbranch", "table": PATH, "name": NAME}
    {"do": "read", "table": PATH, "at": VERSION or null, "where": SQL or null}
    {"do": "lines", "table": PATH}

`append` and `delete` take also `"branch": NAME`. `read` answers everything that a version holds: `rows` sorted by id; of each
fragment its id, rows, data files with their fields, deleted positions, and read version, id and kind of its deletion file; of each column name, type,
nullability, id and metadata; `config`, `metadata` and `schema_metadata`; of each index entry name, id, fields, covered fragments and version; `rows_at`:
for every `id` its fragment, position, row id, and the versions that created and last changed it; and the ids `found` by the condition, which
are found with and without indices. `lines` answers `{"tags": {NAME: VERSION}, "branches": {NAME: {"from", "version", "rows"}}}`.

With `"fresh": true` the table is opened anew; otherwise the handle of the last command goes on, brought up to date.
"""

import lance
import lance_table
import pyarrow as pa

from common import serve
from lance_rows import plain

SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string()), ("w", pa.int32())])
VERSIONS = ["_row_created_at_version", "_row_last_updated_at_version"]
TYPES = {"int64": pa.int64(), "string": pa.string()}
DESCRIPTION = "interop.description"


def create(asked):
    """Creates a table with its first rows."""
    rows = pa.Table.from_pylist(asked["rows"], schema=SCHEMA)
    options = {"data_storage_version": asked["format"], "enable_stable_row_ids": asked["stable"]}
    return lance.write_dataset(rows, asked["table"], mode="create", enable_v2_manifest_paths=not asked["v1_names"], **options)


def source(dataset, asked):
    """The rows in the columns of the table."""
    return pa.Table.from_pylist(asked["rows"], schema=dataset.schema)


def merge(dataset, asked):
    """Brings rows in by id."""
    found = dataset.merge_insert("id")
    if asked["matched"] == "update":
        found = found.when_matched_update_all()
    elif asked["matched"] == "delete":
        found = found.when_matched_delete()
    if asked["insert"]:
        found = found.when_not_matched_insert_all()
    if asked["gone"] is not None:
        found = found.when_not_matched_by_source_delete(asked["gone"])
    found.execute(source(dataset, asked))


def rows_command(dataset, asked):
    """Carries out a statement on rows; whether it is one."""
    match asked["do"]:
        case "append" | "overwrite":
            lance.write_dataset(source(dataset, asked), dataset, mode=asked["do"])
        case "delete":
            dataset.delete(asked["where"])
        case "truncate":
            dataset.truncate_table()
        case "update":
            dataset.update(asked["set"], where=asked["where"])
        case "merge":
            merge(dataset, asked)
        case "compact":
            dataset.optimize.compact_files(target_rows_per_fragment=asked["below"])
        case "restore":
            lance.dataset(asked["table"], version=asked["to"]).restore()
        case _:
            return False
    return True


def table_command(dataset, asked):
    """Carries out what changes columns, maps, indices, tags and branches."""
    name = asked.get("name")
    match asked["do"]:
        case "add":
            added = {name: asked["sql"]} if "sql" in asked else pa.field(name, TYPES[asked["type"]])
            dataset.add_columns(added)
        case "drop":
            dataset.drop_columns([name])
        case "rename":
            dataset.alter_columns({"path": name, "name": asked["to"]})
        case "set":
            getattr(dataset, f"update_{asked['map']}")({asked["key"]: asked["value"]})
        case "describe":
            dataset.update_field_metadata({name: {DESCRIPTION: asked["value"]}})
        case "index":
            kind = "BTREE" if asked["column"] != "w" else "BITMAP"
            dataset.create_scalar_index(asked["column"], kind, name=name)
        case "drop_index":
            dataset.drop_index(name)
        case "optimize_indices":
            dataset.optimize.optimize_indices()
        case "tag":
            (dataset.tags.update if name in dataset.tags.list() else dataset.tags.create)(name, asked["version"])
        case "untag":
            dataset.tags.delete(name)
        case "branch":
            dataset.create_branch(name, asked["version"])
        case "unbranch":
            dataset.branches.delete(name)
        case other:
            raise ValueError(f"no such command: {other}")


def by_id(table):
    """The rows as JSON objects, sorted by id."""
    return sorted(({key: plain(value) for key, value in row.items()} for row in table.to_pylist()), key=lambda row: row["id"])


def positions(table, stable):
    """Where every row stands, and what is known of it."""
    found = {}
    for row in table.to_pylist():
        known = [row[name] if stable else None for name in VERSIONS]
        address = row["_rowaddr"]
        found[str(row["id"])] = [address >> 32, address & 0xFFFFFFFF, row["_rowid"], *known]
    return found


def fragment(metadata, live):
    """What is to be said of a fragment, `live` of whose positions hold rows."""
    files = [[one.path, one.fields] for one in metadata.files]
    deleted = [at for at in range(metadata.physical_rows) if at not in live]
    file = metadata.deletion_file
    if file is not None:
        file = [file.read_version, file.id, ["array", "bitmap"].index(file.file_type)]
    return [metadata.id, metadata.physical_rows, files, deleted, file]


def schema(dataset):
    """Name, type, nullability, id and metadata of every column."""
    ids = {field.name(): field.id() for field in dataset.lance_schema.fields()}
    found = []
    for field in dataset.schema:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        found.append([field.name, str(field.type), field.nullable, ids[field.name], metadata])
    return found


def indices(dataset):
    """Name, id, fields, covered fragments and version of every index entry."""
    found = []
    for index in dataset.describe_indices():
        for segment in index.segments:
            uuid = segment.uuid.replace("-", "")
            covered = sorted(segment.fragment_ids)
            found.append([index.name, uuid, list(index.fields), covered, segment.dataset_version_at_last_update])
    return sorted(found)


def read(dataset, where):
    """Everything that a version holds."""
    dataset.validate()
    stable = dataset.has_stable_row_ids
    names = dataset.schema.names
    table = dataset.to_table(columns=names + (VERSIONS if stable else []), with_row_id=True, with_row_address=True)
    rows_at = positions(table, stable)
    live = {}
    for number, position, *_ in rows_at.values():
        live.setdefault(number, set()).add(position)
    answer = {
        "version": dataset.version,
        "rows": by_id(table.select(names)),
        "fragments": [fragment(one.metadata, live.get(one.fragment_id, set())) for one in dataset.get_fragments()],
        "schema": schema(dataset),
        "config": dict(dataset.config()),
        "metadata": dict(dataset.metadata),
        "schema_metadata": dict(dataset.schema_metadata),
        "indices": indices(dataset),
        "rows_at": rows_at,
        "stable": stable,
    }
    if where is not None:
        found = [sorted(dataset.to_table(["id"], filter=where, use_scalar_index=by)["id"].to_pylist()) for by in (True, False)]
        if found[0] != found[1]:
            raise ValueError(f"by index {found[0]}, without {found[1]}")
        answer["found"] = found[0]
    return answer


def lines(dataset):
    """Tags and branches, and the rows on those."""
    branches = {}
    for name, branch in dataset.branches.list().items():
        newest = dataset.checkout_version((name, None))
        branches[name] = {"from": branch["parent_version"], "version": newest.version, "rows": by_id(newest.to_table())}
    return {"tags": {name: tag["version"] for name, tag in dataset.tags.list().items()}, "branches": branches}


class Worker:
    """The handle that is open, of the table that was asked for last."""

    def __init__(self):
        self.path, self.dataset = None, None

    def opened(self, asked):
        """The table at its newest version."""
        if asked.get("fresh") or self.path != asked["table"]:
            self.path, self.dataset = asked["table"], lance.dataset(asked["table"])
        else:
            self.dataset.checkout_latest()
        return self.dataset

    def answer(self, asked):
        """What comes of a command."""
        if asked["do"] == "create":
            self.path, self.dataset = asked["table"], create(asked)
            return {"version": self.dataset.version}
        dataset = self.opened(asked)
        if asked["do"] == "read":
            at = asked.get("at")
            return read(dataset if at is None else lance.dataset(asked["table"], version=at), asked.get("where"))
        if asked["do"] == "lines":
            return lines(dataset)
        if "branch" in asked:
            dataset = dataset.checkout_version((asked["branch"], None))
        if not rows_command(dataset, asked):
            table_command(dataset, asked)
        dataset.checkout_latest()
        return {"version": dataset.version}


def main():
    serve(Worker(), (OSError, ValueError, RuntimeError, lance_table.CommitConflictError))


if __name__ == "__main__":
    main()
