"""Linkage: a k-anonymous file beside a public register, and noisy counts of the same classes.

Each class of the file has k people or more, and the register says who they are. What is left to find out is
whose illness is whose: the channel from one person's value to the counts of the class, the others unknown or
known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.adversary import AllPriors, Neighbours
from leakcap.attack.chance import binomial_interval
from leakcap.attack.value import Finding
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.disclosure.whole.generalising import generalise
from leakcap.divergence import Renyi
from leakcap.errors import InvalidPrior, require
from leakcap.leakage.guessing import bayes_vulnerability
from leakcap.numeric.logspace import Floats
from leakcap.sampling import ByteSource, discrete_laplace, rational_scale, system_bytes

__all__ = ["Linked", "class_channel", "linkage"]

Whole = NDArray[np.int64]
_MOST_OUTPUTS = 100_000
_ROUNDING = 1e-12
_GUARD = "noise in every count; k-anonymity limits nobody who knows the others of a class"


@dataclass(frozen=True, kw_only=True)
class Linked(Finding):
    """got = the share of targets whose value was named right; at_most = what the channel of the file allows.

    `known` is whose values in a class the attacker knows, `blind` the success without any file, `sure` the
    probability that the file leaves no doubt, `epsilon` and `nats` the ε and, at most, the Shannon capacity
    of the channel of the smallest class.
    """

    k: int
    people: int
    classes: int
    known: str
    blind: float
    sure: float
    epsilon: float
    nats: float


def class_channel(shares: ArrayLike, unknown: int, epsilon: float = math.inf) -> Channel:
    """From one person's value to the counts of values among the person and `unknown` others.

    The others are independent, of value x with probability `shares`[x]; whoever else is in the class is
    known, and taken off the counts. With `epsilon` each count has discrete Laplace noise of scale 2/ε, since
    a person who changes leaves one count and enters another; answers beyond all possible counts say no more
    than the nearest possible one, and are put there. Exact but for rounding.

    >>> exact = class_channel([0.5, 0.5], 1)
    >>> exact.shape, round(float(exact.matrix.max(axis=0).sum()) / 2, 12)
    ((2, 9), 0.75)
    """
    law = _shares(shares)
    require(unknown >= 0, "unknown", "class_channel", "not be negative", unknown)
    require(epsilon > 0.0, "epsilon", "class_channel", "be positive, ∞ allowed", epsilon)
    side = unknown + 2
    outputs = side**law.size
    rule, remedy = f"leave at most {_MOST_OUTPUTS:,} counts", "Take smaller classes or fewer values."
    require(outputs <= _MOST_OUTPUTS, "unknown", "class_channel", rule, outputs, remedy)
    others = np.zeros((side,) * law.size)
    others[(0,) * law.size] = 1.0
    for _ in range(unknown):
        others = sum((p * np.roll(others, 1, axis) for axis, p in enumerate(law)), np.zeros_like(others))
    rows = np.stack([np.roll(others, 1, axis) for axis in range(law.size)])
    if math.isfinite(epsilon):
        kernel = _noise(side, float(1 / rational_scale(2, epsilon)))
        for axis in range(law.size):
            rows = np.moveaxis(np.tensordot(rows, kernel, axes=([axis + 1], [0])), -1, axis + 1)
    flat = rows.reshape(law.size, -1)
    return Channel(flat / flat.sum(axis=1, keepdims=True))


def _noise(side: int, decay: float) -> Floats:
    """P(count + noise, cut to 0, …, side − 1 | count)."""
    counts = np.arange(side)
    rows = math.tanh(decay / 2.0) * np.exp(-decay * np.abs(counts[:, None] - counts))
    rows[:, 0] = np.exp(-decay * counts) / (1.0 + math.exp(-decay))
    rows[:, -1] = rows[::-1, 0]
    return np.asarray(rows)


def linkage(
    k: int = 5,
    epsilon: float = 1.0,
    *,
    people: int = 5000,
    shares: ArrayLike = (0.6, 0.3, 0.1),
    generator: np.random.Generator,
    source: ByteSource = system_bytes,
) -> tuple[Linked, ...]:
    """Link a k-anonymous file of a made-up town with its register, and leakcap's noisy counts beside it.

    The register has everybody's year of birth, postcode and sex; the file has classes of k people or more
    and the illnesses of each; the noisy release has the counts of illnesses by the same classes at `epsilon`.
    One person of each class is the target, of whose class the attacker knows nobody's illness, or everybody
    else's. After either, the likeliest illness is named. Illnesses are independent of the register.

    Source: Sweeney 2002; Machanavajjhala et al. 2007. Tu 2013 and the broken-wifi article begin with it.

    >>> found = linkage(3, 1.0, people=60, generator=np.random.default_rng(0))
    >>> [(f.known, f.at_most > 0.9) for f in found]
    [('nobody', False), ('all others', True), ('nobody', False), ('all others', False)]
    """
    law = _shares(shares)
    require(people >= 1, "people", "linkage", "be positive", people)
    register = np.stack([generator.integers(n, size=people) for n in (90, 1000, 2)], axis=1)
    illness = generator.choice(law.size, size=people, p=law)
    classes = generalise(register, k)
    targets = [int(generator.choice(who)) for who in classes]
    counts = np.stack([np.bincount(illness[who], minlength=law.size) for who in classes])
    noise = discrete_laplace(rational_scale(2, epsilon), counts.size, source).reshape(counts.shape)
    truth = illness[targets]
    others = counts - np.eye(law.size, dtype=np.int64)[truth]
    found = []
    for name, seen, at in (("linked file", counts, math.inf), ("noisy counts", counts + noise, epsilon)):
        for known in (False, True):
            left = np.array([0 if known else len(who) - 1 for who in classes])
            channels = {size: class_channel(law, size, at) for size in sorted(set(left.tolist()))}
            right = sum(
                _named(law, channels[size], answer, size) == value
                for answer, size, value in zip(seen - others * known, left.tolist(), truth, strict=True)
            )
            figures = _figures(law, channels, left, int(right))
            called = f"{name}, others {'known' if known else 'unknown'}"
            whom = "all others" if known else "nobody"
            found.append(Linked(attack=called, k=k, people=people, known=whom, **figures))
    return tuple(found)


def _named(law: Floats, channel: Channel, answer: Whole, unknown: int) -> int:
    """The likeliest value, after these counts."""
    place = np.clip(answer, 0, unknown + 1)
    cell = int(np.ravel_multi_index(tuple(place), (unknown + 2,) * law.size))
    return int(np.argmax(law * channel.matrix[:, cell]))


def _figures(law: Floats, channels: dict[int, Channel], left: Whole, right: int) -> dict[str, Any]:
    """What was got of so many targets, and what the channels of their classes allow."""
    limits, sure = {}, {}
    for size, channel in channels.items():
        limits[size] = bayes_vulnerability(channel, law)
        alone = ((channel.matrix > 0.0) & (law > 0.0)[:, None]).sum(axis=0) == 1
        sure[size] = float((law @ channel.matrix)[alone].sum())
    low, high = binomial_interval(right, left.size)
    smallest = channels[min(channels)]
    limit = math.fsum(limits[size] for size in left.tolist()) / left.size
    return {
        "got": right / left.size,
        "got_lower": low,
        "got_upper": high,
        "at_most": min(limit * (1.0 + _ROUNDING), 1.0),
        "unit": "probability",
        "stopped_by": _GUARD,
        "classes": left.size,
        "blind": float(law.max()),
        "sure": min(math.fsum(sure[size] for size in left.tolist()) / left.size, 1.0),
        "epsilon": capacity(smallest, Renyi(math.inf), Neighbours()).upper,
        "nats": capacity(smallest, Renyi(1.0), AllPriors()).upper,
    }


def _shares(shares: ArrayLike) -> Floats:
    law = np.asarray(shares, dtype=np.float64)
    if law.ndim != 1 or law.size < 2 or not (law >= 0.0).all() or abs(float(law.sum()) - 1.0) > 1e-9:
        raise InvalidPrior(
            "`shares` of `linkage` must be two probabilities or more that add up to 1. "
            f"Got shape {law.shape}."
        )
    return np.asarray(law / law.sum())
