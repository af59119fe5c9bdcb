"""A regression of the file beside that of released tables: least squares on columns of keys.

That of the file is exact: of its written rows. Released tables of all pairs of the columns have one, too,
with noise of a known law: see `regression_noise`. Both are functions of what was released, so that neither
costs anything more; with a price of its own more tables are released for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from leakcap.errors import InvalidQuery
from leakcap.numeric.linear_systems import exact_solution
from leakcap.policy.declared import Key
from leakcap.synthesis.microdata import Microdata
from leakcap.synthesis.regression_noise import released_coefficients, weighted_sum
from leakcap.synthesis.regression_terms import RegressionAsked, RegressionTerms
from leakcap.tables import ReleasedTables

__all__ = ["ComparedCoefficient", "FileRegression", "compare_regression"]


@dataclass(frozen=True)
class ComparedCoefficient:
    """One coefficient: of the file's rows, and of the released tables with an interval.

    `column` is "" for the constant; `key` is that of text. `file` is None where the file's columns do not
    tell their coefficients apart, and `released`, `lower`, `upper` are None where the noise hides them. With
    probability 95 % or more the intervals hold the coefficients of the exact rows, all of them at once.
    """

    column: str
    key: Key | None
    file: float | None
    released: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class FileRegression:
    """A regression of a file beside that of `released` tables; see `ComparedCoefficient`.

    Where `target` has two keys that are text, it is 1 for `target_key` and 0 for the other.
    """

    target: str
    target_key: Key | None
    coefficients: tuple[ComparedCoefficient, ...]
    released: ReleasedTables

    @property
    def inside(self) -> int | None:
        """How many of the file's coefficients lie in their intervals; None where there are none."""
        known = [
            one.lower <= one.file <= one.upper
            for one in self.coefficients
            if one.file is not None and one.lower is not None and one.upper is not None
        ]
        return sum(known) if known else None


def compare_regression(
    file: Microdata, asked: RegressionAsked, released: ReleasedTables | None = None
) -> FileRegression:
    """Least squares on the file's rows, beside the regression that `released` tables hold: those that the
    file is made of, unless others are given. Nothing else is read, and nothing is paid.

    Raises `InvalidQuery` for columns that are not there, for what is no number, for tables that lack a pair
    of the columns, and for tables whose columns have other keys than the file's.

    >>> import pyarrow
    >>> from leakcap import PrivateTable
    >>> from leakcap.synthesis import RegressionAsked, synthesize
    >>> from leakcap.tables import TablesQuestion, release_tables
    >>> people = pyarrow.table({"old": [False, True] * 2000, "rooms": [4, 2, 3, 1] * 1000})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"old": {"keys": [False, True]}, "rooms": {"keys": [1, 2, 3, 4]}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, TablesQuestion(columns=("old", "rooms"), ways=2, rho=0.01))
    >>> asked = RegressionAsked(target="rooms", features=("old",))
    >>> constant, old = compare_regression(synthesize(found, seed=1), asked).coefficients
    >>> constant.lower < 3.5 < constant.upper, old.lower < -2.0 < old.upper
    (True, True)
    """
    tables = file.generator.released if released is None else released
    own = RegressionTerms.of(asked, file.generator.released.planned)
    shared = RegressionTerms.of(asked, tables.planned)
    shared.require_released()
    _require_same_keys(own, shared)
    found = _of_file(file, own)
    numbers = [None] * len(own.names) if found is None else list(map(float, found))
    private = released_coefficients(tables, shared)
    ends = [(None, None, None)] * len(own.names) if private is None else private
    coefficients = tuple(
        ComparedCoefficient(column, key, number, *three)
        for (column, key), number, three in zip(own.names, numbers, ends, strict=True)
    )
    return FileRegression(asked.target, own.terms[-1].key, coefficients, tables)


def _require_same_keys(own: RegressionTerms, other: RegressionTerms) -> None:
    """Raise `InvalidQuery` where a number of one is not that of the other: which keys there are, and which is
    the first, says what a coefficient means."""
    for column, keys in own.keys.items():
        if [(type(key), key) for key in other.keys[column]] != [(type(key), key) for key in keys]:
            raise InvalidQuery(
                "`released` of `compare_regression` must be tables whose columns have the file's keys, in "
                f"the same order. Those of `{column}` differ. Release them under the file's policy."
            )


def _of_file(file: Microdata, terms: RegressionTerms) -> list[Fraction] | None:
    """The constant and the coefficients of the file's rows, exactly; None where these do not tell them
    apart."""
    workload = terms.planned.plan.workload
    entries = [
        Fraction(
            weighted_sum(
                file.counts(*workload.named(places)), tuple((place, weights[place]) for place in places)
            )
        )
        for _, _, places, weights in terms.pairs()
    ]
    moments = terms.filled(entries)
    solution = exact_solution([row[:-1] for row in moments[:-1]], [row[-1] for row in moments[:-1]])
    return None if solution is None else terms.named(solution)
