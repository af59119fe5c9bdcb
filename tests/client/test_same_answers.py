"""The release tests' questions, asked of a table held here and of the same table held by a curator.

With the same noise each answer is the same, field by field: values, intervals, keys, noisy integers, price,
statement, and what a report is drawn from.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from client.both import Both, both_of, differing
from leakcap.release import Query, Rows
from leakcap.release.asking.budget import OBJECTIVES
from release.session import POLICIES, data, questions

EPSILON = {"present": 0.3, "contents": 1e-3, "people": 0.3}


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Both]]:
    """Makes the two; the seeds of their ledgers, which choose a person's rows, are the same."""
    monkeypatch.setattr(secrets, "token_hex", lambda size=32: "5e" * size)
    made: list[Both] = []

    def of(*given: Any) -> Both:
        made.append(both_of(tmp_path, *given))
        return made[-1]

    yield of
    for one in made:
        one.close()


@pytest.mark.parametrize("name", POLICIES)
def test_statistics(both: Callable[..., Both], name: str) -> None:
    """One in thirty-one of those below, of each way of grouping some."""
    two = both(POLICIES[name], data())
    _same(two, questions(two.here.policy, EPSILON[name])[::31])


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_every_statistic(both: Callable[..., Both], name: str) -> None:
    """Each with all choices of its own fields, alone, of some rows, by public and by private keys."""
    two = both(POLICIES[name], data())
    asked = questions(two.here.policy, EPSILON[name])
    assert len({one.statistic for one in asked}) > 10
    _same(two, asked)


def _same(two: Both, asked: list[Query]) -> None:
    assert len(asked) > 3
    here, there = two.ask(lambda table: table.release(asked))
    assert differing(here, there) == []
    assert two.there.budget() == two.here.budget()
    again, also = two.ask(lambda table: table.release(asked))
    assert all(one.repeated for one in again)
    assert differing(again, also) == []


def test_a_planted_difference_is_seen(both: Callable[..., Both]) -> None:
    two = both(POLICIES["present"], data())
    (here,), (there,) = two.ask(lambda table: table.count(by="d", epsilon=1.0))
    assert differing([here], [replace(there, repeated=True)]) == ["count.repeated", "count.record"]
    other = there.rows.answers
    moved = Rows(there.rows.labels, replace(other, values=other.values + 1))
    assert differing([here], [replace(there, rows=moved)]) == ["count.rows", "count.record"]


STATEMENTS = [
    ("SELECT d, COUNT(*) AS n, AVG(x) FROM day GROUP BY d ORDER BY n DESC LIMIT 2", {"epsilon": 1.0}),
    ("SELECT d, f, COUNT(*), SUM(x) FROM day GROUP BY CUBE (d, f)", {"rho": 0.5, "noise": "gaussian"}),
    ("SELECT k, COUNT(*) FROM day GROUP BY GROUPING SETS ((k), ())", {"epsilon": 0.5}),
    ("SELECT d, COUNT(*) FROM day GROUP BY d HAVING COUNT(*) > 5 ORDER BY d", {"epsilon": 1.0}),
    ("SELECT w, COUNT(*) FROM day GROUP BY w", {"epsilon": 1.0, "delta": 1e-6}),
    ("SELECT COUNT(*), MEDIAN(x), CORR(x, y) FROM day WHERE k = 1", {"epsilon": 3.0, "weights": [1, 1, 4]}),
    ("SELECT COUNT(*) FROM day", {"error": 30.0}),
]


@pytest.mark.parametrize(("text", "price"), STATEMENTS)
def test_sql(both: Callable[..., Both], text: str, price: dict[str, Any]) -> None:
    """Also where the answer is ordered, cut, or has margins."""
    two = both(POLICIES["present"], data())
    assert differing(*two.ask(lambda table: table.sql(text, **price))) == []


METHODS: dict[str, Callable[[Any], Any]] = {
    "a selection": lambda table: table.where("x > 1.5").by("d").sum("x").release(epsilon=1.0),
    "Gaussian noise": lambda table: table.count(by=("d", "k"), rho=0.2, noise="gaussian"),
    "an error": lambda table: table.count(error=40.0, noise="best"),
    "edges": lambda table: table.count(by="x", cut={"x": [-3.0, 0.0, 4.0, 10.0]}, epsilon=1.0),
    "top": lambda table: table.top("d", 2, by="f", epsilon=1.0),
    "margins": lambda table: table.contingency(["d", "f"], epsilon=1.0),
    "quantiles": lambda table: table.quantiles("x", [0.1, 0.5], bins=8, epsilon=2.0),
    "a formula": lambda table: table.formula_sum("x * y - 3 * x", range=(-5.0, 20.0), epsilon=1.0),
}


