"""Losses as tables, in and out: against plain sums, closed forms, and tables of before their roundings."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from mpmath import mpf

from accounting.truth import gaussian, responses, sampled_gaussian
from leakcap.accounting import LossTable, PrivacyLoss, from_pld, loss_table, to_pld
from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.mechanism import Gaussian, Laplace

EPSILONS = (-3.0, -0.77, 0.0, 0.31, 1.5, 4.0)


def plain(table: LossTable, epsilon: float) -> float:
    """What the table itself says: its masses above ε, each weighed."""
    above = table.losses > epsilon
    gains = -np.expm1(epsilon - table.losses[above])
    return math.fsum([table.infinite, *(table.masses[above] * gains).tolist()])


def drawn(rng: np.random.Generator, size: int = 40) -> LossTable:
    """A table of a pair: Q drawn, P proportional to e^loss of it, and a share at infinity."""
    step, first = 0.25, -int(rng.integers(size // 4, size // 2))
    q = rng.random(size) ** 6 * np.exp(-0.02 * (np.arange(size) + first) ** 2)
    p = q * np.exp((first + np.arange(size)) * step)
    infinite = 1e-3
    return LossTable(step, first, p * (1 - infinite) / p.sum(), infinite)


def possible(table: LossTable) -> bool:
    return float(table.masses @ np.exp(-table.losses)) <= 1.0


def test_a_clean_table_is_its_own_loss() -> None:
    rng, tested = np.random.default_rng(1), 0
    while tested < 20:
        table = drawn(rng)
        if not possible(table):
            continue
        tested += 1
        for epsilon in EPSILONS:
            found = from_pld(table).delta(epsilon)
            assert found.lower - 1e-14 <= plain(table, epsilon) <= found.upper + 1e-14
            assert found.width < 1e-12


@pytest.mark.parametrize("pessimistic", [True, False])
def test_roundings_below_zero_never_end_on_the_wrong_side(pessimistic: bool) -> None:
    """Each entry off by ±10⁻¹⁰: at small losses Q's masses explode, at large ones P's vanish."""
    rng, tested, naive = np.random.default_rng(2), 0, 0
    for _ in range(200):
        table = drawn(rng, 60)
        if not possible(table):
            continue
        noise = 1e-10
        off = noise * np.where(rng.random(table.masses.size) < 0.5, -1.0, 1.0)
        off[np.argmin(table.masses)] = -noise
        masses = table.masses + off
        if masses.min() >= 0.0:
            continue
        noisy = LossTable(table.step, table.first, masses, table.infinite, pessimistic)
        mended = from_pld(noisy)
        clipped = LossTable(table.step, table.first, np.maximum(masses, 0.0), table.infinite)
        for epsilon in EPSILONS:
            truth, found = plain(table, epsilon), mended.delta(epsilon)
            # What the table knows of each entry is how far the lowest lies below zero.
            known = noise - max(-float(masses.min()), 0.0)
            allowed = known * table.masses.size
            if pessimistic:
                assert found.upper >= truth - allowed
                naive += plain(clipped, epsilon) < truth - allowed
            else:
                assert found.lower <= truth + allowed
                naive += plain(clipped, epsilon) > truth + allowed
            assert abs(found.midpoint - truth) <= 3.0 * noise * table.masses.size * math.exp(max(-epsilon, 0))
            assert found.upper >= 1.0 - math.exp(epsilon) - 1e-12
            tested += 1
    assert tested > 200
    # Setting what is negative to zero alone would have failed.
    assert naive > 20


@pytest.mark.parametrize("short", [1e-15, 5e-15, 1e-13])
def test_what_roundings_take_from_a_table_below_is_no_infinite_loss_of_its_reverse(short: float) -> None:
    """Q's masses came to a little less than one, and the rest was held for a reverse loss of +∞: a lower end
    of 5·10⁻¹⁵ where the truth is 0. On one thread roundings fell the other way."""
    losses = np.arange(-4, 5) * 0.5
    masses = np.exp(losses / 2 - losses**2)  # Q's are these in reverse, so that both are distributions
    masses /= masses.sum()
    whole = from_pld(LossTable(0.5, -4, masses))
    found = from_pld(LossTable(0.5, -4, masses * (1.0 - short), pessimistic=False))
    for epsilon in (-2.5, -1.0, 0.0, 0.7, 1.9, 2.5):
        assert found.delta(epsilon).lower <= whole.delta(epsilon).upper
        assert found.reverse.delta(epsilon).lower <= whole.reverse.delta(epsilon).upper
        assert found.reverse.delta(epsilon).upper == pytest.approx(
            whole.reverse.delta(epsilon).lower, abs=1e-12
        )
    assert found.reverse.delta(2.5).lower == 0.0


def test_a_table_out_of_an_fft_stays_above_the_truth() -> None:
    step, times = 1e-3, 200
    one = loss_table(PrivacyLoss.of_mechanism(Gaussian(10.0)), step)
    size = 1 << 15
    transform = np.fft.rfft(np.append(one.masses, np.zeros(size - one.masses.size)))
    # Enough room: 200 losses of ±0.8 would reach ±160, but all that counts lies within ±16.
    masses = np.fft.irfft(transform**times, size)
    first = times * one.first
    start = round((1.0 - 14.0) / step)
    masses = np.roll(masses, (first - start) % size)
    assert masses.min() < 0.0
    table = LossTable(step, start, masses, 1.0 - (1.0 - one.infinite) ** times)
    loss = from_pld(table)
    part = loss.parts[0][0]
    assert math.fsum([*part.atoms().q.tolist(), part.lost]) == pytest.approx(1.0, abs=1e-9)
    for epsilon in (-4.0, 0.0, 1.0, 5.0, 8.0):
        truth = gaussian(10.0 * math.sqrt(2.0) / 10.0, epsilon)
        assert truth <= loss.delta(epsilon).upper <= truth + mpf(2e-5)
    assert abs(loss.epsilon(1e-6).upper - 6.7) < 1.5


LOSSES = {
    "gaussian": (PrivacyLoss.of_mechanism(Gaussian(2.0)) ** 9, lambda e: gaussian(1.5, e)),
    "one gaussian": (PrivacyLoss.of_mechanism(Gaussian(1.0)), lambda e: gaussian(1.0, e)),
    "responses": (
        PrivacyLoss.of_rows(
            [math.e / (1 + math.e), 1 / (1 + math.e)], [1 / (1 + math.e), math.e / (1 + math.e)]
        )
        ** 12,
        lambda e: responses(1.0, 12, e),
    ),
    "a rare sample": (
        PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.1),
        lambda e: sampled_gaussian(1.0, 0.1, mpf(e)),
    ),
}


@pytest.mark.parametrize("step", [0.03, 0.004])
@pytest.mark.parametrize("kind", LOSSES)
def test_tables_lie_on_both_sides_of_the_truth(kind: str, step: float) -> None:
    loss, truth = LOSSES[kind]
    high, low = loss_table(loss, step), loss_table(loss, step, pessimistic=False)
    for epsilon in EPSILONS:
        true, gap = truth(epsilon), 12 * step if kind == "responses" else 9 * step**2
        # What the numbers say, and what is made of them.
        assert plain(low, epsilon) - 1e-13 <= true <= plain(high, epsilon) + 1e-13
        assert from_pld(low).delta(epsilon).lower <= true <= from_pld(high).delta(epsilon).upper
        assert from_pld(high).delta(epsilon).upper <= true + gap + 1e-9
        assert from_pld(low).delta(epsilon).lower >= true - gap - 1e-9
    assert math.fsum([*high.masses.tolist(), high.infinite]) == pytest.approx(1.0, abs=1e-12)
    assert high.masses.min() >= 0.0 <= low.masses.min()


def test_tables_compose_as_losses_do() -> None:
    step = PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.01)
    whole = step**1000
    found = from_pld(loss_table(step, 1e-3)) ** 1000
    exact = whole.epsilon(1e-5)
    assert exact.upper <= found.epsilon(1e-5).upper <= exact.upper + 0.01
    both = from_pld(loss_table(step, 1e-3, pessimistic=False)) ** 1000 & PrivacyLoss.of_mechanism(
        Laplace(4.0)
    )
    assert both.epsilon(1e-5).lower <= (whole & PrivacyLoss.of_mechanism(Laplace(4.0))).epsilon(1e-5).upper


def dense(step: float, first: int, masses: np.ndarray, infinite: float, pessimistic: bool) -> SimpleNamespace:
    return SimpleNamespace(
        _discretization=step, _lower_loss=first, _probs=masses, _infinity_mass=infinite,
        _pessimistic_estimate=pessimistic,
    )  # fmt: skip


LIBRARY = SimpleNamespace(
    pld_pmf=SimpleNamespace(DensePLDPmf=dense),
    privacy_loss_distribution=SimpleNamespace(
        PrivacyLossDistribution=lambda remove, add=None: SimpleNamespace(
            _pmf_remove=remove, _pmf_add=remove if add is None else add
        )
    ),
)


def test_distributions_of_dp_accounting_there_and_back() -> None:
    loss = PrivacyLoss.of_mechanism(Gaussian(1.0)).sampled(0.2)
    for pessimistic in (True, False):
        there = to_pld(loss, 0.01, pessimistic=pessimistic, library=LIBRARY)
        for adding, one in ((False, loss), (True, loss.reverse)):
            back = from_pld(there, adding=adding)
            for epsilon in EPSILONS:
                found, true = back.delta(epsilon), one.delta(epsilon)
                assert found.upper >= true.lower if pessimistic else found.lower <= true.upper
                assert abs(found.midpoint - true.midpoint) < 1e-3
    sparse = SimpleNamespace(
        _discretization=1.0, _loss_probs={1: math.e / (1 + math.e), -1: 1 / (1 + math.e)}, _infinity_mass=0.0,
        _pessimistic_estimate=True,
    )  # fmt: skip
    assert from_pld(sparse).epsilon(0.0).upper == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lambda: LossTable(0.1, 0, [0.5, -1e-3, 0.501]), "probabilities but for roundings"),
        (lambda: LossTable(0.1, 0, [0.5, 0.4]), "probabilities but for roundings"),
        (lambda: LossTable(0.1, 0, [0.5, 0.6], 0.0, False), "probabilities but for roundings"),
        (lambda: LossTable(0.1, 0, [0.5, math.nan]), "must be finite"),
        (lambda: LossTable(0.0, 0, [1.0]), "step"),
        (lambda: LossTable(0.1, 0, [1.0], 1.5), "infinite"),
        (lambda: LossTable(0.1, 0, []), "vector"),
        (lambda: object(), "must be a `LossTable`"),
    ],
)
def test_what_is_no_rounding_is_refused(table: object, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        from_pld(table())  # type: ignore[operator]


def test_tables_too_fine_are_refused_and_the_library_is_named() -> None:
    loss = PrivacyLoss.of_mechanism(Gaussian(1.0))
    with pytest.raises(InvalidParameter, match="larger one"):
        loss_table(loss, 1e-7)
    with pytest.raises(LeakcapError, match="pip install dp-accounting"):
        to_pld(loss)


def test_a_table_of_a_hundred_thousand_losses_is_asked_at_once() -> None:
    table = loss_table(PrivacyLoss.of_mechanism(Gaussian(1.0)), 2e-4)
    assert table.masses.size > 70_000
    found = from_pld(table).delta(1.0)
    assert gaussian(1.0, 1.0) <= found.upper <= gaussian(1.0, 1.0) + mpf(1e-8)
