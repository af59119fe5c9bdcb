"""Sums of cells over some of their axes: which cells each is of, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from leakcap.arrays import NDArray, np
from leakcap.release.columns.cells import Cells
from leakcap.release.columns.within import inner_axes, places_among
from leakcap.release.numbers.exact_integers import ExactIntegers, exact_integers

__all__ = ["SummedCells", "lone_axis", "summed_size"]


def lone_axis(cells: Cells, kept: Sequence[bool]) -> tuple[str, str] | None:
    """An axis that is kept while one that its keys lie within is summed over, and that one; None without."""
    for place, own in enumerate(inner_axes(cells.axes)):
        gone = [cells.axes[one].column for one in own if not kept[one]]
        if kept[place] and gone:
            return cells.axes[place].column, gone[-1]
    return None


def summed_size(cells: Cells, kept: Sequence[bool]) -> int:
    """How many sums there are."""
    return _kept(cells, kept).size


def _kept(cells: Cells, kept: Sequence[bool]) -> Cells:
    return Cells(tuple(axis for axis, keep in zip(cells.axes, kept, strict=True) if keep))


@dataclass(frozen=True)
class SummedCells:
    """`cells` are the sums; `owner` says of each cell of `all` which sum it is in, None where these are the
    whole product, and `added` of each sum how many cells it is of."""

    all: Cells
    kept: tuple[bool, ...]
    cells: Cells
    added: NDArray[np.int64] = field(repr=False)
    owner: NDArray[np.int64] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, cells: Cells, kept: Sequence[bool]) -> SummedCells:
        """The sums over the axes that are not `kept`; none may be kept without those that it lies within."""
        assert lone_axis(cells, kept) is None
        sub = _kept(cells, kept)
        if not cells.nested:
            return cls(cells, tuple(kept), sub, np.full(sub.size, cells.size // sub.size, dtype=np.int64))
        own = cells.indices[np.array(kept, dtype=bool)]
        owner = np.zeros(cells.size, dtype=np.int64)
        if len(own):
            owner = places_among(sub.indices, own, sub.sizes)
        return cls(cells, tuple(kept), sub, np.bincount(owner, minlength=sub.size).astype(np.int64), owner)

    @property
    def most(self) -> int:
        """How many cells the largest sum is of."""
        return int(self.added.max())

    @property
    def uniform(self) -> bool:
        """Whether all sums are of so many."""
        return self.owner is None or bool((self.added == self.added[0]).all())

    def sums(self, numbers: ExactIntegers) -> ExactIntegers:
        """The sums; what a cell has beside its key stays apart."""
        wide = numbers.astype(object)
        if self.owner is None:
            gone = tuple(place for place, keep in enumerate(self.kept) if not keep)
            found = np.asarray(wide.reshape(*self.all.sizes, -1).sum(axis=gone), dtype=object)
            return exact_integers(found.ravel().tolist())
        by_cell = wide.reshape(self.all.size, -1)
        found = np.zeros((self.cells.size, by_cell.shape[1]), dtype=object)
        np.add.at(found, self.owner, by_cell)
        return exact_integers(found.ravel().tolist())
