"""Joint laws of records of which one noisy sum is released: one record, and the sum given it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from leakcap.errors import InvalidParameter, require
from leakcap.numeric.logspace import Floats

__all__ = ["Sums", "binomial", "equal_copies", "households", "markov_chain"]


@dataclass(frozen=True, eq=False)
class Sums:
    """A record X with whole values, its law, and the law of the sum of all records given X.

    `given` has a row for each of `values`, P(sum = s | X = value) for s = 0, 1, …; `prior` is the law of X.
    The values lie in 0, …, `step`, as all records do: replacing one moves the sum by `step` at most.
    `together` is how many records depend on each other, X included; `extent` is d = I_∞(X; the others);
    `left_open` lists, with their weights, the beliefs about X of somebody who knows all the others.
    """

    name: str
    given: Floats
    prior: tuple[float, ...]
    together: int
    extent: float
    left_open: tuple[tuple[float, tuple[float, ...]], ...]
    values: tuple[int, ...] = (0, 1)
    step: int = 1

    def __post_init__(self) -> None:
        for p in self.prior:
            _probability(p, "Sums", last=len(self.values) == 1)
        rows = np.asarray(self.given, dtype=np.float64)
        shape = len(self.values), rows.shape[-1] if rows.ndim else 0
        good = rows.shape == shape == (len(self.prior), shape[1]) and shape[1] > self.step >= 1
        if not good or not (rows >= 0.0).all() or np.abs(rows.sum(axis=1) - 1.0).max() > 1e-9:
            raise InvalidParameter("`given` of `Sums` must be laws of the sum, one a value of the record.")
        require(abs(math.fsum(self.prior) - 1.0) < 1e-9, "prior", "Sums", "add up to 1", self.prior)
        inside = min(self.values) >= 0 and max(self.values) <= self.step
        require(inside, "values", "Sums", f"lie in 0, …, {self.step}", self.values)

    @property
    def records(self) -> int:
        """How many records are added up."""
        return (int(self.given.shape[1]) - 1) // self.step


def equal_copies(n: int, *, prior: float = 0.5) -> Sums:
    """n records that are all the same coin: the others tell X already, so that I(X;Y|others) = 0.

    Source: Cuff & Yu 2016, example 4.1.

    >>> equal_copies(3).given
    array([[1., 0., 0., 0.],
           [0., 0., 0., 1.]])
    """
    return households(1, n, prior=prior)


def households(count: int, size: int, *, prior: float = 0.5) -> Sums:
    """`count` independent households of `size` people; within one, all have the same value.

    >>> households(2, 2).given
    array([[0.5, 0. , 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0. , 0.5]])
    """
    _count(count, "count", "households")
    _count(size, "size", "households")
    _probability(prior, "households")
    others = binomial(count - 1, prior)
    given = np.zeros((2, count * size + 1))
    given[0, : (count - 1) * size + 1 : size] = others
    given[1, size::size] = others
    law = (1.0 - prior, prior)
    known = ((1.0 - prior, (1.0, 0.0)), (prior, (0.0, 1.0))) if size > 1 else ((1.0, law),)
    extent = -math.log(min(law)) if size > 1 else 0.0
    name = f"{count} household{'s' if count > 1 else ''} of {size}"
    return Sums(name, given, law, size, extent, known)


def markov_chain(n: int, stay: float) -> Sums:
    """A symmetric Markov chain of n ≥ 3 records, each equal to the one before with probability `stay`.

    X is the one in the middle; its two neighbours tell all that the others know about it.

    >>> markov_chain(3, 0.75).given[0]
    array([0.5625, 0.375 , 0.0625, 0.    ])
    """
    _count(n, "n", "markov_chain")
    require(n >= 3, "n", "markov_chain", "be at least 3", n)
    _probability(stay, "markov_chain")
    before, after = _following((n - 1) // 2, stay), _following(n - 1 - (n - 1) // 2, stay)
    given = np.zeros((2, n + 1))
    for value in (0, 1):
        law = np.convolve(before[value], after[value])
        given[value, value : value + law.size] = law
    agree = stay * stay + (1.0 - stay) ** 2
    sure = stay * stay / agree
    known = (
        (agree / 2.0, (1.0 - sure, sure)),
        (agree / 2.0, (sure, 1.0 - sure)),
        (1.0 - agree, (0.5, 0.5)),
    )
    extent = math.log(2.0 * max(sure, 1.0 - sure))
    return Sums(f"a chain of {n}, staying {stay:g}", given, (0.5, 0.5), n, extent, known)


def _following(steps: int, stay: float) -> Floats:
    """P(sum of the next `steps` records | this one), one row a value of this one."""
    rows = np.ones((2, 1))
    for _ in range(steps):
        none, one = np.pad(rows[0], (0, 1)), np.pad(rows[1], (1, 0))
        rows = np.stack([stay * none + (1.0 - stay) * one, (1.0 - stay) * none + stay * one])
    return rows


def binomial(n: int, p: float) -> Floats:
    """P(k successes of n), each of probability p, for k = 0, …, n.

    >>> [round(float(x), 12) for x in binomial(2, 0.5)]
    [0.25, 0.5, 0.25]
    """
    k = np.arange(n + 1)
    choose = np.array(
        [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in range(n + 1)]
    )
    law = np.exp(choose + k * math.log(p) + (n - k) * math.log1p(-p))
    return np.asarray(law / law.sum())


def _probability(value: float, owner: str, *, last: bool = False) -> None:
    name = "stay" if owner == "markov_chain" else "prior"
    require(0.0 < value < 1.0 or (last and value == 1.0), name, owner, "lie strictly between 0 and 1", value)


def _count(value: int, name: str, owner: str) -> None:
    require(isinstance(value, int) and value >= 1, name, owner, "be a positive integer", value)
