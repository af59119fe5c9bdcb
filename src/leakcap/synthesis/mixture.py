"""The law that rows are drawn from: a mixture of products, fitted to released tables.

Within a component the columns are independent; what they have to do with each other lies in which component
a row is from. Every table of the mixture is a sum of products, so that the fit never needs the full table of
all columns: all pairs of twelve columns are one product of matrices.

The fit goes from independent columns towards the released tables, strong links first, and stops where the
misfit is what the noise explains: to go on would be to copy the noise.

Source: Aydore et al. 2021 (RAP) for relaxed rows; Liu, Vietri & Wu 2021 (GEM) for mixtures of products;
Morozov 1966 for when to stop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leakcap.errors import InvalidParameter
from leakcap.synthesis.fitting import fitted
from leakcap.synthesis.targets import Doubles, check_fits, released_total, residual_targets
from leakcap.tables import ReleasedTables
from leakcap.tables.workload import MOST_CELLS

__all__ = ["MixtureOfProducts", "fit_generator", "require_few_cells"]

_PRODUCTS = 10**6


@dataclass(frozen=True)
class MixtureOfProducts:
    """A law of rows. `weights[i]` has a line for each component: the shares of the keys of column i in it.

    All components are equally likely. `misfit` is the squared distance from the released tables over the
    noise's variance, and `freedom` what that is on average for the exact tables.
    """

    released: ReleasedTables = field(repr=False)
    weights: tuple[Doubles, ...] = field(repr=False)
    misfit: float
    freedom: int
    steps: int

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a row, in the order in which the tables name them first."""
        return tuple(self.released.plan.workload.columns)

    @property
    def total(self) -> float:
        """The released number of rows, at least 1."""
        return released_total(self.released)

    def shares(self, *columns: str) -> Doubles:
        """The table of these columns under the law, as shares of 1: an axis for each column, as they are
        named here. Raises `InvalidParameter` for a column that is not there, or is named twice, and for too
        many cells.
        """
        if len(set(columns)) < len(columns) or not set(columns) <= set(self.columns):
            raise InvalidParameter(
                f"`columns` must be among {', '.join(self.columns)}, each named once. Got {columns}."
            )
        each = [self.weights[self.columns.index(name)] for name in columns]
        require_few_cells([own.shape[1] for own in each], "shares", "MixtureOfProducts")
        return mixed(each, len(self.weights[0]))


def mixed(each: Sequence[Doubles], components: int) -> Doubles:
    """The mean over components of the products of their lines: an axis for each factor.

    The longest lines are multiplied in last, and of so few components at a time that their products without
    those are never more than the larger of `_PRODUCTS` and the cells.
    """
    if not each:
        return np.array(1.0)
    sizes = [own.shape[1] for own in each]
    order = sorted(range(len(each)), key=sizes.__getitem__)
    rising = [sizes[place] for place in order]
    at_once = max(_PRODUCTS // math.prod(rising[:-1]), 1)
    found = np.zeros((math.prod(rising[:-1]), rising[-1]))
    for start in range(0, components, at_once):
        part = slice(start, start + at_once)
        products = np.ones((1, len(range(components)[part])))
        for place in order[:-1]:
            products = (products[:, None, :] * each[place][part].T[None, :, :]).reshape(-1, products.shape[1])
        found += products @ each[order[-1]][part]
    return np.asarray((found / components).reshape(rising).transpose(np.argsort(order)))


def require_few_cells(sizes: Sequence[int], method: str, owner: str) -> None:
    """Raise `InvalidParameter` where a table of columns with so many keys has too many cells."""
    cells = math.prod(sizes)
    if cells > MOST_CELLS:
        raise InvalidParameter(
            f"`{method}` of `{owner}` must be of columns with no more than {MOST_CELLS:,} cells together. "
            f"Got {cells:,}. Name fewer columns."
        )


def fit_generator(released: ReleasedTables) -> MixtureOfProducts:
    """The mixture that agrees with the released tables as well as the noise lets know.

    Reads nothing but `released`, and costs nothing. The same released tables give the same law. Raises
    `InvalidQuery` where the tables are too large.

    >>> import pyarrow
    >>> from leakcap import PrivateTable
    >>> from leakcap.tables import TablesQuestion, release_tables
    >>> people = pyarrow.table({"sex": ["f", "m"] * 500, "ward": ["a", "b"] * 500})
    >>> policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0, "delta": 1e-6},
    ...     "columns": {"sex": {"keys": ["f", "m"]}, "ward": {"keys": ["a", "b"]}}}
    >>> with PrivateTable(people, policy=policy, ledger="sqlite://") as private:
    ...     found = release_tables(private, TablesQuestion(columns=("sex", "ward"), ways=2, rho=0.01))
    >>> shares = fit_generator(found).shares("sex", "ward")
    >>> shares.shape, bool(shares[0, 0] > 0.3), bool(shares[0, 1] < 0.2)
    ((2, 2), True, True)
    """
    check_fits(released.planned)
    sizes = released.plan.workload.sizes
    weights, misfit, freedom, steps = fitted(
        sizes, residual_targets(released), total=released_total(released)
    )
    return MixtureOfProducts(released, weights, misfit, freedom, steps)
