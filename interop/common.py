"""What the interoperation scripts share.

Every script prints exactly one JSON document on standard output and everything else on standard error. A script that
fails prints no document and ends with status 1; a race that met something it did not expect prints its document, with
the outcome "error" in it, and ends with status 1 too.

The tables have the columns `id` (int64, unique) and `s` (string); Delta tables also `w` (int32), the writer and the
partition. Unless it says otherwise, a script gives the row with id N the string "sN".
"""

import argparse
import hashlib
import json
import os
import re
import sys
import time


def rows_hash(rows):
    """SHA-256, in hex, of the rows as compact JSON: `[[1,"s1"],[2,null]]`, in UTF-8, nothing escaped that need not be.

    A caller in another language gets the same bytes from any JSON writer that puts no blanks and keeps non-ASCII text.
    """
    text = json.dumps(rows, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def plain(value):
    """A value that JSON can hold; what it cannot becomes its text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def sorted_rows(table):
    """The rows of an Arrow table as lists in column order, sorted by `id` where there is one and by their JSON elsewhere."""
    columns = [column.to_pylist() for column in table.columns]
    rows = [[plain(value) for value in row] for row in zip(*columns)]
    if "id" in table.column_names:
        at = table.column_names.index("id")
        return sorted(rows, key=lambda row: (row[at] is None, row[at] or 0, json.dumps(row)))
    return sorted(rows, key=json.dumps)


def sorted_ids(table):
    """The ids of an Arrow table, sorted; None where there is no column `id`."""
    if "id" not in table.column_names:
        return None
    return sorted(value for value in table.column("id").to_pylist() if value is not None)


def message(error):
    """The first line of an error, without the place in the client's own sources that some clients append."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r",?\s*\S+\.rs:\d+(:\d+)?.*$", "", lines[0])[:300]


def key_values(texts):
    """`["a=1", "b=2"]` as a dictionary."""
    pairs = [text.partition("=") for text in texts]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong:
        raise ValueError(f"give KEY=VALUE, not {wrong[0]!r}")
    return {key: value for key, _, value in pairs}


def parser(description):
    """A parser that shows a script's own documentation."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def race_arguments(arguments):
    """The arguments that every writer in a race takes."""
    arguments.add_argument("table", help="the table, which must exist")
    arguments.add_argument("--writer", type=int, required=True, help="number of this writer, unique in the race")
    arguments.add_argument("--commits", type=int, required=True, help="commits that must succeed")
    arguments.add_argument("--start", type=int, required=True, help="first id of this writer's own range; leave room for 1,000,000")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--rows", type=int, default=3, help="rows per append")
    arguments.add_argument("--pause-ms", type=int, default=0, metavar="MS", help="longest pause before each attempt")
    arguments.add_argument("--attempts", type=int, default=200, help="refusals in a row after which the writer gives up")
    arguments.add_argument("--ready", metavar="FILE", help="create this file when everything is imported and the table is open")
    arguments.add_argument("--go", metavar="FILE", help="then wait until this file exists (at most 120 s)")


def wait_for_start(ready, go):
    """Says that this writer is ready and waits for the start, so that slow imports do not keep it out of the race."""
    if ready:
        with open(ready, "x", encoding="utf-8"):
            pass
    end = time.monotonic() + 120
    while go and not os.path.exists(go):
        if time.monotonic() > end:
            raise TimeoutError("nobody started the race within 120 s")
        time.sleep(0.001)


class Race:
    """What a writer in a race did and believes: one entry per attempt, in order.

    Every attempt has ids (or a key) of its own, also when it repeats a refused one, so that an audit can ask both ways:
    what was called committed is there exactly once, what was called refused is nowhere.
    """

    def __init__(self, arguments, rng):
        self.arguments = arguments
        self.rng = rng
        self.log = []
        self.live = []
        self.next_id = arguments.start
        self.committed = 0
        self.refusals_in_a_row = 0

    def fresh_ids(self):
        """The next ids of this writer's range."""
        first = self.next_id
        self.next_id += self.arguments.rows
        return list(range(first, self.next_id))

    def some_live_ids(self):
        """Up to two ids that this writer added and did not delete."""
        return sorted(self.rng.sample(self.live, min(2, len(self.live))))

    def record(self, kind, outcome, version=None, added=(), deleted=(), **more):
        """Notes what an attempt came to."""
        entry = {"version": version, "kind": kind, "ids_added": list(added), "ids_deleted": list(deleted), "outcome": outcome}
        self.log.append(entry | more)
        if outcome == "committed":
            self.committed += 1
            self.refusals_in_a_row = 0
            self.live = [one for one in self.live if one not in set(deleted)] + list(added)
        else:
            self.refusals_in_a_row += 1

    def goes_on(self):
        """Whether commits are still wanted, and neither an error nor too many refusals stopped this writer."""
        if self.log and self.log[-1]["outcome"] == "error":
            return False
        return self.committed < self.arguments.commits and self.refusals_in_a_row < self.arguments.attempts

    def pause(self):
        """Lets the others go first for up to the pause that was asked for."""
        if self.arguments.pause_ms:
            time.sleep(self.rng.random() * self.arguments.pause_ms / 1000)

    def back_off(self):
        """Waits a little longer after each refusal, at most 50 ms."""
        time.sleep(self.rng.random() * min(0.05, 0.002 * 2 ** min(self.refusals_in_a_row, 5)))

    def document(self):
        """The document of a race, and the script's exit status."""
        outcomes = [entry["outcome"] for entry in self.log]
        document = {
            "writer": self.arguments.writer,
            "committed": self.committed,
            "refused": outcomes.count("refused"),
            "errors": outcomes.count("error"),
            "ids_live": sorted(self.live),
            "log": self.log,
        }
        return document, 0 if self.committed == self.arguments.commits else 1


def serve(worker, errors):
    """Reads a JSON document per line until the input ends, and prints for each a line with what `worker.answer` makes of it, or
    `{"error": TEXT}` where it raises one of `errors`; then the worker's table, `worker.path`, is forgotten."""
    for line in sys.stdin:
        try:
            found = worker.answer(json.loads(line))
        except errors as error:
            worker.path = None
            found = {"error": message(error)}
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
        sys.stdout.flush()


def run(main):
    """Runs a script: prints what it returns as its one document, or the reason why there is none."""
    try:
        answer = main()
    except Exception as error:  # the clients have error types of their own
        print(f"{os.path.basename(sys.argv[0])}: {message(error)}", file=sys.stderr)
        sys.exit(1)
    document, status = answer if isinstance(answer, tuple) else (answer, 0)
    json.dump(document, sys.stdout, ensure_ascii=False)
    sys.stdout.write("\n")
    sys.exit(status)
