"""Gradient descent: the curve against lattice sums, exact sensitivities, amplification, runs that go on."""

from __future__ import annotations

import functools
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, ctx

from leakcap.accounting import PrivacyLoss
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.mechanism import Gaussian
from leakcap.models import (
    CustomLoss,
    LogisticLoss,
    PrivateGradientDescent,
    RenyiCurve,
    SoftmaxLoss,
    SquaredLoss,
    descent,
    noise_multiplier_for,
)
from leakcap.models.descent import coins
from leakcap.models.summary import summary_of
from leakcap.sampling import discrete_gaussian
from models.world import ALARM, broken, ledger_of, policy_of
from seeded import SeededSource, discrete_gaussian_chi_square

BITS = 160


@functools.cache
def on_the_lattice(shift: tuple[int, ...]) -> list[tuple[arb, arb]]:
    """Of every outcome its chance where the person is in with q = 1/5, and where not; σ² = 5."""
    variance, reach = 5, 45
    with ctx.workprec(BITS):
        q = arb(1) / 5
        weights = {z: (-arb(z * z) / (2 * variance)).exp() for z in range(-reach - 5, reach + 6)}
        mass = sum(weights.values(), arb(0))
        line = {z: one / mass for z, one in weights.items()}
        found = []
        for z in itertools.product(range(-reach, reach + 1), repeat=len(shift)):
            out = math.prod((line[a] for a in z), start=arb(1))
            inside = math.prod((line[a - b] for a, b in zip(z, shift, strict=True)), start=arb(1))
            found.append(((1 - q) * out + q * inside, out))
        return found


@pytest.mark.parametrize("shift", [(3,), (1, 2), (2, -2)])
@pytest.mark.parametrize("order", [2, 3, 7])
def test_the_curve_against_sums_over_the_lattice(order: int, shift: tuple[int, ...]) -> None:
    """σ² = 5, q = 1/5: the curve is above both directions, and above the larger by what the grid costs."""
    with ctx.workprec(BITS):
        each = on_the_lattice(shift)
        sums = [
            sum((a**order * b ** (1 - order) for a, b in both), arb(0))
            for both in (each, [(out, mixed) for mixed, out in each])
        ]
        logs = [one.log() / (order - 1) for one in sums]
        assert all(float(one.rad()) < 1e-20 for one in logs)
        there, back = (float(one.mid()) for one in logs)
    length = math.sqrt(sum(s * s for s in shift))
    curve = RenyiCurve(math.sqrt(5) / length, Fraction(1, 5), 1, replace=False)
    assert back <= there <= curve.presence(order) <= there * (1 + 1e-7)


def test_the_curve_and_its_epsilon_are_those_of_continuous_noise() -> None:
    """Above them by what the grid and rounding to so many digits cost."""
    rate, steps, delta = Fraction(1, 50), 300, 1e-5
    curve = RenyiCurve(1.2, rate, steps, replace=False)
    loss = PrivacyLoss.of_mechanism(Gaussian(1.2)).sampled(float(rate)) ** steps
    for order in (1.0, 1.1, 2.0, 2.5, 16.0, 256.0):
        truth = max(loss.renyi(order).lower, loss.reverse.renyi(order).lower)
        assert truth <= curve.presence(order) <= truth * (1 + 1e-6)
    assert (
        loss.epsilon_both(delta).lower <= curve.epsilon(delta) <= loss.epsilon_both(delta).upper * (1 + 1e-4)
    )


def test_a_thousand_steps_are_charged_exactly() -> None:
    """1.828236667 is the exact figure of σ = 1, q = 1/100, 1,000 steps at δ = 10⁻⁵."""
    assert 1.828236667 <= RenyiCurve(1.0, Fraction(1, 100), 1000, replace=False).epsilon(1e-5) <= 1.8283
    full = RenyiCurve(30.0, Fraction(1), 200, replace=True)
    with mpmath.workdps(30):
        mu, epsilon = 2 * mpmath.sqrt(200) / 30, mpmath.mpf(repr(full.epsilon(1e-6)))
        tail = mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)
        assert 0.9999 * 1e-6 <= tail <= 1e-6


