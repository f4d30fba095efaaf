"""Commits with pylance what the other scripts do not: clones, branches, memtable shards, overlays, replaced columns, bases.

    TABLES                       a folder that is to hold the tables

Prints `{"tables": [{"name", "from"}]}`: the folders made (`from`: the folder that a clone's first version was made of, else
null). Every version of each is there to be looked at.
"""

import os
import uuid

os.environ["LANCE_ENABLE_UNSTABLE_DATA_OVERLAY_FILES"] = "1"

import lance
import pyarrow as pa
from lance.file import LanceFileWriter
from lance.mem_wal import CompactedSsTable

from common import parser, run

SHARDS = [str(uuid.UUID(int=number)) for number in (1, 2)]


def batch(first, last):
    """Rows with these ids."""
    ids = range(first, last)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "v": pa.array([10 * one for one in ids], pa.int64()),
        "s": pa.array([f"s{one}" for one in ids], pa.string()),
    }
    schema = pa.schema([
        pa.field("id", pa.int64(), nullable=False, metadata={"lance-schema:unenforced-primary-key": "true"}),
        pa.field("v", pa.int64()),
        pa.field("s", pa.string()),
    ])
    return pa.table(columns, schema=schema)


def data_file(path, name, column, field, values, kind):
    """Writes a data file of one column and says what a commit needs to know of it."""
    target = os.path.join(path, "data", name)
    schema = pa.schema([pa.field(column, kind)])
    with LanceFileWriter(target, schema, version="2.2") as writer:
        writer.write_batch(pa.record_batch([pa.array(values, kind)], schema=schema))
    return lance.fragment.DataFile(name, [field], [0], 2, 2, os.path.getsize(target))


def commit(path, operation):
    """Commits an operation on the newest version."""
    version = lance.dataset(path).version
    lance.LanceDataset.commit(path, operation, read_version=version)


def small(path, **options):
    """Two fragments, a deletion and an index."""
    lance.write_dataset(batch(0, 10), path, **options)
    dataset = lance.write_dataset(batch(10, 20), path, mode="append")
    dataset.delete("id = 3")
    lance.dataset(path).create_scalar_index("id", "BTREE")
    lance.dataset(path).create_scalar_index("v", "BITMAP")
    return lance.dataset(path)


def branches(root):
    """A branch, a branch of a branch, and a clone, each written to."""
    path = os.path.join(root, "branches.lance")
    dataset = small(path)
    first = dataset.create_branch("dev/x")
    first = lance.write_dataset(batch(20, 25), first, mode="append")
    first.delete("id = 11 OR id = 21")
    second = first.create_branch("y")
    second.delete("id = 5")
    clone = os.path.join(root, "clone.lance")
    dataset.shallow_clone(clone, 3)
    lance.dataset(clone).delete("id = 15")
    return [
        ("branches.lance", None),
        ("branches.lance/tree/dev/x", "branches.lance"),
        ("branches.lance/tree/y", "branches.lance/tree/dev/x"),
        ("clone.lance", "branches.lance"),
    ]


def shards(root):
    """Updates that take memtable shards in."""
    path = os.path.join(root, "shards.lance")
    dataset = small(path)
    dataset.initialize_mem_wal(unsharded=True)
    for start, tables in ((30, [(0, 3)]), (31, [(0, 5), (1, 1)]), (32, [(1, 2)])):
        dataset = lance.dataset(path)
        merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.mark_sstables_as_compacted([CompactedSsTable(SHARDS[at], generation) for at, generation in tables])
        merge.execute(batch(start, start + 2))
    return [("shards.lance", None)]


def overlays(root, name, **options):
    """Overlays, and what follows them."""
    path = os.path.join(root, name)
    small(path, **options)
    file = lance.LanceOperation.DataOverlayFile
    group = lance.LanceOperation.DataOverlayGroup
    first = data_file(path, "o1.lance", "v", 1, [-1, -2], pa.int64())
    commit(path, lance.LanceOperation.DataOverlay([group(0, [file(first, [1, 2])])]))
    second = data_file(path, "o2.lance", "s", 2, ["x"], pa.string())
    third = data_file(path, "o3.lance", "v", 1, [-5], pa.int64())
    commit(path, lance.LanceOperation.DataOverlay([group(0, [file(second, [4])]), group(1, [file(third, [0])])]))
    lance.dataset(path).delete("id = 12")
    lance.dataset(path).update({"s": "'new'"}, where="id = 1")
    replacement = lance.LanceOperation.DataReplacementGroup
    whole = data_file(path, "r1.lance", "v", 1, list(range(10)), pa.int64())
    commit(path, lance.LanceOperation.DataReplacement([replacement(1, whole)]))
    lance.write_dataset(batch(40, 43), path, mode="append")
    lance.dataset(path).update_config({"k": "1"})
    return [(name, None)]


def replacements(root, name, **options):
    """Columns replaced, in a file of their own and in one with others."""
    path = os.path.join(root, name)
    small(path, **options)
    replacement = lance.LanceOperation.DataReplacementGroup
    for at, value in (("r1.lance", 1), ("r2.lance", 2)):
        whole = data_file(path, at, "v", 1, [value] * 10, pa.int64())
        commit(path, lance.LanceOperation.DataReplacement([replacement(1, whole)]))
    lance.dataset(path).drop_columns(["s"])
    dataset = lance.dataset(path)
    dataset.update_schema_metadata({"a": "b"})
    dataset.optimize.compact_files(target_rows_per_fragment=100)
    return [(name, None)]


def main():
    arguments = parser(__doc__)
    arguments.add_argument("tables")
    root = arguments.parse_args().tables
    os.makedirs(root, exist_ok=True)
    made = branches(root) + shards(root)
    made += overlays(root, "overlays.lance") + overlays(root, "overlays_stable.lance", enable_stable_row_ids=True)
    made += replacements(root, "replaced.lance") + replacements(root, "replaced_stable.lance", enable_stable_row_ids=True)
    return {"tables": [{"name": name, "from": source} for name, source in made]}


if __name__ == "__main__":
    run(main)
