"""leakcap, all of a release: plan, price, ledger in a file, statement, noise, answers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction

import pyarrow
from clock import EACH, GROUPS, HIGH, LOW, Answer, main

from leakcap.release import PrivateTable, Query
from leakcap.sampling import discrete_laplace

POLICY = {
    "dataset": "d",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 1e6},
    "columns": {"x": {"bounds": [LOW, HIGH]}, "g": {"keys": list(range(GROUPS))}},
}
QUERIES = [
    Query(name="rows", statistic="count", by=("g",), epsilon=EACH),
    Query(name="total", statistic="sum", column="x", by=("g",), epsilon=EACH),
]
FOLDER = tempfile.TemporaryDirectory()


def release(path: str, rows: int) -> Callable[[], Answer]:
    def ask() -> Answer:
        table = PrivateTable(path, policy=POLICY, ledger=f"{FOLDER.name}/ledger.db")
        counts, sums = table.release(QUERIES, fresh=True)
        return float(sum(row.value for row in counts.rows)), float(sum(row.value for row in sums.rows))

    return ask


def one() -> None:
    data = pyarrow.table({"x": [1.0], "g": [1]})
    PrivateTable(data, policy=POLICY, ledger=f"{FOLDER.name}/one.db").count(epsilon=0.1, fresh=True)


def noise() -> object:
    return discrete_laplace(Fraction(1), 1_000_000)


def laplace(bits: Sequence[int]) -> list[float]:
    """Sums of one value each, 0 or 1, within 0 and 1, by groups: Laplace of scale 1 on a fine grid."""
    keys = list(range(GROUPS))
    policy = {**POLICY, "columns": {"x": {"bounds": [0.0, 1.0]}, "g": {"keys": keys}}}
    query = Query(name="s", statistic="sum", column="x", by=("g",), epsilon=1.0)
    drawn: list[float] = []
    for first in range(0, len(bits), GROUPS):
        part = [float(bit) for bit in bits[first : first + GROUPS]]
        data = pyarrow.table({"g": keys[: len(part)], "x": part})
        table = PrivateTable(data, policy=policy, ledger="sqlite://")
        drawn += [float(row.value) for row in table.release([query])[0].rows[: len(part)]]
    return drawn


if __name__ == "__main__":
    main(release, one=one, noise=noise, laplace=laplace)
