"""Makes, changes and reads Lance tables with columns of many types with pylance.

`make TABLE` writes a table of two fragments with deleted rows and, behind them, a column that was added later; `rows TABLE`
only reads; `delete`, `update`, `rewrite` (an update that leaves rows where they are), `upsert`, `append`, `compact`, `index` and `optimize` change a table first; `ids` prints `{"ids"}`, pairs of `id` and
the row's own id, sorted; `blobs` makes a table with a blob column and prints `{"contents"}`: of each row id, text, and length and first byte
of its blob; so does `contents` of a table that is there; `json` makes a table with a JSON column; `odd` makes a table of seldom types, `keyed` one with a primary key and `insert-key`
merges a row into it by a handle on an older version; `query` prints `{"indexed", "scanned", "plan"}`: the ids of the rows that meet a predicate, found by
indices and by looking at every row, and the plan of the first. Each other prints `{"version", "rows", "fragments",
"columns"}`: every row as the JSON object that `lakebed scan --json` prints, sorted by `id`; of each fragment its id, rows and
deleted rows; the types of the columns as Arrow spells them. Tables are validated before they are read.
"""

import base64
import datetime
import decimal

import lance
import numpy
import pyarrow as pa

from common import parser, run

EPOCH = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
SAFE_INTEGER = 1 << 53
CHANGES = ["delete", "update", "rewrite", "upsert", "compact", "index", "optimize", "append"]
COMMANDS = ["make", "odd", "json", "blobs", "contents", "keyed", "insert-key", "rows", "ids", "query", *CHANGES]
# A blob stands in its data file, among others in a file beside it, or in one of its own.
BLOB_SIZES = [10, None, 100000, 5 << 20, 0, 300000]


def columns(version):
    """The columns beside `id`: a name, a type, and the value for a number. Version 2.0 has no NULL in place of a struct."""
    second = datetime.timedelta(seconds=1)
    struct = pa.struct([("x", pa.int32()), ("y", pa.string())])
    found = [
        ("i8", pa.int8(), lambda n: n % 100 - 50),
        ("i16", pa.int16(), lambda n: n * 7 % 30000),
        ("i32", pa.int32(), lambda n: -n),
        ("big", pa.int64(), lambda n: n % 1000 * 9007199254740993),
        ("u32", pa.uint32(), lambda n: 4294967295 - n),
        ("f32", pa.float32(), lambda n: n / 2),
        ("f64", pa.float64(), lambda n: n / 8),
        ("flag", pa.bool_(), lambda n: n % 2 == 0),
        ("s", pa.string(), lambda n: f"s{n} ü"),
        ("large", pa.large_string(), lambda n: f"L{n}" * 3),
        ("bin", pa.binary(), lambda n: bytes([n % 256, 0, 255])),
        ("day", pa.date32(), lambda n: datetime.date(2024, 1, 1) + datetime.timedelta(days=n % 9999)),
        ("wall", pa.timestamp("us"), lambda n: EPOCH + n * second),
        ("instant", pa.timestamp("us", "UTC"), lambda n: (EPOCH + n * second).replace(tzinfo=datetime.timezone.utc)),
        ("dec", pa.decimal128(10, 2), lambda n: decimal.Decimal(n) / 100),
        ("list", pa.list_(pa.int64()), lambda n: [n, None, n + 1] if n % 3 else []),
        ("vector", pa.list_(pa.float32(), 2), lambda n: [n, n + 0.5]),
        ("struct", struct, lambda n: {"x": n, "y": None if n % 2 else f"y{n}"}),
        ("structs", pa.list_(pa.struct([("k", pa.string()), ("v", pa.int64())])), lambda n: [{"k": "a", "v": n}]),
    ]
    if version == "2.0":
        return [column for column in found if not pa.types.is_struct(column[1]) and column[0] != "structs"]
    return found


def batch(numbers, version):
    """Rows with these ids; in every fifth all else is NULL."""
    arrays = {"id": pa.array(numbers, pa.int64())}
    for name, kind, value in columns(version):
        arrays[name] = pa.array([None if n % 5 == 4 else value(n) for n in numbers], kind)
    return pa.table(arrays)


def plain(value):
    """A value as the program's JSON has it."""
    if isinstance(value, bool) or value is None or isinstance(value, (float, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) <= SAFE_INTEGER else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime.datetime):
        text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
        return text + "Z" if value.tzinfo else text
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return str(value)


