"""Commits per second of lakebed and of the released clients, on the same work, in the same folder, in the same run.

    target/python/bin/python benches/peers/peers.py FOLDER [--rounds R] [--json FILE]

The work is a commit of metadata only: a log entry that names a data file which nobody writes.

- create loop: a temporary file with 600 bytes, a hard link to the next name, the temporary file removed. No fsync. This is
  what one log entry costs the folder at least; a Lance commit with its side file costs two.
- create loop, Lance's sizes, for information: the same for the two objects of each commit of the Lance table that lakebed had just
  written, byte counts included, as a manifest lists all fragments and grows with each.
- deltalake, one writer: `create_write_transaction` with one prepared add, checkpoints off.
- pylance, one writer: `LanceDataset.commit` of an Append of one prepared fragment; beside it `update_config`, for information.
- lakebed: `lakebed bench FOLDER --format F --writers W --commits N --durability none --json`.

A Lance manifest grows with its fragments, so lakebed and pylance commit equally often; the create loop, a lakebed Delta
table and deltalake get counts by which each runs long enough to be measured and no longer.

Rounds take turns, so that a busy machine disturbs all alike; figures are medians. A file system creates files several times
slower for a while after many were removed, and slower in one place than in another, so nothing is removed before the end, and
whatever is compared with the create loop has one right before and one right after it: its ratio is the median over the rounds
of its rate to the mean of those two. Printed is a Markdown table with the
ratios that are aimed at; `--json FILE` writes the same as JSON (`-` prints it in place of the table). Without the program
the clients alone are measured and every ratio says so. `--check` ends with status 1 unless every aim is met.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import deltalake
import lance
import pyarrow as pa
from deltalake import DeltaTable, PostCommitHookProperties, Schema
from deltalake.transaction import AddAction
from lance.fragment import DataFile, FragmentMetadata

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ENTRY_BYTES = 600
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])

# What is aimed at: a label, the figure, what it is compared with (a figure and a share of it), and the least ratio.
AIMS = (
    ("Delta, one writer, of the create loop", "lakebed delta 1", "create loop", 1.0, 0.60),
    ("Delta, 8 writers, of deltalake's one", "lakebed delta 8", "deltalake", 1.0, 10.0),
    ("Lance, one writer, of half the create loop", "lakebed lance 1", "create loop", 0.5, 0.60),
    ("Lance, one writer, of pylance", "lakebed lance 1", "pylance", 1.0, 2.0),
    ("Lance, 8 writers, of pylance's one", "lakebed lance 8", "pylance", 1.0, 1.0),
)


def rate(count, act):
    """Runs `act(step)` `count` times; answers how many a second."""
    start = time.perf_counter()
    for step in range(count):
        act(step)
    return count / (time.perf_counter() - start)


def create_loop(folder, count):
    """The least that a log entry costs."""
    os.mkdir(folder)
    body = b"x" * ENTRY_BYTES

    def create(step):
        temporary = os.path.join(folder, f".{step}.tmp")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(handle, body)
        os.close(handle)
        os.link(temporary, os.path.join(folder, f"{step:020}.json"))
        os.unlink(temporary)

    return rate(count, create)


def lance_sizes(folder):
    """The sizes of a table's manifests, ascending as they were written, and of its transaction files."""
    size = lambda entry: entry.stat().st_size
    return [sorted(map(size, os.scandir(os.path.join(folder, below)))) for below in ("_versions", "_transactions")]


