"""What pylance makes of names, branches and upkeep on a table with the columns `id` and `s`.

    look TABLE                        tags, branches (each with the rows of its newest version), versions, and rows by version
    tag TABLE NAME --version N        makes a tag
    branch TABLE NAME --version N     makes a branch and appends two rows to it
    delete TABLE NAME --where SQL     deletes rows on a branch (`main`: on the table)
    clean TABLE                       cleans up versions older than now
    detached TABLE VERSION            the ids of a detached version

Prints what it saw: `{"version", "versions", "ids", "tags": {name: [branch, version]}, "branches": {name: {"version", "ids",
"parent", "from"}}, "by_version": {version: ids}}`; `detached` prints `{"ids"}`.
"""

import datetime

import lance

from common import parser, run, sorted_ids
from lance_table import batch


def line(table, name):
    """The table, or one of its branches."""
    dataset = lance.dataset(table)
    return dataset if name == "main" else dataset.checkout_version((name, None))


def look(table):
    """Everything that can be seen."""
    dataset = lance.dataset(table)
    tags = {name: [tag["branch"], tag["version"]] for name, tag in dataset.tags.list().items()}
    branches = {}
    for name, branch in dataset.branches.list().items():
        newest = line(table, name)
        branches[name] = {
            "version": newest.version,
            "ids": sorted_ids(newest.to_table()),
            "parent": branch["parent_branch"],
            "from": branch["parent_version"],
        }
    versions = [one["version"] for one in dataset.versions()]
    by_version = {version: sorted_ids(lance.dataset(table, version=version).to_table()) for version in versions}
    for name in tags:
        by_version[name] = sorted_ids(dataset.checkout_version(name).to_table())
    return {
        "version": dataset.version,
        "versions": versions,
        "ids": sorted_ids(dataset.to_table()),
        "tags": tags,
        "branches": branches,
        "by_version": by_version,
    }


def main():
    arguments = parser(__doc__)
    arguments.add_argument("action", choices=["look", "tag", "branch", "delete", "clean", "detached"])
    arguments.add_argument("table")
    arguments.add_argument("name", nargs="?")
    arguments.add_argument("--version", type=int)
    arguments.add_argument("--where", metavar="SQL")
    given = arguments.parse_args()
    dataset = lance.dataset(given.table)
    if given.action == "detached":
        return {"ids": sorted_ids(lance.dataset(given.table, version=int(given.name)).to_table())}
    if given.action == "tag":
        dataset.tags.create(given.name, given.version)
    elif given.action == "branch":
        branch = dataset.create_branch(given.name, given.version)
        lance.write_dataset(batch([9001, 9002]), branch, mode="append")
    elif given.action == "delete":
        line(given.table, given.name).delete(given.where)
    elif given.action == "clean":
        dataset.cleanup_old_versions(older_than=datetime.timedelta(0), error_if_tagged_old_versions=False)
    return look(given.table)


if __name__ == "__main__":
    run(main)
