"""How the budget is divided among the levels of a tree, in closed form.

Each node of level l gets discrete Gaussian noise of its own, of variance parameter σ_l². One row stands in
one node of each level, so that its presence costs ρ = Σ_l 1/(2σ_l²), and m rows of a person m² times that.
The squared errors, each times the weight of its level, add up to Σ_l w_l n_l σ_l²; by Cauchy and Schwarz
that is least where 1/σ_l² is in proportion to √(w_l n_l). See `docs/theory/hierarchies.md`.

All numbers are exact rationals, so that every machine makes the same plan.

Source: Cauchy & Schwarz; Canonne, Kamath & Steinke 2020 for the price; Hay, Rastogi, Miklau & Suciu 2010.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from leakcap.errors import require
from leakcap.sampling.rational import printed
from leakcap.tables.hierarchies.tree import Hierarchy
from leakcap.tables.plan import LEAST_VARIANCE, MOST_VARIANCE, variance_up

__all__ = ["HierarchyPlan"]

_FIXED = 256
"""Bits behind the point of w·n."""


@dataclass(frozen=True)
class HierarchyPlan:
    """The noise of each level: `variances`, None for a level without noise, all of which is known exactly.

    A unit has at most `rows` rows. With `replace` neighbours differ in the rows of one unit, else in its
    presence.

    >>> land = Hierarchy.of(["region", "town"], [(i // 4, i) for i in range(16)])
    >>> plan = HierarchyPlan.of(land, 0.02, {"total": 16, "region": 4})
    >>> [float(variance) for variance in plan.variances], float(plan.rho)
    ([75.0, 75.0, 75.0], 0.02)
    """

    hierarchy: Hierarchy
    variances: tuple[Fraction | None, ...]
    rows: int = 1
    replace: bool = False

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        rho: float | Fraction,
        weights: Mapping[str, float | Fraction] | None = None,
        *,
        exact: Collection[str] = (),
        rows: int = 1,
        replace: bool = False,
    ) -> Self:
        """The division with the least weighted squared error of the noise; levels of `exact` get none.

        `weights` says by level what a squared error in one of its nodes counts for, 1 where it is left out.
        Raises `InvalidParameter`.
        """
        owner = "HierarchyPlan"
        number = isinstance(rho, int | float | Fraction) and not isinstance(rho, bool)
        require(number and 0 < rho < math.inf, "rho", owner, "be positive and finite", rho)
        whole = isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1
        require(whole, "rows", owner, "be a whole number from 1 on", rows)
        given = dict(weights or {})
        for name, weight in given.items():
            require(name in hierarchy.levels, "weights", owner, "name levels of the tree", name)
            good = isinstance(weight, int | float | Fraction) and not isinstance(weight, bool)
            require(good and 0 < weight < math.inf, "weights", owner, "be positive and finite", weight)
        noisy = [name not in exact for name in hierarchy.levels]
        require(any(noisy), "exact", owner, "leave a level that has noise", list(exact))
        roots = [
            math.isqrt(math.floor(printed(given.get(name, 1)) * size * (1 << _FIXED)))
            for name, size in zip(hierarchy.levels, hierarchy.sizes, strict=True)
        ]
        total = sum(root for root, heard in zip(roots, noisy, strict=True) if heard)
        small = min(root for root, heard in zip(roots, noisy, strict=True) if heard) > 0
        require(small, "weights", owner, "not be that small", given)
        # 1/σ² = 2ρ/m²·root/Σroot
        wanted = [
            Fraction(total, root) * rows**2 / (2 * printed(rho)) if heard else None
            for root, heard in zip(roots, noisy, strict=True)
        ]
        grown = cls(hierarchy, tuple(wanted), rows, replace).rho / printed(rho)
        variances = tuple(
            None if one is None else variance_up(max(one * grown, LEAST_VARIANCE)) for one in wanted
        )
        most = max(one for one in variances if one is not None)
        rule = "be large enough that noise can be drawn for it"
        require(most <= MOST_VARIANCE, "rho", owner, rule, float(rho), "Ask for less uneven weights.")
        return cls(hierarchy, variances, rows, replace)

    @property
    def rho(self) -> Fraction:
        """The ρ of zero-concentrated privacy that this noise costs, exactly."""
        return self.rho_between(self.replace)

    def rho_between(self, replace: bool) -> Fraction:
        """The same between presence and absence, or between contents.

        Rows of unlike contents are 2/σ² apart, squared, at the levels that have two nodes or more; one that
        counts and one that does not 1/σ² at each. m rows that are alike are farthest: a norm is convex.
        """
        pairs = list(zip(self.variances, self.hierarchy.sizes, strict=True))
        alone = sum((1 / one for one, _ in pairs if one is not None), Fraction(0))
        apart = sum((2 / one for one, size in pairs if one is not None and size > 1), Fraction(0))
        return self.rows**2 * (max(alone, apart) if replace else alone) / 2
