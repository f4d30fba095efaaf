"""A writer of the real client that is killed: one row for each commit, until somebody ends it.

Unlike the other scripts it prints a line before and after each attempt, at once, so that whoever kills it knows what it
believed: `told: trying N`, then `told: committed N [VERSION]` or `told: refused N`, where N is the id of the row. Ids count up from
`--start`. deltalake does not say which version a commit became, so no version is printed of it.
"""

import sys

from common import parser, run

# A store that speaks S3 takes the condition from the request; deltalake has to be told that it may rely on it.
OPTIONS = {"conditional_put": "etag"}


def say(what, *numbers):
    # In one piece, also where output is not buffered: a kill leaves the whole line or none of it.
    sys.stdout.write(" ".join(map(str, ["told:", what, *numbers])) + "\n")
    sys.stdout.flush()


def delta(given):
    from deltalake import write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError

    from delta_table import batch

    table = opened_delta(given.table)
    one = given.start
    while True:
        say("trying", one)
        try:
            write_deltalake(table, batch([one], given.writer), mode="append")
            say("committed", one)
        except CommitFailedError:
            say("refused", one)
            table = opened_delta(given.table)
        except DeltaError as error:
            # It may have looked after its commit, so that nothing is known of that.
            if not misses_a_file(error):
                raise
            table = opened_delta(given.table)
        one += 1


def opened_delta(path):
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    options = OPTIONS if "://" in path else None
    for _ in range(20):
        try:
            return DeltaTable(path, storage_options=options)
        except DeltaError as error:
            if not misses_a_file(error):
                raise
    raise RuntimeError(f"{path}: every listing misses a commit")


def misses_a_file(error):
    # The listing of a local folder to which others write may leave out a file; deltalake takes it for a gap.
    return "found gap" in str(error)


def lance(given):
    import lance

    from lance_table import batch, is_refusal

    dataset = lance.dataset(given.table)
    one = given.start
    while True:
        say("trying", one)
        try:
            dataset = lance.write_dataset(
                batch([one]), dataset, mode="append", transaction_properties={"interop.mark": str(one)}
            )
            say("committed", one, dataset.version)
        except (OSError, ValueError, RuntimeError) as error:
            if not is_refusal(error):
                raise
            say("refused", one)
            dataset = lance.dataset(given.table)
        one += 1


def main():
    arguments = parser(__doc__)
    arguments.add_argument("table")
    arguments.add_argument("--format", choices=("delta", "lance"), required=True)
    arguments.add_argument("--writer", type=int, required=True)
    arguments.add_argument("--start", type=int, required=True)
    given = arguments.parse_args()
    if given.format == "delta":
        delta(given)
    else:
        lance(given)


if __name__ == "__main__":
    run(main)