def test_noise_that_hides_nothing_is_charged_as_if_everybody_were_in() -> None:
    """Below an eighth of the clip, where a sample hides next to nothing; nothing overflows."""
    for noise in (0.01, 0.12, 0.13):
        curve = RenyiCurve(noise, Fraction(1, 2), 3, replace=False)
        assert curve.presence(256.0) <= RenyiCurve(noise, Fraction(1), 3, replace=False).presence(256.0)
        assert 0.0 < curve.epsilon(1e-6) < math.inf
    assert RenyiCurve(0.01, Fraction(1, 2), 3, replace=True).epsilon(1e-6) > 1e4


def test_levels_and_contents() -> None:
    """A full step between two contents is a Gaussian at twice the distance; by way of absence costs more."""
    full = RenyiCurve(2.0, Fraction(1), 1, replace=True)
    assert 3 * 2**2 / (2 * 2.0**2) < full.at(3.0).epsilon < 3 * 2**2 / (2 * 2.0**2) * (1 + 2e-8)
    assert 3 / (2 * 2.0**2) < full.level(3.0).nats < 3 / (2 * 2.0**2) * (1 + 2e-8)
    sampled = RenyiCurve(2.0, Fraction(1, 10), 10, replace=True)
    assert sampled.contents(4.0) > sampled.presence(4.0)
    assert sampled.presence(5000.0) <= 10 * 5000 / (2 * 2.0**2)
    assert noise_multiplier_for(epsilon=1.0, delta=1e-5, rate=Fraction(1, 10), steps=10) < 2.0


@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("shift", [(2,), (1, 1), (4,)])
def test_the_capacity_at_order_one_is_the_divergence_from_absence(
    rate: Fraction, shift: tuple[int, ...]
) -> None:
    """Sums over the lattice, in one and two dimensions: what a person's presence adds to the absent's answer.

    The capacity of a step is the least divergence of all contents from any one law (Topsøe 1967), so at most
    that; the curve is it, but for the digits that are kept.
    """
    length = math.sqrt(sum(s * s for s in shift))
    deviation = 5.0 * length
    curve = RenyiCurve(5.0, rate, 1, replace=False)
    lines = [np.arange(-round(12 * deviation), round(12 * deviation) + 1) for _ in shift]
    absent = _product([np.exp(-(line**2) / (2 * deviation**2)) for line in lines])
    there = _product(
        [np.exp(-((line - s) ** 2) / (2 * deviation**2)) for line, s in zip(lines, shift, strict=True)]
    )
    absent, there = absent / absent.sum(), there / there.sum()
    mixed = float(1 - rate) * absent + float(rate) * there
    exact = float((mixed * np.log(mixed / absent)).sum())
    for replace in (False, True):
        assert exact * (1 - 1e-9) <= RenyiCurve(5.0, rate, 1, replace).level(1.0).nats
    assert curve.presence(1.0) <= exact * (1 + 2e-8)
    assert curve.presence(1.0) <= curve.presence(2.0)
    seven = RenyiCurve(5.0, rate, 7, replace=False).presence(1.0)
    assert 7 * exact * (1 - 1e-9) <= seven <= 7 * curve.presence(1.0) * (1 + 2e-8)


def _product(lines: list[Any]) -> Any:
    return lines[0] if len(lines) == 1 else np.outer(*lines).ravel()


def test_loud_and_narrow_noise_keep_the_order_of_the_curve() -> None:
    """Order 1 is at most order 2, order 2 at most order 3, wherever doubles end."""
    for noise, rate in itertools.product(
        (0.01, 0.05, 0.5, 1.0, 1e3, 1e6), (Fraction(1, 10**6), Fraction(1, 2))
    ):
        curve = RenyiCurve(noise, rate, 3, replace=False)
        first, second, third = (curve.presence(order) for order in (1.0, 2.0, 3.0))
        assert 0.0 < first <= second <= third * (1 + 1e-9)


def test_page_terminal_ledger_and_curve_say_one_number_at_order_one() -> None:
    """Two hundred full steps at σ = 30S: 200/(2·30²) about a person, four times that between contents."""
    policy = policy_of(neighbours="replace-one", rows=50)
    X, y = data(11, 50)
    with ledger_of(policy) as ledger:
        model = PrivateGradientDescent(
            policy=policy,
            ledger=ledger,
            noise_multiplier=30.0,
            sample_rate=1,
            steps=200,
            source=SeededSource(1),
        ).fit(X, y)
        summary = summary_of(model, ["x", "z"], neighbours="replace-one")
        (entry,) = ledger.entries()
    first = summary.orders[0]
    assert first.alpha == 1.0
    assert 200 / (2 * 30**2) <= first.level <= 200 / (2 * 30**2) * (1 + 2e-8)
    assert 4 * 200 / (2 * 30**2) <= first.renyi <= 4 * 200 / (2 * 30**2) * (1 + 2e-8)
    assert summary.spend.nats_person == first.level
    assert entry.spend.nats_person == pytest.approx(first.level, abs=1e-12)
    assert all(order.level < order.renyi for order in summary.orders)


