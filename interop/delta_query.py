"""Reads the rows of the newest version of a Delta table with deltalake's query engine, which knows deletion vectors.

Prints `{"version", "rows": [[id, s, w], …]}`, by id.
"""

import pyarrow
from deltalake import DeltaTable, QueryBuilder

from common import parser, run


def main():
    arguments = parser(__doc__)
    arguments.add_argument("table")
    given = arguments.parse_args()
    table = DeltaTable(given.table)
    found = QueryBuilder().register("t", table).execute("SELECT id, s, w FROM t ORDER BY id").read_all()
    rows = pyarrow.table(found).to_pylist()
    return {"version": table.version(), "rows": [[row["id"], row["s"], row["w"]] for row in rows]}


if __name__ == "__main__":
    run(main)
