"""The examples a model is fitted to: arrays, or a table behind a policy, in the units of public bounds.

`LogisticRegression`, `RidgeRegression` and `PrivateGradientDescent` have to look at rows one by one. Those of
a table come from its engine, at most `rows_per_unit` of a person, chosen as for every other release; features
are scaled to u = (x − middle)/half in [−1, 1], each row by itself. What is fitted in these units is named in
the columns' own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlglot import exp

from leakcap.errors import InvalidQuery
from leakcap.models.moment_query import bounded_rows
from leakcap.models.reading import features_of, targets_of
from leakcap.models.values import Floats
from leakcap.release import Policy, PrivateTable
from leakcap.release.columns.typed import ReadColumn, aliased, column, number_column, stored_column
from leakcap.release.engine import Columns
from leakcap.release.engine.base import in_one_state
from leakcap.release.engine.beforehand import Identity, check_schema

__all__ = ["Examples", "Rows", "Scaling", "data_name", "of_arrays", "of_table"]

Rows = tuple[Floats, NDArray[Any], NDArray[np.int64] | None]


@dataclass(frozen=True)
class Scaling:
    """u = (x − middle)/half for each feature, and for the target; from θ in these units back to the columns'.

    >>> scaling = Scaling(np.array([2.0]), np.array([2.0]), (10.0, 5.0))
    >>> scaling.inward(np.array([[4.0], [9.0]])).tolist()
    [[1.0], [1.0]]
    >>> scaling.named(np.array([0.5]), np.array([1.0]))
    (array([1.25]), array([12.5]))
    """

    middle: Floats
    half: Floats
    target: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def none(cls, features: int) -> Scaling:
        """Arrays stay as they are."""
        return cls(np.zeros(features), np.ones(features))

    @classmethod
    def of(
        cls, bounds: Sequence[tuple[float, float]], target: tuple[float, float] | None, *, centred: bool
    ) -> Scaling:
        """By the columns' bounds: about the middle, or about zero where there is no intercept."""
        middle, half = np.array([_middle_and_half(pair, centred=centred) for pair in bounds]).T
        aim = (0.0, 1.0) if target is None else _middle_and_half(target, centred=centred)
        return cls(middle, half, aim)

    def inward(self, X: Floats) -> Floats:
        """Clamped to the bounds and scaled, number by number; NaN stays."""
        return np.ascontiguousarray(_clamped(X, self.middle, self.half))

    def inward_target(self, y: Floats) -> Floats:
        """The target clamped and scaled."""
        return _clamped(y, *self.target)

    def named(self, coef: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """(coef, intercept) for the columns themselves, from those for u; a row for each class, or one."""
        middle, half = self.target
        slopes = half * coef / self.half
        return slopes, middle + half * intercept - (slopes * self.middle).sum(axis=-1)


def _clamped(values: Floats, middle: Floats | float, half: Floats | float) -> Floats:
    """(values − middle)/half within [−1, 1], without a word about any of them: not that one is beyond the
    doubles, nor that one is a NaN which signals.
    """
    with np.errstate(all="ignore"):
        return np.asarray(np.clip((values - middle) / half, -1.0, 1.0))


def _middle_and_half(pair: tuple[float, float], *, centred: bool) -> tuple[float, float]:
    low, high = pair
    return (low / 2 + high / 2, high / 2 - low / 2) if centred else (0.0, max(abs(low), abs(high)))


@dataclass(frozen=True)
class Examples:
    """How many features, whose rows, and a way to read them, which happens after they were paid for.

    `text` names them for the ledger, `data` the state of the table they come from, `most` is how many rows a
    person has at most; `read` gives X, y and for each row its person, or None where each is a person's own.
    """

    text: str
    features: int
    most: int
    data: str
    scaling: Scaling
    read: Callable[[], Rows]

    @property
    def scaled(self) -> bool:
        """Whether X comes in units of public bounds."""
        return not (self.scaling.half == 1.0).all() or bool(self.scaling.middle.any())

    def with_targets(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Self:
        """The same rows, read now, with other targets: what is no target is refused before it costs."""
        rows, targets, people = self.read()
        changed = change(targets)
        return replace(self, read=lambda: (rows, changed, people))


def data_name(version: str | None) -> str:
    """The ledger's name for the state of arrays: of its public version, or none, and nothing is remembered.

    >>> data_name(None), len(data_name("2026-03"))
    ('', 64)
    """
    return "" if version is None else Identity(None, version=version).now()


def of_arrays(
    X: ArrayLike,
    y: ArrayLike | None,
    owner: str,
    version: str | None,
    *,
    width: int | None = None,
    labels: bool = False,
) -> Examples:
    """Arrays whose rows are the privacy units, of `width` features if it was declared."""
    rows = features_of(X, owner, width)
    targets = targets_of(y, rows.shape[0], owner, labels=labels)
    features = rows.shape[1]
    return Examples(
        f"{features} features",
        features,
        1,
        data_name(version),
        Scaling.none(features),
        lambda: (rows, targets, None),
    )


def of_table(
    table: PrivateTable,
    features: Sequence[str],
    target: str,
    where: str | None,
    *,
    classes: bool,
    centred: bool,
) -> Examples:
    """The rows of a table behind a policy. Touches no rows yet, but its schema."""
    policy = table.policy
    _check_columns(policy, features, target, classes=classes)
    engine = table.engine
    person = None if policy.id_column is None else _person(policy.id_column, engine.columns())
    values = _values(policy, features, target, person, classes=classes)
    statement, text = bounded_rows(policy, where, values, table.ledger.seed)
    used = [name for name in policy.columns if name in {*features, target}]
    check_schema(engine.columns(), used, policy)
    bounds = [pair for name in features if (pair := policy.columns[name].bounds) is not None]
    aim = None if classes else policy.columns[target].bounds
    scaling = Scaling.of(bounds, aim, centred=centred)
    written = engine.write(statement)

    def read() -> Rows:
        found = in_one_state(engine, lambda: engine.run(written))
        return _rows(found, policy, features, target, scaling, classes=classes)

    names = f"{', '.join(features)} for {target} {text}".strip()
    return Examples(names, len(features), policy.rows_per_unit, table.state(), scaling, read)


def _check_columns(policy: Policy, features: Sequence[str], target: str, *, classes: bool) -> None:
    if not features:
        raise InvalidQuery("A regression needs at least one feature.")
    for name in [*features, *([] if classes else [target])]:
        if name not in policy.columns or policy.columns[name].bounds is None:
            raise InvalidQuery(
                f"`{name}` is not a column of the policy with `bounds`, which a regression needs."
            )
    if classes and target not in policy.columns:
        raise InvalidQuery(f"`{target}` is not a column of the policy.")
    known = policy.columns[target]
    if not (known.stored or known.compute) or known.kind in ("date", "timestamp", "instant"):
        raise InvalidQuery(
            f"`{target}` has no classes that a regression can learn: it is derived, or a date."
        )
    if classes and known.places is not None and known.keys is not None:
        raise InvalidQuery(
            f"`{target}` has decimals as keys, which are no classes that a regression can learn."
        )
    if len({*features, target}) <= len(features):
        raise InvalidQuery("A regression needs every feature and the target once, and no column twice.")


def _person(name: str, types: Mapping[str, str]) -> exp.Expression:
    """The id as it leaves the engine, in which two are the same where the engine says so.

    Dates as text: Python's end with the year 9999, for which it would take later ones, or fail.
    """
    return ReadColumn(this=column(name), kind="text" if types.get(name) == "DATE" else "id")


def _values(
    policy: Policy, features: Sequence[str], target: str, person: exp.Expression | None, *, classes: bool
) -> list[exp.Expression]:
    values: list[exp.Expression] = [number_column(name) for name in features]
    keyed = classes and policy.columns[target].keys is not None
    values.append(stored_column(target, policy.columns[target]) if keyed else number_column(target))
    if person is not None:
        values.append(person)
    return [aliased(value, f"v{place}") for place, value in enumerate(values)]


def _rows(
    found: Columns,
    policy: Policy,
    features: Sequence[str],
    target: str,
    scaling: Scaling,
    *,
    classes: bool,
) -> Rows:
    columns = found.arrays
    X = np.stack([_numbers(columns[n], policy.columns[name].fill) for n, name in enumerate(features)], axis=1)
    labels = columns[len(features)]
    y: NDArray[Any]
    if classes:
        y = labels.astype(object)
    else:
        y = scaling.inward_target(_numbers(labels, policy.columns[target].fill))
    people = None
    if policy.id_column is not None:
        codes: dict[Any, int] = {}
        ids = columns[-1].tolist()
        people = np.array([codes.setdefault(one, len(codes)) for one in ids], dtype=np.int64)
    return scaling.inward(X), y, people


def _numbers(column: NDArray[Any], fill: float | None) -> NDArray[np.float64]:
    if column.dtype != object:
        return column.astype(np.float64)
    missing = np.nan if fill is None else float(fill)
    return np.array([missing if value is None else float(value) for value in column.tolist()], np.float64)
