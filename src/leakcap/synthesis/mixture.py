"""The law that rows are drawn from: a mixture of products, fitted to released tables.

Within a component the columns are independent; what they have to do with each other lies in which component
a row is from. Every table of the mixture is a sum of products, so that the fit never needs the full table of
all columns: all pairs of twelve columns are one product of matrices.

The fit goes from independent columns towards the released tables and stops where the misfit is what the
noise explains: to go on would be to copy the noise.

Source: Aydore et al. 2021 (RAP) for relaxed rows; Liu, Vietri & Wu 2021 (GEM) for mixtures of products;
Morozov 1966 for when to stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from leakcap.errors import InvalidParameter
from leakcap.synthesis.fitting import fitted
from leakcap.synthesis.targets import Doubles, check_fits, released_total, residual_targets
from leakcap.tables import ReleasedTables

__all__ = ["MixtureOfProducts", "fit_generator"]


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
        named here. Raises `InvalidParameter` for a column that is not there, or is named twice.
        """
        if len(set(columns)) < len(columns) or not set(columns) <= set(self.columns):
            raise InvalidParameter(
                f"`columns` must be among {', '.join(self.columns)}, each named once. Got {columns}."
            )
        each = [self.weights[self.columns.index(name)] for name in columns]
        return mixed(each, len(self.weights[0]))


def mixed(each: Sequence[Doubles], components: int) -> Doubles:
    """The mean over components of the products of their lines: an axis for each factor."""
    found = np.ones((1, components))
    for own in each[:-1]:
        found = (found[:, None, :] * own.T[None, :, :]).reshape(-1, components)
    if not each:
        return np.array(1.0)
    return np.asarray((found @ each[-1] / components).reshape([own.shape[1] for own in each]))


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
    weights, misfit, freedom, steps = fitted(sizes, residual_targets(released))
    return MixtureOfProducts(released, weights, misfit, freedom, steps)
