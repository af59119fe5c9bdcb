"""Equal records against a real table: the cap on nats of the table stops what a person's cap does not."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.attack import correlated_record, equal_copies, play
from leakcap.errors import BudgetExceeded
from leakcap.release import PrivateTable
from leakcap.sampling import discrete_laplace
from seeded import SeededSource

PEOPLE, EPSILON = 30, 0.1


def table(bit: int, seed: int, **caps: float) -> PrivateTable:
    """A household in which all are ill, or nobody is."""
    policy: dict[str, Any] = {
        "dataset": "household",
        "neighbours": "replace-one",
        "rows": PEOPLE,
        "caps": {"epsilon": 1000.0, **caps},
        "columns": {"ill": {"keys": [0, 1]}},
    }
    data = pyarrow.table({"ill": [bit] * PEOPLE})
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(seed))


def ask(victim: PrivateTable, times: int) -> list[float]:
    answers: list[float] = []
    for _ in range(times):
        value = victim.count(where="ill = 1", epsilon=EPSILON, fresh=True).value
        assert isinstance(value, int)
        answers.append(value)
    return answers


def test_without_the_cap_on_the_table_the_household_is_read() -> None:
    """Ten answers of ε = 0.1 tell one person's bit to who knows that all are alike; ε of one person is 1."""
    generator = np.random.default_rng(1)
    right = [
        int(math.fsum(ask(table(bit, seed), 10)) > 5 * PEOPLE) == bit
        for seed, bit in enumerate(generator.integers(2, size=12).tolist())
    ]
    assert all(right)  # each is wrong with probability below 10⁻⁴
    draw, source = discrete_laplace, SeededSource(2)
    game = play(
        lambda bit: int(draw(Fraction(10), 10, source).sum()) + 10 * PEOPLE * bit,
        lambda seen: int(seen > 5 * PEOPLE),
        epsilon=10 * EPSILON,
        rounds=1000,
        generator=generator,
    )
    assert game.got > 0.99 > game.at_most + 5 * game.spread


def test_the_cap_on_the_table_stops_it() -> None:
    """What is learned of anybody is below what the ledger charges the table, whatever the dependence."""
    one = correlated_record(equal_copies(PEOPLE), EPSILON)
    victim = table(1, 3, nats_table=1.5 * one.table_cap)
    ask(victim, 1)
    with pytest.raises(BudgetExceeded):
        ask(victim, 1)
    assert victim.ledger.totals().nats_table <= 1.5 * one.table_cap
    assert one.independent_cap < one.got <= one.table_cap
    person = table(1, 4, nats_per_person=20 * one.independent_cap)
    assert len(ask(person, 10)) == 10  # a cap on a person holds for independent records, and lets this pass
