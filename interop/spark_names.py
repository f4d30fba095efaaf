"""How often Spark's log store on a plain local folder replaces an entry that a link has created: the narrow race of `spark_race.py`, many times.

    spark_names.py --program PATH --jars FOLDER --work FOLDER [--seconds S]

In each round Spark's own store (`io.delta.storage.HDFSLogStore`, which is what it takes for such folders) and a hard link, the call that the program and
deltalake make, create one name at nearly the same moment. Counted are the rounds in which both were told that they had created it, and whose
bytes stand there then. PATH is not used.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import threading
import time
from pathlib import Path

from spark_witness import session


def link(folder, number, name, go, delay, told):
    """A rival that creates the name by a link, a little later."""
    temporary = folder / f"rival-{number}"
    temporary.write_text("ours")
    go.wait()
    time.sleep(delay)
    try:
        os.link(temporary, name)
        told["ours"] = True
    except FileExistsError:
        told["ours"] = False
    temporary.unlink()


def main():
    """Races, and counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--jars", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--seconds", type=float, default=60)
    asked = parser.parse_args()
    folder = Path(asked.work).resolve() / "names" / "_delta_log"
    folder.mkdir(parents=True)
    spark = session(asked.jars, folder.parent)
    jvm, configuration = spark._jvm, spark._jsc.hadoopConfiguration()
    store = jvm.io.delta.storage.HDFSLogStore(configuration)
    counts = {"rounds": 0, "by_a_link": 0, "by_spark": 0, "both_told": 0, "links_overwritten": 0}
    lasted, end = [0.01], time.monotonic() + asked.seconds
    while time.monotonic() < end:
        number = counts["rounds"]
        name, told, go = folder / f"{number:020}.json", {}, threading.Event()
        delay = random.random() * statistics.median(lasted[-50:])
        rival = threading.Thread(target=link, args=(folder, number, name, go, delay, told))
        rival.start()
        lines = jvm.java.util.ArrayList()
        lines.add("spark")
        go.set()
        begun = time.monotonic()
        try:
            store.write(jvm.org.apache.hadoop.fs.Path(str(name)), lines.iterator(), False, configuration)
            told["spark"] = True
        except Exception:  # it was there already
            told["spark"] = False
        lasted.append(time.monotonic() - begun)
        rival.join()
        counts["rounds"] += 1
        counts["by_a_link"] += told["ours"]
        counts["by_spark"] += told["spark"]
        if told["ours"] and told["spark"]:
            counts["both_told"] += 1
            counts["links_overwritten"] += name.read_text().strip() == "spark"
    print(json.dumps(counts))
    spark.stop()
    shutil.rmtree(folder.parent, ignore_errors=True)


if __name__ == "__main__":
    main()
