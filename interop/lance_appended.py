"""What every version of a Lance table appended, as pylance reads its transactions, and what its newest version names.

Prints `{"versions": [{"version", "uuid", "mark" (the transaction property `interop.mark`, null without), "paths"}], "live": [path]}`: the
data files, oldest version first, then those of the newest version in manifest order. Versions that appended nothing have no paths.
No data file is opened.
"""

import lance

from common import parser, run


def main():
    arguments = parser(__doc__)
    arguments.add_argument("table")
    given = arguments.parse_args()
    dataset = lance.dataset(given.table)
    versions = []
    for version in range(1, dataset.version + 1):
        transaction = dataset.read_transaction(version)
        fragments = getattr(transaction.operation, "fragments", None) or []
        versions.append(
            {
                "version": version,
                "uuid": transaction.uuid,
                "mark": (transaction.transaction_properties or {}).get("interop.mark"),
                "paths": [file.path for fragment in fragments for file in fragment.files],
            }
        )
    live = [file.path for fragment in dataset.get_fragments() for file in fragment.metadata.files]
    return {"versions": versions, "live": live}


if __name__ == "__main__":
    run(main)
