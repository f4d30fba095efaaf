"""Whether the program and the native client exclude each other on a store: both commit to one table at once, and nothing may be lost.

    store_race.py --program PATH --table URL --format delta|lance [--commits N] [--option KEY=VALUE]… [-- MORE FOR THE PROGRAM]

The table is made by the program. Then the program and deltalake (or pylance) commit N times each, at the same time: appends of one row, or on
a Lance table, where the program may have no rows, appends by pylance and properties by the program. Options go to both; keys and endpoints
may stand in the environment. In the end every acknowledged commit must be there once: the document says how many are missing.
"""

import argparse
import json
import subprocess
import sys
import threading

from common import key_values, message


def parsed():
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--format", choices=["delta", "lance"], required=True)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--client-table", help="the table as the native client spells it, where that differs")
    parser.add_argument("more", nargs="*")
    return parser.parse_args()


def program(asked, *words, text=None):
    """Runs the program; its document."""
    options = [word for option in asked.option for word in ("--storage-option", option)]
    command = [asked.program, *words, *options, *asked.more, "--json"]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip() or run.stdout.strip())
    return json.loads(run.stdout)


def ours(asked, acknowledged, refused):
    """Commits by the program: odd ids, or properties of their names."""
    for number in range(asked.commits):
        key = 2 * number + 1
        try:
            if asked.format == "delta":
                program(asked, "append", asked.table, "-", text=json.dumps({"id": key}))
            else:
                program(asked, "set", asked.table, f"k{key}=1")
            acknowledged.append(key)
        except RuntimeError as error:
            refused.append(message(error))


def theirs(asked, acknowledged, refused):
    """Appends by the native client: even ids."""
    import pyarrow as pa

    options, place = key_values(asked.option), asked.client_table or asked.table
    for number in range(asked.commits):
        key = 2 * number
        rows = pa.table({"id": pa.array([key], pa.int64())})
        try:
            if asked.format == "delta":
                from deltalake import write_deltalake

                write_deltalake(place, rows, mode="append", storage_options=options)
            else:
                import lance

                lance.write_dataset(rows, place, mode="append", storage_options=options)
            acknowledged.append(key)
        except Exception as error:  # whatever the client raises is its answer
            refused.append(message(error))


def found(asked):
    """The keys of all commits that stand, by the native client's own reading where rows are asked for."""
    options, place = key_values(asked.option), asked.client_table or asked.table
    if asked.format == "delta":
        return [row["id"] for row in program(asked, "scan", asked.table)]
    import lance

    rows = lance.dataset(place, storage_options=options).to_table().column("id").to_pylist()
    properties = program(asked, "show", asked.table)["properties"]
    return rows + [int(name[1:]) for name in properties if name.startswith("k")]


def main():
    """Races, and counts."""
    asked = parsed()
    program(asked, "create", asked.table, "--format", asked.format, "--schema", "id long")
    by_us, by_them, refused = [], [], []
    writers = [
        threading.Thread(target=ours, args=(asked, by_us, refused)),
        threading.Thread(target=theirs, args=(asked, by_them, refused)),
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    if not by_us or not by_them:
        sys.exit(f"one side committed nothing: {refused[:1]}")
    there = found(asked)
    missing = sorted(set(by_us + by_them) - set(there))
    document = {
        "ours": len(by_us),
        "theirs": len(by_them),
        "missing": missing,
        "doubled": len(there) - len(set(there)),
        "refused": len(refused),
        "first_refusal": refused[0] if refused else None,
    }
    print(json.dumps(document))
    sys.exit(1 if missing or document["doubled"] else 0)


if __name__ == "__main__":
    main()
