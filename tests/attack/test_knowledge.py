"""What an adversary unsure of others learns: against every database, and a search over all beliefs."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize

from leakcap.attack import correlated_record, equal_copies, households, knowledge_curve, unsure_of
from leakcap.attack.correlated.assumption import floor_curve, under_entropy_floor
from leakcap.errors import InvalidParameter
from leakcap.numeric import binary_entropy
from leakcap.numeric.entropy import inverse_binary_entropy

WINDOW = np.arange(-70, 80)


def noise(count: int, epsilon: float) -> np.ndarray:
    return math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(WINDOW - count))


def told(joint: dict[tuple[int, ...], float], epsilon: float) -> float:
    """I(X;Y) of the first record, database by database."""
    rows = [
        sum((p * noise(sum(d), epsilon) for d, p in joint.items() if d[0] == x), 0.0 * WINDOW) for x in (0, 1)
    ]
    q = rows[0] + rows[1]
    return math.fsum(
        float((row * np.log(row / (q * row.sum()))).sum()) for row in rows if row.sum() > 0
    )  # fmt: skip


def coins(prior: float, others: tuple[float, ...]) -> dict[tuple[int, ...], float]:
    chances = (prior, *others)
    return {
        d: math.prod(p if x else 1 - p for p, x in zip(chances, d, strict=True))
        for d in itertools.product((0, 1), repeat=len(chances))
    }


@pytest.mark.parametrize("others", [1, 2, 3])
@pytest.mark.parametrize(("nats", "epsilon", "prior"), [(0.5, 1.0, 0.5), (0.3, 2.0, 0.2), (0.65, 0.7, 0.9)])
def test_the_worst_belief_by_grid(others: int, nats: float, epsilon: float, prior: float) -> None:
    found = unsure_of(others, nats, epsilon, prior=prior)
    rare = inverse_binary_entropy(nats)
    grid = np.linspace(rare, 1 - rare, 9).tolist()
    beliefs = {q: told(coins(prior, q), epsilon) for q in itertools.product(grid, repeat=others)}
    worst = max(beliefs, key=lambda q: beliefs[q])
    assert found.got == pytest.approx(beliefs[worst], abs=1e-12)
    assert set(worst) <= {grid[0], grid[-1]}
    assert beliefs[(0.5,) * others] < found.got  # the planted bug: fair coins are not the worst belief
    assert found.at_most == pytest.approx(told(coins(prior, ()), epsilon), abs=1e-12)
    assert binary_entropy(found.coin) == pytest.approx(nats)


def test_the_law_in_fractions() -> None:
    """ε = ln 2, two others at h(¼): P(answer | X) by fractions, merged beyond the counts."""
    nats, quarter = binary_entropy(0.25), Fraction(1, 4)
    laws = {}
    for ones in range(3):
        chances = [1 - quarter] * ones + [quarter] * (2 - ones)
        sums = [Fraction(0)] * 3
        for d in itertools.product((0, 1), repeat=2):
            sums[sum(d)] += math.prod(
                (p if x else 1 - p for p, x in zip(chances, d, strict=True)), start=Fraction(1)
            )
        rows = []
        for x in (0, 1):
            at = [
                sum(p * Fraction(1, 3) / 2 ** abs(y - s - x) for s, p in enumerate(sums))
                for y in range(-60, 64)
            ]
            rows.append(at)
        half = Fraction(1, 2)
        laws[ones] = math.fsum(
            float(half * p) * math.log(p / (half * (a + b)))
            for a, b in zip(*rows, strict=True)
            for p in (a, b)
        )
    assert unsure_of(2, nats, math.log(2.0)).got == pytest.approx(max(laws.values()), abs=1e-12)


def test_the_average_falls_and_the_worst_answer_does_not() -> None:
    curve = knowledge_curve([0, 1, 5, 25, 200], 0.4, 1.0)
    assert [p.got for p in curve] == sorted((p.got for p in curve), reverse=True)
    assert curve[-1].got < 0.06 * curve[0].got
    assert [p.told for p in curve] == sorted((p.told for p in curve), reverse=True)
    for point in curve:
        assert point.lift == pytest.approx(point.lift_known, rel=1e-9)
        assert point.lift <= point.epsilon
    by_floor = [unsure_of(20, t, 1.0).got for t in (0.0, 0.1, 0.3, 0.6, math.log(2.0))]
    assert by_floor == sorted(by_floor, reverse=True)
    assert by_floor[0] == pytest.approx(curve[0].got, abs=1e-12)
    fair = correlated_record(households(21, 1), 1.0).got
    assert by_floor[-1] == pytest.approx(fair, abs=1e-12)


def test_entropy_of_each_does_nothing_where_others_depend() -> None:
    """Two fair coins that are each other's opposite have ln 2 nats each, and hide nothing."""
    opposite = {(x, a, 1 - a): 0.25 for x in (0, 1) for a in (0, 1)}
    assert told(opposite, 1.0) == pytest.approx(unsure_of(0, 0.0, 1.0).got, abs=1e-12)
    assert told(opposite, 1.0) > 1.4 * unsure_of(2, math.log(2.0), 1.0).got


