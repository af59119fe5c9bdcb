"""Dependent records against brute force over all databases, against quadrature and against closed forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from leakcap.attack import Sums, copies_curve, correlated_record, equal_copies, households, markov_chain
from leakcap.capacities import geometric_capacity
from leakcap.capacities.noise.geometric_ends import ends_information
from leakcap.channel import Channel
from leakcap.errors import InvalidParameter
from leakcap.leakage import mutual_information


def brute(joint: dict[tuple[int, ...], float], record: int, epsilon: float) -> tuple[float, float]:
    """I(X;Y) and I(X;Y|others) from P(Y = y | database) over a wide window of outputs, term by term."""
    n = len(next(iter(joint)))
    window = np.arange(-math.ceil(40 / epsilon), n + math.ceil(40 / epsilon) + 1)

    def law(database: tuple[int, ...]) -> np.ndarray:
        return math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(window - sum(database)))

    def information(part: dict[tuple[int, ...], float]) -> float:
        rows = [sum((p * law(d) for d, p in part.items() if d[record] == x), 0 * window) for x in (0, 1)]
        mass = [row.sum() for row in rows]
        q = rows[0] + rows[1]
        return math.fsum(
            float(np.sum(r * np.log(r * sum(mass) / (q * m))))
            for r, m in zip(rows, mass, strict=True)
            if m > 0
        )

    given: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {}
    for database, p in joint.items():
        given.setdefault(database[:record] + database[record + 1 :], {})[database] = p
    return information(joint), math.fsum(information(part) for part in given.values())


def joint_of(n: int, weight: Callable[[tuple[int, ...]], float]) -> dict[tuple[int, ...], float]:
    return {d: weight(d) for d in itertools.product((0, 1), repeat=n) if weight(d) > 0}


def chain_weight(stay: float) -> Callable[[tuple[int, ...]], float]:
    def weight(d: tuple[int, ...]) -> float:
        return 0.5 * math.prod(stay if a == b else 1 - stay for a, b in itertools.pairwise(d))

    return weight


def coins(p: float, size: int) -> Callable[[tuple[int, ...]], float]:
    def weight(d: tuple[int, ...]) -> float:
        homes = [d[i : i + size] for i in range(0, len(d), size)]
        if any(len(set(home)) > 1 for home in homes):
            return 0.0
        return math.prod(p if home[0] else 1 - p for home in homes)

    return weight


CASES = [
    (equal_copies(4), joint_of(4, coins(0.5, 4)), 0),
    (equal_copies(3, prior=0.2), joint_of(3, coins(0.2, 3)), 0),
    (households(3, 2, prior=0.3), joint_of(6, coins(0.3, 2)), 0),
    (households(5, 1, prior=0.6), joint_of(5, coins(0.6, 1)), 0),
    (markov_chain(5, 0.8), joint_of(5, chain_weight(0.8)), 2),
    (markov_chain(6, 0.1), joint_of(6, chain_weight(0.1)), 2),
    (markov_chain(3, 0.5), joint_of(3, chain_weight(0.5)), 1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].name)
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_against_every_database(case: tuple[Sums, dict[tuple[int, ...], float], int], epsilon: float) -> None:
    sums, joint, record = case
    found = correlated_record(sums, epsilon)
    information, given_others = brute(joint, record, epsilon)
    assert found.got == pytest.approx(information, abs=1e-12)
    assert found.given_others == pytest.approx(given_others, abs=1e-12)
    assert found.given_others <= found.independent_cap
    assert found.got <= found.at_most * (1 + 1e-12)
    assert found.posterior <= found.posterior_at_most * (1 + 1e-12)
    others = {d[:record] + d[record + 1 :] for d in joint}
    mass = {o: sum(p for d, p in joint.items() if d[:record] + d[record + 1 :] == o) for o in others}
    prior = {x: sum(p for d, p in joint.items() if d[record] == x) for x in (0, 1)}
    lifts = [p / (mass[d[:record] + d[record + 1 :]] * prior[d[record]]) for d, p in joint.items()]
    assert sums.extent == pytest.approx(math.log(max(lifts)), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 17, 3000])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0])
def test_equal_copies_in_closed_form(n: int, epsilon: float) -> None:
    copies = equal_copies(n)
    assert correlated_record(copies, epsilon).got == pytest.approx(ends_information(n, epsilon), rel=1e-9)
    smooth = correlated_record(copies, epsilon, continuous=True)
    s = mpmath.exp(-mpmath.mpf(n) * epsilon)  # two atoms under Laplace noise of range nε
    exact = mpmath.log(2 / (1 + s)) - mpmath.sqrt(s) * (mpmath.pi / 2 - 2 * mpmath.atan(mpmath.sqrt(s)))
    assert smooth.got == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 12.0])
def test_laplace_noise_against_numerical_integration(epsilon: float) -> None:
    sums = households(2, 2, prior=0.3)

    def density(x: int, y: mpmath.mpf) -> mpmath.mpf:
        return sum(
            mpmath.mpf(p) * epsilon / 2 * mpmath.exp(-epsilon * abs(y - s))
            for s, p in enumerate(sums.given[x])
        )

    def integrand(y: mpmath.mpf) -> mpmath.mpf:
        f = [density(0, y), density(1, y)]
        q = mpmath.mpf("0.7") * f[0] + mpmath.mpf("0.3") * f[1]
        return mpmath.mpf("0.7") * f[0] * mpmath.log(f[0] / q) + mpmath.mpf("0.3") * f[1] * mpmath.log(
            f[1] / q
        )

    with mpmath.workdps(20):
        inner = mpmath.quad(integrand, [mpmath.mpf(i) / 4 for i in range(17)])
        tails = (integrand(mpmath.mpf(0)) + integrand(mpmath.mpf(4))) / epsilon
    found = correlated_record(sums, epsilon, continuous=True)
    assert found.got == pytest.approx(float(inner + tails), rel=1e-8)


def test_example_4_1() -> None:
    curve = copies_curve([1, 2, 5, 20, 100, 2000], 0.05)
    values = [point.got for point in curve]
    assert values == sorted(values)
    assert math.log(2) - values[-1] < 1e-12
    assert [point.given_others for point in curve[1:]] == [0.0] * 5
    assert curve[0].got == pytest.approx(curve[0].independent_cap, rel=1e-9)
    assert all(point.got > point.independent_cap for point in curve[1:])
    assert curve[-1].ratio == pytest.approx(1.0)
    assert curve[-1].to_dict()["records"] == 2000
    assert curve[1].table_cap == geometric_capacity(2, 0.05).upper


def test_independent_records_leak_less_in_a_crowd() -> None:
    found = [correlated_record(households(n, 1), 1.0).got for n in (1, 10, 1000)]
    assert found == sorted(found, reverse=True)
    middle = households(10, 1)
    noise = np.exp(-np.abs(np.arange(-60, 71)[None, :] - np.arange(11)[:, None])) * math.tanh(0.5)
    rows = middle.given @ noise
    channel = Channel(rows / rows.sum(axis=1, keepdims=True))
    assert found[1] == pytest.approx(mutual_information(channel, [0.5, 0.5]), abs=1e-12)


def test_bad_parameters() -> None:
    for call in (
        lambda: equal_copies(0),
        lambda: equal_copies(2, prior=1.0),
        lambda: households(0, 1),
        lambda: households(1, -1),
        lambda: markov_chain(2, 0.5),
        lambda: markov_chain(5, 0.0),
        lambda: correlated_record(equal_copies(2), 0.0),
        lambda: correlated_record(equal_copies(2), math.nan),
        lambda: Sums("no law", np.ones((2, 3)), (0.5, 0.5), 1, 0.0, ()),
    ):
        with pytest.raises(InvalidParameter):
            call()
