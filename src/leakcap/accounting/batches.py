"""Batches of a run of gradient descent, drawn other than one by one: their dominating pairs."""

from __future__ import annotations

from dataclasses import dataclass

from leakcap.accounting.binomial import upper_tail
from leakcap.accounting.fixed_size import moved
from leakcap.accounting.labelled import LabelledLoss
from leakcap.accounting.part import LossComponent
from leakcap.accounting.sampled import sampled
from leakcap.errors import require

__all__ = ["TruncatedLoss", "truncated"]


@dataclass(frozen=True)
class TruncatedLoss(LabelledLoss):
    """A Poisson sample cut to a largest size; make it with `truncated`."""

    plan: tuple[LossComponent, float, int, int] | None = None


def truncated(part: LossComponent, rate: float, people: int, most: int) -> LossComponent:
    """The loss of one person removed, seen through a Poisson sample cut to `most` of `people` at random.

    Let K of the others be drawn, whoever is looked at aside. Up to K = most − 1 nothing is cut, and the
    pair is that of the Poisson sample. From K = most on, with the chance τ, a person who is in the sample
    takes another's place: with a chance of at most `rate`, and twice the distance. K is the same with and
    without the person, so that by joint convexity δ ≤ (1−τ)·δ_rate(distance) + τ·δ_rate(2·distance), in
    both directions; τ is rounded up, which only raises it. Source: arXiv:2508.15089 for the cases; the pair
    is derived here.

    >>> from leakcap.accounting.normal import GaussianLoss
    >>> loose = truncated(GaussianLoss(1.0), 0.01, 10_000, 150)
    >>> loose.hockey_stick(0.1)[1] / sampled(GaussianLoss(1.0), 0.01).hockey_stick(0.1)[1] < 1.0001
    True
    """
    require(people >= 1, "people", "truncated", "be at least 1", people)
    require(most >= 1, "most", "truncated", "be at least 1", most)
    plain = sampled(part, rate)
    cut = upper_tail(people - 1, rate, most)
    if cut == 0.0:
        return plain
    twice = sampled(moved(part, 2), rate)
    kinds = ((plain, 1.0 - cut), (twice, cut)) if cut < 1.0 else ((twice, 1.0),)
    return TruncatedLoss(kinds, plan=(part, rate, people, most))
