"""The broken wifi against a real table and its ledger: it reads, and each cap stops it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.attack import read_everybody, read_field, search_field
from leakcap.errors import BudgetExceeded, InvalidParameter
from leakcap.release import PrivateTable
from seeded import SeededSource

SECRETS = [5, 12, 0, 9, 3, 15]
BITS, EPSILON, USES = 4, 2.0, 40
"""Per use 0.47 bits: 19 bits for a field of four, so that a frame error is rarer than 1e-3."""


def table(**caps: float) -> PrivateTable:
    people = len(SECRETS)
    policy: dict[str, Any] = {
        "dataset": "wifi",
        "unit": {"id": "id"},
        "neighbours": "add-remove-one",
        "max_rows": people,
        "caps": {"epsilon": 1000.0, **caps},
        "columns": {"id": {"keys": list(range(people))}, "pin": {"bounds": [0.0, 15.0]}},
    }
    data = pyarrow.table({"id": list(range(people)), "pin": [float(secret) for secret in SECRETS]})
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(7))


def one(victim: PrivateTable) -> Any:
    generator = np.random.default_rng(1)
    return read_field(
        victim, "pin", person="id = 1", bits=BITS, epsilon=EPSILON, uses=USES, generator=generator
    )


def everybody(victim: PrivateTable) -> Any:
    generator = np.random.default_rng(1)
    return read_everybody(victim, "pin", by="id", bits=BITS, epsilon=EPSILON, uses=USES, generator=generator)


def test_one_field_is_read() -> None:
    found = one(table())
    assert found.values == {"id = 1": SECRETS[1]}
    assert found.confidence["id = 1"] > 0.99
    assert found.epsilon_spent == USES * EPSILON
    assert 0.0 < found.ratio < 1.0
    assert found.got < found.at_most
    assert found.to_dict()["values"] == {"id = 1": SECRETS[1]}


def test_everybody_is_read_at_the_same_epsilon() -> None:
    single, all_ = one(table()), everybody(table())
    assert all_.values == dict(enumerate(SECRETS))
    assert all_.epsilon_spent == single.epsilon_spent
    assert all_.nats_table_spent >= len(SECRETS) * single.nats_table_spent * (1 - 1e-9)


def test_the_tables_cap_stops_everybody_and_not_one() -> None:
    spent = one(table()).nats_table_spent
    victim = table(nats_table=1.5 * spent)
    with pytest.raises(BudgetExceeded, match="nats_table"):
        everybody(victim)
    assert victim.ledger.totals().epsilon == 0.0
    assert one(victim).values == {"id = 1": SECRETS[1]}


@pytest.mark.parametrize(
    ("caps", "named"), [({"epsilon": 10.0}, "epsilon"), ({"nats_per_person": 1.0}, "person")]
)
def test_a_persons_cap_stops_both(caps: dict[str, float], named: str) -> None:
    for attack in (one, everybody):
        victim = table(**caps)
        with pytest.raises(BudgetExceeded, match=named):
            attack(victim)
        assert victim.ledger.totals().epsilon == 0.0


def test_a_search_reads_with_fewer_answers_and_stops_at_the_cap() -> None:
    found = search_field(table(), "pin", person="id = 3", bits=BITS, epsilon=EPSILON)
    assert found.values == {"id = 3": SECRETS[3]}
    assert found.uses < USES
    assert found.epsilon_spent == found.uses * EPSILON
    victim = table(epsilon=6.0)
    with pytest.raises(BudgetExceeded):
        search_field(victim, "pin", person="id = 3", bits=BITS, epsilon=EPSILON)
    assert victim.ledger.totals().epsilon == 6.0


def test_a_field_in_several_columns() -> None:
    """24 bits in three columns: 120 answers each of 0.47 bit carry 8 bits with an error rarer than 1e-6."""
    policy = {
        "dataset": "wifi",
        "neighbours": "add-remove-one",
        "max_rows": 2,
        "caps": {"epsilon": 1000.0},
        "columns": {"id": {"keys": [0, 1]}, **{name: {"bounds": [0.0, 255.0]} for name in "abc"}},
    }
    data = pyarrow.table({"id": [0, 1], "a": [0.0, 200.0], "b": [7.0, 1.0], "c": [255.0, 77.0]})
    victim = PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(8))
    found = read_field(
        victim,
        ["a", "b", "c"],
        person="id = 1",
        bits=24,
        epsilon=EPSILON,
        uses=360,
        generator=np.random.default_rng(2),
    )
    assert found.values == {"id = 1": (200 << 16) + (1 << 8) + 77}
    assert found.confidence["id = 1"] > 0.99
    assert found.epsilon_spent == 360 * EPSILON
    both = read_everybody(
        PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(9)),
        ["a", "b"],
        by="id",
        bits=16,
        epsilon=EPSILON,
        uses=240,
        generator=np.random.default_rng(3),
    )
    assert both.values == {0: 7, 1: (200 << 8) + 1}


@pytest.mark.parametrize(
    ("columns", "bits", "uses"), [((), 4, 4), (("pin", "id"), 5, 4), (("pin", "id"), 4, 5), (("pin",), 4, 0)]
)
def test_a_field_that_does_not_divide(columns: tuple[str, ...], bits: int, uses: int) -> None:
    with pytest.raises(InvalidParameter):
        read_field(
            table(),
            columns,
            person="id = 1",
            bits=bits,
            epsilon=1.0,
            uses=uses,
            generator=np.random.default_rng(0),
        )


def test_a_field_too_wide_for_a_list() -> None:
    with pytest.raises(InvalidParameter, match="from 1 to 8"):
        read_field(
            table(), "pin", person="id = 1", bits=9, epsilon=1.0, uses=9, generator=np.random.default_rng(0)
        )
