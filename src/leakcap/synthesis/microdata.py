"""Rows drawn from a mixture: a file that agrees with released tables, with the types of their keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.errors import InvalidParameter, InvalidQuery, require
from leakcap.plain import csv_text
from leakcap.policy.declared import Key
from leakcap.sampling import system_bytes
from leakcap.synthesis.drawing import drawn_rows
from leakcap.synthesis.impossible import Impossible
from leakcap.synthesis.mixture import MixtureOfProducts, fit_generator, require_few_cells
from leakcap.tables import ReleasedTables
from leakcap.tables.question import PlannedTables

__all__ = [
    "ENDINGS",
    "MOST_ROWS",
    "WEIGHT",
    "Microdata",
    "check_draw",
    "check_weights",
    "require_library",
    "synthesize",
]

MOST_ROWS = 10**7
_MOST_VALUES = 2 * 10**8
_MOST_CHECKED = 10**9
WEIGHT = "weight"
ENDINGS = (".csv", ".parquet")
_MOST_SEED = 2**48
_LINES = 10_000


@dataclass(frozen=True)
class Microdata:
    """A file of rows about nobody: for each column the places of its keys, row by row.

    Every row counts for `weight` people or rows of the data, so that the file's total is the released one.
    The same `generator`, number of rows and `seed` make the same file, on the same version of NumPy.
    """

    generator: MixtureOfProducts
    codes: Mapping[str, NDArray[np.int32]] = field(repr=False)
    seed: int
    impossible: tuple[Mapping[str, tuple[Key, ...]], ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    @property
    def weight(self) -> float:
        """The released total over the number of rows."""
        return self.generator.total / len(self)

    def keys(self, column: str) -> tuple[Key, ...]:
        """The public keys of a column, in the policy's order."""
        return _keys_of(self.generator.released, column)

    def counts(self, *columns: str) -> NDArray[np.int64]:
        """How many rows of the file have each combination of keys: an axis for each column, as named here.

        Raises `InvalidParameter` for a column that is not there, or is named twice, and for too many cells.
        """
        if len(set(columns)) < len(columns) or not set(columns) <= set(self.codes):
            raise InvalidParameter(
                f"`columns` must be among {', '.join(self.codes)}, each named once. Got {columns}."
            )
        sizes = [len(self.keys(name)) for name in columns]
        require_few_cells(sizes, "counts", "Microdata")
        place = np.zeros(len(self), dtype=np.int64)
        for name, size in zip(columns, sizes, strict=True):
            place = place * size + self.codes[name]
        return np.bincount(place, minlength=math.prod(sizes)).reshape(sizes)

    def to_arrow(self, *, weights: bool = False) -> Any:
        """A `pyarrow.Table` with a column for each of the tables', of its keys' type: whole numbers, truth
        values or text; keys of several types are text. With `weights` its last column, `weight`, has
        `Microdata.weight` in each row (`check_weights`). Raises `InvalidParameter` without PyArrow."""
        pyarrow = require_library("pyarrow", "`to_arrow` of `Microdata`")
        found = {name: _arrow(pyarrow, self.keys(name), own) for name, own in self.codes.items()}
        if self._weighted(weights):
            found[WEIGHT] = pyarrow.array(np.full(len(self), self.weight))
        return pyarrow.table(found)

    def to_pandas(self, *, weights: bool = False) -> Any:
        """A `pandas.DataFrame` of the columns of `to_arrow`. Raises `InvalidParameter` without pandas."""
        pandas = require_library("pandas", "`to_pandas` of `Microdata`")
        found = {name: np.array(_alike(self.keys(name)))[own] for name, own in self.codes.items()}
        if self._weighted(weights):
            found[WEIGHT] = np.full(len(self), self.weight)
        return pandas.DataFrame(found)

    def _weighted(self, weights: bool) -> bool:
        if weights:
            check_weights(self.generator.released.planned)
        return weights

    def write(self, path: str | Path, *, weights: bool = False) -> None:
        """Write the rows as CSV or Parquet, by the ending; the folder is made. What stands there is replaced.

        With `weights` there is a column `weight`, as in `to_arrow`. Text that a spreadsheet would run as a
        formula gets an apostrophe in CSV. Raises `InvalidParameter` for another ending, and for Parquet
        without PyArrow.
        """
        path = Path(path)
        ending = path.suffix.lower()
        require(ending in ENDINGS, "path", "Microdata", "end in .csv or .parquet", str(path))
        weighted = self._weighted(weights)
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending == ".parquet":
            require_library("pyarrow", "Parquet")
            import_module("pyarrow.parquet").write_table(self.to_arrow(weights=weights), path)
            return
        shown = [
            np.array([csv_text([[key]]).rstrip("\n") for key in self.keys(name)], dtype=object)
            for name in self.codes
        ]
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(csv_text([[*self.codes, *([WEIGHT] if weighted else [])]]))
            end = f",{self.weight!r}\n" if weighted else "\n"
            for start in range(0, len(self), _LINES):
                part = slice(start, start + _LINES)
                texts = [own[code[part]] for own, code in zip(shown, self.codes.values(), strict=True)]
                file.writelines(f"{','.join(line)}{end}" for line in zip(*texts, strict=True))


