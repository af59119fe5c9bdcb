"""Outputs of any mechanism as kinds and numbers: the form in which they are audited.

Each output has a *kind* (a number of some type, a text, an exception, NaN, …) and, if it is a number or a
vector, its coordinates. What is thrown away here is post-processing: it can hide a leak, never invent one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidInput
from leakcap.numeric.logspace import Floats

__all__ = ["OutcomeReader", "Outcomes", "Raised"]

MAX_KINDS = 1000
"""Texts and the like beyond this many different ones count as one."""

OTHER = "something else"


@dataclass(frozen=True, slots=True)
class Raised:
    """An output that did not come: the mechanism raised an exception of this type (its text is dropped)."""

    error: str


@dataclass(frozen=True)
class Outcomes:
    """Outputs of repeated runs on one input.

    `kinds`: shape (n,), an index into the reader's names. `numeric`: whether the output has coordinates.
    `numbers`: shape (n, d), zero where it has none.
    """

    kinds: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    numbers: Floats

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, part: slice | NDArray[Any]) -> Outcomes:
        return Outcomes(self.kinds[part], self.numeric[part], self.numbers[part])

    @property
    def width(self) -> int:
        """How many coordinates a numeric output has."""
        return int(self.numbers.shape[1])

    @staticmethod
    def joined(parts: Sequence[Outcomes]) -> Outcomes:
        """One after the other; coordinates appear when some part has them."""
        width = max(part.width for part in parts)
        numbers = [part.numbers if part.width == width else np.zeros((len(part), width)) for part in parts]
        return Outcomes(
            np.concatenate([part.kinds for part in parts]),
            np.concatenate([part.numeric for part in parts]),
            np.concatenate(numbers),
        )


@dataclass
class OutcomeReader:
    """Turns raw outputs into `Outcomes`, with one list of kinds for a whole audit.

    The first number or vector settles the number of coordinates; vectors of other lengths are kinds.
    Infinite and NaN outputs are kinds too.

    >>> OutcomeReader().read([1.5, float("nan"), Raised("ValueError")]).kinds.tolist()
    [0, 1, 2]
    """

    names: list[str] = field(default_factory=list)
    width: int | None = None
    _codes: dict[str, int] = field(default_factory=dict)

    def read(self, outputs: object) -> Outcomes:
        """One outcome for each output. Numbers of one type are read at once, anything else one by one."""
        if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "fiub" and outputs.ndim in (1, 2):
            kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}[outputs.dtype.kind]
            return self._array(outputs, kind, outputs)
        if isinstance(outputs, np.ndarray) and outputs.ndim >= 1:
            outputs = list(outputs)
        if isinstance(outputs, str | bytes | Mapping) or not isinstance(outputs, Sequence):
            raise InvalidInput(
                f"Outputs must be a sequence with one output a run. Got {type(outputs).__name__}."
            )
        if set(map(type, outputs)) in ({float}, {int}):
            try:
                return self._array(np.array(outputs, dtype=np.float64), type(outputs[0]).__name__, outputs)
            except OverflowError:  # an integer beyond the doubles
                pass
        return self._one_by_one(outputs)

    def raised(self) -> dict[str, int]:
        """The kinds that are exceptions."""
        return {name: code for name, code in self._codes.items() if name.startswith("raised ")}

    def _code(self, name: str) -> int:
        if name not in self._codes:
            if len(self.names) >= MAX_KINDS and name != OTHER:
                return self._code(OTHER)
            self._codes[name] = len(self.names)
            self.names.append(name)
        return self._codes[name]

    def _array(self, outputs: NDArray[Any], kind: str, each: Iterable[Any]) -> Outcomes:
        """Numbers of one kind at once; `each` one by one where some are not finite, or of another width."""
        rows = outputs.reshape(len(outputs), -1).astype(np.float64)
        if self.width is None and len(rows):
            self.width = rows.shape[1]
        if rows.shape[1] != self.width or not np.isfinite(rows).all():
            return self._one_by_one(list(each))
        name = kind if outputs.ndim == 1 else f"vector of {rows.shape[1]}"
        return Outcomes(np.full(len(rows), self._code(name)), np.ones(len(rows), dtype=bool), rows)

    def _one_by_one(self, outputs: Sequence[Any]) -> Outcomes:
        read = [_parts(output) for output in outputs]
        if self.width is None:
            self.width = next((len(numbers) for _, numbers in read if numbers is not None), None)
        width = self.width or 0
        kinds, numeric = np.zeros(len(read), dtype=np.int64), np.zeros(len(read), dtype=bool)
        rows = np.zeros((len(read), width))
        for i, (name, numbers) in enumerate(read):
            kinds[i] = self._code(name)
            if numbers is not None and len(numbers) == width:
                numeric[i], rows[i] = True, numbers
        return Outcomes(kinds, numeric, rows)


def _parts(output: Any) -> tuple[str, list[float] | None]:
    """The kind of one output, and its coordinates where it has finite ones."""
    if isinstance(output, Raised):
        return f"raised {output.error}", None
    if isinstance(output, bool | np.bool_):
        return "bool", [float(output)]
    if isinstance(output, int | float | np.integer | np.floating):
        return _number(output)
    if isinstance(output, str):
        return f"text {output[:80]!r}", None
    if isinstance(output, Mapping):
        return _vector(list(output.values()), f"mapping of {', '.join(sorted(map(str, output)))[:80]}")
    if isinstance(output, np.ndarray):
        return _vector(output.ravel().tolist(), f"vector of {output.size}")
    if isinstance(output, list | tuple):
        return _vector(list(output), f"vector of {len(output)}")
    return ("nothing" if output is None else type(output).__name__), None


def _number(output: Any) -> tuple[str, list[float] | None]:
    name = "int" if isinstance(output, int | np.integer) else "float"
    try:
        value = float(output)
    except OverflowError:
        return "int beyond the doubles", None
    if math.isnan(value):
        return "NaN", None
    if math.isinf(value):
        return ("+∞" if value > 0 else "-∞"), None
    return name, [value]


def _vector(values: list[Any], name: str) -> tuple[str, list[float] | None]:
    """A flat vector of finite numbers; else a kind that shows what kinds its entries have."""
    flat: list[float] = []
    for value in values:
        kind, numbers = _parts(value)
        if numbers is None or len(numbers) != 1:
            described = ", ".join(_parts(v)[0] for v in values[:8])
            return f"{name} with {described}"[:200], None
        flat.append(numbers[0])
        del kind
    return name, flat