def test_coins_are_fair_to_the_rate() -> None:
    """Within 5 standard errors; a rate off by a tenth is not."""
    tossed = coins(Fraction(3, 7), 200_000, SeededSource(1)).mean()
    error = 5 * math.sqrt(3 / 7 * 4 / 7 / 200_000)
    assert abs(tossed - 3 / 7) < error
    assert abs(tossed - 0.9 * 3 / 7) > error


@pytest.mark.parametrize("loss", [SquaredLoss(), LogisticLoss(), SoftmaxLoss((0, 1))], ids=repr)
def test_a_row_weighs_its_own_integers_whatever_the_others_are(loss: Any) -> None:
    """Total with a row less total without it: the row's own integers, no longer than the clip, to the bit."""
    generator = np.random.default_rng(2)
    model, longest = PrivateGradientDescent(loss=loss, clip=0.7), 0
    for n in (1, 2, 7, 33):
        X = np.ascontiguousarray(generator.normal(0, 3, (n, 5)))
        y = generator.integers(0, 2, n).astype(float)
        theta = generator.normal(0, 1, loss.size(5))
        for i in range(n):
            rest = np.arange(n) != i
            alone = np.array(model._total(theta, X[i : i + 1], y[i : i + 1]))
            moved = np.array(model._total(theta, X, y)) - model._total(theta, X[rest], y[rest])
            assert (moved == alone).all()
            longest = max(longest, int((alone**2).sum()))
    assert 2**31 < longest <= 2**32


def test_gradients_that_overflow_count_as_nothing() -> None:
    model = PrivateGradientDescent(loss=SquaredLoss())
    assert model._total(np.array([1e200]), np.array([[1e200]]), np.array([0.0])) == [0]


def test_softmax_and_custom_gradients_against_differences() -> None:
    generator = np.random.default_rng(3)
    X, theta, h = generator.normal(0, 1, (4, 2)), generator.normal(0, 1, 6), 1e-6
    y = np.array([0.0, 1.0, 2.0, 1.0])

    def cost(point: Any, i: int) -> float:
        scores = point.reshape(3, 2) @ X[i]
        return float(np.log(np.exp(scores).sum()) - scores[int(y[i])])

    found = SoftmaxLoss((0, 1, 2)).gradients(theta, X, y)
    for i, j in itertools.product(range(4), range(6)):
        bump = h * np.eye(6)[j]
        assert found[i, j] == pytest.approx(
            (cost(theta + bump, i) - cost(theta - bump, i)) / (2 * h), abs=1e-6
        )
    custom = CustomLoss(lambda t, x, target: (x @ t - target) * x, lambda t, rows: rows @ t)
    assert np.allclose(custom.gradients(theta[:2], X, y), SquaredLoss().gradients(theta[:2], X, y))


