"""Random sequences of queries against a brute-force accountant: the ledger is never below the truth.

Two people with a record of three values each (replace-one), so nine tables. Every query is a small channel
from the table; what all of them show together is one composite channel, made here by enumeration, and
everything the ledger bounds is computed from its rows: the hockey-stick divergence, the information about a
person and about the whole table, the level-2 information. Each of those comes from a search over priors, so
from below.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakcap import AllPriors, Channel, Renyi, capacity
from leakcap.accounting.personal import PersonalBudgets
from leakcap.definition import PureDP
from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.ledger.implied import renyi_of_pure, tight_mutual_information

Rows = np.ndarray[Any, Any]
VALUES = 3
TABLES = list(itertools.product(range(VALUES), repeat=2))
NEIGHBOURS = [
    (i, j)
    for i, a in enumerate(TABLES)
    for j, b in enumerate(TABLES)
    if sum(x != y for x, y in zip(a, b, strict=True)) == 1
]
# All tables in which one person's record varies and the other's is known.
FIBRES = [
    [i for i, table in enumerate(TABLES) if table[1 - person] == known]
    for person in (0, 1)
    for known in range(VALUES)
]
ALPHA = 2.0
SLACK = 1e-9  # of the reference's own floats


@dataclass(frozen=True)
class Step:
    """A query's channel from the table, and what the ledger is charged."""

    rows: Rows
    spend: Spend


def log_ratio(rows: Rows) -> float:
    """The exact ε of a channel from the table."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(rows)
        gaps = [np.nanmax(np.where(rows[i] > 0, logs[i] - logs[j], -np.inf)) for i, j in NEIGHBOURS]
    return max(0.0, *map(float, gaps))


def random_rows(rng: np.random.Generator, outputs: int, strength: float) -> Rows:
    rows = np.exp(strength * rng.uniform(-0.5, 0.5, (len(TABLES), outputs)))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def certified(rows: Rows) -> float:
    return capacity(Channel(rows), Renyi(1), AllPriors()).upper


def pure(rng: np.random.Generator, strength: float) -> Step:
    """A query of exact ε; its information is priced in one of the three ways that the library has."""
    rows = random_rows(rng, 2, strength)
    epsilon = log_ratio(rows) * (1 + 1e-12)
    table = certified(rows)
    priced = rng.integers(3)
    if priced == 0:
        return Step(rows, Spend(epsilon, nats_table=table))
    level = renyi_of_pure(epsilon, ALPHA)
    exact = max(certified(rows[fibre]) for fibre in FIBRES)
    person = exact if priced == 1 else tight_mutual_information(epsilon)
    return Step(rows, Spend(epsilon, 0.0, person, table, level))


def leaky(rng: np.random.Generator, strength: float) -> Step:
    """With probability δ the whole table, else a pure answer."""
    inner, delta = random_rows(rng, 2, strength), float(rng.uniform(0, 0.05))
    rows = np.hstack([(1 - delta) * inner, delta * np.eye(len(TABLES))])
    person = max(certified(rows[fibre]) for fibre in FIBRES)
    return Step(rows, Spend(log_ratio(inner) * (1 + 1e-12), delta * (1 + 1e-12), person, certified(rows)))


def parted(rng: np.random.Generator, strength: float) -> Step:
    """One answer about each person alone: disjoint parts, so a person pays for the dearer, the table for
    both."""
    each = [random_rows(rng, 2, strength)[:VALUES] for _ in (0, 1)]
    rows = np.array([np.kron(each[0][a], each[1][b]) for a, b in TABLES])
    epsilons = [float(np.log(part[:, None] / part[None]).max()) for part in each]
    nats = [certified(part) for part in each]
    epsilon = max(epsilons) * (1 + 1e-12)
    level = max(renyi_of_pure(e * (1 + 1e-12), ALPHA) for e in epsilons)
    return Step(rows, Spend(epsilon, 0.0, max(nats), sum(nats), level))


KINDS: dict[str, Callable[[np.random.Generator, float], Step]] = {
    "pure": pure,
    "leaky": leaky,
    "parted": parted,
}


def observe(seen: Rows, branches: list[Rows]) -> Rows:
    """What is seen next: which branch was asked may depend on what was seen before."""
    columns = [seen[:, [k]] * branches[k % len(branches)] for k in range(seen.shape[1])]
    return np.hstack(columns)


def dearest(spends: list[Spend]) -> Spend:
    """An adaptive choice between queries pays for each currency's dearest."""
    names = ("epsilon", "delta", "nats_person", "nats_table", "rho")
    ticks = [spend.ticks(ALPHA) for spend in spends]
    levels = [math.inf if tick.nats_level is None else tick.nats_level / 1e12 for tick in ticks]
    return Spend(**{name: max(getattr(s, name) for s in spends) for name in names}, nats_level=max(levels))


