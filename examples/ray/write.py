"""Ray workers write Parquet into a Delta table side by side; the driver commits all of it as one version.

    python examples/ray/write.py TABLE --lakebed target/release/lakebed --rows 1000000 --workers 4

Makes the table where there is none. Every worker writes one file and returns its `add` action with statistics; nothing is visible before
the one commit, and a worker that dies is run again by Ray under a new file name. `--kill-one` shows it: the first worker kills itself in
mid-write, once. `--job` and `--piece` name the work: run twice, it is committed once.
"""

import os
import signal
import sys

import ray

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import prepared


@ray.remote(max_retries=3, num_cpus=1)
def write(table, first, count, die_once):
    """Writes `count` rows from the id `first` on; the `add` action of their file."""

    def batches():
        for number, batch in enumerate(prepared.measurements(first, count, first)):
            yield batch
            if number == 0 and die_once and not os.path.exists(die_once):
                open(die_once, "x", encoding="utf-8").close()
                os.kill(os.getpid(), signal.SIGKILL)

    return prepared.write_file(table, batches(), prepared.SCHEMA)


def main():
    arguments = prepared.arguments(__doc__, "--workers")
    arguments.add_argument("--kill-one", metavar="FILE", help="kill the first worker in mid-write unless FILE exists; makes FILE")
    given = arguments.parse_args()

    table = prepared.made(given.lakebed, given.table)

    ray.init(
        num_cpus=given.workers,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        object_store_memory=200 * 1024 * 1024,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.path.dirname(os.path.abspath(prepared.__file__))}},
    )
    try:
        each, rest = divmod(given.rows, given.workers)
        counts = [each + (at < rest) for at in range(given.workers)]
        firsts = [given.piece * given.rows + sum(counts[:at]) for at in range(given.workers)]
        tasks = [
            write.remote(table, first, count, given.kill_one if at == 0 else None)
            for at, (first, count) in enumerate(zip(firsts, counts, strict=True))
        ]
        adds = ray.get(tasks)
    finally:
        ray.shutdown()
    prepared.finish(given, table, adds)


if __name__ == "__main__":
    main()
