"""Laws of leakage, on random channels of the awkward kinds; every public measure is enrolled by name.

A law yields the violations it finds and counts what it tested; a planted wrong measure must break one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from leakcap import gain, leakage
from leakcap.channel import Channel
from leakcap.gain import Gain
from leakcap.refinement import refines
from strange_channels import strange_channels, thousands

ORDERS = (0.2, 0.7, 1 - 1e-9, 1.0, 1 + 1e-12, 1.4, 3.0, 60.0, 1e6, math.inf)

Floats = np.ndarray
Measure = Callable[[Channel, Floats], float]


def at(measure: Callable[..., float], alpha: float) -> Measure:
    return lambda channel, prior: measure(channel, prior, alpha=alpha)


def best_guess(channel: Channel, prior: Floats) -> float:
    return leakage.g_leakage(channel, prior, gain.identity(len(prior)))


def worst_guess(channel: Channel, prior: Floats) -> float:
    return leakage.g_leakage(channel, prior, gain.identity(len(prior)), max_case=True)


def added_guess(channel: Channel, prior: Floats) -> float:
    return leakage.g_leakage(channel, prior, gain.identity(len(prior)), additive=True)


def two_guesses(channel: Channel, prior: Floats) -> float:
    return leakage.posterior_vulnerability(channel, prior, gain.k_guesses(len(prior), 2))


def mixing(channel: Channel) -> Channel:
    """Something else, that is the secret half of the time and anything otherwise."""
    size = channel.shape[0]
    return Channel(0.5 * np.eye(size) + 0.5 / size, outputs=channel.inputs)


def one_person(channel: Channel) -> Channel:
    """Each secret as a database of one record."""
    return channel.relabelled(inputs=[(x,) for x in range(channel.shape[0])])


FALLS: dict[str, tuple[Measure, ...]] = {
    "mutual_information": (leakage.mutual_information,),
    "sibson": tuple(at(leakage.sibson, a) for a in ORDERS),
    "arimoto": tuple(at(leakage.arimoto, a) for a in ORDERS),
    "joint_renyi": tuple(at(leakage.joint_renyi, a) for a in ORDERS),
    "lift": (leakage.lift,),
    "log_lift": (leakage.log_lift,),
    "pointwise_maximal_leakage": (lambda c, p: float(leakage.pointwise_maximal_leakage(c, p).max()),),
    "local_information_privacy": (leakage.local_information_privacy,),
    "g_leakage": (best_guess, worst_guess, added_guess),
    "posterior_vulnerability": (two_guesses,),
    "bayes_vulnerability": (leakage.bayes_vulnerability,),
    "bayes_risk": (lambda c, p: -leakage.bayes_risk(c, p),),
    "posterior_guessing_entropy": (lambda c, p: -leakage.posterior_guessing_entropy(c, p),),
    "inferential_privacy": (leakage.inferential_privacy,),
    "information_privacy": (leakage.information_privacy,),
    "relative_entropy_privacy": (leakage.relative_entropy_privacy,),
    "mutual_information_privacy": (leakage.mutual_information_privacy,),
    "bayes_capacity": (lambda c, p: leakage.bayes_capacity(c).upper,),
    "lift_capacity": (lambda c, p: leakage.lift_capacity(c).upper,),
    "gain_capacity": (lambda c, p: leakage.gain_capacity(c, p).upper,),
    "additive_gain_capacity": (lambda c, p: leakage.additive_gain_capacity(c, p).upper,),
    "dalenius_lift": (lambda c, p: leakage.dalenius_lift(c, mixing(c), p),),
    "dalenius_g_leakage": (
        lambda c, p: leakage.dalenius_g_leakage(c, mixing(c), p, gain.identity(len(p)), max_case=True),
        lambda c, p: leakage.dalenius_g_leakage(c, mixing(c), p, gain.identity(len(p))),
    ),
    "dalenius_capacity": (
        lambda c, p: leakage.dalenius_capacity(c, mixing(c)).upper,
        lambda c, p: leakage.dalenius_capacity(c, mixing(c), max_case=True).upper,
        lambda c, p: leakage.dalenius_capacity(c, max_case=True).upper,
    ),
    "additive_bayes_capacity": (lambda c, p: leakage.additive_bayes_capacity(c).upper,),
    "belief_change": (lambda c, p: leakage.belief_change(c).upper,),
    "joining_change": (lambda c, p: leakage.joining_change(one_person(c)).upper,),
}
"""What post-processing can only lower (risks and numbers of guesses with their sign turned)."""

SLOW_TO_FALL: dict[str, tuple[tuple[Measure, Measure], ...]] = {
    "csiszar": tuple(
        (
            lambda c, p, a=a: leakage.csiszar(c, p, alpha=a).lower,
            lambda c, p, a=a: leakage.csiszar(c, p, alpha=a).upper,
        )
        for a in (0.5, 3.0, math.inf)
    ),
    "g_capacity": (
        (
            lambda c, p: leakage.g_capacity(c, gain.property_of([x % 2 for x in range(len(p))])).lower,
            lambda c, p: leakage.g_capacity(c, gain.property_of([x % 2 for x in range(len(p))])).upper,
        ),
    ),
}
"""Intervals: the lower end after post-processing against the upper end before it; tried on fewer channels."""

NO_MEASURE = {
    "Hyper", "Privacies", "dalenius", "each_individual", "factorise", "g_vulnerability",
    "guessing_entropy", "individual", "privacies", "worst_individual",
}  # fmt: skip
"""Public names that are values, ways to combine measures, or about a prior alone."""


def above(left: float, right: float) -> bool:
    """left > right by more than rounding."""
    return left > right + 1e-11 * max(1.0, abs(right)) if math.isfinite(right) else right < 0


def posts(channel: Channel, rng: np.random.Generator) -> Channel:
    size = channel.shape[1]
    if rng.random() < 0.3:
        return Channel(np.eye(size)[rng.integers(size, size=size)])
    return Channel(rng.dirichlet(np.full(rng.integers(1, 6), 0.4), size))


def processing(measure: Measure, count: int, seed: int) -> Iterator[str]:
    rng = np.random.default_rng(seed)
    for channel, prior in strange_channels(count, seed=seed):
        processed = channel >> posts(channel, rng)
        after, before = measure(processed, prior), measure(channel, prior)
        if above(after, before):
            yield f"{after!r} > {before!r}"


def random_gains(rng: np.random.Generator, prior: Floats) -> list[Gain]:
    size = len(prior)
    return [
        gain.identity(size),
        gain.k_guesses(size, min(2, size)),
        gain.property_of(rng.integers(3, size=size).tolist()),
        gain.distance(rng.random((size, size))),
        gain.distribution_reciprocal(prior),
        gain.matrix(rng.exponential(size=(rng.integers(1, 9), size)) * (rng.random(size) < 0.8)),
    ]


def chain(count: int, seed: int, average: Callable[..., float] = leakage.g_leakage) -> Iterator[str]:
    """For g ≥ 0: average ≤ max-case ≤ lift ≤ e^ε, and average ≤ Bayes capacity of the support ≤ lift."""
    rng = np.random.default_rng(seed)
    tested = 0
    for channel, prior in strange_channels(count, seed=seed):
        bayes = leakage.gain_capacity(channel, prior).upper
        lift, epsilon = leakage.lift(channel, prior), leakage.lift_capacity(channel).upper
        order = [bayes, lift, epsilon]
        if above(bayes, lift) or above(lift, epsilon) or above(bayes, leakage.bayes_capacity(channel).upper):
            yield f"capacities out of order {order}"
        for goal in random_gains(rng, prior):
            if leakage.g_vulnerability(prior, goal) == 0.0:
                continue
            mean, worst = (
                average(channel, prior, goal),
                leakage.g_leakage(channel, prior, goal, max_case=True),
            )
            tested += 1
            if above(mean, bayes) or above(mean, worst) or above(worst, lift):
                yield f"{mean!r} {worst!r} {order}"
    if tested < count:
        yield f"only {tested} gains tested"


def dalenius(count: int, seed: int) -> Iterator[str]:
    rng = np.random.default_rng(seed)
    measures: list[Measure] = [
        leakage.mutual_information,
        leakage.lift,
        leakage.inferential_privacy,
        leakage.local_information_privacy,
    ]
    measures += [at(f, a) for f in (leakage.sibson, leakage.joint_renyi) for a in (0.5, 2.0, 1e6, math.inf)]
    capacities = [leakage.bayes_capacity, leakage.lift_capacity]
    for channel, _ in strange_channels(count, seed=seed):
        size = int(rng.integers(2, 6))
        correlation = Channel(rng.dirichlet(np.full(channel.shape[0], 0.3), size))
        belief = rng.dirichlet(np.ones(size))
        about_x = belief @ correlation.matrix
        for measure in measures:
            about_z = leakage.dalenius(measure, channel, correlation, belief)
            if above(about_z, measure(channel, about_x)):
                yield f"{measure}: {about_z!r} > {measure(channel, about_x)!r}"
        for limit in capacities:
            if above(limit(correlation >> channel).upper, limit(channel).upper):
                yield f"{limit}"


def rising(measure: Callable[..., float], count: int, seed: int) -> Iterator[str]:
    for channel, prior in strange_channels(count, seed=seed):
        values = [measure(channel, prior, alpha=a) for a in ORDERS]
        if any(above(low, high) for low, high in itertools.pairwise(values)):
            yield f"{values}"


def privacy_order(count: int, seed: int) -> Iterator[str]:
    for channel, prior in strange_channels(count, seed=seed):
        seen = leakage.privacies(channel, prior)
        four = (seen.mutual_information, seen.relative_entropy, seen.information, seen.inferential)
        if any(above(low, high) for low, high in itertools.pairwise(four)):
            yield f"{four}"


def refinement(count: int, seed: int) -> Iterator[str]:
    """Where A ⊑ B is shown, no measure and no gain leaks more from B."""
    rng = np.random.default_rng(seed)
    shown = 0
    for channel, prior in strange_channels(count, seed=seed, largest=5):
        other = channel >> posts(channel, rng)
        answer = refines(channel, other)
        shown += answer.holds is True
        if answer.holds is False:
            yield "a post-processing was denied"
        for goal in random_gains(rng, prior):
            low, high = (leakage.posterior_vulnerability(c, prior, goal) for c in (other, channel))
            if answer and above(low, high):
                yield f"{low!r} > {high!r}"
    if shown < 0.9 * count:
        yield f"only {shown} of {count} shown"


def test_every_public_name_is_enrolled() -> None:
    assert set(leakage.__all__) == set(FALLS) | set(SLOW_TO_FALL) | NO_MEASURE


@pytest.mark.parametrize("name", FALLS)
def test_post_processing_never_raises_a_leakage(name: str) -> None:
    for measure in FALLS[name]:
        assert list(processing(measure, 60, seed=101)) == []


@pytest.mark.parametrize("name", SLOW_TO_FALL)
def test_post_processing_never_raises_an_interval(name: str) -> None:
    rng = np.random.default_rng(7)
    for lower, upper in SLOW_TO_FALL[name]:
        for channel, prior in strange_channels(8, seed=102, largest=4):
            assert not above(lower(channel >> posts(channel, rng), prior), upper(channel, prior))


def test_gains_stay_below_the_capacities() -> None:
    assert list(chain(300, seed=103)) == []


def test_correlation_never_helps() -> None:
    assert list(dalenius(120, seed=104)) == []


@pytest.mark.parametrize("measure", [leakage.sibson, leakage.joint_renyi])
def test_information_rises_with_the_order(measure: Callable[..., float]) -> None:
    assert list(rising(measure, 100, seed=105)) == []


def test_the_four_privacies_are_in_order() -> None:
    assert list(privacy_order(300, seed=106)) == []


def test_refinement_means_less_leakage() -> None:
    assert list(refinement(40, seed=107)) == []


@pytest.mark.slow
@pytest.mark.parametrize("law", [chain, dalenius, privacy_order])
def test_thousands_of_channels(law: Callable[[int, int], Iterator[str]]) -> None:
    assert list(itertools.islice(law(thousands(), 200), 3)) == []


@pytest.mark.slow
@pytest.mark.parametrize("measure", [leakage.sibson, leakage.joint_renyi])
def test_thousands_of_channels_rise_with_the_order(measure: Callable[..., float]) -> None:
    assert list(itertools.islice(rising(measure, thousands(), seed=201), 3)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FALLS)
def test_thousands_of_channels_never_rise_by_post_processing(name: str) -> None:
    for measure in FALLS[name]:
        assert list(itertools.islice(processing(measure, thousands(), seed=202), 3)) == []


# --- what the laws are worth: each wrong measure below is one that somebody might write ---


def rootless(channel: Channel, prior: Floats, *, alpha: float) -> float:
    """Sibson without the factor α: right at order one only."""
    value = leakage.sibson(channel, prior, alpha=alpha)
    return value / alpha if math.isfinite(alpha) else value


def shared_action(channel: Channel, prior: Floats, goal: Gain) -> float:
    """Average leakage that weighs every output alike instead of by q_y."""
    hyper = leakage.Hyper(channel, prior)
    best = goal.best(np.ones(len(prior)), hyper.inner.T)
    return float(best.sum()) / leakage.g_vulnerability(prior, goal)


def lift_over_mean(channel: Channel, prior: Floats) -> float:
    """Lift against the unweighted mean row instead of πC, under the largest output only."""
    first = channel.matrix[:, 0]
    return float(first.max() / max(first.mean(), 1e-300))


def test_planted_wrong_measures_are_caught() -> None:
    assert list(rising(rootless, 100, seed=105))
    assert list(chain(100, seed=103, average=shared_action))
    assert list(processing(lift_over_mean, 60, seed=101))
    assert list(processing(lambda c, p: -leakage.mutual_information(c, p), 60, seed=101))
