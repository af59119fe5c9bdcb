"""What every code of the broken wifi is: messages to symbols, and noisy symbols back to messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["Bits", "Code", "Readings", "as_bits", "as_integers"]

Bits = NDArray[np.uint8]


@dataclass(frozen=True)
class Readings:
    """What was read: `messages` of shape (frames, bits), and the probability of each that it is right.

    The probability is the decoder's own: exact where it weighs every message, else among those it kept.
    """

    messages: Bits
    confidences: Floats


class Code(ABC):
    """A linear code of `uses` symbols for messages of `bits` bits, a batch of frames at a time.

    Symbol j of a frame is one question; its answer enters as the log likelihood ratio of 1 against 0, exactly
    as `Use.ratios` gives it.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """What people call this kind of code."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """The length of a message."""

    @property
    @abstractmethod
    def uses(self) -> int:
        """The number of symbols of a frame."""

    @abstractmethod
    def encode(self, messages: Bits) -> Bits:
        """The symbols, of shape (frames, uses), of messages of shape (frames, bits); zeros and ones."""

    @abstractmethod
    def decode(self, ratios: ArrayLike) -> Readings:
        """The messages, from ln P(answer|1)/P(answer|0) of shape (frames, uses)."""

    def checked_ratios(self, ratios: ArrayLike) -> Floats:
        """The ratios as an array of shape (frames, uses), or an error that says what is wrong."""
        soft = np.asarray(ratios, dtype=np.float64)
        good = soft.ndim == 2 and soft.shape[1] == self.uses
        require(good, "ratios", type(self).__name__, f"have shape (frames, {self.uses})", soft.shape)
        return soft

    def checked_messages(self, messages: Bits) -> Bits:
        """The messages as an array of shape (frames, bits), or an error that says what is wrong."""
        out = np.asarray(messages, dtype=np.uint8)
        good = out.ndim == 2 and out.shape[1] == self.bits
        require(good, "messages", type(self).__name__, f"have shape (frames, {self.bits})", out.shape)
        return out


def as_bits(messages: Sequence[int], bits: int) -> Bits:
    """Whole numbers as rows of bits, the least significant first.

    >>> as_bits([6], 4)
    array([[0, 1, 1, 0]], dtype=uint8)
    """
    size = -(-bits // 8)
    packed = b"".join(message.to_bytes(size, "little") for message in messages)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(messages), size)
    return np.unpackbits(rows, axis=1, count=bits, bitorder="little")


def as_integers(rows: Bits) -> list[int]:
    """Rows of bits, the least significant first, as whole numbers.

    >>> as_integers(np.array([[0, 1, 1, 0]], dtype=np.uint8))
    [6]
    """
    return [int.from_bytes(row.tobytes(), "little") for row in np.packbits(rows, axis=1, bitorder="little")]
