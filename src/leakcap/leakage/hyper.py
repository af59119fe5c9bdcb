"""Hyper-distributions: which posteriors an observation leads to, and how often."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel, as_prior
from leakcap.errors import InvalidChannel
from leakcap.gain import Gain
from leakcap.numeric.logspace import Floats

__all__ = ["Hyper"]

_SAME = 1e-12
"""Posteriors whose entries differ by no more than this are one posterior."""


@dataclass(frozen=True, eq=False)
class Hyper:
    """[π ▷ C]: the distribution over posteriors that observing C under π leads to.

    Outputs that never happen are left out and outputs with equal posteriors (within 1e-12) merged, so that
    only what matters to an adversary is left. Iterating gives (probability, posterior) pairs.
    Source: McIver, Meinicke & Morgan 2010; Alvim et al. 2020, chapter 4.

    >>> hyper = Hyper(Channel([[0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]), [0.5, 0.5])
    >>> [(p, posterior.round(4).tolist()) for p, posterior in hyper]
    [(0.75, [0.6667, 0.3333]), (0.25, [0.0, 1.0])]
    """

    outer: Floats
    inner: Floats
    secrets: tuple[Hashable, ...]

    def __init__(self, channel: Channel, prior: ArrayLike) -> None:
        """Push the prior through the channel; raises `InvalidPrior`."""
        rows = channel.matrix
        joint = as_prior(prior, rows.shape[0])[:, None] * rows
        self._fill(joint.T, channel.inputs)

    def _fill(self, parts: Floats, secrets: tuple[Hashable, ...]) -> None:
        outer, inner = _merged(parts)
        object.__setattr__(self, "outer", outer)
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "secrets", secrets)

    @property
    def prior(self) -> Floats:
        """The average of the posteriors, which is the prior."""
        return np.asarray(self.outer @ self.inner)

    def __len__(self) -> int:
        """The number of different posteriors."""
        return len(self.outer)

    def __iter__(self) -> Iterator[tuple[float, Floats]]:
        """(probability, posterior) pairs."""
        return ((float(p), posterior) for p, posterior in zip(self.outer, self.inner, strict=True))

    def push(self, channel: Channel) -> Hyper:
        """What is believed after one more observation, by a channel on the same secrets.

        >>> c = Channel([[0.75, 0.25], [0.25, 0.75]])
        >>> len(Hyper(c, [0.5, 0.5]).push(c))
        3
        """
        if channel.inputs != self.secrets:
            raise InvalidChannel(
                "a hyper-distribution can be pushed only through a channel on its own secrets. "
                f"Got {len(channel.inputs)} inputs for {len(self.secrets)} secrets. Label both alike."
            )
        rows = channel.matrix
        parts = (self.outer[:, None] * self.inner)[:, None, :] * rows.T[None, :, :]
        further = object.__new__(Hyper)
        further._fill(parts.reshape(-1, rows.shape[0]), self.secrets)
        return further

    def vulnerability(self, gain: Gain, *, max_case: bool = False) -> float:
        """The worth of the best action after the observation: on average, or at the worst posterior.

        >>> from leakcap import gain
        >>> Hyper(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5]).vulnerability(gain.identity(2))
        0.75
        """
        best = gain.best(np.ones(self.inner.shape[1]), self.inner.T)
        return float(np.max(best)) if max_case else float(self.outer @ best)


def _merged(parts: Floats) -> tuple[Floats, Floats]:
    """Unnormalised posteriors, one a row, as weights and distinct normalised posteriors."""
    totals = parts.sum(axis=1)
    parts, totals = parts[totals > 0], totals[totals > 0]
    posteriors = parts / totals[:, None]
    first: list[int] = []
    masses: list[float] = []
    left = np.arange(len(totals))
    while left.size:
        same = np.abs(posteriors[left] - posteriors[left[0]]).max(axis=1) <= _SAME
        first.append(int(left[0]))
        masses.append(float(totals[left[same]].sum()))
        left = left[~same]
    outer = np.array(masses)
    return outer / outer.sum(), posteriors[first]