def entropy(p: np.ndarray) -> float:
    return float(-np.sum(p * np.log(np.maximum(p, 1e-300))))


@pytest.mark.parametrize(("records", "share"), [(2, 0.5), (2, 0.9), (3, 0.4), (3, 0.8), (3, 0.97)])
def test_the_floor_by_search_over_all_beliefs(records: int, share: float) -> None:
    """SLSQP over all 2ⁿ probabilities from twelve random starts: none gets above `got`, some get there."""
    epsilon, floor = 1.5, share * records * math.log(2.0)
    found = under_entropy_floor(records, floor, epsilon)
    databases = list(itertools.product((0, 1), repeat=records))
    table = np.array([noise(sum(d), epsilon) for d in databases])
    first = np.array([d[0] for d in databases], dtype=bool)

    def loss(p: np.ndarray) -> float:
        rows = [p[~first] @ table[~first], p[first] @ table[first]]
        q = rows[0] + rows[1]
        return -sum(
            float((r * np.log(np.maximum(r, 1e-300) / (q * max(r.sum(), 1e-300)))).sum()) for r in rows
        )

    generator, best = np.random.default_rng(records), 0.0
    for _ in range(12):
        solved = scipy.optimize.minimize(
            loss,
            generator.dirichlet(np.ones(2**records)),
            method="SLSQP",
            bounds=[(1e-9, 1.0)] * 2**records,
            constraints=[
                {"type": "eq", "fun": lambda p: p.sum() - 1.0},
                {"type": "ineq", "fun": lambda p: entropy(p) - floor},
            ],
            options={"maxiter": 300, "ftol": 1e-12},
        )
        if abs(solved.x.sum() - 1) < 1e-7 and entropy(solved.x) > floor - 1e-6:
            best = max(best, -solved.fun)
    assert best <= found.at_most + 1e-6
    assert found.got == pytest.approx(best, abs=2e-5)


def test_the_floor_at_its_ends() -> None:
    for n in (2, 7, 60):
        top = n * math.log(2.0)
        copies = correlated_record(equal_copies(n), 0.5).got
        least, copied, most = floor_curve(n, [0.0, math.log(2.0), top], 0.5)
        assert least.got >= copied.got * (1 - 1e-9)
        assert copied.got >= copies * (1 - 1e-9)
        fair = correlated_record(households(n, 1), 0.5).got
        assert most.got <= most.at_most <= most.got + 1e-13  # rounded to the side of the limit
        assert most.got == pytest.approx(fair, rel=1e-9)
        assert most.got < most.independent_cap < copied.got


def test_the_floor_falls_and_brackets() -> None:
    top = 40 * math.log(2.0)
    curve = floor_curve(40, [0.0, 0.5 * top, 0.9 * top, top - 0.5, top - 0.01, top - 1e-6, top], 1.0)
    assert all(point.got <= point.at_most * (1 + 1e-12) for point in curve)
    assert [p.got for p in curve] == sorted((p.got for p in curve), reverse=True)
    assert curve[2].got > 0.6 > curve[0].independent_cap  # nine tenths of all entropy protect nobody
    assert curve[-2].at_most < 1.2 * curve[-1].got + 2e-3


def test_bad_parameters() -> None:
    for call in (
        lambda: unsure_of(-1, 0.5, 1.0),
        lambda: unsure_of(5001, 0.5, 1.0),
        lambda: unsure_of(2, 0.7, 1.0),
        lambda: unsure_of(2, 0.5, 0.0),
        lambda: unsure_of(2, 0.5, 1.0, prior=1.0),
        lambda: under_entropy_floor(1, 0.5, 1.0),
        lambda: under_entropy_floor(2, 1.5, 1.0),
        lambda: under_entropy_floor(2, -0.1, 1.0),
        lambda: under_entropy_floor(2, 0.5, math.nan),
    ):
        with pytest.raises(InvalidParameter):
            call()
