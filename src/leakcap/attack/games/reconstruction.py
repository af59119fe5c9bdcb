"""Reconstruction of a secret column from noisy counts over many random subsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.attack.chance import binomial_interval
from leakcap.attack.value import Finding
from leakcap.definition.meaning import posterior_bound
from leakcap.errors import require

__all__ = ["Reconstructed", "random_subsets", "reconstruct", "reconstruction"]

Subsets = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Reconstructed(Finding):
    """got = the share of people whose bit is right; at_most = A/(A+1) for the ε promised in total.

    Under ε-DP the number of right bits is stochastically at most binomial with A/(A+1), though all come from
    the same answers (Steinke, Nasr & Jagielski 2023). So `got_lower` is a 99.5 % lower limit of A/(A+1) for
    the ε that the answers really have; upwards one column limits nothing.
    """

    people: int
    queries: int
    epsilon: float


def random_subsets(people: int, queries: int, generator: np.random.Generator) -> Subsets:
    """Which people each query counts: every one in every query with probability ½; shape (queries, people).

    >>> random_subsets(3, 2, np.random.default_rng(0)).shape
    (2, 3)
    """
    require(people >= 1, "people", "random_subsets", "be at least 1", people)
    require(queries >= 1, "queries", "random_subsets", "be at least 1", queries)
    return generator.random((queries, people)) < 0.5


def reconstruct(subsets: Subsets, answers: ArrayLike) -> NDArray[np.int64]:
    """The bits nearest to the least-squares solution of subsets·bits = answers; no linear program needed.

    With n people, m ≥ 2n queries and noise of deviation σ each bit is off by about 2σ/√m.
    Source: Dinur & Nissim 2003; Dwork & Yekhanin 2008.

    >>> subsets = np.array([[True, True, False], [False, True, True], [True, False, True]])
    >>> reconstruct(subsets, [1.1, 0.9, 2.2]).tolist()
    [1, 0, 1]
    """
    counted = np.asarray(answers, dtype=np.float64)
    require(counted.shape == subsets.shape[:1], "answers", "reconstruct", "be one a subset", counted.shape)
    solution = np.linalg.lstsq(subsets.astype(np.float64), counted, rcond=None)[0]
    return np.asarray(solution > 0.5, dtype=np.int64)


def reconstruction(
    secret: ArrayLike, subsets: Subsets, answers: ArrayLike, *, epsilon: float
) -> Reconstructed:
    """Reconstruct the column, and compare with the truth and with what `epsilon` in total allows.

    >>> subsets = np.array([[True, False], [False, True]])
    >>> reconstruction([0, 1], subsets, [0.2, 0.7], epsilon=0.0).ratio
    2.0
    """
    truth = np.asarray(secret, dtype=np.int64)
    require(truth.shape == subsets.shape[1:], "secret", "reconstruction", "be one bit a person", truth.shape)
    right = int((reconstruct(subsets, answers) == truth).sum())
    return Reconstructed(
        attack="reconstruction from subset counts",
        got=right / truth.size,
        got_lower=binomial_interval(right, truth.size)[0],
        got_upper=1.0,
        at_most=posterior_bound(epsilon, 0.5),
        unit="share of people",
        stopped_by="the cap on ε: the answers' prices add up",
        people=truth.size,
        queries=subsets.shape[0],
        epsilon=epsilon,
    )
