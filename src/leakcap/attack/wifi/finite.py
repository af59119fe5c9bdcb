"""What a code of so many uses can carry: the finite-blocklength optimum, Fano's inequality, and luck."""

from __future__ import annotations

import math

import numpy as np

from leakcap.attack.codes.use import Use
from leakcap.capacities.solvers.level_binary import binary_level
from leakcap.definition.normal import quantile_of_tail
from leakcap.errors import require
from leakcap.numeric import binary_entropy

__all__ = ["fano_told", "finite_length_rate", "least_uses", "luck"]


def finite_length_rate(use: Use, uses: int, error: float) -> float:
    """(nC − √(nV)·Q⁻¹(error) + ½ ln n)/n, nats a use: what the best code of n uses carries, without feedback.

    The normal approximation: right up to O(1) nats in nR, no bound. Source: Polyanskiy, Poor & Verdú 2010,
    theorem 52.

    >>> from leakcap.attack.codes.use import use_of_capacity
    >>> use = use_of_capacity(0.02)
    >>> round(finite_length_rate(use, 1667, 1e-2) / use.capacity, 2)
    0.48
    """
    require(uses >= 1, "uses", "finite_length_rate", "be at least 1", uses)
    require(0.0 < error < 1.0, "error", "finite_length_rate", "lie strictly between 0 and 1", error)
    spread = math.sqrt(use.dispersion / uses) * quantile_of_tail(error)
    return use.capacity - spread + 0.5 * math.log(uses) / uses


def least_uses(use: Use, bits: int, error: float) -> int:
    """The fewest uses whose finite-length optimum carries `bits` bits at this frame error.

    >>> from leakcap.attack.codes.use import use_of_capacity
    >>> least_uses(use_of_capacity(0.5), 16, 1e-2) > 32
    True
    """
    require(bits >= 1, "bits", "least_uses", "be at least 1", bits)
    wanted = bits * math.log(2.0)
    high = 1
    while high * finite_length_rate(use, high, error) < wanted:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if middle * finite_length_rate(use, middle, error) < wanted:
            low = middle
        else:
            high = middle
    return high


def fano_told(bits: int, error: float) -> float:
    """ln 2ᵏ − h(e) − e·ln(2ᵏ − 1) nats: what a reading of k bits tells at least, wrong with probability e.

    Zero where the error is that of a blind guess, or more. Source: Fano's inequality.

    >>> fano_told(1, 0.5), round(fano_told(8, 0.0) / math.log(2.0), 12)
    (0.0, 8.0)
    """
    if error >= 1.0 - 2.0**-bits:
        return 0.0
    others = bits * math.log(2.0) + math.log1p(-(2.0**-bits)) if bits > 1 else 0.0
    return max(bits * math.log(2.0) - binary_entropy(max(error, 0.0)) - max(error, 0.0) * others, 0.0)


def luck(use: Use, planned: int, uses: int, people: int = 1, *, risk: float = 1e-2) -> float:
    """By how much answers may tell more than the capacity, in nats an answer, but with probability `risk`.

    With i the information density of all answers, e^{(α−1)(i − uses·people·C_α)} is a supermartingale
    whatever is asked after whatever was seen; so what was told in the end exceeds uses·people·C_α +
    ln(1/risk)/(α−1) with probability `risk` at most (Jensen, Markov), also where the reader decides when to
    stop. The order α rests on the `planned` number of uses alone; C_α is the level-α capacity of a use.

    >>> from leakcap.attack.codes.use import use_of_capacity
    >>> use = use_of_capacity(0.02)
    >>> luck(use, 20_000, 20_000) < 0.5 * use.capacity < luck(use, 200, 200)
    True
    """
    require(0.0 < risk < 1.0, "risk", "luck", "lie strictly between 0 and 1", risk)
    surprise = math.log(1.0 / risk)
    order = 1.0 + min(math.sqrt(2.0 * surprise / (planned * people * use.dispersion)), 1.0)
    p = use.crossover
    level = binary_level(np.array([1.0 - p, p]), np.array([p, 1.0 - p]), order).upper
    return people * (level - use.capacity) + surprise / ((order - 1.0) * uses)