def synthesize(
    source: ReleasedTables | MixtureOfProducts,
    *,
    rows: int | None = None,
    seed: int | None = None,
    impossible: Sequence[Mapping[str, Key | Sequence[Key]]] = (),
) -> Microdata:
    """A file of `rows` rows that agrees with released tables, for free: nothing else is read.

    Without `rows` it has as many as were released (at least one); without `seed` the operating system's
    randomness gives one. For many files fit once: `fit_generator`. `impossible` names combinations of keys
    that no row has, each as columns and a key or several. Raises `InvalidParameter` or `InvalidQuery`.

    >>> import pyarrow
    >>> from leakcap import PrivateTable
    >>> from leakcap.tables import TablesQuestion, release_tables
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "ward": [1, 2] * 500})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": [1, 2]}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01))
    >>> file = synthesize(found, rows=300, seed=1, impossible=[{"sex": "m", "ward": 1}])
    >>> len(file), int(file.counts("sex", "ward")[1, 0]), file.to_arrow().schema.types
    (300, 0, [DataType(string), DataType(int64)])
    """
    released = source if isinstance(source, ReleasedTables) else source.released
    columns = len(released.plan.workload.columns)
    excluded = Impossible.of(released.planned, impossible)
    check_draw(rows, seed, columns, excluded.named)
    generator = fit_generator(source) if isinstance(source, ReleasedTables) else source
    if rows is None:
        rows = min(max(round(generator.total), 1), _most_rows(columns, excluded.named))
    if seed is None:
        seed = int.from_bytes(system_bytes(6), "big")
    found = drawn_rows(generator.weights, rows, np.random.default_rng(seed), excluded)
    codes = dict(zip(generator.columns, found, strict=True))
    return Microdata(generator, codes, seed, excluded.told)


def check_draw(rows: int | None, seed: int | None, columns: int, named: int) -> None:
    """Raise `InvalidParameter` unless so many rows of so many columns can be drawn with this seed, where
    `impossible` names so many columns in all."""
    owner, most = "synthesize", _most_rows(columns, named)
    whole = rows is None or (isinstance(rows, int) and not isinstance(rows, bool) and 1 <= rows <= most)
    why = "" if most == MOST_ROWS else f" with {columns:,} columns and {named:,} named in `impossible`"
    require(whole, "rows", owner, f"be a whole number from 1 to {most:,}{why}", rows)
    good = seed is None or (isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < _MOST_SEED)
    require(good, "seed", owner, "be a whole number from 0 to 2⁴⁸ − 1", seed)


def check_weights(planned: PlannedTables) -> None:
    """Raise `InvalidQuery` where a file of these tables can have no column `weight`: where a column of the
    tables is called so, or where the policy is of a survey, whose rows stand for a population by weights of
    their own that no table of counts knows.
    """
    policy = planned.policy
    taken = [axis.column for axis in planned.axes if axis.column.casefold() == WEIGHT]
    if taken:
        raise InvalidQuery(
            f"`weights` adds a column `{WEIGHT}`, and the tables have `{taken[0]}`. Give that another name "
            "in the policy, or leave `weights` out."
        )
    if policy.survey is not None:
        raise InvalidQuery(
            "`weights` would have each row of the file count for rows of the sample, and the policy's "
            f"[survey] says that these stand for a population by `{policy.survey.weight}`, which tables of "
            "counts do not know. Leave `weights` out, and ask for the population by `weighted_total`; or ask "
            "for tables by bands of the design weight."
        )


def _most_rows(columns: int, named: int) -> int:
    return max(min(MOST_ROWS, _MOST_VALUES // max(columns, 1), _MOST_CHECKED // max(named, 1)), 1)


def require_library(name: str, what: str) -> Any:
    """The library. Raises `InvalidParameter` where it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise InvalidParameter(
            f"{what} needs {name}, which is not installed. Run `pip install {name}`."
        ) from None


def _keys_of(released: ReleasedTables, column: str) -> tuple[Key, ...]:
    for axis in released.planned.axes:
        if axis.column == column:
            return tuple(axis.labels.values())
    raise InvalidParameter(f"`column` must be one of the tables' columns. Got {column!r}.")


def _alike(keys: Sequence[Key]) -> list[Key]:
    """The keys, as text where they are of several types."""
    return list(keys) if len(set(map(type, keys))) == 1 else [str(key) for key in keys]


def _arrow(pyarrow: Any, keys: Sequence[Key], codes: NDArray[np.int32]) -> Any:
    return pyarrow.array(_alike(keys)).take(pyarrow.array(codes))
