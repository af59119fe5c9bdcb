"""What is going to be certified, settled on the learned samples alone: guesses, events, decoders."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.audit.partition import Cells
from leakcap.numeric.logspace import Floats
from leakcap.numeric.search import maximise

__all__ = [
    "BOLD",
    "CAUTION",
    "Decoder",
    "GuessRule",
    "TailEvent",
    "choose_decoder",
    "choose_guess",
    "choose_test",
]

CAUTION = 4.0
"""Standard errors of the learned samples that a rule is marked down by.

The luckiest of m looks is √(2 ln m) of them too good, and 96 cells have 4,656 pairs of tails. With 3, one
audit in twenty of noise with flat tails settled on a rare tail that had been lucky, and certified little.
"""

BOLD = 0.5
"""The same for a second rule, which dares to bet on rare events."""


@dataclass(frozen=True)
class GuessRule:
    """Guess the first input on some cells, the second on others, and pass on the rest."""

    first: Cells
    second: Cells
    forecast: float
    """The lower bound on ε that it is expected to give."""


@dataclass(frozen=True)
class TailEvent:
    """An event that is likelier under one input: `forward` when under the first."""

    cells: Cells
    forward: bool
    forecast: float
    """The lower bound on δ that it is expected to give."""
    spread: float
    """Standard deviation, in a trial with an even label, of the number whose mean is P − e^ε Q."""


@dataclass(frozen=True)
class Decoder:
    """ln(posterior/prior) of either input in each cell; `prior` is the first input's."""

    first: Floats
    second: Floats
    prior: float


def choose_guess(
    order: Cells, first: Floats, second: Floats, *, growth: float, z: float, caution: float = CAUTION
) -> GuessRule:
    """The two tails of `order` whose share of right guesses promises the highest lower bound on ε.

    `growth` is the number of certifying samples for each learned one, `z` the normal quantile of the
    confidence. Either tail may be empty; both orientations are tried.
    """
    a, b = _sums(first[order]), _sums(second[order])
    # Entry (i, j): cells before i in the order, and from j on.
    low_a, low_b = a[:, None], b[:, None]
    high_a, high_b = a[-1] - a[None, :], b[-1] - b[None, :]
    # A second tail is charged one wrong guess: on few counts it looks purer than it is.
    both = ((low_a + low_b) > 0) & ((high_a + high_b) > 0)
    up = _forecasts(low_b + high_a, low_a + high_b + both, growth, z, caution)
    down = _forecasts(low_a + high_b, low_b + high_a + both, growth, z, caution)
    best = up if up.max() >= down.max() else down
    best[np.tril_indices(len(a), -1)] = -np.inf
    i, j = np.unravel_index(int(best.argmax()), best.shape)
    low, high = order[:i], order[j:]
    pair = (high, low) if best is up else (low, high)
    return GuessRule(*pair, float(best[i, j]))


def choose_pure(order: Cells, first: Floats, second: Floats) -> GuessRule:
    """The two tails of `order` with the most right guesses and no wrong one; the forecast is their number.

    Where one input never gives an output, the bound grows with the logarithm of the number of samples.
    """
    options = []
    for forward in (True, False):
        up, down = (first[order], second[order]) if forward else (second[order], first[order])
        low = int(np.argmax(np.append(up, 1.0) > 0))
        high = len(order) - int(np.argmax(np.append(down[::-1], 1.0) > 0))
        sizes = float(down[:low].sum()), float(up[max(high, low) :].sum())
        # A tail that adds little has been seen too seldom to be called pure.
        tails = (
            order[:low] if sizes[0] > 0.1 * sizes[1] else order[:0],
            order[max(high, low) :] if sizes[1] > 0.1 * sizes[0] else order[:0],
        )
        right = sum(sizes)
        options.append(GuessRule(*(tails[::-1] if forward else tails), right))
    return max(options, key=lambda guess: guess.forecast)


def _sums(counts: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(counts)])


