"""Random parities of a short field, decoded by exact maximum likelihood in one Walsh transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.attack.codes.code import Bits, Code, Readings, as_bits, as_integers
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["MOST_BITS", "Decoded", "ParityCode", "decode_parities", "parities", "parity", "walsh"]

MOST_BITS = 20
"""The transform visits all 2^k messages."""

_NEGLIGIBLE = 60.0
"""2²⁰ messages that are e⁶⁰ times less likely than the best do not change its posterior in doubles."""
_SIGNS = np.array([[(-1.0) ** (a & m).bit_count() for a in range(16)] for m in range(16)])

Masks = NDArray[np.int64]


@dataclass(frozen=True)
class Decoded:
    """The most likely message, and its exact posterior probability under a uniform belief."""

    message: int
    confidence: float


def parities(bits: int, uses: int, generator: np.random.Generator) -> Masks:
    """`uses` random non-zero masks a of `bits` bits; code bit j of message m is the parity of a_j AND m.

    No mask comes twice before each has come once. This chooses questions, not noise: any generator will do.

    >>> sorted(int(a) for a in parities(2, 3, np.random.default_rng(0)))
    [1, 2, 3]
    """
    _check(bits, "parities")
    require(uses >= 1, "uses", "parities", "be at least 1", uses)
    every = (1 << bits) - 1
    rounds = [generator.permutation(every) + 1 for _ in range(-(-uses // every))]
    return np.concatenate(rounds)[:uses].astype(np.int64)


def parity(masks: ArrayLike, messages: ArrayLike) -> NDArray[np.int64]:
    """The parity of a AND m, elementwise.

    >>> parity([1, 2, 3], 3)
    array([1, 1, 0])
    """
    folded = np.asarray(masks, dtype=np.int64) & np.asarray(messages, dtype=np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        folded = folded ^ (folded >> shift)
    return folded & 1


def walsh(values: ArrayLike) -> Floats:
    """The Walsh–Hadamard transform Σ_a v_a (−1)^{parity(a AND m)} along the last axis, of length 2^k.

    >>> walsh([1.0, 0.0, 0.0, 2.0])
    array([ 3., -1., -1.,  3.])
    """
    out: Floats = np.asarray(values, dtype=np.float64)
    shape, size = out.shape, out.shape[-1]
    require(size & (size - 1) == 0 and size > 0, "values", "walsh", "have 2^k entries in a row", size)
    left = size
    while left > 1:
        # Four bits of the index at a time; each turn brings them to the front, so that all turns restore it.
        digit = min(left, 16)
        out = out.reshape(*shape[:-1], size // digit, digit) @ _SIGNS[:digit, :digit]
        out = np.swapaxes(out, -1, -2).reshape(shape)
        left //= digit
    return np.array(out)


def decode_parities(bits: int, masks: Masks, ratios: ArrayLike) -> Decoded:
    """The message of greatest likelihood, from the log likelihood ratios of the code bits.

    ln P(answers|m) = const − ½ Σ_j ℓ_j (−1)^{parity(a_j AND m)}, for all m at once in k·2^k additions.

    >>> masks = np.array([1, 2, 3])
    >>> decode_parities(2, masks, [5.0, -5.0, 5.0]).message
    1
    """
    _check(bits, "decode_parities")
    soft = np.asarray(ratios, dtype=np.float64)
    require(soft.shape == masks.shape, "ratios", "decode_parities", "be one a mask", soft.shape)
    scores = -0.5 * walsh(np.bincount(masks, weights=soft, minlength=1 << bits))
    best = int(np.argmax(scores))
    near = scores[scores > scores[best] - _NEGLIGIBLE]
    return Decoded(best, float(1.0 / np.exp(near - scores[best]).sum()))


class ParityCode(Code):
    """Random parities as a code: masks fixed beforehand, exact maximum likelihood.

    >>> code = ParityCode(2, np.array([1, 2, 3]))
    >>> code.encode(np.array([[1, 0]], dtype=np.uint8))
    array([[1, 0, 1]], dtype=uint8)
    >>> code.decode([[5.0, -5.0, 5.0]]).messages
    array([[1, 0]], dtype=uint8)
    """

    def __init__(self, bits: int, masks: Masks) -> None:
        _check(bits, "ParityCode")
        self._bits, self._masks = bits, masks

    @property
    def name(self) -> str:
        """How they are called."""
        return "parities"

    @property
    def bits(self) -> int:
        """At most 20."""
        return self._bits

    @property
    def uses(self) -> int:
        """As many as there are masks."""
        return int(self._masks.size)

    def encode(self, messages: Bits) -> Bits:
        """The parity of each mask AND the message."""
        numbers = np.array(as_integers(self.checked_messages(messages)), dtype=np.int64)
        return parity(self._masks, numbers[:, None]).astype(np.uint8)

    def decode(self, ratios: ArrayLike) -> Readings:
        """The likeliest messages, and their exact posteriors."""
        found = [decode_parities(self.bits, self._masks, soft) for soft in self.checked_ratios(ratios)]
        sure = np.array([one.confidence for one in found])
        return Readings(as_bits([one.message for one in found], self.bits), sure)


def _check(bits: int, owner: str) -> None:
    require(1 <= bits <= MOST_BITS, "bits", owner, f"be from 1 to {MOST_BITS}", bits)