def priors(rng: np.random.Generator, size: int) -> Rows:
    return np.vstack(
        [np.full(size, 1 / size), np.eye(size) * 0.98 + 0.02 / size, rng.dirichlet(np.ones(size), 60)]
    )


def shannon(rows: Rows, rng: np.random.Generator) -> float:
    """The most of many priors, each improved by Blahut and Arimoto's step; all of them at once."""
    seen = rows[:, rows.any(axis=0)]
    own = np.where(seen > 0, seen * np.log(np.where(seen > 0, seen, 1.0)), 0.0).sum(axis=1)
    best, prior = 0.0, priors(rng, len(rows))
    for _ in range(40):
        gains = own - np.log(np.maximum(prior @ seen, 1e-300)) @ seen.T
        best = max(best, float((prior * gains).sum(axis=1).max()))
        prior = prior * np.exp(gains)
        prior = prior / prior.sum(axis=1, keepdims=True)
    return best


def level_two(rows: Rows, rng: np.random.Generator) -> float:
    best = 0.0
    for prior in priors(rng, len(rows)):
        q = prior @ rows
        used = q > 0
        best = max(best, math.log(float(prior @ (rows[:, used] ** 2 / q[used]).sum(axis=1))))
    return best


def hockey_stick(rows: Rows, pairs: list[tuple[int, int]], epsilon: float) -> float:
    return max(float(np.maximum(rows[i] - math.exp(epsilon) * rows[j], 0).sum()) for i, j in pairs)


def concentrated(rows: Rows, pairs: list[tuple[int, int]]) -> float:
    """The largest D_α/α of neighbours over a grid of orders above 1."""
    best = 0.0
    for i, j in pairs:
        p, q = (rows[one][(rows[i] > 0) & (rows[j] > 0)] for one in (i, j))
        for order in (1.001, 1.01, 1.1, 1.5, 2.0, 3.0, 5.0, 9.0, 20.0, 60.0):
            best = max(best, math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1) / order)
    return best


def require_truth_below(rows: Rows, spends: list[Spend], rng: np.random.Generator) -> None:
    """What the ledger says is at least what the composite channel does."""
    with Ledger.open("sqlite://", dataset="d", policy="0" * 8, caps=Caps(alpha=ALPHA)) as ledger:
        for spend in spends:
            ledger.reserve([Charge("q", "", spend)])
        told = ledger.totals()
    assert hockey_stick(rows, NEIGHBOURS, told.epsilon) <= told.delta + SLACK, "epsilon, delta"
    both = [
        (i, j) for i, a in enumerate(TABLES) for j, b in enumerate(TABLES) if a[0] != b[0] and a[1] != b[1]
    ]
    e = math.exp(told.epsilon)  # a group of two: (2ε, δ(e^{2ε} − 1)/(e^ε − 1))
    assert hockey_stick(rows, both, 2 * told.epsilon) <= told.delta * (1 + e) + SLACK, "group"
    assert max(shannon(rows[fibre], rng) for fibre in FIBRES) <= told.nats_person + SLACK, "person"
    assert shannon(rows, rng) <= told.nats_table + SLACK, "table"
    assert max(level_two(rows[fibre], rng) for fibre in FIBRES) <= told.nats_level + SLACK, "level"
    if not told.delta:
        assert concentrated(rows, NEIGHBOURS) <= told.rho + SLACK, "rho"


kinds = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=2)


@settings(max_examples=15, deadline=None)
@given(st.lists(kinds, min_size=1, max_size=3), st.floats(0.1, 3.0), st.integers(0, 2**32))
def test_the_ledger_is_never_below_the_truth(steps: list[list[str]], strength: float, seed: int) -> None:
    """Each step is one query, or two between which what was seen so far decides."""
    rng = np.random.default_rng(seed)
    seen, spends = np.ones((len(TABLES), 1)), []
    for names in steps:
        branches = [KINDS[name](rng, strength) for name in names]
        width = max(step.rows.shape[1] for step in branches)
        padded = [np.pad(step.rows, ((0, 0), (0, width - step.rows.shape[1]))) for step in branches]
        seen = observe(seen, padded)
        seen = seen[:, seen.sum(axis=0) > 0]
        spends.append(dearest([step.spend for step in branches]))
    require_truth_below(seen, spends, rng)


def composite(steps: list[Step]) -> Rows:
    rows = np.ones((len(TABLES), 1))
    for step in steps:
        rows = observe(rows, [step.rows])
    return rows


def halved(spend: Spend, name: str) -> Spend:
    """Behind the back of what a spend checks when it is made: half of an implied ρ is refused there."""
    found = copy.copy(spend)
    object.__setattr__(found, name, getattr(spend, name) / 2)
    return found


