"""Channels that look the same from both ends: half the secrets, half the observations.

Noise on a symmetric range does not change when secrets and observations are both read backwards:
W_{x,y} = W_{x',y'}. The information is concave, so that the mean of a prior and its mirror image is no
worse, and the search may keep to symmetric priors. Over pairs {x, x'} and {y, y'} that is a Shannon
capacity again:

    D(W_x ‖ q) = Σ_y W ln W + ln 2 · (mass of x in true pairs) − Σ_pairs V ln q,   V the mass in each pair.
"""

from __future__ import annotations

import math

import numpy as np

from leakcap.numeric.logspace import Floats

__all__ = ["folded", "unfolded"]

_ALIKE = 1e-12


def folded(matrix: Floats, negentropy: Floats, average: Floats) -> tuple[Floats, Floats, Floats] | None:
    """Matrix, row sums of W ln W and average row over pairs; None where the channel is no mirror image.

    Only necessary signs of symmetry are looked at: what the search finds is certified on the whole channel.

    >>> rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    >>> folded(rows, (rows * np.log(rows)).sum(axis=1), rows.mean(axis=0))[0].tolist()
    [[1.0]]
    """
    count, width = matrix.shape
    if count < 2 or not (_alike(negentropy) and _alike(average)):
        return None
    half, pairs = (count + 1) // 2, width // 2
    top = matrix[:half]
    both = top[:, : (width + 1) // 2].copy()
    both[:, :pairs] += top[:, : width - pairs - 1 : -1]
    short = average[: (width + 1) // 2].copy()
    short[:pairs] += average[: width - pairs - 1 : -1]
    paired = both[:, :pairs].sum(axis=1) if width % 2 else 1.0
    return both, negentropy[:half] + math.log(2.0) * paired, short


def unfolded(prior: Floats, count: int) -> Floats:
    """The symmetric prior over `count` secrets.

    >>> unfolded(np.array([0.5, 0.5]), 3).tolist()
    [0.25, 0.5, 0.25]
    """
    pairs = count // 2
    whole = np.empty(count)
    whole[: len(prior)] = prior
    whole[:pairs] *= 0.5
    whole[count - pairs :] = whole[:pairs][::-1]
    return whole


def _alike(values: Floats) -> bool:
    return float(np.abs(values - values[::-1]).max()) <= _ALIKE * (1.0 + float(np.abs(values).max()))
