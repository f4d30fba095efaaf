"""How many commits are lost where Spark and the program write to one Delta table on a plain local folder.

    spark_race.py --program PATH --jars FOLDER --work FOLDER [--sparks N] [--programs N] [--seconds S] [--pause-ms MS]

Every writer appends single rows with ids of its own, each Spark in a process of its own, and remembers what it was told had been committed. In the
end the log is read as plain JSON: an acknowledged id that no commit adds is lost. Where Spark's renames meet creates by a link, some are:
the figures are the point, not that there are none. With --sparks 0 nothing may be lost.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path


def parsed():
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--sparks", type=int, default=1)
    parser.add_argument("--programs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--pause-ms", type=int, default=0, help="between two commits of the program, so that Spark gets a turn")
    parser.add_argument("--as-spark", type=int, help="be the Spark of this number: what this script starts")
    return parser.parse_args()


def be_spark(asked, table):
    """Appends when told to, until told to stop; a line for each id that was acknowledged."""
    from spark_witness import session

    scratch = Path(asked.work) / f"spark-{asked.as_spark}"
    scratch.mkdir(parents=True, exist_ok=True)
    spark = session(asked.jars, scratch)
    spark.read.format("delta").load(str(table)).count()
    print("ready", flush=True)
    end = time.monotonic() + float(sys.stdin.readline())
    first = (asked.as_spark + 1) * 1_000_000_000
    for key in range(first, first + 1_000_000_000):
        if time.monotonic() > end:
            break
        try:
            spark.sql(f"INSERT INTO delta.`{table}` VALUES ({key}L)")
            print(f"committed {key}", flush=True)
        except Exception as error:  # whatever Spark raises is its answer
            print(f"refused {key} {str(error).splitlines()[0][:200]}", flush=True)
    spark.stop()


def be_program(asked, table, number, acknowledged, refused):
    """Appends by the program until the time is up."""
    first, end = number * 1_000_000, time.monotonic() + asked.seconds
    for key in range(first, first + 1_000_000):
        if time.monotonic() > end:
            return
        command = [asked.program, "append", str(table), "-", "--durability", "none", "--json"]
        run = subprocess.run(command, input=json.dumps({"id": key}), capture_output=True, text=True, check=False)
        (acknowledged if run.returncode == 0 else refused).append(key)
        time.sleep(asked.pause_ms / 1_000)


def ids_in_log(table):
    """The ids that commits add, from their statistics, in the order of the log; every file holds one row."""
    found = []
    for entry in sorted((table / "_delta_log").glob("*.json")):
        if len(entry.stem) != 20:
            continue
        for line in entry.read_text().splitlines():
            add = json.loads(line).get("add") if line else None
            if add:
                found.append(json.loads(add["stats"])["minValues"]["id"])
    return found


def main():
    """Races, and counts."""
    asked = parsed()
    table = Path(asked.work).resolve() / "race"
    if asked.as_spark is not None:
        be_spark(asked, table)
        return
    shutil.rmtree(asked.work, ignore_errors=True)
    table.parent.mkdir(parents=True)
    create = [asked.program, "create", str(table), "--format", "delta", "--schema", "id long"]
    subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
    given = ["--program", asked.program, "--jars", asked.jars, "--work", asked.work]
    sparks = [
        subprocess.Popen(
            [sys.executable, __file__, *given, "--as-spark", str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for number in range(asked.sparks)
    ]
    for spark in sparks:
        if spark.stdout.readline().strip() != "ready":
            sys.exit("a Spark did not start")
    ours, refused = [], []
    programs = [
        threading.Thread(target=be_program, args=(asked, table, number, ours, refused)) for number in range(asked.programs)
    ]
    for spark in sparks:
        spark.stdin.write(f"{asked.seconds}\n")
        spark.stdin.flush()
    for program in programs:
        program.start()
    told = [spark.communicate()[0].splitlines() for spark in sparks]
    for program in programs:
        program.join()
    theirs = [int(line.split()[1]) for lines in told for line in lines if line.startswith("committed ")]
    there = ids_in_log(table)
    document = {
        "seconds": asked.seconds,
        "by_the_program": len(ours),
        "by_spark": len(theirs),
        "refused_to_the_program": len(refused),
        "refused_to_spark": sum(line.startswith("refused ") for lines in told for line in lines),
        "of_the_program_lost": len(set(ours) - set(there)),
        "of_spark_lost": len(set(theirs) - set(there)),
        "doubled": len(there) - len(set(there)),
    }
    print(json.dumps(document))
    shutil.rmtree(asked.work, ignore_errors=True)
    if not asked.sparks and document["of_the_program_lost"]:
        sys.exit("commits of the program alone were lost")


if __name__ == "__main__":
    main()