@pytest.mark.parametrize(
    ("name", "caught"),
    [
        ("epsilon", "epsilon, delta"),
        ("nats_person", "person"),
        ("nats_table", "table"),
        ("nats_level", "level"),
        ("rho", "rho"),
    ],
)
def test_a_planted_under_charge_is_caught(name: str, caught: str) -> None:
    """The same query, whose exact price in every currency is attained, paid for by half."""
    e = math.exp(1.0)
    told = np.full((VALUES, VALUES), 1 / (e + VALUES - 1)) + np.eye(VALUES) * (e - 1) / (e + VALUES - 1)
    rows = np.array([told[a] for a, _ in TABLES])
    nats = certified(told)
    honest = Spend(1.0, 0.0, nats, nats, level_two(told, np.random.default_rng(0)) + 1e-6)
    rng = np.random.default_rng(1)
    require_truth_below(rows, [honest], rng)
    with pytest.raises(AssertionError, match=caught):
        require_truth_below(rows, [halved(honest, name)], rng)


def test_a_maximum_where_the_sum_is_due_is_caught() -> None:
    """Two parts that hold the same person are not disjoint."""
    rng = np.random.default_rng(2)
    step = pure(rng, 2.0)
    rows = composite([step, step])
    require_truth_below(rows, [step.spend, step.spend], rng)
    with pytest.raises(AssertionError, match="epsilon, delta"):
        require_truth_below(rows, [dearest([step.spend, step.spend])], rng)


def personal_ratio(rows: Rows, person: int) -> float:
    """The exact ε of one person alone."""
    pairs = [(i, j) for i, j in NEIGHBOURS if TABLES[i][1 - person] == TABLES[j][1 - person]]
    return max(float(np.log(rows[i] / rows[j]).max()) for i, j in pairs)


def left_out(rows: Rows, counted: frozenset[Hashable]) -> Rows:
    """The channel on those who are counted: whoever is not is taken for somebody with record 0."""
    kept = [
        tuple(value if person in counted else 0 for person, value in enumerate(table)) for table in TABLES
    ]
    return rows[[TABLES.index(table) for table in kept]]


def personally(caps: tuple[float, float], strengths: list[float], seed: int, *, forget: bool = False) -> None:
    """Queries until the budgets end; with `forget` those without budget left stay counted."""
    rng = np.random.default_rng(seed)
    budgets = PersonalBudgets({person: PureDP(cap) for person, cap in enumerate(caps)})
    seen, spends = np.ones((len(TABLES), 1)), []
    for strength in strengths:
        rows = random_rows(rng, 2, strength)
        own = {person: PureDP(personal_ratio(rows, person) * (1 + 1e-12)) for person in (0, 1)}
        budgets, counted = budgets.charge(own)
        asked = rows if forget else left_out(rows, counted)
        seen = observe(seen, [asked])
        # The ledger knows the query, not who was counted: it is charged for the person who pays most.
        spends.append(Spend(max(price.epsilon for price in own.values()), nats_table=certified(rows)))
    for person, cap in enumerate(caps):
        true = personal_ratio(seen, person)
        assert true <= cap - budgets.left(person) + SLACK, "personal"
        assert true <= cap + SLACK, "personal"
    require_truth_below(seen, spends, rng)


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(st.floats(0.05, 3), st.floats(0.05, 3)),
    st.lists(st.floats(0.1, 2.0), min_size=1, max_size=5),
    st.integers(0, 2**32),
)
def test_nobody_loses_more_than_their_own_budget(
    caps: tuple[float, float], strengths: list[float], seed: int
) -> None:
    personally(caps, strengths, seed)


def test_somebody_counted_beyond_the_budget_is_caught() -> None:
    personally((0.5, 5.0), [1.0, 1.0, 1.0], 1)
    with pytest.raises(AssertionError, match="personal"):
        personally((0.5, 5.0), [1.0, 1.0, 1.0], 1, forget=True)


def test_a_forgotten_delta_is_caught() -> None:
    rng = np.random.default_rng(4)
    step = leaky(rng, 1.0)
    with pytest.raises(AssertionError, match="epsilon, delta"):
        require_truth_below(step.rows, [halved(step.spend, "delta")], rng)


def test_noise_used_twice_is_what_no_price_covers() -> None:
    """Y₁ = X ⊕ U and Y₂ = U tell nothing each and everything together (Cuff & Yu 2016, example 4.3)."""
    rows = np.array(
        [
            [float(y == (x + u) % VALUES) / VALUES for u in range(VALUES) for y in range(VALUES)]
            for x, _ in TABLES
        ]
    )
    free = Spend(0.0, 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(AssertionError, match="epsilon, delta"):
        require_truth_below(rows, [free, free], np.random.default_rng(0))
