"""Writes the conformance tables with the real clients, and what those answer about them.

Without arguments everything is written anew below this folder; `--check` writes nothing, reads what is there and ends
with status 1 where an answer differs. Either way it prints one JSON document: `{"lance": {set: versions}, "delta":
{table: versions}, "differing": [name]}`.
"""

import argparse
import json
import os
import shutil
import sys

import delta_tables
import lance_tables

HERE = os.path.dirname(os.path.abspath(__file__))


def save(path, answer):
    """Writes an expected answer."""
    with open(path, "w", encoding="utf-8") as file:
        json.dump(answer, file, indent=1, ensure_ascii=False)
        file.write("\n")


def load(path):
    """Reads an expected answer."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def families():
    """Each format's folder, its makers, its reader, and where a table and its answer lie."""
    lance_folder = os.path.join(HERE, "lance", f"pylance-{lance_tables.CLIENT}")
    delta_folder = os.path.join(HERE, "delta", f"deltalake-{delta_tables.CLIENT}")
    return {
        "lance": (lance_folder, lance_tables, lambda name: (f"{name}/table.lance", f"{name}/expected.json")),
        "delta": (delta_folder, delta_tables, lambda name: (name, f"{name}.expected.json")),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true")
    given = arguments.parse_args()

    summary = {"lance": {}, "delta": {}, "differing": []}
    for format_name, (folder, module, places) in families().items():
        if not given.check:
            shutil.rmtree(folder, ignore_errors=True)
        for name, make in module.TABLES.items():
            table, expected = (os.path.join(folder, one) for one in places(name))
            if not given.check:
                os.makedirs(os.path.dirname(table), exist_ok=True)
                make(table)
            answer = module.expected(table, name, " ".join(make.__doc__.split()))
            if given.check:
                if answer != load(expected):
                    summary["differing"].append(f"{format_name}/{name}")
            else:
                save(expected, answer)
            summary[format_name][name] = len(answer["versions"])
    json.dump(summary, sys.stdout)
    sys.stdout.write("\n")
    return 1 if summary["differing"] else 0


if __name__ == "__main__":
    sys.exit(main())
