"""What is released of a column instead of its cells, and how cells follow from it.

A basis is a matrix Ξ of whole numbers that takes 1-dimensional counts x to Ξx, with Ξu = 0 for a vector u
whose numbers add up to 1; and a matrix L with LΞ = I − u·1ᵀ. So x = u·(1ᵀx) + L·(Ξx): the total, spread as
u says, and the rest. L and u are fractions over one `bottom`; in L each column adds up to 0, in u all to
1, exactly, so that tables agree in their margins. Of an ordered column they are rounded: `off` is how far
each number is from the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Basis", "Whole"]

Whole: TypeAlias = NDArray[np.object_]


class Basis(Protocol):
    """See the file. `w` are whole weights of the keys: what is told is of wᵀx, x a column's counts."""

    @property
    def size(self) -> int:
        """The keys."""

    @property
    def rows(self) -> int:
        """How many numbers Ξx has."""

    @property
    def bottom(self) -> int:
        """The denominator of L and u."""

    @property
    def spread(self) -> Whole:
        """The numerators of u; one for all where they are alike."""

    @property
    def reach(self) -> int:
        """The largest squared length of a column of Ξ."""

    @property
    def least(self) -> int:
        """The least product of two unlike columns of Ξ, no more than 0; 0 for one key."""

    @property
    def stretch(self) -> int:
        """The largest sum of the sizes in a row of Ξ."""

    @property
    def off(self) -> Fraction:
        """How far each number of L and of u is from the true one, at most."""

    @property
    def largest(self) -> Fraction:
        """No number of L or u is larger."""

    @property
    def most_in_cells(self) -> tuple[Fraction, Fraction]:
        """The largest ‖wᵀL‖² and (wᵀu)² of a cell, at most."""

    @property
    def most_absolute(self) -> tuple[Fraction, Fraction]:
        """The largest Σ|wᵀL| and |wᵀu| of a cell, but for what `off` adds."""

    @property
    def answers(self) -> int:
        """How many numbers are wanted of the column: cells, prefixes, ranges."""

    @property
    def spread_error(self) -> Fraction:
        """Σ(wᵀu)² over the wanted answers."""

    @property
    def rest_error(self) -> Fraction:
        """Σ‖wᵀL‖² over the wanted answers."""

    @property
    def least_total(self) -> Fraction:
        """a of `certified`."""

    @property
    def least_rest(self) -> Fraction:
        """(tr√D)² of `certified`, from below."""

    @property
    def least_alone(self) -> Fraction:
        """(tr√H)² of `certified`, from below."""

    def forward(self, counts: NDArray[Any], axis: int) -> NDArray[Any]:
        """Ξ along an axis."""

    def back(self, numbers: NDArray[Any], axis: int) -> NDArray[Any]:
        """The numerators of L along an axis."""

    def spread_at(self, key: int) -> Fraction:
        """One number of u."""

    def shared(self, key: int, other: int) -> Fraction:
        """The product of two rows of L."""

    def along(self, w: Sequence[int]) -> tuple[Fraction, Whole]:
        """wᵀu, and the numerators of wᵀL."""

    def each(self, cumulative: bool) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
        """‖wᵀL‖², Σ|wᵀL| and |wᵀu| of every cell, or of every prefix."""
