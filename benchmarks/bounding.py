"""People bounded to some rows and groups against the plain query that does the same: `bounding.py [rows]`.

A Parquet file of people with one to ten rows each, in no order, is made in a temporary directory. The plain
query numbers a person's rows and groups in the order of a hash, as anybody would write it by hand; it needs
no second order for rows whose hashes meet, which the sensitivity of a release does. Where the policy names a
row key, one choice of rows serves whatever is asked: the plain query then numbers by a hash of that key. Runs
take turns in one process (the least of them, wall and CPU); memory is the most that a fresh process held.
"""

from __future__ import annotations

from measuring.beside_duckdb import (
    GROUPS,
    Actions,
    answered_memory,
    compare,
    parquet,
    plain,
    policy,
    release,
    rows_asked,
    statement,
)

ROWS_OF_ONE, GROUPS_OF_ONE = 5, 3
RUNS = 3
TABLE = """
SELECT id::BIGINT AS id, (10 * id + r)::BIGINT AS row_id,
       (hash(7 * id + 31 * r + 1) % {groups})::INTEGER AS g,
       (hash(13 * id + 77 * r + 5) % 1000003) / 10000.03 AS x
FROM (SELECT p AS id, unnest(range(1 + p % 10)) AS r FROM range({people}) AS t (p))
ORDER BY hash(10 * id + r)
"""
ANSWER = "SELECT g, COUNT(*), SUM(x) FROM ({rows}) GROUP BY g"
ROWS = ANSWER.format(
    rows="SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY hash(id, g, x), x) AS r"
    f" FROM {{source}}) WHERE r <= {ROWS_OF_ONE}"
)
# In one order for both, which takes half the time of the two orders that come to mind first.
BOTH = ANSWER.format(
    rows="SELECT * FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY id ORDER BY hash(id, g)) AS k,"
    " ROW_NUMBER() OVER (PARTITION BY id ORDER BY hash(id, g), hash(id, x)) AS r"
    f" FROM {{source}}) WHERE r <= {ROWS_OF_ONE} AND k <= {GROUPS_OF_ONE}"
)
TWO_ORDERS = BOTH.replace("hash(id, g), hash(id, x)) AS r", "hash(id, g, x)) AS r")
ONE_HASH = ROWS.replace("hash(id, g, x), x", "hash(id, g, x)")
KEYED = ANSWER.format(
    rows="SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY hash(id, row_id), row_id) AS r"
    f" FROM {{source}}) WHERE r <= {ROWS_OF_ONE}"
)
ROWS_ONLY = policy(unit={"id": "id", "max_rows": ROWS_OF_ONE})
BOUNDED = policy(unit={"id": "id", "max_rows": ROWS_OF_ONE, "max_groups": GROUPS_OF_ONE})
ROW_KEY = policy(unit={"id": "id", "row": "row_id", "max_rows": ROWS_OF_ONE})

ACTIONS: Actions = {
    f"at most {ROWS_OF_ONE} rows and {GROUPS_OF_ONE} groups of a person": {
        "plain DuckDB": lambda path: plain(path, BOTH),
        "plain DuckDB, rows in an order of their own": lambda path: plain(path, TWO_ORDERS),
        "leakcap's statement": lambda path: statement(path, BOUNDED),
        "leakcap, end to end": lambda path: release(path, BOUNDED),
    },
    f"at most {ROWS_OF_ONE} rows of a person": {
        "plain DuckDB": lambda path: plain(path, ROWS),
        "plain DuckDB, by the hash alone": lambda path: plain(path, ONE_HASH),
        "leakcap's statement": lambda path: statement(path, ROWS_ONLY),
        "leakcap, end to end": lambda path: release(path, ROWS_ONLY),
    },
    f"at most {ROWS_OF_ONE} rows of a person, by a row key": {
        "plain DuckDB": lambda path: plain(path, KEYED),
        "leakcap's statement": lambda path: statement(path, ROW_KEY),
        "leakcap, end to end": lambda path: release(path, ROW_KEY),
    },
}


def main() -> None:
    if answered_memory(ACTIONS):
        return
    rows = rows_asked()
    with parquet(TABLE.format(groups=GROUPS, people=round(rows / 5.5)), rows) as path:
        compare(path, ACTIONS, lambda title: RUNS)


if __name__ == "__main__":
    main()
