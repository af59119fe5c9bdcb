"""Guessing the secret: how often the first guess is right, and how many guesses it takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel, as_prior
from leakcap.gain.structured import Diagonal
from leakcap.leakage.vulnerability import posterior_vulnerability
from leakcap.numeric.logspace import Floats

__all__ = ["bayes_risk", "bayes_vulnerability", "guessing_entropy", "posterior_guessing_entropy"]


def bayes_vulnerability(channel: Channel, prior: ArrayLike) -> float:
    """Σ_y max_x π_x C_xy: the probability that one guess after the observation is right.

    Source: Smith 2009.

    >>> round(bayes_vulnerability(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    0.85
    """
    return posterior_vulnerability(channel, prior, Diagonal(np.ones(channel.shape[0])))


def bayes_risk(channel: Channel, prior: ArrayLike) -> float:
    """1 − Bayes vulnerability: the error probability of the best guess, precise where it is tiny.

    Source: Chatzikokolakis, Palamidessi & Panangaden 2008.

    >>> round(bayes_risk(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    0.15
    """
    joint = _joint(channel, prior)
    # Summing what the guess misses keeps the digits that 1 − vulnerability would lose.
    best = joint.argmax(axis=0)
    joint[best, np.arange(joint.shape[1])] = 0.0
    return float(joint.sum())


def guessing_entropy(prior: ArrayLike) -> float:
    """Σ i·π_(i), π sorted downwards: the expected number of guesses "is it x?" before any observation.

    Source: Massey 1994.

    >>> guessing_entropy([0.5, 0.25, 0.25])
    1.75
    """
    weights = as_prior(prior, np.size(prior))
    return float(_guesses(weights[:, None]))


def posterior_guessing_entropy(channel: Channel, prior: ArrayLike) -> float:
    """The expected number of guesses after the observation, Σ_y Σ_i i·(π_x C_xy)_(i).

    Source: Massey 1994; Köpf & Basin 2007.

    >>> round(posterior_guessing_entropy(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    1.15
    """
    return float(_guesses(_joint(channel, prior)))


def _joint(channel: Channel, prior: ArrayLike) -> Floats:
    rows = channel.matrix
    return np.asarray(as_prior(prior, rows.shape[0])[:, None] * rows)


def _guesses(joint: Floats) -> Floats:
    ranked = -np.sort(-joint, axis=0)
    return np.asarray((np.arange(1, len(ranked) + 1) @ ranked).sum())
