"""The Lance tables of the conformance data, written and described by pylance."""

import hashlib
import json
import os

import lance
import pyarrow as pa

CLIENT = lance.__version__

# Versions with more rows than this are described by their hash alone.
ROWS_SHOWN = 64


def rows(ids):
    """The rows with these ids; every seventh has no string."""
    return pa.table({"id": pa.array(ids, pa.int64()), "s": pa.array([None if one % 7 == 6 else f"s{one}" for one in ids], pa.string())})


def basic(path):
    """V2 names: create, append, delete of rows, config set and removed, a BTREE index, an append that it does not cover,
    delete of a whole fragment, overwrite that drops the index."""
    table = lance.write_dataset(rows(range(12)), path, transaction_properties={"made_by": "conformance"})
    table = lance.write_dataset(rows(range(12, 20)), table, mode="append")
    table.delete("id IN (3, 4)")
    table.update_config({"owner": "conformance", "spare": "1"})
    table.delete_config_keys(["spare"])
    table.create_scalar_index("id", "BTREE", name="by_id")
    table = lance.write_dataset(rows(range(20, 25)), table, mode="append")
    table.delete("id >= 12 AND id < 20")
    lance.write_dataset(rows(range(30, 33)), table, mode="overwrite")


def v1_names(path):
    """V1 names: create, append, a delete of rows, a config change."""
    table = lance.write_dataset(rows(range(8)), path, enable_v2_manifest_paths=False)
    table = lance.write_dataset(rows(range(8, 16)), table, mode="append")
    table.delete("id IN (1, 9)")
    table.update_config({"owner": "conformance"})


def deletes(path):
    """Deletion files of both kinds: Arrow for few rows, a bitmap from 5,000, and a bitmap where two deletes of one fragment
    met and the later one was rebased onto the other; at the end a fragment of which nothing is left."""
    table = lance.write_dataset(pa.table({"id": pa.array(range(5200), pa.int64())}), path)
    more = pa.table({"id": pa.array(range(5200, 5220), pa.int64())})
    table = lance.write_dataset(more, table, mode="append")
    table.delete("id IN (5200, 5203)")
    table.delete("id < 5000")
    stale = lance.dataset(path)
    table.delete("id = 5210")
    stale.delete("id IN (5211, 5212)")
    lance.dataset(path).delete("id < 5200")


def stable_row_ids(path):
    """Stable row ids: create, append, update, merge_insert, and a compaction (which reserves fragment ids first)."""
    table = lance.write_dataset(rows(range(6)), path, enable_stable_row_ids=True)
    table = lance.write_dataset(rows(range(6, 12)), table, mode="append")
    table.update({"s": "'updated'"}, where="id IN (2, 8)")
    table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows([5, 100]))
    table.optimize.compact_files()


TABLES = {"basic": basic, "v1_names": v1_names, "deletes": deletes, "stable_row_ids": stable_row_ids}



def deletion(fragment, table_path):
    """A fragment's deletion file; None where it has none."""
    metadata = fragment.metadata.deletion_file
    if metadata is None:
        return None
    kind = {"array": "arrow", "bitmap": "bitmap"}[metadata.file_type]
    name = metadata.path(fragment.metadata.id)
    if not os.path.isfile(os.path.join(table_path, name)):
        raise RuntimeError(f"{name} is named by a manifest and missing")
    return {"type": kind, "read_version": metadata.read_version, "id": metadata.id, "num_deleted_rows": metadata.num_deleted_rows, "path": name}


def described_fragment(fragment, table_path):
    """One fragment of one version."""
    metadata = fragment.metadata
    files = [
        {
            "path": str(one.path),
            "fields": list(one.fields),
            "column_indices": list(one.column_indices),
            "version": [one.file_major_version, one.file_minor_version],
            "size": one.file_size_bytes,
            "base_id": one.base_id,
        }
        for one in metadata.files
    ]
    return {
        "id": metadata.id,
        "physical_rows": metadata.physical_rows,
        "num_rows": metadata.num_rows,
        "num_deletions": metadata.num_deletions,
        "data_files": files,
        "deletion_file": deletion(fragment, table_path),
    }


def described_version(path, version):
    """One version as pylance sees it."""
    table = lance.dataset(path, version=version)
    columns = table.to_table().to_pydict()
    fragments = [described_fragment(one, path) for one in table.get_fragments()]
    transaction = maker(table, version)
    answer = {
        "version": version,
        "num_rows": table.count_rows(),
        "fragment_ids": [one["id"] for one in fragments],
        "total_deletions": sum(one["num_deletions"] for one in fragments),
        "schema": [[one.name, str(one.type), one.nullable] for one in table.schema],
        "config": dict(sorted(table.config().items())),
        "fragments": fragments,
        "indices": [
            {"name": one.name, "fields": list(one.field_names), "uuids": sorted(str(part.uuid) for part in one.segments)}
            for one in table.describe_indices()
        ],
        "rows_sha256": hashlib.sha256(json.dumps(columns).encode()).hexdigest(),
        "operation": type(transaction.operation).__name__ if transaction else None,
        "read_version": transaction.read_version if transaction else None,
        "transaction_uuid": transaction.uuid if transaction else None,
    }
    if table.count_rows() <= ROWS_SHOWN:
        answer["rows"] = columns
    return answer


def maker(table, version):
    """The transaction that made a version; None where pylance cannot show it, as when fragments are reserved."""
    try:
        transaction = table.read_transaction(version)
    except (OSError, ValueError, RuntimeError, AttributeError):
        return None
    shown = transaction is not None and type(transaction.operation).__name__ != "BaseOperation"
    return transaction if shown else None


def expected(path, name, note):
    """Everything that pylance answers about a table."""
    table = lance.dataset(path)
    found = [os.path.relpath(os.path.join(folder, one), path) for folder, _, names in os.walk(path) for one in names]
    return {
        "fixture": name,
        "note": note,
        "pylance": CLIENT,
        "latest_version": table.version,
        "has_stable_row_ids": table.has_stable_row_ids,
        "data_storage_version": table.data_storage_version,
        "files": sorted(found),
        "versions": [described_version(path, one["version"]) for one in sorted(table.versions(), key=lambda one: one["version"])],
        "tags": {},
        "branches": {},
    }
