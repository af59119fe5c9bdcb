"""Questions that are asked of a file, for free, with what is known of the error of each answer.

What follows from the released tables has the interval that they give. What the tables never asked is
modelled: the file has an answer, and nobody knows how far it is off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter
from leakcap.numeric.rounding import float_down, float_up
from leakcap.policy.declared import Key
from leakcap.synthesis.microdata import Microdata, require_library
from leakcap.tables import Estimate
from leakcap.tables.boxes import box_sums

__all__ = ["FileTable", "ask_file"]

_SHOWN = 12


@dataclass(frozen=True)
class FileTable:
    """Counts of a file: an axis for each of `columns`, in the order in which they were named.

    `values` are rows of the file times `Microdata.weight`. Where the question follows from the released
    tables (`is_released`), `estimates` are what these say, and each exact count lies within `half_width` of
    its estimate with probability 95 % or more, each by itself; the file's own value may lie outside. Where it
    does not, both are None: the file's answer is what the generator makes of other tables, without any bound.
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Key, ...], ...]
    values: NDArray[np.float64] = field(repr=False)
    estimates: NDArray[np.float64] | None = field(repr=False)
    half_width: float | None

    @property
    def is_released(self) -> bool:
        """Whether the released tables answer the question, so that the answer has an interval."""
        return self.estimates is not None

    @property
    def cells(self) -> Iterator[tuple[tuple[Key, ...], float, Estimate | None]]:
        """Each cell's keys, the file's count, and what was released of it: None where it is modelled."""
        for place in np.ndindex(self.values.shape):
            keys = tuple(own[i] for own, i in zip(self.keys, place, strict=True))
            yield keys, float(self.values[place]), self._estimate(place)

    def _estimate(self, place: tuple[int, ...]) -> Estimate | None:
        if self.estimates is None or self.half_width is None:
            return None
        value = float(self.estimates[place])
        here, half = Fraction(value), Fraction(self.half_width)
        return Estimate(value, float_down(here - half), float_up(here + half))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each cell: the keys' columns, `value` of the file, `released`,
        `lower` and `upper`, which are missing where the answer is modelled, and `basis`, "released" or
        "modelled". Raises `InvalidParameter` without pandas.
        """
        pandas = require_library("pandas", "`to_pandas` of `FileTable`")
        cells = list(self.cells)
        found: dict[str, Any] = {
            name: [keys[place] for keys, _, _ in cells] for place, name in enumerate(self.columns)
        }
        found["value"] = [value for _, value, _ in cells]
        told = [one or Estimate(math.nan, math.nan, math.nan) for _, _, one in cells]
        found |= {"released": [one.value for one in told]}
        found |= {"lower": [one.low for one in told], "upper": [one.high for one in told]}
        return pandas.DataFrame(found | {"basis": "released" if self.is_released else "modelled"})


def ask_file(
    file: Microdata, *columns: str, where: Mapping[str, Key | Sequence[Key]] | None = None
) -> FileTable:
    """How many rows have each combination of keys, among those with the keys that `where` names of other
    columns; for free, and reading nothing but the file and what was released. Of no columns it is one number.

    Raises `InvalidParameter` for columns or keys that are not there, and for too many cells.

    >>> import pyarrow
    >>> from leakcap import PrivateTable
    >>> from leakcap.synthesis import synthesize
    >>> from leakcap.tables import TablesQuestion, release_tables
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "ward": [1, 2, 3, 1] * 250, "old": [True] * 1000})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": [1, 2, 3]},
    ...     "old": {"keys": [False, True]}}}
    >>> asked = TablesQuestion(columns=("sex", "ward", "old"), ways=2, rho=0.01)
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     file = synthesize(release_tables(private, asked), seed=1)
    >>> ask_file(file, "sex", where={"ward": [1, 2]}).is_released
    True
    >>> ask_file(file, "sex", where={"ward": [1, 2], "old": True}).is_released
    False
    """
    chosen = {name: _chosen(file, name, keys) for name, keys in (where or {}).items()}
    named = (*columns, *chosen)
    counts = file.counts(*named)
    for axis, own in reversed(list(enumerate(chosen.values(), start=len(columns)))):
        counts = counts.compress(own, axis=axis).sum(axis=axis)
    released = file.generator.released
    workload = released.plan.workload
    places = {name: place for place, name in enumerate(workload.columns)}
    keys = tuple(file.keys(name) for name in columns)
    values = np.asarray(counts * file.weight, dtype=np.float64)
    if tuple(sorted(places[name] for name in named)) not in workload.closure:
        return FileTable(columns, keys, values, None, None)
    order = sorted(range(len(columns)), key=lambda axis: places[columns[axis]])
    rising = tuple(places[columns[axis]] for axis in order)
    sums, half = box_sums(released, rising, {places[name]: own for name, own in chosen.items()})
    return FileTable(columns, keys, values, sums.transpose(np.argsort(order)), half)


def _chosen(file: Microdata, column: str, keys: Key | Sequence[Key]) -> NDArray[np.bool_]:
    """Of each key of a column whether it is among `keys`."""
    known = file.keys(column)
    listed = (keys,) if isinstance(keys, str) or not isinstance(keys, Sequence) else tuple(keys)
    found = np.zeros(len(known), dtype=bool)
    for key in listed:
        own = [place for place, one in enumerate(known) if type(one) is type(key) and one == key]
        if not own:
            told = ", ".join(map(repr, known[:_SHOWN])) + (", …" if len(known) > _SHOWN else "")
            raise InvalidParameter(
                f"`where` of `ask_file` must have keys of `{column}`, or lists of some: {told}. Got {key!r}."
            )
        found[own] = True
    if not listed:
        raise InvalidParameter(f"`where` of `ask_file` must name a key of `{column}`. Got an empty list.")
    return found
