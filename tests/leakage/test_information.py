"""Information measures against fifty-digit evaluation of their definitions, at every kind of order."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import mpmath as mp
import numpy as np
import pytest

from leakcap.channel import Channel
from leakcap.errors import InvalidParameter, InvalidPrior
from leakcap.leakage import arimoto, csiszar, joint_renyi, mutual_information, sibson
from strange_channels import GEOMETRIC, RESPONSE, strange_channels

ORDERS = (
    1e-6, 0.01, 0.3, 0.9, 1 - 1e-3, 1 - 2e-5, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12, 1.0,
    1 + 1e-12, 1 + 1e-9, 1 + 1e-6, 1 + 2e-5, 1 + 1e-4, 1.01, 2.0, 8.0, 1e3, 1e6, math.inf,
)  # fmt: skip

Rows = list[list[mp.mpf]]
Prior = list[mp.mpf]


def exact(channel: Channel, prior: object) -> tuple[Rows, Prior]:
    """The channel and prior that the doubles stand for: each scaled to sum to one exactly."""
    rows = [[mp.mpf(float(c)) for c in row] for row in channel.matrix]
    weights = [mp.mpf(float(p)) for p in np.asarray(prior)]
    pairs = [(p / sum(weights), [c / sum(r) for c in r]) for p, r in zip(weights, rows, strict=True) if p > 0]
    return [r for _, r in pairs], [p for p, _ in pairs]


def centre(rows: Rows, prior: Prior) -> list[mp.mpf]:
    return [sum(p * r[y] for p, r in zip(prior, rows, strict=True)) for y in range(len(rows[0]))]


def mutual_exact(rows: Rows, prior: Prior) -> mp.mpf:
    q = centre(rows, prior)
    return mp.fsum(
        p * c * mp.log(c / q[y]) for p, r in zip(prior, rows, strict=True) for y, c in enumerate(r) if c
    )


def sibson_exact(rows: Rows, prior: Prior, alpha: float) -> mp.mpf:
    columns = range(len(rows[0]))
    if alpha == 1.0:
        return mutual_exact(rows, prior)
    if math.isinf(alpha):
        return mp.log(mp.fsum(max(r[y] for r in rows) for y in columns))
    a = mp.mpf(alpha)
    inner = [mp.fsum(p * r[y] ** a for p, r in zip(prior, rows, strict=True) if r[y]) for y in columns]
    return a / (a - 1) * mp.log(mp.fsum(v ** (1 / a) for v in inner if v))


def arimoto_exact(rows: Rows, prior: Prior, alpha: float) -> mp.mpf:
    """H_α(X) − H_α(X|Y) by its definition, not through Sibson."""
    columns = range(len(rows[0]))
    if alpha == 1.0:
        return mutual_exact(rows, prior)
    joint = [[p * c for c in r] for p, r in zip(prior, rows, strict=True)]
    if math.isinf(alpha):
        return mp.log(mp.fsum(max(r[y] for r in joint) for y in columns) / max(prior))
    a = mp.mpf(alpha)
    before = mp.log(mp.fsum(p**a for p in prior)) / (1 - a)
    norms = [mp.fsum(r[y] ** a for r in joint if r[y]) for y in columns]
    return before - a / (1 - a) * mp.log(mp.fsum(v ** (1 / a) for v in norms if v))


def joint_exact(rows: Rows, prior: Prior, alpha: float) -> mp.mpf:
    q = centre(rows, prior)
    cells = [(p, c, q[y]) for p, r in zip(prior, rows, strict=True) for y, c in enumerate(r) if c]
    if alpha == 1.0:
        return mutual_exact(rows, prior)
    if math.isinf(alpha):
        return mp.log(max(c / v for _, c, v in cells))
    a = mp.mpf(alpha)
    return mp.log(mp.fsum(p * c**a * v ** (1 - a) for p, c, v in cells)) / (a - 1)


PAIRS: tuple[tuple[Callable[..., float], Callable[..., mp.mpf]], ...] = (
    (sibson, sibson_exact),
    (arimoto, arimoto_exact),
    (joint_renyi, joint_exact),
)


@pytest.mark.parametrize(("measure", "definition"), PAIRS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("alpha", ORDERS)
def test_every_order_is_right_to_the_last_digits(
    measure: Callable[..., float], definition: Callable[..., mp.mpf], alpha: float
) -> None:
    with mp.workdps(60):
        for channel, prior in strange_channels(15, seed=11, largest=5):
            truth = definition(*exact(channel, prior), alpha)
            assert abs(measure(channel, prior, alpha=alpha) - float(truth)) <= 5e-15 + 2e-13 * float(truth)


def test_mutual_information_is_order_one() -> None:
    with mp.workdps(50):
        for channel, prior in strange_channels(10, seed=5):
            truth = float(mutual_exact(*exact(channel, prior)))
            assert mutual_information(channel, prior) == pytest.approx(truth, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("alpha", [0.25, 1 - 1e-12, 1.5, 20.0, 1e6, math.inf])
def test_csiszar_against_a_fine_search_over_two_outputs(alpha: float) -> None:
    """Two outputs: the minimum over Q is one-dimensional and convex, found by golden section in mpmath."""
    with mp.workdps(40):
        for seed, shape in ((3, (2, 2)), (4, (4, 2))):
            rng = np.random.default_rng(seed)
            channel, prior = Channel(rng.dirichlet([0.7, 1.1], shape[0])), rng.dirichlet(np.ones(shape[0]))
            truth = float(golden(partial(value_at, channel=channel, prior=prior, alpha=alpha)))
            bound = csiszar(channel, prior, alpha=alpha)
            assert bound.lower - 1e-14 <= truth <= bound.upper + 1e-14
            assert bound.width < 1e-11


def value_at(t: mp.mpf, channel: Channel, prior: object, alpha: float) -> mp.mpf:
    rows, weights = exact(channel, prior)
    q = (t, 1 - t)
    if math.isinf(alpha):
        return mp.fsum(
            p * mp.log(max(c / v for c, v in zip(r, q, strict=True)))
            for p, r in zip(weights, rows, strict=True)
        )
    a = mp.mpf(alpha)
    sums = [mp.fsum(c**a * v ** (1 - a) for c, v in zip(r, q, strict=True)) for r in rows]
    return mp.fsum(p * mp.log(s) for p, s in zip(weights, sums, strict=True)) / (a - 1)


def golden(function: Callable[[mp.mpf], mp.mpf]) -> mp.mpf:
    low, high = mp.mpf("1e-9"), 1 - mp.mpf("1e-9")
    shrink = (mp.sqrt(5) - 1) / 2
    left, right = high - shrink * (high - low), low + shrink * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(110):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - shrink * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + shrink * (high - low)
            at_right = function(right)
    return min(at_left, at_right)


def test_csiszar_certifies_strange_channels() -> None:
    for channel, prior in strange_channels(10, seed=8, largest=5):
        for alpha in (0.3, 1.0, 3.0, math.inf):
            bound = csiszar(channel, prior, alpha=alpha)
            assert 0.0 <= bound.lower <= bound.upper
            assert bound.width < 1e-11


def test_the_measures_are_ordered() -> None:
    """Above one Csiszár ≤ Sibson ≤ joint, below one Sibson ≤ Csiszár (Csiszár 1995, by Jensen)."""
    for channel, prior in strange_channels(15, seed=21, largest=5):
        for alpha in (0.4, 2.0, 50.0):
            middle, other = sibson(channel, prior, alpha=alpha), csiszar(channel, prior, alpha=alpha)
            assert middle <= joint_renyi(channel, prior, alpha=alpha) + 1e-13
            if alpha > 1:
                assert other.lower <= middle + 1e-13
            else:
                assert other.upper >= middle - 1e-13


def test_reference_values() -> None:
    uniform = np.full(3, 1 / 3)
    assert sibson(GEOMETRIC, uniform, alpha=math.inf) == pytest.approx(math.log(5 / 3), abs=1e-15)
    assert arimoto(RESPONSE, uniform, alpha=math.inf) == pytest.approx(math.log(9 / 5), abs=1e-15)
    # Uniform inputs of a symmetric channel attain its Shannon capacity.
    assert mutual_information(RESPONSE, uniform) == pytest.approx(0.1483417494, abs=5e-11)


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, -math.inf])
@pytest.mark.parametrize("measure", [sibson, arimoto, joint_renyi, csiszar])
def test_orders_that_are_none(measure: Callable[..., object], alpha: float) -> None:
    with pytest.raises(InvalidParameter, match="`alpha` of"):
        measure(GEOMETRIC, [1 / 3, 1 / 3, 1 / 3], alpha=alpha)


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.5, 0.6, -0.1], [0.2, 0.2, 0.2], [math.nan, 0.5, 0.5]])
@pytest.mark.parametrize("measure", [sibson, arimoto, joint_renyi, csiszar])
def test_priors_that_are_none(measure: Callable[..., object], prior: list[float]) -> None:
    with pytest.raises(InvalidPrior):
        measure(GEOMETRIC, prior, alpha=2.0)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("measure", [joint_renyi, sibson])
def test_a_prior_whose_square_underflows_leaks_no_infinity(
    measure: Callable[..., float], alpha: float
) -> None:
    # Each output shows its secret: ln Σ π^{2−α} / (α − 1) jointly, α/(α − 1) ln Σ π^{1/α} by Sibson.
    rare = 1e-180
    told = measure(Channel(np.eye(2)), np.array([1.0 - rare, rare]), alpha=alpha)
    power, factor = (2 - alpha, 1) if measure is joint_renyi else (1 / mp.mpf(alpha), alpha)
    with mp.workdps(400):
        total = mp.log1p(mp.mpf(rare) ** power)
        expected = factor * total / (alpha - 1) if alpha > 1 else -rare * mp.log(rare)
    assert told == pytest.approx(float(expected), rel=1e-12, abs=1e-15)