def test_methods(both: Callable[..., Both]) -> None:
    two = both(POLICIES["present"], data())
    assert {name: found for name, ask in METHODS.items() if (found := differing(*two.ask(ask)))} == {}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_batches(both: Callable[..., Both], objective: str) -> None:
    two = both(POLICIES["present"], data())

    def batch(table: Any) -> Any:
        empty = table.batch(epsilon=2.0, objective=objective)
        return empty.add(table.all.count()).add(table.by("d").mean("x"), weight=2.0).release()

    assert differing(*two.ask(batch)) == []


def test_previews_dry_runs_and_statements(both: Callable[..., Both]) -> None:
    two = both(POLICIES["present"], data())
    asked = questions(two.here.policy, 0.3)[::37]
    two.ask(lambda table: table.release(asked))
    here, there = (table.preview(asked) for table in (two.here, two.there))
    assert [one.to_dict() for one in here] == [one.to_dict() for one in there]
    assert differing(*two.ask(lambda table: table.dry_run(asked[:1]))) == []
    assert two.there.statement() == two.here.statement()
    assert two.there.analyst == two.here.analyst == "local:ada"


TYPED: dict[str, Any] = {
    "dataset": "day",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 100.0, "delta": 0.1},
    "columns": {
        "paid": {"type": "decimal", "places": 2, "bounds": ["0.00", "99.99"], "fill": "0.10"},
        "came": {"bounds": [date(2024, 1, 1), date(2024, 12, 31)]},
        "month": {"from": "came", "truncate": "month"},
        "size": {"case": "CASE WHEN paid < 10 THEN 'small' ELSE 'large' END"},
    },
    "plan": [{"name": "year", "delta": 1e-7, "slots": [{"name": "m", "count": 2, "epsilon": 0.2}]}],
}


def test_exact_decimals_dates_cases_and_slots(both: Callable[..., Both]) -> None:
    cents = [Decimal(i * 137 % 9000) / 100 for i in range(60)]
    rows = {
        "paid": pyarrow.array(cents, pyarrow.decimal128(10, 2)),
        "came": [date(2024, 1, 1) + timedelta(days=6 * i) for i in range(60)],
    }
    two = both(TYPED, pyarrow.table(rows))
    asks: list[Callable[[Any], Any]] = [
        lambda table: table.sum("paid", by="month", epsilon=1.0),
        lambda table: table.mean("paid", epsilon=1.0),
        lambda table: table.count(by="size", epsilon=1.0),
        lambda table: table.count(where="came >= DATE '2024-07-01'", slot="m", epsilon=0.2),
        lambda table: table.sql(
            "SELECT EXTRACT(MONTH FROM came), SUM(paid) FROM day GROUP BY 1", epsilon=1.0
        ),
    ]
    for question in asks:
        assert differing(*two.ask(question)) == []
    assert two.there.sum("paid", epsilon=0.3).places is not None


def test_people_with_caps_of_their_own(both: Callable[..., Both]) -> None:
    """Whose caps were still counted crosses with the answer."""
    policy = {
        "dataset": "day",
        "neighbours": "add-remove-one",
        "unit": {"id": "who", "max_rows": 2, "caps": "mine"},
        "caps": {"epsilon": 50.0, "each_person": [0.5, 1.0, 50.0]},
        "columns": {"age": {"bounds": [0.0, 100.0]}},
    }
    rows = {"who": list(range(30)), "mine": [0.5, 1.0, 50.0] * 10, "age": [float(i) for i in range(30)]}
    two = both(policy, pyarrow.table(rows))
    for epsilon, counted in ((0.4, 0.5), (0.4, 1.0), (5.0, 50.0)):
        here, there = two.ask(lambda table: table.count(epsilon=epsilon, fresh=True))  # noqa: B023
        assert differing(here, there) == []
        assert there[0].people_from == counted


def test_joins(both: Callable[..., Both]) -> None:
    """The columns of a table that the policy declares, beside the data's own."""
    policy = {
        "dataset": "day",
        "neighbours": "add-remove-one",
        "unit": {"id": "id", "max_rows": 3},
        "caps": {"epsilon": 100.0},
        "columns": {"x": {"bounds": [-3.0, 10.0]}},
        "tables": {"people": {"id": "id", "columns": {"sex": {"keys": ["f", "m"]}}}},
    }
    people = pyarrow.table({"id": list(range(30)), "sex": ["fm"[i % 2] for i in range(30)]})
    two = both(policy, data(), {"people": people})
    asked = [Query(name="n", statistic="count", by=("people.sex",), join=("people",), epsilon=1.0)]
    assert differing(*two.ask(lambda table: table.release(asked))) == []
    text = "SELECT p.sex, AVG(x) FROM day JOIN people p ON day.id = p.id GROUP BY p.sex"
    assert differing(*two.ask(lambda table: table.sql(text, epsilon=1.0))) == []
