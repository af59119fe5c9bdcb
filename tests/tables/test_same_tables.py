"""What the ledger takes for the same tables: no more than is the same, and all of that, however asked."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.ledger import Edition
from leakcap.release import Policy, PrivateTable, attach, load_policy
from leakcap.tables import TablesQuestion, release_tables
from leakcap.tables.reading import counts_of, statements_of_tables

HOSTILE = ("a, b", "c", "a", "b, c", "c) of weight 2 (a", '"', 'a"', '"a", "b', "where", "2", "(", "of 2 of")
CAPS = {"epsilon": 20.0, "delta": 1e-6}


def policy_of(names: tuple[str, ...], keys: int = 2, **changes: Any) -> Policy:
    columns = {name: {"keys": [f"k{n}" for n in range(keys)]} for name in names}
    return load_policy(
        {"dataset": "d", "neighbours": "add-remove-one", "caps": CAPS, "columns": columns, **changes}
    )


def test_different_tables_have_different_texts_whatever_columns_are_called() -> None:
    """All ways to ask for one or two of the columns, alone or in one table; weights of one table."""
    policy = policy_of(HOSTILE)
    asked: dict[Any, str] = {}
    for number in (1, 2, 3):
        for names in itertools.combinations(HOSTILE, number):
            for ways in range(1, number + 1):
                question = TablesQuestion(columns=names, ways=ways, rho=1.0)
                asked[frozenset(names), ways] = question.planned(policy).text
    for name in HOSTILE:
        weighed = TablesQuestion(tables=[{"columns": [name], "weight": 2}], rho=1.0)
        asked[name, "twice"] = weighed.planned(policy).text
    assert len(asked) == 12 + 2 * 66 + 3 * 220 + 12
    assert len(set(asked.values())) == len(asked)


def test_columns_with_a_comma_are_not_answered_by_those_without() -> None:
    """Two of four columns have the text of the other two, were names not quoted."""
    names = ("a, b", "c", "a", "b, c")
    data = pyarrow.table({name: ["k0" if place < 2 else "k1"] * 1000 for place, name in enumerate(names)})
    with PrivateTable(data, policy=policy_of(names), ledger="sqlite://", version="1") as table:
        release_tables(table, TablesQuestion(columns=names[:2], ways=1, rho=1.0))
        second = release_tables(table, TablesQuestion(columns=names[2:], ways=1, rho=1.0))
    assert not second.repeated
    assert second.table("a").values[1] > 900


WAYS = [
    {"columns": ("z", "m", "a"), "ways": 2},
    {"columns": ("a", "z", "m"), "ways": 2},
    {"tables": ({"columns": ("z", "m", "a"), "ways": 2},)},
    {"tables": ({"columns": ("m", "a")}, {"columns": ("a", "z")}, {"columns": ("z", "m")})},
    {"tables": ({"columns": ("z", "a")}, {"columns": ("z", "m")}, {"columns": ("a", "m")})},
]


@pytest.mark.parametrize("first", WAYS)
def test_the_same_tables_are_repeated_for_free_however_they_are_asked(first: Any) -> None:
    """And every cell is the one of before, with columns of unlike numbers of keys."""
    columns = {name: {"keys": list(range(size))} for name, size in (("z", 2), ("m", 3), ("a", 4))}
    rng = np.random.default_rng(8)
    data = pyarrow.table({name: rng.integers(0, len(one["keys"]), 500) for name, one in columns.items()})
    policy = policy_of((), columns=columns)
    with PrivateTable(data, policy=policy, ledger="sqlite://", version="1") as table:
        paid = release_tables(table, TablesQuestion(**first, rho=0.05))
        for way in WAYS:
            again = release_tables(table, TablesQuestion(**way, rho=0.05))
            assert again.repeated
            for names in ((), ("z",), ("a", "z"), ("m", "a"), ("z", "m")):
                assert cells(again, names) == cells(paid, names)
        assert len(table.ledger.entries()) == 1


def cells(found: Any, names: tuple[str, ...]) -> dict[Any, float]:
    """The values by columns and keys, in whatever order."""
    one = found.table(*names)
    return {frozenset(zip(one.columns, keys, strict=True)): cell.value for keys, cell in one.cells}


def test_other_weights_are_other_tables() -> None:
    policy = policy_of(("a", "b"))
    pairs = [
        TablesQuestion(tables=[{"columns": ["a"]}, {"columns": ["b"], "weight": w}], rho=1.0) for w in (1, 2)
    ]
    assert len({one.planned(policy).text for one in pairs}) == 2


def test_names_that_an_engine_holds_for_one_are_two_columns() -> None:
    """`CASE` columns that a condition writes, which differ in a letter's size: as a count takes them."""
    columns = {"sex": {"keys": ["f", "m"]}, "w": {"keys": ["a", "A"]}, "net": {"bounds": [0.0, 100.0]}}
    policy = policy_of((), columns=columns)
    small, large = (f"\"CASE WHEN w = '{key}' THEN net ELSE 50.0 END\"" for key in "aA")
    where = f"{small} < 5 AND {large} > 5"
    data = pyarrow.table({"sex": ["f"] * 100, "w": ["a"] * 100, "net": [1.0] * 100})
    engine = attach(data)
    planned = TablesQuestion(columns=("sex",), ways=1, rho=1.0, where=where).planned(policy)
    counts = counts_of(planned, statements_of_tables(planned, engine), engine)
    assert {table: one.tolist() for table, one in counts.items()} == {(): 100, (0,): [100, 0]}


def test_the_ledger_knows_what_the_data_is_called_and_is_said_to_be(tmp_path: Any) -> None:
    from pyarrow import csv

    policy = policy_of(("a", "b"))
    data = pyarrow.table({"a": ["k0"] * 50, "b": ["k1"] * 50})
    question = TablesQuestion(columns=("a", "b"), ways=2, rho=0.05)
    for name in ("stays.csv", "copy.csv"):
        csv.write_csv(data, tmp_path / name)
    ledger, edition = tmp_path / "l.db", Edition("Stays", "2026-03", "1.0")
    with PrivateTable(tmp_path / "stays.csv", policy=policy, ledger=ledger, edition=edition) as table:
        release_tables(table, question)
    with PrivateTable(
        tmp_path / "copy.csv", policy=policy, ledger=ledger, edition=edition, same_as=1
    ) as table:
        assert release_tables(table, question).repeated
        release_tables(table, question, fresh=True)
        assert [(one.source, one.same_as) for one in table.ledger.entries()] == [
            ("stays.csv", None),
            ("copy.csv", 1),
        ]
        (version,) = table.ledger.versions()
        assert version.sources == ("stays.csv",)


@pytest.mark.parametrize("caps", [{"rho": 5.0}, {"nats_per_person": 5.0}, {"epsilon": 9.0, "delta": 1e-6}])
def test_a_price_in_rho_needs_no_delta_where_a_count_needs_none(caps: Any) -> None:
    data = pyarrow.table({"a": ["k0"] * 500, "b": ["k1"] * 500})
    with PrivateTable(data, policy=policy_of(("a", "b"), caps=caps), ledger="sqlite://") as table:
        table.count(rho=0.05, noise="gaussian")
        found = release_tables(table, TablesQuestion(columns=("a", "b"), ways=2, rho=0.05))
        assert 400 < found.table("a").values[0] < 600
        assert len(table.ledger.entries()) == 2
        table.ledger.verify()