def answer(path, predicate=None):
    """What every command prints."""
    dataset = lance.dataset(path)
    dataset.validate()
    rows = [plain(row) for row in dataset.to_table(filter=predicate).to_pylist()]
    fragments = [[one.fragment_id, one.physical_rows, one.num_deletions] for one in dataset.get_fragments()]
    kinds = {field.name: str(field.type) for field in dataset.schema}
    rows.sort(key=lambda row: row["id"])
    return {"version": dataset.version, "rows": rows, "fragments": fragments, "columns": kinds}


def make(given):
    """A table of two fragments, from each of which rows are deleted, and a column added behind."""
    half = given.rows // 2
    options = {"data_storage_version": given.version, "enable_stable_row_ids": given.stable}
    lance.write_dataset(batch(list(range(half)), given.version), given.table, mode="create", **options)
    dataset = lance.write_dataset(batch(list(range(half, given.rows)), given.version), given.table, mode="append")
    dataset.delete(f"id in (3, {half + 2})")
    dataset.add_columns({"added": "id * 2"})


def odd(given):
    """A table of types that are seldom met, in as many fragments as asked for."""
    small = pa.struct([("d", pa.dictionary(pa.int8(), pa.string())), ("n", pa.struct([("deep", pa.list_(pa.int8()))]))])
    kinds = {
        "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda n: f"word {n % 3}"),
        "fixed": (pa.binary(4), lambda n: bytes([n % 256] * 4)),
        "half": (pa.float16(), lambda n: n / 2),
        "u8": (pa.uint8(), lambda n: n % 256),
        "u64": (pa.uint64(), lambda n: n),
        "seconds": (pa.timestamp("s"), lambda n: datetime.datetime(2024, 1, 1, 0, 0, n % 60)),
        "zone": (pa.timestamp("ns", "Europe/Berlin"), lambda n: EPOCH.replace(tzinfo=datetime.timezone.utc)),
        "time": (pa.time64("us"), lambda n: datetime.time(1, 2, n % 60)),
        "span": (pa.duration("us"), lambda n: datetime.timedelta(microseconds=n)),
        "wide": (pa.decimal256(50, 3), lambda n: decimal.Decimal(n) / 8),
        "text": (pa.large_string(), lambda n: "x" * (20000 if n % 7 == 0 else n % 5)),
        "large": (pa.large_binary(), lambda n: bytes(n % 9)),
        "lists": (pa.list_(pa.list_(pa.string())), lambda n: [[f"{n}", None], [], None][: n % 4]),
        "long": (pa.large_list(pa.int64()), lambda n: list(range(n % 4))),
        "cube": (pa.list_(pa.list_(pa.float32(), 2), 2), lambda n: [[n, 1.0], [0.5, n]]),
        "struct": (small, lambda n: {"d": f"w{n % 2}", "n": {"deep": [n % 100, None]} if n % 3 else None}),
    }

    def rows(numbers):
        arrays = {"id": pa.array(numbers, pa.int64()), "s": pa.array([f"s{n}" for n in numbers], pa.string())}
        for name, (kind, value) in kinds.items():
            values = [None if n % 5 == 4 and name != "struct" else value(n) for n in numbers]
            if pa.types.is_float16(kind):
                values = [None if one is None else numpy.float16(one) for one in values]
            if pa.types.is_dictionary(kind):
                arrays[name] = pa.array(values, kind.value_type).dictionary_encode().cast(kind)
            else:
                arrays[name] = pa.array(values, kind)
        return pa.table(arrays)

    each = given.rows // given.fragments
    for number in range(given.fragments):
        lance.write_dataset(
            rows(list(range(number * each, (number + 1) * each))),
            given.table,
            mode="append" if number else "create",
            enable_stable_row_ids=given.stable,
            enable_v2_manifest_paths=not given.old_names,
        )


def json(given):
    """A table with a JSON column and one of structs with JSON in them."""
    values = pa.array(['{"a":1}', None, '[1,"\\u00fc"]', "null"], pa.json_())
    within = pa.StructArray.from_arrays([values, pa.array([1, 2, 3, 4])], names=["j", "n"])
    lance.write_dataset(pa.table({"id": [0, 1, 2, 3], "j": values, "within": within}), given.table)


def blobs(given):
    """A table of two fragments with a blob column, as the format version of its data files has one."""
    for part, mode in ([0, 1, 2], "create"), ([3, 4, 5], "append"):
        values = [None if BLOB_SIZES[n] is None else bytes([n + 65]) * BLOB_SIZES[n] for n in part]
        metadata = {"lance-encoding:blob": "true"}
        if given.version in ("2.0", "2.1"):
            column, kind = pa.array(values, pa.large_binary()), pa.field("b", pa.large_binary(), metadata=metadata)
        else:
            column = lance.blob_array(values)
            kind = pa.field("b", column.type)
        schema = pa.schema([pa.field("id", pa.int64()), kind, pa.field("s", pa.string())])
        rows = pa.table([pa.array(part), column, pa.array([f"s{n}" for n in part])], schema=schema)
        lance.write_dataset(rows, given.table, mode=mode, data_storage_version=given.version)


