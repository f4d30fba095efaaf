"""Makes, changes and reads Lance tables with columns of many types with pylance.

`make TABLE` writes a table of two fragments with deleted rows and, behind them, a column that was added later; `rows TABLE`
only reads; `delete`, `update`, `upsert` and `compact` change a table first; `ids` prints `{"ids"}`, pairs of `id` and
the row's own id, sorted. Each other prints `{"version", "rows", "fragments",
"columns"}`: every row as the JSON object that `lakebed scan --json` prints, sorted by `id`; of each fragment its id, rows and
deleted rows; the types of the columns as Arrow spells them. Tables are validated before they are read.
"""

import base64
import datetime
import decimal

import lance
import pyarrow as pa

from common import parser, run

EPOCH = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
SAFE_INTEGER = 1 << 53


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


def change(given):
    """One change by pylance."""
    dataset = lance.dataset(given.table)
    match given.command:
        case "delete":
            dataset.delete(given.where)
        case "update":
            dataset.update({"s": "'theirs'"}, where=given.where)
        case "upsert":
            rows = dataset.to_table(filter=given.where)
            dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        case "compact":
            dataset.optimize.compact_files()


def main():
    arguments = parser(__doc__)
    arguments.add_argument("command", choices=["make", "rows", "delete", "update", "upsert", "compact", "ids"])
    arguments.add_argument("table")
    arguments.add_argument("--version", default="2.2", help="format version of the data files")
    arguments.add_argument("--rows", type=int, default=20)
    arguments.add_argument("--stable", action="store_true", help="rows keep their ids")
    arguments.add_argument("--where", help="the rows to read or to change, as SQL")
    given = arguments.parse_args()
    if given.command == "ids":
        found = lance.dataset(given.table).to_table(columns=["id"], with_row_id=True)
        return {"ids": sorted([row["id"], row["_rowid"]] for row in found.to_pylist())}
    if given.command == "make":
        make(given)
    elif given.command != "rows":
        change(given)
    return answer(given.table, given.where if given.command == "rows" else None)


if __name__ == "__main__":
    run(main)
