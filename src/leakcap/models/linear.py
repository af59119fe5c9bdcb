"""Linear regression from noisy second moments: one aggregate over any table, then nothing but arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakcap.errors import InvalidParameter, require
from leakcap.ledger import Request
from leakcap.models.budget import FitAccount, FitAnswer, asked_of, check_epsilon
from leakcap.models.examples import Examples
from leakcap.models.integers import exact_products
from leakcap.models.least_squares import (
    Intervals,
    coefficients,
    moments_frame,
    noise_level,
    possible_coefficients,
)
from leakcap.models.moment_query import MomentQuery
from leakcap.models.moments import Moments
from leakcap.models.private_model import PrivateModel
from leakcap.models.reading import doubles_of
from leakcap.models.scores import r_squared
from leakcap.models.values import Floats
from leakcap.release import PrivateTable

__all__ = ["LinearRegression", "box_of"]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(PrivateModel):
    """Least squares by noisy sufficient statistics; (ε, 0) by discrete Laplace, (ε, δ) by Gaussian noise.

    `bounds` are the public bounds of the features, one pair for all or one for each, `target_bounds` those of
    the target; values outside are clamped. With a table, both come from its policy. After `fit`: `coef_`,
    `intercept_`, `ridge_` (λ, chosen as in AdaSSP), `coef_intervals_` (95 %, of the population's
    coefficients), `moments_` (the release itself), `spend_`, `entry_` (of the ledger).
    Source: Vu & Slavkovic 2009; Foulds et al. 2016; Wang 2018, algorithm 2.

    >>> from leakcap.ledger import Caps, Ledger
    >>> from leakcap.release import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 9.0},
    ...     "columns": {"x": {"bounds": [0.0, 1.0]}}})
    >>> x = np.linspace(0.0, 1.0, 40_000)[:, None]
    >>> with Ledger.open("sqlite://", dataset="d", policy=policy.fingerprint(),
    ...         caps=Caps(epsilon=9.0)) as ledger:
    ...     model = LinearRegression(policy=policy, ledger=ledger, epsilon=2.0, bounds=(0.0, 1.0),
    ...         target_bounds=(0.0, 4.0)).fit(x, 1.0 + 2.0 * x[:, 0])
    >>> bool(abs(model.coef_[0] - 2.0) < 0.2), model.spend_.epsilon
    (True, 2.0)
    """

    epsilon: float = 1.0
    delta: float = 0.0
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None = None
    target_bounds: tuple[float, float] | None = None
    fit_intercept: bool = True

    coef_: Floats = field(init=False)
    intercept_: float = field(init=False)
    ridge_: float = field(init=False)
    moments_: Floats = field(init=False)
    noise_scale_: float = field(init=False)
    coef_intervals_: Floats = field(init=False)
    intercept_interval_: tuple[float, float] = field(init=False)

    def fit_table(
        self,
        table: PrivateTable,
        *,
        features: Sequence[str],
        target: str,
        where: str | None = None,
        fresh: bool = False,
        request: Request | None = None,
    ) -> Self:
        """Fit to a table behind a policy: one aggregate in its engine, whatever its size; paid by its ledger.

        The table's policy and ledger count, not the model's. A unit may have several rows, bounded as the
        policy says. Rows with a missing value are left out, unless the policy has a `fill` for it. The same
        fit about the same state of the table is repeated from the ledger for free, unless `fresh`; with a
        `request` it is paid for once, however often it is asked.
        """
        self._check()
        query = MomentQuery(table.policy, [*features, target], where)
        plan = Moments.plan(query.bounds, table.policy, epsilon=self.epsilon, delta=self.delta)
        account = replace(FitAccount.of_table(table, self.analyst, self.slot), request=request)
        engine = table.engine
        # Written out before the commit, so that nothing after it can fail because of the query.
        statement = query.statement(plan, engine, table.ledger.seed)
        query.check(engine)
        return self._paid(
            account, plan, query.text, lambda: query.run(statement, engine), data=table.state(), fresh=fresh
        )

    def _check(self) -> None:
        check_epsilon(self.epsilon, self.delta, "LinearRegression")

    def _read(self, X: ArrayLike, y: ArrayLike | None, version: str | None) -> Examples:
        examples = super()._read(X, y, version)
        self._box(examples.features)
        return examples

    def _targets(self, y: NDArray[Any]) -> Floats:
        return doubles_of(y)

    def _width(self) -> int | None:
        declared, pairs = super()._width(), self.bounds
        return len(pairs) if declared is None and pairs is not None and np.ndim(pairs) == 2 else declared

    def _box(self, features: int) -> list[tuple[float, float]]:
        """The public bounds of the features and of the target."""
        pairs = box_of(self.bounds, features, "LinearRegression")
        if self.target_bounds is None:
            raise InvalidParameter("`target_bounds` of `LinearRegression` must be given: they are public.")
        return [*pairs, self.target_bounds]

    def _run(self, account: FitAccount, examples: Examples, *, fresh: bool) -> Self:
        bounds = self._box(examples.features)
        plan = Moments.plan(bounds, account.policy, epsilon=self.epsilon, delta=self.delta)
        text = f"second moments of {examples.features} features and a target within {bounds}"

        def totals() -> list[int]:
            rows, targets, _ = examples.read()
            return _totals(plan, np.column_stack([rows, targets]))

        return self._paid(account, plan, text, totals, data=examples.data, fresh=fresh)

    def _paid(
        self,
        account: FitAccount,
        plan: Moments,
        text: str,
        totals: Callable[[], list[int]],
        *,
        data: str,
        fresh: bool,
    ) -> Self:
        asked = asked_of(self.epsilon, self.delta)
        charge = account.charge("linear regression", text, plan.spend, _details(plan), asked=asked)
        found = account.answered(
            charge, lambda entry: plan.noisy(totals(), self.source), data=data, fresh=fresh
        )
        return self._solve(plan, found)

    def _solve(self, plan: Moments, found: FitAnswer) -> Self:
        moments = found.values
        frame = moments_frame(plan, fit_intercept=self.fit_intercept)
        theta, ridge = coefficients(moments, frame, noise_level(plan, frame))
        named = frame.named(theta)
        self.intercept_, self.coef_ = float(named[0]), named[1:]
        self.ridge_, self.moments_, self.noise_scale_ = ridge, moments, plan.relative_scale
        self._possible = possible_coefficients(moments, plan, frame)
        self._note(plan.spend, found)
        intervals = self.population_intervals()
        self.coef_intervals_ = intervals[1:]
        self.intercept_interval_ = (float(intervals[0, 0]), float(intervals[0, 1]))
        self.n_features_in_ = plan.factors - 2
        return self

    def population_intervals(self, *, level: float = 0.95, equal_variance: bool = False) -> Floats:
        """Intervals of the population's (intercept, coef₁, …): noise and sampling error.

        They speak of the best linear prediction of the clamped target from the clamped features, and take
        people to be independent; rows of one person, up to `max_rows`, may depend on each other in any way.
        With `equal_variance` the error's variance is taken to be the same everywhere, which makes them
        narrower, and wrong where it is not.
        """
        kind = "population" if equal_variance else "any_variance"
        return self._intervals(kind, level)

    def table_intervals(self, *, level: float = 0.95) -> Floats:
        """Intervals of what least squares would give on this table's clamped rows: noise alone."""
        return self._intervals("table", level)

    def _intervals(self, which: str, level: float) -> Floats:
        require(0 < level < 1, "level", "LinearRegression", "lie between 0 and 1", level)
        draws: Intervals = self._possible
        return draws.of(getattr(draws, which), level)

    def predict(self, X: ArrayLike) -> Floats:
        """X·`coef_` + `intercept_`, one number a row, for features in the columns' own units."""
        return np.asarray(self._inputs(X) @ self.coef_ + self.intercept_)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """R² on data that is public or your own: it is not private."""
        return r_squared(np.asarray(y, dtype=np.float64), self.predict(X))


def box_of(
    bounds: tuple[float, float] | Sequence[tuple[float, float]] | None, features: int, owner: str
) -> list[tuple[float, float]]:
    """One pair of bounds for each feature.

    >>> box_of((0.0, 1.0), 2, "LinearRegression")
    [(0.0, 1.0), (0.0, 1.0)]
    """
    if bounds is None:
        raise InvalidParameter(f"`bounds` of `{owner}` must be given: they are public facts.")
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (features, 1))
    require(pairs.shape == (features, 2), "bounds", owner, f"be one pair, or {features} pairs", bounds)
    return [(float(low), float(high)) for low, high in pairs]


def _totals(plan: Moments, data: Floats) -> list[int]:
    """The exact totals of arrays."""
    complete = data[np.isfinite(data).all(axis=1)]
    columns = [axis.integers(complete[:, n]) for n, axis in enumerate(plan.axes)]
    values = np.column_stack([np.ones(complete.shape[0]), *columns])
    products = exact_products(values, values, largest=max(plan.largest) ** 2)
    return [int(products[i, j]) for i, j in plan.pairs]


def _details(plan: Moments) -> dict[str, str | float | int]:
    return {"mechanism": plan.mechanism, "factors": plan.factors, "relative_scale": plan.relative_scale}
