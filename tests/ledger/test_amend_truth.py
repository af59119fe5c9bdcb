"""Amended ledgers against brute force: what was spent before and after is never below what everything told.

Two people, each absent or with one of two values: nine tables under add/remove-one. Every query is a small
channel from the table, priced exactly. Where the policy becomes replace-one, the tables in which both are
present are left, and neighbours differ in one person's value. What is true is computed from the composite
channel's rows, by enumeration and by search over priors, so from below.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap import AllPriors, Channel, Renyi, capacity
from leakcap.ledger import Caps, Charge, Ledger, Proposed, Spend, sums
from leakcap.ledger.continuing import counts_now
from leakcap.ledger.ticks import NOTHING
from ledger.test_truth import SLACK, hockey_stick, level_two, shannon

Rows = np.ndarray[Any, Any]
TABLES = list(itertools.product((None, 0, 1), repeat=2))
FIBRES = [[i for i, t in enumerate(TABLES) if t[1 - p] == known] for p in (0, 1) for known in (None, 0, 1)]
FULL = [i for i, t in enumerate(TABLES) if None not in t]
ALPHA = 2.0


def pairs(relation: str) -> list[tuple[int, int]]:
    """Neighbours, by the definition of each relation."""
    found = []
    for i, a in enumerate(TABLES):
        for j, b in enumerate(TABLES):
            places = [p for p in (0, 1) if a[p] != b[p]]
            if len(places) != 1:
                continue
            absent = None in (a[places[0]], b[places[0]])
            if absent if relation == "add-remove-one" else not absent and i in FULL and j in FULL:
                found.append((i, j))
    return found


def log_ratio(rows: Rows, relation: str) -> float:
    logs = np.log(rows)
    return max(float((logs[i] - logs[j]).max()) for i, j in pairs(relation)) * (1 + 1e-12)


def certified(rows: Rows) -> float:
    return capacity(Channel(rows), Renyi(1), AllPriors()).upper


def step(rng: np.random.Generator, strength: float, relation: str, *, level: bool) -> tuple[Rows, Spend]:
    """A query with its price; now and then it tells the whole table, with probability δ."""
    inner = np.exp(strength * rng.uniform(-0.5, 0.5, (len(TABLES), 2)))
    inner /= inner.sum(axis=1, keepdims=True)
    delta = float(rng.choice([0.0, 0.03]))
    rows = inner if delta == 0 else np.hstack([(1 - delta) * inner, delta * np.eye(len(TABLES))])
    person = max(certified(rows[fibre]) for fibre in FIBRES)
    told = {"nats_person": person, "nats_table": certified(rows)}
    if level:
        # Between any two contents of one person, from the definition.
        told["nats_level"] = max(
            math.log(float((rows[i][seen] ** 2 / rows[j][seen]).sum())) if delta == 0 else math.inf
            for fibre in FIBRES
            for i, j in itertools.permutations(fibre, 2)
            for seen in [rows[j] > 0]
        ) * (1 + 1e-12)
    return rows, Spend(log_ratio(inner, relation), delta * (1 + 1e-12), **told)


def observe(steps: list[tuple[Rows, Spend]]) -> Rows:
    rows = np.ones((len(TABLES), 1))
    for asked, _ in steps:
        rows = np.hstack([rows[:, [k]] * asked for k in range(rows.shape[1])])
    return rows[:, rows.sum(axis=0) > 0]


def proposed(relation: str, alpha: float | None, columns: int) -> Proposed:
    text = {"dataset": "d", "unit": "row", "neighbours": relation, "columns": {str(columns): {}}}
    return Proposed(json.dumps(text), Caps(alpha=alpha), "because")


def amended(
    before: list[tuple[Rows, Spend]],
    after: list[tuple[Rows, Spend]],
    relations: tuple[str, str],
    alphas: tuple[float | None, float | None],
    rng: np.random.Generator,
) -> None:
    """Spend, amend, spend; then compare every total with what is true of all answers together."""
    first, second = (proposed(*way, i) for i, way in enumerate(zip(relations, alphas, strict=True)))
    with Ledger.open("sqlite://", dataset="d", policy=first.policy, caps=first.caps, text=first.text) as old:
        for _, spend in before:
            old.reserve([Charge("q", "", spend)])
        new = old.amend(second)
        for _, spend in after:
            new.reserve([Charge("q", "", spend)])
        new.verify()
        told = new.totals()
        listed = sum(entry.spend.epsilon for entry in new.entries())
    rows = observe(before + after)
    fibres = FIBRES if relations[1] == "add-remove-one" else [[i for i in f if i in FULL] for f in FIBRES]
    fibres = [fibre for fibre in fibres if len(fibre) > 1]
    tables = rows if relations[1] == "add-remove-one" else rows[FULL]
    assert hockey_stick(rows, pairs(relations[1]), told.epsilon) <= told.delta + SLACK, "epsilon, delta"
    assert max(shannon(rows[fibre], rng) for fibre in fibres) <= told.nats_person + SLACK, "person"
    assert shannon(tables, rng) <= told.nats_table + SLACK, "table"
    if alphas[1] is not None:
        assert max(level_two(rows[fibre], rng) for fibre in fibres) <= told.nats_level + SLACK, "level"
    assert math.isclose(listed, told.epsilon, abs_tol=1e-9)


CHANGES = {
    "caps": (("add-remove-one", "add-remove-one"), (None, None)),
    "level": (("add-remove-one", "add-remove-one"), (None, ALPHA)),
    "lower level": (("add-remove-one", "add-remove-one"), (3.0, ALPHA)),
    "relation": (("add-remove-one", "replace-one"), (None, ALPHA)),
    "same": (("replace-one", "replace-one"), (ALPHA, ALPHA)),
}


def require_truth_below(change: str, before: list[float], after: list[float], seed: int) -> None:
    relations, alphas = CHANGES[change]
    rng = np.random.default_rng(seed)
    # An order above 2 bounds what is told at 2; here it is left to what ε implies.
    early = [step(rng, s, relations[0], level=alphas[0] == ALPHA) for s in before]
    late = [step(rng, s, relations[1], level=alphas[1] == ALPHA) for s in after]
    amended(early, late, relations, alphas, rng)


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_amended_or_not_the_ledger_is_never_below_the_truth(change: str) -> None:
    require_truth_below(change, [2.0], [1.0], 5)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(CHANGES)),
    st.lists(st.floats(0.1, 3.0), min_size=1, max_size=2),
    st.lists(st.floats(0.1, 3.0), max_size=1),
    st.integers(0, 2**32),
)
def test_of_many_amended_ledgers_none_is_below_the_truth(
    change: str, before: list[float], after: list[float], seed: int
) -> None:
    require_truth_below(change, before, after, seed)


def two_steps() -> list[tuple[Rows, Spend]]:
    """Of the first person: one value, absence and the other value lie on a line, ε from each to the next;
    once with a δ beside it that tells which of them it is."""
    e, delta = math.exp(0.5), 0.1
    line = {0: 1 / e, None: 1.0, 1: e}
    odds = np.array([line[t[0]] for t in TABLES]) / 4
    inner = np.column_stack([odds, 1 - odds])
    epsilon = log_ratio(inner, "add-remove-one")
    kept = np.column_stack(
        [(1 - delta) * inner, delta * np.eye(3)[[(0, None, 1).index(t[0]) for t in TABLES]]]
    )
    nats = {"nats_person": certified(kept), "nats_table": certified(kept)}
    exact = {"nats_person": certified(inner), "nats_table": certified(inner)}
    return [(kept, Spend(epsilon, delta, **nats)), (inner, Spend(epsilon, **exact))]


@pytest.mark.parametrize("caught", ["forgotten", "once", "delta once"])
def test_planted_bugs_are_caught(caught: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spends of before that are forgotten, and steps of add/remove-one that count as steps of replace-one."""
    relations, alphas = CHANGES["relation"]
    kept, inner = two_steps()
    steps = [inner] if caught != "delta once" else [kept]
    rng = np.random.default_rng(1)
    amended(steps, [], relations, alphas, rng)
    honest: Callable[..., Any] = counts_now
    planted: dict[str, Callable[..., Any]] = {
        "forgotten": lambda ticks, then, now: NOTHING._replace(queries=1),
        "once": lambda ticks, then, now: ticks._replace(nats_level=honest(ticks, then, now).nats_level),
        "delta once": lambda ticks, then, now: honest(ticks, then, now)._replace(delta=ticks.delta // 2),
    }
    monkeypatch.setattr(sums, "counts_now", planted[caught])
    with pytest.raises(AssertionError, match="epsilon, delta"):
        amended(steps, [], relations, alphas, rng)