def _forecasts(right: Floats, wrong: Floats, growth: float, z: float, caution: float) -> Floats:
    """The expected lower limit of the log-odds of a right guess, marked down for having been chosen."""
    guesses = right + wrong
    # On the arcsine scale the error depends on the number of guesses alone, also where none was wrong.
    angle = np.arcsin(np.sqrt((right + 0.375) / (guesses + 0.75)))
    angle -= (z / math.sqrt(growth) + caution) / (2.0 * np.sqrt(guesses + 0.75))
    share = np.sin(np.maximum(angle, 1e-3)) ** 2
    return np.asarray(np.log(share) - np.log1p(-share))


def choose_test(
    order: Cells, first: Floats, second: Floats, epsilon: float, *, growth: float, z: float
) -> TailEvent:
    """The tail of `order` that promises the highest lower bound on δ(ε), in either direction."""
    options = []
    epsilon = min(epsilon, 300.0)  # e^2ε is to be a double
    for forward, ours, theirs in ((True, first, second), (False, second, first)):
        for cells in (order, order[::-1]):
            p = _sums(ours[cells]) / max(float(ours.sum()), 1.0)
            q = _sums(theirs[cells]) / max(float(theirs.sum()), 1.0)
            size = min(ours.sum(), theirs.sum())
            shrunk = (q * size + 0.5) / (size + 1.0)
            noise = np.sqrt((p * (1 - p) + math.exp(2 * epsilon) * shrunk * (1 - shrunk)) / max(size, 1.0))
            value = p - math.exp(epsilon) * q - noise * (z / math.sqrt(growth) + 1.0)
            at = int(value.argmax())
            square = 2.0 * (p[at] + math.exp(2 * epsilon) * shrunk[at])
            spread = math.sqrt(max(square - (p[at] - math.exp(epsilon) * shrunk[at]) ** 2, 1e-6))
            options.append(TailEvent(cells[:at], forward, float(value[at]), spread))
    return max(options, key=lambda test: test.forecast)


def choose_decoder(order: Cells, first: Floats, second: Floats) -> Decoder:
    """Posteriors that rise along `order`, as the samples say; the prior that makes the most of them.

    Source: Barber & Agakov 2003 (any decoder bounds mutual information from below).
    """
    p, q = first / max(first.sum(), 1.0), second / max(second.sum(), 1.0)
    rising, falling = _monotone(order, p, q), _monotone(order[::-1], p, q)
    share = rising if _fit(p, q, rising) >= _fit(p, q, falling) else falling
    least = 0.5 / max(float(first.sum() + second.sum()), 2.0)
    share = np.clip(share, least, 1.0 - least)

    def information(prior: float) -> float:
        log_first, log_second = _densities(share, prior)
        return float(prior * (p @ log_first) + (1.0 - prior) * (q @ log_second))

    prior = maximise(information, 0.2, 0.8, steps=40)
    # A prior that gains nothing to speak of is left even: its weights would only add noise.
    prior = prior if information(prior) > 1.02 * information(0.5) else 0.5
    return Decoder(*_densities(share, prior), prior)


def _densities(share: Floats, prior: float) -> tuple[Floats, Floats]:
    """ln(posterior/prior) of each input; `share` is the posterior at an even prior."""
    mixed = prior * share + (1.0 - prior) * (1.0 - share)
    return np.log(share / mixed), np.log((1.0 - share) / mixed)


def _fit(p: Floats, q: Floats, share: Floats) -> float:
    safe = np.clip(share, 1e-9, 1.0 - 1e-9)
    return float(p @ np.log(safe) + q @ np.log1p(-safe))


def _monotone(order: Cells, p: Floats, q: Floats) -> Floats:
    """p/(p+q) made to rise along `order`: pool adjacent violators. Source: Ayer et al. 1955."""
    blocks: list[tuple[float, float, int]] = []
    for cell in order:
        a, b, size = float(p[cell]), float(q[cell]), 1
        # Compared crosswise: empty cells join whatever stands before them.
        while blocks and blocks[-1][0] * b >= a * blocks[-1][1]:
            before = blocks.pop()
            a, b, size = a + before[0], b + before[1], size + before[2]
        blocks.append((a, b, size))
    share = np.full(len(p), 0.5)
    at = 0
    for a, b, size in blocks:
        share[order[at : at + size]] = a / (a + b) if a + b > 0 else 0.5
        at += size
    return share
