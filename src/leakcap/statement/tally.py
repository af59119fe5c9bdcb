"""What answers are functions of, added up: the little that a curve of everything is computed from.

An answer is a function of Gaussian noise at a distance μ, or of randomised response of ε, or of Laplace noise
at a distance in scales; but for a δ, with which it may tell all. Whatever it is, it has a Rényi curve. Each
of these adds up by itself, and each sum proves something, whichever says most where.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from leakcap.errors import require
from leakcap.ledger.curve import ORDERS
from leakcap.numeric.rounding import ceil_to, float_up, sum_up, up
from leakcap.statement.record import ComposedRecord, StepsRecord, TallyRecord

__all__ = ["Composed", "Tally"]

_KINDS = 24
"""So many different ε are kept apart; beyond that, neighbouring ones count as the larger of them."""
_KINDS_OF_STEPS = 6
"""So many kinds of steps are kept apart; beyond that, all count as the least noise at the largest rate."""
_MOST_STEPS = 10**15
_LOUDEST = Fraction(1, 1000)
"""The least noise multiplier of steps that are kept as such."""
_LONGEST, _FRACTION = 60, re.compile(r"[0-9]+(/[1-9][0-9]*)?")

Steps = tuple[tuple[Fraction, Fraction, int], ...]
"""Noise multiplier, sampling rate below 1, and how many steps have them; no pair comes twice."""


@dataclass(frozen=True)
class Tally:
    """All answers between two tables, in both directions.

    `gaussian` is the squared distance Σμ² of the answers that are functions of Gaussian noise, `pure` the ε
    of those that are functions of randomised response and how many have it, `laplace` the distance in scales
    of all of these as Laplace noise (∞ where they are not), `steps` those of Gaussian noise on Poisson
    samples, between presence and absence, and `delta` what is left out of all of them.
    `usable` says whether that covers every answer. `curve` is the sum of all answers' Rényi divergences at
    the ledger's orders, in nats, but for a δ of `leak`; empty where it was not added up.

    >>> one = Tally(gaussian=0.5)
    >>> both = Tally.total([one, one, Tally(pure=((0.1, 3),))])
    >>> round(both.gaussian, 12), both.pure
    (1.0, ((0.1, 3),))
    """

    gaussian: float = 0.0
    pure: tuple[tuple[float, int], ...] = ()
    laplace: float = math.inf
    delta: float = 0.0
    usable: bool = True
    curve: tuple[float, ...] = ()
    leak: float = 0.0
    steps: Steps = ()

    def __post_init__(self) -> None:
        for name, most in (("gaussian", math.inf), ("delta", 1.0), ("leak", 1.0)):
            value = getattr(self, name)
            good = 0.0 <= value <= most and math.isfinite(value)
            require(good, name, "Tally", "be a finite number from 0, and a δ at most 1", value)
        require(self.laplace >= 0.0, "laplace", "Tally", "be a distance from 0, or ∞", self.laplace)
        good = all(math.isfinite(epsilon) and epsilon >= 0 and n >= 1 for epsilon, n in self.pure)
        require(good, "pure", "Tally", "be pairs of a finite ε and how many answers have it", self.pure)
        good = len({one[:2] for one in self.steps}) == len(self.steps) <= _KINDS_OF_STEPS and all(
            noise >= _LOUDEST and 0 < rate < 1 and 1 <= n <= _MOST_STEPS for noise, rate, n in self.steps
        )
        rule = f"be up to {_KINDS_OF_STEPS} kinds of noise from 1/1000, rates between 0 and 1, and counts"
        require(good, "steps", "Tally", rule, self.steps)
        good = len(self.curve) in (0, len(ORDERS)) and all(nats >= 0 for nats in self.curve)
        require(good, "curve", "Tally", f"be empty or {len(ORDERS)} numbers from 0", self.curve)
        require(self.usable or bool(self.curve), "curve", "Tally", "cover what nothing else does", self.curve)

    @property
    def all_told(self) -> float:
        """The probability with which an answer may tell everything, so far as is known."""
        return self.leak if self.curve else self.delta

    @property
    def noisy(self) -> bool:
        """Whether some answer has no ε without a δ."""
        return self.gaussian > 0.0 or bool(self.steps)

    @property
    def epsilon(self) -> float:
        """The ε of randomised responses added up, rounded up; without Gaussian noise that of all answers."""
        return sum_up(epsilon * n for epsilon, n in self.pure) if self.pure else 0.0

    @classmethod
    def of_steps(cls, noise: Fraction, rate: Fraction, count: int) -> Tally | None:
        """So many steps of Gaussian noise on Poisson samples; None where they hide next to nothing.

        >>> Tally.of_steps(Fraction(2), Fraction(1), 8).gaussian
        2.0
        """
        if rate == 1:
            return cls(gaussian=float_up(count / noise**2))
        return cls(steps=((noise, rate, count),)) if noise >= _LOUDEST else None

    @staticmethod
    def total(tallies: Iterable[Tally]) -> Tally:
        """All of them together. A curve is kept where each has one."""
        return Tally.summed(list(Counter(tallies).items()))

    def times(self, count: int) -> Tally:
        """So many times the same, each with fresh noise.

        >>> twice = Tally(pure=((0.1, 3),), laplace=0.5).times(2)
        >>> twice.pure, round(twice.laplace, 12)
        (((0.1, 6),), 1.0)
        """
        return Tally.summed([(self, count)])

    @staticmethod
    def summed(counted: Sequence[tuple[Tally, int]]) -> Tally:
        """All of them, each so many times. A curve is kept where each has one."""

        def added(values: Iterable[tuple[float, int]]) -> float:
            return sum_up(value if n == 1 else up(value * n) for value, n in values)

        pure: Counter[float] = Counter()
        for one, n in counted:
            for epsilon, times in one.pure:
                pure[epsilon] += times * n
        curves = [one.curve for one, _ in counted]
        kept = all(curves) and bool(curves)
        columns = zip(*curves, strict=True) if kept else ()
        counts = [n for _, n in counted]
        return Tally(
            gaussian=added((one.gaussian, n) for one, n in counted),
            pure=_few(pure),
            # Gaussian noise is no Laplace noise, and no reason to forget what the others are.
            laplace=added((one.laplace, n) for one, n in counted if one.pure) if pure else math.inf,
            delta=min(added((one.delta, n) for one, n in counted), 1.0),
            usable=all(one.usable for one, _ in counted),
            curve=tuple(added(zip(column, counts, strict=True)) for column in columns),
            leak=min(added((one.leak, n) for one, n in counted), 1.0),
            steps=_few_steps(
                (noise, rate, times * n) for one, n in counted for noise, rate, times in one.steps
            ),
        )

    def record(self) -> TallyRecord:
        """As a record keeps it, the curve at six digits rounded up."""
        curve = tuple(_digits(nats, 6) for nats in self.curve)
        steps = [
            StepsRecord(noise_multiplier=str(noise), sampling_probability=str(rate), count=n)
            for noise, rate, n in self.steps
        ]
        return TallyRecord(
            **({"steps": tuple(steps)} if steps else {}),
            gaussian=self.gaussian,
            pure=self.pure,
            laplace=self.laplace,
            delta=self.delta,
            usable=self.usable,
            curve=curve,
            leak=self.leak,
        )

    @classmethod
    def read(cls, record: TallyRecord) -> Tally:
        """From the record.

        >>> Tally.read(Tally(gaussian=0.25).record()) == Tally(gaussian=0.25)
        True
        """
        return cls(
            gaussian=record.gaussian,
            pure=record.pure,
            laplace=math.inf if record.laplace is None else record.laplace,
            delta=record.delta,
            usable=record.usable,
            curve=tuple(math.inf if nats is None else nats for nats in record.curve),
            leak=record.leak,
            steps=tuple(map(_steps_read, record.steps)),
        )

    @property
    def rounded(self) -> Tally:
        """As it comes back from its record."""
        return Tally.read(self.record())


@dataclass(frozen=True)
class Composed:
    """What a statement's curves are computed from: between neighbours, and between two contents of one unit.

    `contents` is None where nothing is known of two contents but that each is a step from absence; under
    replace-one two contents are neighbours, and it is None too. `at_once` says that the answers were fixed
    before any was seen: then they compose exactly; otherwise by what holds for whoever asks one after
    another.
    """

    neighbours: Tally
    contents: Tally | None = None
    at_once: bool = True

    @classmethod
    def read(cls, record: ComposedRecord) -> Composed:
        """From its record."""
        contents = None if record.contents is None else Tally.read(record.contents)
        return cls(Tally.read(record.neighbours), contents, record.at_once)

    def record(self) -> ComposedRecord:
        """As a record keeps it."""
        contents = None if self.contents is None else self.contents.record()
        return ComposedRecord(neighbours=self.neighbours.record(), contents=contents, at_once=self.at_once)

    def times(self, count: int) -> Composed:
        """So many times the same."""
        contents = None if self.contents is None else self.contents.times(count)
        return replace(self, neighbours=self.neighbours.times(count), contents=contents)

    @staticmethod
    def total(each: Sequence[Composed | None], *, at_once: bool) -> Composed | None:
        """All of them together; None where of any nothing is known."""
        known = [one for one in each if one is not None]
        if len(known) < len(each) or not known:
            return None
        # Answers recur, and to compare whole curves takes time: the same objects first.
        same: dict[int, list[Composed]] = {}
        for one in known:
            same.setdefault(id(one), []).append(one)
        counted = [(those[0], len(those)) for those in same.values()]
        contents = [(one.contents, n) for one, n in counted if one.contents is not None]
        return Composed(
            Tally.summed([(one.neighbours, n) for one, n in counted]),
            Tally.summed(contents) if len(contents) == len(counted) else None,
            at_once=at_once or (len(known) == 1 and known[0].at_once),
        )

    @property
    def lean(self) -> Composed:
        """As a statement has it: without the curves that say nothing beside what is composed exactly, and
        rounded as a record is."""

        def kept(tally: Tally) -> Tally:
            needless = self.at_once and tally.usable and tally.delta == tally.leak
            return (replace(tally, curve=(), leak=0.0) if needless else tally).rounded

        contents = None if self.contents is None else kept(self.contents)
        return replace(self, neighbours=kept(self.neighbours), contents=contents)


def _few(pure: Counter[float]) -> tuple[tuple[float, int], ...]:
    """By ε, each with its count; of very many different ones the nearest count as the larger of the two."""
    if len(pure) > 4 * _KINDS:
        rounded: Counter[float] = Counter()
        for epsilon, n in pure.items():
            rounded[_digits(epsilon, 2)] += n
        pure = rounded
    found = sorted((epsilon, n) for epsilon, n in pure.items() if epsilon > 0.0)
    while len(found) > _KINDS:
        _, place = min((above[0] / below[0], place) for place, (below, above) in enumerate(pairwise(found)))
        (_, fewer), (epsilon, more) = found[place : place + 2]
        found[place : place + 2] = [(epsilon, fewer + more)]
    return tuple(found)


def _few_steps(each: Iterable[tuple[Fraction, Fraction, int]]) -> Steps:
    """By noise and rate, each with its count; of many kinds all as the one that tells most."""
    found: Counter[tuple[Fraction, Fraction]] = Counter()
    for noise, rate, n in each:
        found[noise, rate] += n
    if len(found) > _KINDS_OF_STEPS:
        worst = (min(noise for noise, _ in found), max(rate for _, rate in found))
        return ((*worst, sum(found.values())),)
    return tuple((*kind, n) for kind, n in sorted(found.items()))


def _steps_read(record: StepsRecord) -> tuple[Fraction, Fraction, int]:
    noise, rate = (_fraction(text) for text in (record.noise_multiplier, record.sampling_probability))
    return noise, rate, record.count


def _fraction(text: str) -> Fraction:
    good = len(text) <= _LONGEST and _FRACTION.fullmatch(text) is not None
    require(good, "steps", "TallyRecord", "hold fractions of whole numbers, such as 11/10", text[:_LONGEST])
    return Fraction(text)


def _digits(value: float, digits: int) -> float:
    """Rounded up to so many significant digits."""
    if value == 0.0 or math.isinf(value):
        return value
    return max(value, ceil_to(value, max(0, digits - 1 - math.floor(math.log10(value)))))
