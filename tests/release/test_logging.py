"""What leakcap logs: what was asked, charged, repeated and refused. Never a value, a key or a secret."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest

from leakcap.errors import BudgetExceeded
from leakcap.release import PrivateTable
from release.world import policy_of

KEYS = ["Zebulon\u202eQ\x1b[2J", "%s%d{0}", "Robert'); DROP TABLE visits;--", "epsilon 77"]
PAID = 4096.03125


@pytest.fixture
def told() -> Iterator[list[str]]:
    """Everything that anything logs, at every level, with its arguments: set before a table is opened."""
    found: list[str] = []

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(f"{record.name} {record.levelname} {record.getMessage()} {record.args!r}")

    root, handler = logging.getLogger(), Keeps(logging.NOTSET)
    loud = [root, *map(logging.getLogger, ("sqlalchemy", "sqlalchemy.engine", "sqlalchemy.pool"))]
    before = [logger.level for logger in loud]
    root.addHandler(handler)
    for logger in loud:
        logger.setLevel(logging.DEBUG)
    yield found
    for logger, level in zip(loud, before, strict=True):
        logger.setLevel(level)
    root.removeHandler(handler)


def opened(folder: Path) -> PrivateTable:
    rows = [(i, KEYS[i % 4], PAID) for i in range(400)]
    ids, keys, paid = (list(column) for column in zip(*rows, strict=True))
    data = pyarrow.table({"id": ids, "town": keys, "paid": paid})
    policy = policy_of(
        unit={"id": "id", "max_rows": 1, "max_groups": 1},
        caps={"epsilon": 20.0, "delta": 1e-4},
        columns={"town": {"keys": "private"}, "paid": {"bounds": [0.0, 8192.0]}},
    )
    return PrivateTable(data, policy=policy, ledger=folder / "l.db")


def test_what_is_logged_says_no_value_no_key_and_no_secret(tmp_path: Path, told: list[str]) -> None:
    table = opened(tmp_path)
    towns = table.count(by="town", epsilon=4.0, delta=1e-6, name="towns")
    total = table.sum("paid", epsilon=4.0, name="total")
    table.count(by="town", epsilon=4.0, delta=1e-6, name="towns")
    with pytest.raises(BudgetExceeded):
        table.count(epsilon=19.0, name="too much")
    assert len(towns.rows) == 4
    mine = [line for line in told if line.startswith("leakcap.")]
    for word, number in (("asked", 4), ("charged", 2), ("repeated", 1), ("refused", 1)):
        assert len([line for line in mine if f" {word}: " in line]) == number, word
    assert any("refused: ['too much'], cap epsilon" in line for line in mine)
    assert {line.split()[1] for line in mine} == {"INFO"}
    assert not [line for line in mine if "\n" in line]
    everything = "\n".join(told)
    values = [total.value, *(row.value for row in towns.rows), *total.rows[0].interval]
    secrets = [*KEYS, "Zebulon", "DROP", str(PAID), str(400 * PAID), table.ledger.seed, *map(repr, values)]
    assert not [word for word in secrets if len(word) > 3 and word in everything]
    assert not [word for word in map(str, values) if len(word) <= 3 and f" {word}" in "\n".join(mine)]


def test_nothing_is_shown_where_nobody_asked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert any(isinstance(one, logging.NullHandler) for one in logging.getLogger("leakcap").handlers)
    opened(tmp_path).sum("paid", epsilon=4.0)
    assert capfd.readouterr() == ("", "")