def lance_loop(folder, sizes):
    """The least that the objects of one Lance commit cost: a side file that is renamed, and a manifest that is linked."""
    manifests, sides = sizes
    versions, transactions = os.path.join(folder, "_versions"), os.path.join(folder, "_transactions")
    os.makedirs(versions)
    os.makedirs(transactions)
    bodies = [b"x" * size for size in manifests]
    side = b"x" * sides[len(sides) // 2]

    def write(path, body):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(handle, body)
        os.close(handle)

    def commit(step):
        temporary = os.path.join(transactions, f".{step}.tmp")
        write(temporary, side)
        os.rename(temporary, os.path.join(transactions, f"{step}.txn"))
        temporary = os.path.join(versions, f".{step}.tmp")
        write(temporary, bodies[step])
        os.link(temporary, os.path.join(versions, f"{step:020}.manifest"))
        os.unlink(temporary)

    return rate(len(bodies), commit)


def deltalake_commits(folder, count):
    """One deltalake writer that commits one prepared add each time."""
    schema = Schema.from_arrow(SCHEMA)
    table = DeltaTable.create(folder, schema)
    hooks = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
    stats = json.dumps({"numRecords": 1, "minValues": {"id": 0}, "maxValues": {"id": 0}, "nullCount": {"id": 0}})

    def commit(step):
        add = AddAction(f"part-{step}.parquet", 700, {}, 1_700_000_000_000, True, stats)
        table.create_write_transaction([add], "append", schema, post_commithook_properties=hooks)

    figure = rate(count, commit)
    if DeltaTable(folder).version() != count:
        raise RuntimeError("deltalake did not commit what it was asked to")
    return figure


def pylance_appends(folder, count):
    """One pylance writer that commits one prepared fragment each time."""
    table = lance.write_dataset(pa.table({"id": [0], "s": ["s0"]}, schema=SCHEMA), folder)
    version = table.get_fragments()[0].metadata.files[0]
    handle = [table]

    def commit(step):
        file = DataFile(f"prepared-{step}.lance", [0, 1], [0, 1], version.file_major_version, version.file_minor_version, 700)
        append = lance.LanceOperation.Append([FragmentMetadata(id=0, files=[file], physical_rows=1)])
        handle[0] = lance.LanceDataset.commit(handle[0], append, read_version=handle[0].version)

    figure = rate(count, commit)
    if lance.dataset(folder).version != count + 1:
        raise RuntimeError("pylance did not commit what it was asked to")
    return figure


def pylance_config(folder, count):
    """One pylance writer that sets one configuration key each time."""
    table = lance.write_dataset(pa.table({"id": [0], "s": ["s0"]}, schema=SCHEMA), folder)
    return rate(count, lambda step: table.update_config({"key": str(step)}))


# Each peer, and the argument that says how often it commits.
PEERS = {
    "deltalake": (deltalake_commits, "deltalake_commits"),
    "pylance": (pylance_appends, "lance_commits"),
    "pylance config": (pylance_config, "lance_commits"),
}


def lakebed_commits(binary, folder, format_name, writers, commits):
    """The program's own bench."""
    command = [binary, "bench", folder, "--format", format_name, "--writers", str(writers), "--commits", str(commits)]
    done = subprocess.run(command + ["--durability", "none", "--json", "--keep"], capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"lakebed bench ended with status {done.returncode}: {done.stderr.strip()[-500:]}")
    answer = json.loads(done.stdout)
    if answer.get("lost") or answer.get("doubled"):
        raise RuntimeError(f"lakebed bench lost {answer.get('lost')} and doubled {answer.get('doubled')} commits")
    return answer["commits_per_second"]


def measure(folder, given):
    """Every figure, a list with one value per round; and for what is compared with the create loop, its ratios."""
    figures, ratios = {}, {}
    compared = {ours for _, ours, other, _, _ in AIMS if other == "create loop"}

    def loop(place):
        figures.setdefault("create loop", []).append(create_loop(place, given.creates))
        return figures["create loop"][-1]

    tasks = [(name, lambda place, act=act, n=getattr(given, count): act(place, n)) for name, (act, count) in PEERS.items()]
    if os.path.exists(given.binary):
        for format_name, total in (("delta", given.creates), ("lance", given.lance_commits)):
            for writers in (1, 8):
                each = max(1, total // writers)
                act = lambda place, f=format_name, w=writers, n=each: lakebed_commits(given.binary, place, f, w, n)
                tasks.append((f"lakebed {format_name} {writers}", act))
    for round_number in range(given.rounds):
        for name, act in tasks:
            place = os.path.join(folder, f"{name.replace(' ', '-')}-{round_number}")
            print(f"round {round_number + 1} of {given.rounds}: {name}", file=sys.stderr)
            before = loop(f"{place}-before") if name in compared else None
            figures.setdefault(name, []).append(act(place))
            if name == "lakebed lance 1":
                least = lance_loop(f"{place}-least", lance_sizes(place))
                figures.setdefault("create loop, Lance's sizes", []).append(least)
            if before is not None:
                bare = (before + loop(f"{place}-after")) / 2
                ratios.setdefault(name, []).append(figures[name][-1] / bare)
    return figures, {name: statistics.median(values) for name, values in ratios.items()}


def judge(medians, ratios):
    """Each aim with its ratio; the ratio is None where the figure is missing."""
    found = []
    for label, ours, other, share, least in AIMS:
        if other == "create loop":
            ratio = ratios[ours] / share if ours in ratios else None
        else:
            ratio = medians[ours] / (medians[other] * share) if ours in medians else None
        met = None if ratio is None else ratio >= least
        found.append({"aim": label, "ours": ours, "other": other, "share": share, "least": least, "ratio": ratio, "met": met})
    return found


def markdown(answer):
    """The figures and the aims as two tables."""
    lines = [f"Metadata-only commits, local folder, no fsync, {answer['cores']} cores; deltalake {answer['deltalake']}, pylance {answer['pylance']}.", ""]
    lines += ["| | commits per second (median) | least | most |", "|---|---|---|---|"]
    for name, figure in answer["figures"].items():
        lines.append(f"| {name} | {figure['median']:,.0f} | {min(figure['rounds']):,.0f} | {max(figure['rounds']):,.0f} |")
    lines += ["", "| aim | ratio | at least | met |", "|---|---|---|---|"]
    for aim in answer["aims"]:
        ratio = "not measured" if aim["ratio"] is None else f"{aim['ratio']:.2f}"
        met = {None: "–", True: "yes", False: "no"}[aim["met"]]
        lines.append(f"| {aim['aim']} | {ratio} | {aim['least']:.2f} | {met} |")
    if answer["missing"]:
        lines += ["", answer["missing"]]
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", help="an existing folder on the disk to measure; what is written there is removed")
    arguments.add_argument("--creates", type=int, default=2000, help="creates of the loop, and commits of lakebed on Delta, in each round")
    arguments.add_argument("--lance-commits", type=int, default=320, help="commits of pylance, and of lakebed on Lance, in each round")
    arguments.add_argument("--deltalake-commits", type=int, default=40, help="commits of deltalake in each round")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "lakebed"))
    arguments.add_argument("--json", metavar="FILE")
    arguments.add_argument("--check", action="store_true", help="fail unless every aim is met")
    given = arguments.parse_args()

    missing = None
    if not os.path.exists(given.binary):
        missing = "The program is missing, so only its peers were measured: build it with `cargo build --release -p lakebed-cli`, or name it with `--binary`."
    with tempfile.TemporaryDirectory(prefix="peers-", dir=given.folder) as folder:
        figures, ratios = measure(folder, given)
    medians = {name: statistics.median(values) for name, values in figures.items()}
    answer = {
        "deltalake": deltalake.__version__,
        "pylance": lance.__version__,
        "cores": os.cpu_count(),
        "creates": given.creates,
        "lance_commits": given.lance_commits,
        "deltalake_commits": given.deltalake_commits,
        "rounds": given.rounds,
        "figures": {name: {"median": medians[name], "rounds": values} for name, values in figures.items()},
        "aims": judge(medians, ratios),
        "missing": missing,
    }
    if given.json != "-":
        print(markdown(answer))
    if given.json:
        text = json.dumps(answer, indent=1)
        if given.json == "-":
            print(text)
        else:
            with open(given.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    return 0 if not given.check or all(aim["met"] for aim in answer["aims"]) else 1


if __name__ == "__main__":
    sys.exit(main())
