"""How long it takes to open a Delta table: the whole process of lakebed against deltalake in its own process, on the same tables.

    target/python/bin/python benches/peers/opening.py FOLDER [--rounds R] [--json FILE] [--check]

- commits: 1,000 JSON commits of one file each.
- files: 200,000 files in 200 JSON commits.
- checkpoint: 200,000 files in one checkpoint that deltalake wrote.
- million: 1,000,000 files in one checkpoint that lakebed wrote; only lakebed opens it, for the memory that it takes.

deltalake: `DeltaTable(…).get_add_actions()`, the import not counted. lakebed: the process `lakebed show TABLE --json`, from its start to its
end. Rounds take turns; figures are medians. Statistics are of three columns, as Spark writes them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

import deltalake
from deltalake import DeltaTable

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A table, and how many times as fast as deltalake lakebed is to open it.
AIMS = (("commits", 5.0), ("files", 4.0), ("checkpoint", 3.0))
# What opening a million files may take, in bytes.
MEMORY_MAX = 1 << 30
SCHEMA = {
    "type": "struct",
    "fields": [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in (("id", "long"), ("s", "string"), ("day", "date"))],
}


def add(number):
    """The action of one file, as Spark writes it."""
    bounds = lambda more: {"id": number * 100 + more, "s": f"value-{number * 100 + more:012}", "day": f"2026-{number % 12 + 1:02}-{more // 10 + 1:02}"}
    stats = {"numRecords": 100, "minValues": bounds(0), "maxValues": bounds(99), "nullCount": {"id": 0, "s": 1, "day": 0}}
    return {
        "path": f"part-{number % 200:05}-{uuid.UUID(int=number * 0x9E3779B97F4A7C15 % (1 << 128))}-c000.snappy.parquet",
        "partitionValues": {},
        "size": 1_000_000 + number,
        "modificationTime": 1_700_000_000_000 + number,
        "dataChange": True,
        "stats": json.dumps(stats, separators=(",", ":")),
    }


def table(folder, commits, files):
    """A table of so many commits after the first, each with so many files."""
    log = os.path.join(folder, "_delta_log")
    os.makedirs(log)
    write = lambda version, actions: open(os.path.join(log, f"{version:020}.json"), "w", encoding="utf-8").write("\n".join(json.dumps(a, separators=(",", ":")) for a in actions))
    metadata = {"id": str(uuid.UUID(int=7)), "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(SCHEMA), "partitionColumns": [], "configuration": {"delta.checkpointInterval": "1000000"}}
    write(0, [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}])
    for version in range(1, commits + 1):
        info = {"commitInfo": {"timestamp": 1_700_000_000_000, "operation": "WRITE", "operationParameters": {"mode": "Append"}, "isBlindAppend": True}}
        write(version, [info] + [{"add": add((version - 1) * files + at)} for at in range(files)])
    return folder


def only_checkpoint(folder):
    """Leaves the checkpoint and the commit of its version."""
    log = os.path.join(folder, "_delta_log")
    newest = max(name for name in os.listdir(log) if name.endswith(".json"))
    for name in os.listdir(log):
        if name.endswith(".json") and name != newest:
            os.unlink(os.path.join(log, name))


def theirs(folder, count):
    """Seconds of deltalake."""
    start = time.perf_counter()
    found = DeltaTable(folder).get_add_actions().num_rows
    seconds = time.perf_counter() - start
    if found != count:
        raise RuntimeError(f"deltalake found {found} files, not {count}")
    return seconds


def ours(binary, folder, count):
    """Seconds of the whole process of lakebed, and the most memory that it took, in bytes."""
    start = time.perf_counter()
    child = subprocess.Popen([binary, "show", folder, "--json"], stdout=subprocess.PIPE)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0 or json.loads(out)["num_files"] != count or json.loads(out)["num_rows"] != count * 100:
        raise RuntimeError(f"lakebed show ended with {child.returncode} and {out[:300]!r}")
    return seconds, usage.ru_maxrss * 1024


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", help="an existing folder on the disk to measure; what is written there is removed")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "lakebed"))
    arguments.add_argument("--only", help="one of the tables")
    arguments.add_argument("--json", metavar="FILE")
    arguments.add_argument("--check", action="store_true", help="fail unless every aim is met")
    given = arguments.parse_args()
    answer = {"deltalake": deltalake.__version__, "cores": os.cpu_count(), "tables": {}}
    with tempfile.TemporaryDirectory(prefix="opening-", dir=given.folder) as folder:
        place = lambda name: os.path.join(folder, name)
        wanted = lambda name: given.only in (None, name)
        tables = {}
        if wanted("commits"):
            tables["commits"] = (table(place("commits"), 1_000, 1), 1_000)
        if wanted("files"):
            tables["files"] = (table(place("files"), 200, 1_000), 200_000)
        if wanted("checkpoint"):
            tables["checkpoint"] = (table(place("checkpoint"), 200, 1_000), 200_000)
            DeltaTable(place("checkpoint")).create_checkpoint()
            only_checkpoint(place("checkpoint"))
        for round_number in range(given.rounds):
            for name, (where, count) in tables.items():
                figures = answer["tables"].setdefault(name, {"ours": [], "theirs": [], "memory": []})
                seconds, memory = ours(given.binary, where, count)
                figures["ours"].append(seconds)
                figures["memory"].append(memory)
                figures["theirs"].append(theirs(where, count))
        if wanted("million"):
            where = table(place("million"), 1_000, 1_000)
            subprocess.run([given.binary, "checkpoint", where], check=True, stdout=subprocess.DEVNULL)
            only_checkpoint(where)
            runs = [ours(given.binary, where, 1_000_000) for _ in range(3)]
            answer["tables"]["million"] = {"ours": [seconds for seconds, _ in runs], "memory": [memory for _, memory in runs]}
    met = True
    print("| table | lakebed (s) | deltalake (s) | ratio | at least | memory (MiB) | met |\n|---|---|---|---|---|---|---|")
    for name, least in AIMS:
        if name not in answer["tables"]:
            continue
        figures = answer["tables"][name]
        mine, other = statistics.median(figures["ours"]), statistics.median(figures["theirs"])
        figures["ratio"] = other / mine
        met &= figures["ratio"] >= least
        print(f"| {name} | {mine:.3f} | {other:.3f} | {other / mine:.1f} | {least:.1f} | {max(figures['memory']) >> 20} | {'yes' if other / mine >= least else 'no'} |")
    if "million" in answer["tables"]:
        figures = answer["tables"]["million"]
        memory = max(figures["memory"])
        met &= memory < MEMORY_MAX
        print(f"| million | {statistics.median(figures['ours']):.3f} | – | – | – | {memory >> 20} of {MEMORY_MAX >> 20} | {'yes' if memory < MEMORY_MAX else 'no'} |")
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(answer, file, indent=1)
    return 0 if met or not given.check else 1


if __name__ == "__main__":
    sys.exit(main())
