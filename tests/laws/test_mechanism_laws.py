"""Laws that every mechanism keeps; a new mechanism is enrolled by existing.

Each law walks the leaf subclasses of `Mechanism` through their `examples()`, counts what it tested and fails
at zero. Samples are drawn from fixed seeds; a test of fit fails below p = 10⁻⁶, so over all of them the
chance that the seeds raise a false alarm is below 10⁻³.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import zlib
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import leakcap.mechanism
from families import import_all, leaves
from laws import continuous_references as references
from leakcap.adversary import Adversary, AllPriors, GivenPrior, Neighbours
from leakcap.bound import Bound
from leakcap.capacities import capacity, solve
from leakcap.channel import Channel
from leakcap.divergence import Divergence, HockeyStick, Renyi, TotalVariation
from leakcap.errors import InvalidParameter
from leakcap.mechanism import Mechanism
from seeded import ALARM, SeededSource

RULERS: tuple[Divergence, ...] = (*Renyi.examples(), *HockeyStick.examples(), *TotalVariation.examples())
SAMPLES = 4_000
NOISE_FIELDS = ("epsilon", "scale", "sigma", "erasure", "crossover", "delta")


import_all("leakcap.mechanism")
LEAVES = leaves(Mechanism)
EXAMPLES = [example for leaf in LEAVES for example in leaf.examples()]


def finite_channel(mechanism: Mechanism) -> Channel | None:
    try:
        return mechanism.channel()
    except InvalidParameter:
        return None


FINITE = [(m, c) for m in EXAMPLES if (c := finite_channel(m)) is not None]
UNBOUNDED = [m for m in EXAMPLES if finite_channel(m) is None]


def close(a: float, b: float, relative: float) -> bool:
    return a == b or abs(a - b) <= relative * max(1.0, abs(a), abs(b))


def test_every_leaf_is_public_and_documented() -> None:
    assert len(LEAVES) >= 19
    assert len(FINITE) + len(UNBOUNDED) == len(EXAMPLES) >= 60
    for leaf in LEAVES:
        assert not inspect.isabstract(leaf)
        assert getattr(leakcap.mechanism, leaf.__name__) is leaf
        assert leaf.__name__ in leakcap.mechanism.__all__
        assert leaf.source
        assert leaf.source.split()[0].rstrip(",") in (leaf.__doc__ or "")
        assert dataclasses.is_dataclass(leaf)
        for example in leaf.examples():
            assert dataclasses.replace(example) == example
            assert hash(example) == hash(dataclasses.replace(example))


# (a) closed forms against the solvers


def closed_forms(mechanism: Mechanism) -> Iterator[tuple[Divergence, Adversary, Bound]]:
    for ruler in RULERS:
        for adversary in (Neighbours(), AllPriors()):
            if found := mechanism.exact(ruler, adversary):
                yield ruler, adversary, found


@pytest.mark.parametrize(("mechanism", "channel"), FINITE, ids=str)
def test_closed_forms_lie_in_the_solvers_interval(mechanism: Mechanism, channel: Channel) -> None:
    for ruler, adversary, closed in closed_forms(mechanism):
        solved = solve(adversary, channel, ruler)
        where = f"{ruler} {adversary}: {closed} {solved}"
        assert closed.lower <= solved.upper or close(closed.lower, solved.upper, 1e-12), where
        assert solved.lower <= closed.upper or close(closed.upper, solved.lower, 1e-12), where
        assert close(closed.upper, solved.lower, 1e-8), where
        assert closed.unit == solved.unit == ruler.unit


def test_closed_forms_are_many() -> None:
    counts = {leaf: sum(len(list(closed_forms(e))) for e in leaf.examples()) for leaf in LEAVES}
    without = {leaf.__name__ for leaf, count in counts.items() if count == 0}
    # Their divergences depend on all scores, or on sums over a clamped grid: the solver answers.
    assert without == {"Exponential", "PermuteAndFlip", "PlanarGeometric"}
    assert sum(counts.values()) > 1000


@pytest.mark.parametrize("mechanism", UNBOUNDED, ids=str)
def test_closed_forms_agree_with_quadrature(mechanism: Mechanism) -> None:
    reference = references.of(mechanism)
    tested = 0
    for ruler in RULERS:
        expected = reference.diameter(ruler)
        if expected is None:
            continue
        found = mechanism.exact(ruler, Neighbours())
        assert found is not None
        assert found.width <= 1e-9 * found.upper + 5e-324
        assert abs(found.lower - expected) <= 1e-7 * expected + 1e-12, (ruler, found.lower, expected)
        tested += 1
    assert tested >= 8


@pytest.mark.parametrize("mechanism", UNBOUNDED, ids=str)
def test_radii_lie_above_those_of_a_few_secrets_seen_through_cells(mechanism: Mechanism) -> None:
    cells = references.of(mechanism).cells()
    tested = 0
    for order in Renyi.examples():
        found = mechanism.exact(order, AllPriors())
        if found is None:
            continue
        below = solve(AllPriors(), cells, order)
        assert below.lower <= found.upper * (1 + 1e-9), (order, below, found)
        tested += 1
    assert tested >= 8


# (b) post-processing


@pytest.mark.parametrize(("mechanism", "channel"), FINITE, ids=str)
def test_post_processing_never_raises_a_divergence(mechanism: Mechanism, channel: Channel) -> None:
    rng = np.random.default_rng(zlib.crc32(repr(mechanism).encode()))
    size = channel.shape[1]
    some = rng.dirichlet(np.full(max(size // 2, 1), 0.3), size=size)
    merge = np.eye(max(size // 2, 1))[rng.integers(0, max(size // 2, 1), size)]
    for matrix in (some, merge):
        after = channel >> Channel(matrix, inputs=channel.outputs)
        for ruler in RULERS:
            for adversary in (Neighbours(), AllPriors()):
                if isinstance(adversary, AllPriors) and not isinstance(ruler, Renyi):
                    continue
                before = capacity(mechanism, ruler, adversary).upper
                later = solve(adversary, after, ruler).lower
                assert later <= before or close(later, before, 1e-10), (ruler, adversary)


# (c) samples


def chi_square(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """p-value with cells expecting fewer than 5 merged; impossible outputs fail at once."""
    total = counts.sum()
    if counts[probabilities == 0].sum():
        return 0.0
    order = np.argsort(probabilities)
    expected, seen = probabilities[order] * total, counts[order]
    small = np.cumsum(expected) <= 5
    cells = np.append(expected[~small], expected[small].sum())
    found = np.append(seen[~small], seen[small].sum())
    cells, found = cells[cells > 1e-9], found[cells > 1e-9]
    if len(cells) == 1:
        return 1.0 if close(found.sum(), total, 1e-12) else 0.0
    return float(chi2.sf(((found - cells) ** 2 / cells).sum(), len(cells) - 1))


def outputs_as_labels(outputs: np.ndarray) -> list[object]:
    return [tuple(row) for row in outputs.tolist()] if outputs.ndim > 1 else outputs.tolist()


def frequencies(mechanism: Mechanism, channel: Channel, row: int, size: int) -> np.ndarray:
    secrets = np.array([channel.inputs[row]] * size)
    source = SeededSource(zlib.crc32(f"{mechanism} {row}".encode()))
    drawn = mechanism.statistic(mechanism.sample(secrets, source))
    column = {label: y for y, label in enumerate(channel.outputs)}
    return np.bincount([column[label] for label in outputs_as_labels(drawn)], minlength=channel.shape[1])


@pytest.mark.parametrize(("mechanism", "channel"), FINITE, ids=str)
def test_samples_follow_the_rows(mechanism: Mechanism, channel: Channel) -> None:
    for row in sorted({0, len(channel.inputs) // 2, len(channel.inputs) - 1}):
        counts = frequencies(mechanism, channel, row, SAMPLES)
        assert counts.sum() == SAMPLES
        assert chi_square(counts, channel.matrix[row]) > ALARM
        wrong = counts.astype(float) * 0.7
        wrong[np.argmin(channel.matrix[row])] += 0.3 * SAMPLES
        assert channel.shape[1] == 1 or chi_square(wrong, channel.matrix[row]) < ALARM


@pytest.mark.parametrize("mechanism", UNBOUNDED, ids=str)
def test_samples_follow_the_density(mechanism: Mechanism) -> None:
    reference = references.of(mechanism)
    counts = reference.counts(mechanism, SAMPLES, SeededSource(zlib.crc32(repr(mechanism).encode())))
    assert counts.sum() == SAMPLES
    assert chi_square(counts, reference.probabilities()) > ALARM


def wrong_twin(mechanism: Mechanism) -> Mechanism | None:
    """The same mechanism with 30 % too little noise, or too much where less is not allowed."""
    for field in NOISE_FIELDS:
        if hasattr(mechanism, field):
            value = Fraction(getattr(mechanism, field))
            factor = Fraction(7, 10) if field not in ("epsilon",) else Fraction(13, 10)
            return dataclasses.replace(mechanism, **{field: float(value * factor)})
    return None


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: leaf.__name__)
def test_a_twin_wrong_by_thirty_percent_fails(leaf: type[Mechanism]) -> None:
    twins = [(example, twin) for example in leaf.examples() if (twin := wrong_twin(example))]
    if leaf is leakcap.mechanism.OneTimePadPair:
        assert twins == []  # nothing to scale: its output is deterministic given a uniform pad
        return
    caught = 0
    for example, twin in twins:
        channel = finite_channel(example)
        if channel is None:
            reference = references.of(example)
            counts = reference.counts(twin, 20_000, SeededSource(1))
            caught += chi_square(counts, reference.probabilities()) < ALARM
        else:
            last = len(channel.inputs) - 1  # the first row of a Z-channel is noiseless
            caught += chi_square(frequencies(twin, channel, last, 20_000), channel.matrix[last]) < ALARM
    assert caught >= 1


# (d) orders between sizes


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=str)
def test_radius_at_most_diameter_and_both_increase_with_the_order(mechanism: Mechanism) -> None:
    previous = (0.0, 0.0)
    for order in sorted(Renyi.examples(), key=lambda r: r.alpha):
        radius, diameter = capacity(mechanism, order, AllPriors()), capacity(mechanism, order)
        assert radius.lower <= diameter.upper or close(radius.lower, diameter.upper, 1e-9), order
        for size, before in zip((radius, diameter), previous, strict=True):
            assert before <= size.upper or close(before, size.upper, 1e-9), order
        previous = (radius.lower, diameter.lower)


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=str)
def test_the_claimed_epsilon_holds(mechanism: Mechanism) -> None:
    found = capacity(mechanism, Renyi(math.inf))
    assert found.upper <= mechanism.claim() * (1 + 1e-12)
    pair = mechanism.dominating_pair()
    if pair is not None:
        assert found.upper == mechanism.claim()
        assert found.width <= 1e-9 * found.upper + 5e-324
        assert math.isclose(pair.p.sum(), 1.0, rel_tol=1e-12)
        assert math.isclose(pair.q.sum(), 1.0, rel_tol=1e-12)


@pytest.mark.parametrize(("mechanism", "channel"), FINITE, ids=str)
def test_the_witness_prior_attains_the_radius(mechanism: Mechanism, channel: Channel) -> None:
    for order in Renyi.examples():
        found = mechanism.exact(order, AllPriors())
        if found is None or not isinstance(found.witness, tuple):
            continue
        attained = solve(GivenPrior(np.array(found.witness)), channel, order).lower
        assert close(attained, found.lower, 1e-9), order


def test_witnesses_are_many() -> None:
    found = [m.exact(order, AllPriors()) for m, _ in FINITE for order in Renyi.examples()]
    assert sum(isinstance(bound.witness, tuple) for bound in found if bound) > 200


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=str)
def test_bad_secrets_are_refused_without_showing_them(mechanism: Mechanism) -> None:
    with pytest.raises(InvalidParameter) as caught:
        mechanism.sample(np.array([[[math.nan, 31337.5]]]), SeededSource(1))
    assert "31337" not in str(caught.value)
