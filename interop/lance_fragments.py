"""Writes data files into a Lance table with pylance and commits nothing.

Prints `{"read_version", "fragments": [{"files": [{"path", "fields", "column_indices", "file_major_version",
"file_minor_version", "file_size_bytes"}], "physical_rows", "ids"}]}`: what an Append transaction needs to say of each new
fragment (its id is given at the commit), and the ids found in its file. Paths are relative to the table's `data` folder.

With `--verify` it first commits the printed fragments with pylance, rebuilt from the printed text, to a copy of the
table that is thrown away, and compares the rows; then `"verified"` is true.
"""

import json
import os
import shutil
import tempfile

import lance
from lance.file import LanceFileReader
from lance.fragment import DataFile, FragmentMetadata, write_fragments

from common import parser, run
from lance_table import batch

FILE_KEYS = ("fields", "column_indices", "file_major_version", "file_minor_version", "file_size_bytes")


def describe(table, fragment):
    """One fragment as this script prints it."""
    files = [{"path": str(one.path)} | {key: getattr(one, key) for key in FILE_KEYS} for one in fragment.files]
    ids = LanceFileReader(os.path.join(table, "data", files[0]["path"])).read_all().to_table().column("id").to_pylist()
    return {"files": files, "physical_rows": fragment.physical_rows, "ids": ids}


def rebuild(printed):
    """A fragment from what this script printed."""
    files = [DataFile(one["path"], *(one[key] for key in FILE_KEYS)) for one in printed["files"]]
    return FragmentMetadata(id=0, files=files, physical_rows=printed["physical_rows"])


def verify(table, answer):
    """Commits the fragments to a copy of the table and compares the rows."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.lance")
        shutil.copytree(table, copy)
        before = lance.dataset(copy)
        expected = before.to_table().column("id").to_pylist()
        printed = json.loads(json.dumps(answer["fragments"]))
        append = lance.LanceOperation.Append([rebuild(one) for one in printed])
        after = lance.LanceDataset.commit(copy, append, read_version=answer["read_version"])
        after.validate()
        for one in printed:
            expected += one["ids"]
        if sorted(expected) != sorted(after.to_table().column("id").to_pylist()):
            raise RuntimeError("the copy to which pylance committed the fragments has other rows than were written")


def main():
    arguments = parser(__doc__)
    arguments.add_argument("table")
    arguments.add_argument("--count", type=int, required=True, help="fragments, one data file each")
    arguments.add_argument("--rows", type=int, required=True, help="rows of each")
    arguments.add_argument("--start", type=int, required=True, help="id of the first row; the others follow")
    arguments.add_argument("--verify", action="store_true")
    given = arguments.parse_args()

    dataset = lance.dataset(given.table)
    rows = batch(list(range(given.start, given.start + given.count * given.rows)))
    written = write_fragments(rows, dataset, mode="append", max_rows_per_file=given.rows, max_rows_per_group=given.rows)
    answer = {"read_version": dataset.version, "fragments": [describe(given.table, one) for one in written]}
    if given.verify:
        verify(given.table, answer)
        answer["verified"] = True
    return answer


if __name__ == "__main__":
    run(main)
