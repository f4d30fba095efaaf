"""Long Lance tables: lakebed beside pylance, on the same tables, in the same run.

    target/python/bin/python benches/peers/lance_long.py FOLDER [--program P] [--versions N] [--fragments N] [--rounds R] [--json FILE] [--check]

- history: a table of N versions (default 2,000). pylance: `versions()` on an open dataset. lakebed: `lakebed history TABLE --json`,
  the whole program from its start to the last byte of its answer.
- commit: a table of N fragments (default 100,000). Both append one prepared fragment, whose data file nobody writes, to the newest
  version. pylance: `LanceDataset.commit(path, Append)`, opening included, and beside it on an open dataset. lakebed: `lakebed commit
  TABLE FILE.txn --durability none`, the whole program.

Rounds take turns; figures are medians, in milliseconds. `--check` ends with status 1 unless the aims are met: history at least 10 times
as fast, a commit no slower.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
import uuid

import lance
import pyarrow as pa
from lance.fragment import DataFile, FragmentMetadata

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])


def fragment(name):
    """A fragment of one row whose data file nobody writes."""
    return FragmentMetadata(0, [DataFile(f"{name}.lance", [0, 1], [0, 1], 2, 2, 700)], 1)


def create(path, fragments):
    """A table of so many fragments in one version."""
    shutil.rmtree(path, ignore_errors=True)
    operation = lance.LanceOperation.Overwrite(SCHEMA, [fragment(f"f{at}") for at in range(fragments)])
    return lance.LanceDataset.commit(path, operation)


def varint(number):
    """A number as protobuf writes it."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, payload):
    """A field of bytes."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def append_message(version, name):
    """The transaction of an append of one fragment."""
    file = field(1, f"{name}.lance".encode()) + field(2, bytes([0, 1])) + field(3, bytes([0, 1]))
    file += varint(4 << 3) + varint(2) + varint(5 << 3) + varint(2) + varint(6 << 3) + varint(700)
    one = field(2, file) + varint(4 << 3) + varint(1)
    return varint(1 << 3) + varint(version) + field(2, str(uuid.uuid4()).encode()) + field(100, field(1, one))


def timed(act):
    """Milliseconds, and the answer."""
    start = time.perf_counter()
    answer = act()
    return (time.perf_counter() - start) * 1_000, answer


def run(program, *words):
    """Runs the program; its document."""
    done = subprocess.run([program, *words, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)


def history(folder, program, versions, rounds):
    """Both list the versions of one table."""
    path = os.path.join(folder, "versions.lance")
    dataset = create(path, 1)
    for version in range(1, versions):
        dataset = lance.LanceDataset.commit(dataset, lance.LanceOperation.Append([fragment(f"v{version}")]), read_version=version)
    theirs, ours = [], []
    for _ in range(rounds):
        spent, listed = timed(lance.dataset(path).versions)
        assert len(listed) == versions
        theirs.append(spent)
        spent, listed = timed(lambda: run(program, "history", path))
        assert len(listed) == versions
        ours.append(spent)
    return statistics.median(theirs), statistics.median(ours)


def commits(folder, program, fragments, rounds):
    """Both append to tables of the same size."""
    paths = [os.path.join(folder, name) for name in ("theirs.lance", "open.lance", "ours.lance")]
    for path in paths:
        create(path, fragments)
    held = lance.dataset(paths[1])
    theirs, opened, ours = [], [], []
    for at in range(rounds):
        version = at + 1
        append = lance.LanceOperation.Append([fragment(f"n{at}")])
        theirs.append(timed(lambda: lance.LanceDataset.commit(paths[0], append, read_version=version))[0])
        spent, held = timed(lambda: lance.LanceDataset.commit(held, append, read_version=version))
        opened.append(spent)
        file = os.path.join(folder, "append.txn")
        with open(file, "wb") as out:
            out.write(append_message(version, f"n{at}"))
        spent, answer = timed(lambda: run(program, "commit", paths[2], file, "--durability", "none"))
        assert answer["version"] == version + 1, answer
        ours.append(spent)
    counts = [lance.dataset(path).stats.dataset_stats()["num_fragments"] for path in paths]
    assert counts == [fragments + rounds] * 3, counts
    return statistics.median(theirs), statistics.median(opened), statistics.median(ours)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder")
    arguments.add_argument("--program", default=os.path.join(ROOT, "target", "release", "lakebed"))
    arguments.add_argument("--versions", type=int, default=2_000)
    arguments.add_argument("--fragments", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--json", metavar="FILE")
    arguments.add_argument("--check", action="store_true")
    given = arguments.parse_args()
    os.makedirs(given.folder, exist_ok=True)
    listed, ours_listed = history(given.folder, given.program, given.versions, given.rounds)
    committed, opened, ours_committed = commits(given.folder, given.program, given.fragments, given.rounds)
    figures = {
        "versions": given.versions,
        "pylance_versions_ms": listed,
        "lakebed_history_ms": ours_listed,
        "history_ratio": listed / ours_listed,
        "fragments": given.fragments,
        "pylance_commit_ms": committed,
        "pylance_commit_open_ms": opened,
        "lakebed_commit_ms": ours_committed,
        "commit_ratio": committed / ours_committed,
    }
    text = json.dumps({key: round(value, 2) for key, value in figures.items()}, indent=2)
    if given.json and given.json != "-":
        with open(given.json, "w", encoding="utf-8") as out:
            out.write(text + "\n")
    print(text)
    if given.check and (figures["history_ratio"] < 10 or figures["commit_ratio"] < 1):
        sys.exit(1)


if __name__ == "__main__":
    main()
