"""Guessing the secret: how often the first guess is right, and how many guesses it takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from leakcap.channel import Channel, as_prior
from leakcap.gain.structured import Diagonal
from leakcap.leakage.cells import joint_cells
from leakcap.leakage.vulnerability import posterior_vulnerability

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
    # Summing what the guess misses keeps the digits that 1 − vulnerability would lose.
    cells = joint_cells(channel, prior)
    joint = cells.weight * cells.chance
    return float(joint[cells.ranks(joint) > 1].sum())


def guessing_entropy(prior: ArrayLike) -> float:
    """Σ i·π_(i), π sorted downwards: the expected number of guesses "is it x?" before any observation.

    Source: Massey 1994.

    >>> guessing_entropy([0.5, 0.25, 0.25])
    1.75
    """
    weights = as_prior(prior, np.size(prior))
    return float(np.arange(1, weights.size + 1) @ -np.sort(-weights))


def posterior_guessing_entropy(channel: Channel, prior: ArrayLike) -> float:
    """The expected number of guesses after the observation, Σ_y Σ_i i·(π_x C_xy)_(i).

    Source: Massey 1994; Köpf & Basin 2007.

    >>> round(posterior_guessing_entropy(Channel([[0.9, 0.1], [0.2, 0.8]]), [0.5, 0.5]), 12)
    1.15
    """
    cells = joint_cells(channel, prior)
    joint = cells.weight * cells.chance
    return float(cells.ranks(joint) @ joint)