def one_step(share: float, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The noise of one full step in integers, 4000 coordinates."""
    monkeypatch.setattr(
        descent,
        "discrete_gaussian",
        lambda v, n, source: discrete_gaussian(v * Fraction(share) ** 2, n, source),
    )
    policy = policy_of()
    with ledger_of(policy) as ledger:
        model = PrivateGradientDescent(
            policy=policy, ledger=ledger, steps=1, sample_rate=1, noise_multiplier=1.5, expected_rows=1,
            learning_rate=1.0, fit_intercept=False, source=SeededSource(4),
        )  # fmt: skip
        model.fit(np.zeros((1, 4000)), [0.0])
    return np.rint(model.theta_ * 2**16).astype(np.int64)


def test_the_noise_has_its_law_and_half_of_it_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    variance = Fraction(3 * 2**15) ** 2
    assert discrete_gaussian_chi_square(one_step(1.0, monkeypatch), variance) > ALARM
    assert discrete_gaussian_chi_square(one_step(0.5, monkeypatch), variance) < ALARM


def test_sampling_amplifies_and_without_it_the_claim_breaks() -> None:
    """q = 1/10, σ = S, one step: the claimed ε at δ = 0.02 holds, and not if the person is always in."""
    runs, delta = 60_000, 0.02
    epsilon = RenyiCurve(1.0, Fraction(1, 10), 1, replace=False).epsilon(delta)
    source, unit = SeededSource(5), 2**16
    noise = [discrete_gaussian(Fraction(unit**2), runs, source) for _ in range(2)]
    sampled = noise[0] + unit * coins(Fraction(1, 10), runs, source)
    for edge in np.array([0.5, 0.8, 1.2, 1.6]) * unit:
        assert not broken(sampled >= edge, noise[1] >= edge, epsilon, delta)
        assert not broken(noise[1] <= edge, sampled <= edge, epsilon, delta)
    always = noise[0] + unit
    assert broken(always >= 0.8 * unit, noise[1] >= 0.8 * unit, epsilon, delta)


def data(seed: int, n: int = 2000) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (n, 2))
    return X, X @ [1.0, -1.0] + 0.3 + generator.normal(0, 0.1, n)


def test_it_learns_lines_and_classes() -> None:
    policy = policy_of(max_rows=2000, caps={"epsilon": 1e3, "delta": 0.1, "alpha": 4.0, "nats_level": 1e3})
    X, y = data(6)
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {"policy": policy, "ledger": ledger, "source": SeededSource(6)}
        line = PrivateGradientDescent(**options, steps=150).fit(X, y)
        assert np.allclose([*line.coef_, *line.intercept_], [1.0, -1.0, 0.3], atol=0.1)
        two = PrivateGradientDescent(**options, loss=LogisticLoss(("low", "high"))).fit(
            X, np.where(y > 0, "high", "low")
        )
        assert two.score(X, np.where(y > 0, "high", "low")) > 0.9
        bins = np.digitize(y, [-0.5, 0.5])
        three = PrivateGradientDescent(
            **options, loss=SoftmaxLoss((0, 1, 2)), steps=300, learning_rate=2.0
        ).fit(X, bins)
        assert three.score(X, bins) > 0.75
        entry = ledger.entries()[0]
        assert entry.spend.epsilon == pytest.approx(line.curve_.epsilon(1e-6), abs=1e-9)
        assert entry.spend.nats_level >= line.curve_.presence(4.0)
        with pytest.raises(InvalidParameter, match="expected_rows"):
            PrivateGradientDescent(policy=policy_of(), ledger=ledger_of(policy_of())).fit(X, y)


class Crash(Exception):
    """A plug that was pulled."""


def crash_at(step: int) -> Any:
    def progress(done: int, steps: int) -> None:
        if done == step:
            raise Crash

    return progress


def test_a_run_goes_on_once_and_pays_once(tmp_path: Path) -> None:
    """A file names its run; the ledger says from which step it goes on, whichever file is put back."""
    policy, path, old = policy_of(max_rows=2000), tmp_path / "run.json", tmp_path / "old.json"
    X, y = data(7)
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {
            "policy": policy, "ledger": ledger, "steps": 40, "checkpoint": path, "checkpoint_every": 10,
        }  # fmt: skip
        with pytest.raises(Crash):
            PrivateGradientDescent(**options, progress=crash_at(15)).fit(X, y)
        assert set(json.loads(path.read_text())) == {"entry", "step", "theta"}
        old.write_text(path.read_text())
        path.unlink()
        with pytest.raises(LedgerError, match=r"stopped, but .*run\.json.* is missing"):
            PrivateGradientDescent(**options).resume(X, y)
        path.write_text(old.read_text())
        with pytest.raises(Crash):
            PrivateGradientDescent(**options, progress=crash_at(27)).resume(X, y)
        assert json.loads(path.read_text())["step"] == 20
        with pytest.raises(LedgerError, match="other settings"):
            PrivateGradientDescent(**{**options, "steps": 41}).resume(X, y)
        seen: list[int] = []
        done = PrivateGradientDescent(
            **{**options, "checkpoint": old}, progress=lambda step, steps: seen.append(step)
        ).resume(X, y)
        assert seen == list(range(21, 41))
        assert np.allclose(done.coef_, [1.0, -1.0], atol=0.3)
        finished = f"has finished: entry {done.entry_} of the ledger"
        with pytest.raises(LedgerError, match=rf"{finished}.* Remove `.*run\.json` and fit without"):
            PrivateGradientDescent(**options).resume(X, y)
        path.unlink()
        with pytest.raises(LedgerError, match=rf"{finished}.* no step is left\. Fit without"):
            PrivateGradientDescent(**options).resume(X, y)
        with pytest.raises(LedgerError, match="Nothing to resume"):
            PrivateGradientDescent(**{**options, "steps": 41}).resume(X, y)
        assert ledger.totals().epsilon == pytest.approx(done.curve_.epsilon(1e-6), abs=1e-9)


@pytest.mark.parametrize(("every", "overtaking"), [(10, 10), (100, 10), (10, 7), (100, 100)])
def test_two_runs_from_one_step_are_seen_once(tmp_path: Path, every: int, overtaking: int) -> None:
    """Whichever checkpoints they take: the second cannot leave, at its next checkpoint or at its end."""
    policy, path, copy = policy_of(max_rows=2000), tmp_path / "run.json", tmp_path / "copy.json"
    X, y = data(8, 200)
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {"policy": policy, "ledger": ledger, "steps": 30}
        with pytest.raises(Crash):
            PrivateGradientDescent(
                **options, checkpoint=path, checkpoint_every=10, progress=crash_at(12)
            ).fit(X, y)
        copy.write_text(path.read_text())

        def overtaken(step: int, steps: int) -> None:
            if step == 15:
                other = PrivateGradientDescent(
                    **options, checkpoint=copy, checkpoint_every=overtaking,
                    progress=crash_at(29) if overtaking < 30 else None,
                )  # fmt: skip
                if overtaking < 30:
                    with pytest.raises(Crash):
                        other.resume(X, y)
                else:
                    other.resume(X, y)

        with pytest.raises(LedgerError, match="another run"):
            PrivateGradientDescent(
                **options, checkpoint=path, checkpoint_every=every, progress=overtaken
            ).resume(X, y)
        assert json.loads(path.read_text())["step"] == 10
        path.write_text("{}")
        with pytest.raises(LedgerError, match="not a checkpoint"):
            PrivateGradientDescent(**options, checkpoint=path).resume(X, y)


def test_an_interrupted_run_keeps_what_it_has(tmp_path: Path) -> None:
    """Ctrl-C at step 17 of 40, with a checkpoint every 10: the next goes on from 17."""
    policy, path = policy_of(max_rows=2000), tmp_path / "run.json"
    X, y = data(9, 300)

    def stop(step: int, steps: int) -> None:
        if step == 17:
            raise KeyboardInterrupt

    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {
            "policy": policy, "ledger": ledger, "steps": 40, "checkpoint": path, "checkpoint_every": 10,
        }  # fmt: skip
        with pytest.raises(KeyboardInterrupt):
            PrivateGradientDescent(**options, progress=stop).fit(X, y)
        kept = json.loads(path.read_text())
        assert kept["step"] == 17
        seen: list[int] = []
        PrivateGradientDescent(**options, progress=lambda step, steps: seen.append(step)).resume(X, y)
        assert seen == list(range(18, 41))
        assert kept["theta"] == ledger.steps(kept["entry"])[10].values[0]


def test_a_fit_asked_again_is_repeated_unless_its_loss_is_ones_own() -> None:
    policy = policy_of(max_rows=300)
    X, y = data(10, 300)
    own = CustomLoss(lambda t, x, target: (x @ t - target) * x, lambda t, rows: rows @ t)
    with ledger_of(policy) as ledger:
        options: dict[str, Any] = {"policy": policy, "ledger": ledger, "steps": 3}
        first = PrivateGradientDescent(**options).fit(X, y, version="1")
        again = PrivateGradientDescent(**options).fit(X, y, version="1")
        assert again.repeated_
        assert (again.theta_ == first.theta_).all()
        for different in ({"loss": LogisticLoss()}, {"loss": LogisticLoss(("a", "b"))}, {"loss": own}):
            labels = np.where(y > 0, "a", "b") if different["loss"] == LogisticLoss(("a", "b")) else y
            assert not PrivateGradientDescent(**options, **different).fit(X, labels, version="1").repeated_
        assert not PrivateGradientDescent(**options, loss=own).fit(X, y, version="1").repeated_
        assert len(ledger.entries()) == 5