def contents(path):
    """Of each row its id, its text, and the length and the first byte of its blob."""
    dataset = lance.dataset(path)
    dataset.validate()
    found = dataset.to_table(columns=["id", "s", "b"], blob_handling="all_binary").to_pylist()
    blob = {row["id"]: None if row["b"] is None else [len(row["b"]), row["b"][:1].decode()] for row in found}
    return {"contents": sorted([row["id"], row["s"], blob[row["id"]]] for row in found)}


def keyed(given):
    """A table with a primary key."""
    key = pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"})
    rows = pa.table([list(range(5)), [f"s{n}" for n in range(5)]], schema=pa.schema([key, pa.field("s", pa.string())]))
    lance.write_dataset(rows, given.table, mode="create")


def insert_key(given):
    """A merge of one key by a handle on an older version."""
    dataset = lance.dataset(given.table, version=given.held)
    rows = pa.table([[given.key], ["theirs"]], schema=dataset.schema)
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)


def change(given):
    """One change by pylance, by a handle on the newest version or on an older one."""
    dataset = lance.dataset(given.table, version=given.held)
    match given.command:
        case "delete":
            dataset.delete(given.where)
        case "update":
            dataset.update({"s": "'theirs'"}, where=given.where)
        case "rewrite":
            ids = dataset.to_table(columns=["id"], filter=given.where)
            rows = ids.append_column("s", pa.array(["theirs"] * ids.num_rows))
            dataset.merge_insert("id").when_matched_update_all().write_mode("rewrite_columns").execute(rows)
        case "upsert":
            rows = dataset.to_table(filter=given.where)
            dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        case "compact":
            dataset.optimize.compact_files()
        case "index":
            dataset.create_scalar_index(given.column, given.kind)
        case "optimize":
            dataset.optimize.optimize_indices()
        case "append":
            last = max(row["id"] for row in dataset.to_table(columns=["id"]).to_pylist())
            rows = batch(list(range(last + 1, last + 1 + given.rows)), given.version)
            lance.write_dataset(rows.append_column("added", pa.nulls(given.rows, pa.int64())), given.table, mode="append")


def query(given):
    """The ids of rows, found by indices and without."""
    dataset = lance.dataset(given.table)
    ask = {"columns": ["id"], "filter": given.where}
    found = [dataset.to_table(use_scalar_index=use, **ask).column("id").to_pylist() for use in (True, False)]
    plan = dataset.scanner(**ask).explain_plan(True)
    return {"indexed": sorted(found[0]), "scanned": sorted(found[1]), "plan": plan}


def main():
    arguments = parser(__doc__)
    arguments.add_argument("command", choices=COMMANDS)
    arguments.add_argument("table")
    arguments.add_argument("--version", default="2.2", help="format version of the data files")
    arguments.add_argument("--rows", type=int, default=20)
    arguments.add_argument("--stable", action="store_true", help="rows keep their ids")
    arguments.add_argument("--where", help="the rows to read or to change, as SQL")
    arguments.add_argument("--column", default="id", help="the column to build an index on")
    arguments.add_argument("--fragments", type=int, default=1)
    arguments.add_argument("--old-names", action="store_true", help="manifests are named by their plain numbers")
    arguments.add_argument("--held", type=int, help="the version that the handle stands at")
    arguments.add_argument("--key", type=int, help="the key to merge")
    arguments.add_argument("--kind", default="BTREE", help="the kind of the index")
    given = arguments.parse_args()
    if given.command == "ids":
        found = lance.dataset(given.table).to_table(columns=["id"], with_row_id=True)
        return {"ids": sorted([row["id"], row["_rowid"]] for row in found.to_pylist())}
    if given.command == "query":
        return query(given)
    if given.command in ("blobs", "contents"):
        if given.command == "blobs":
            blobs(given)
        return contents(given.table)
    if given.command == "make":
        make(given)
    elif given.command == "odd":
        odd(given)
    elif given.command == "json":
        json(given)
    elif given.command == "keyed":
        keyed(given)
    elif given.command == "insert-key":
        insert_key(given)
    elif given.command != "rows":
        change(given)
    return answer(given.table, given.where if given.command == "rows" else None)


if __name__ == "__main__":
    run(main)
