"""One budget for several queries, solved before anything is spent.

**By weights**: ε_i = ε·w_i/Σw, rounded down to whole ticks, so that the shares never add up to more than ε.

**For a wanted error**: the least ε_i at which 95 % of the answers stay within it. Queries do not share noise,
so the least total is the sum of the least parts.

**For the least total error**: noise of scale c_i/ε_i has a variance proportional to (c_i/ε_i)².
Σ w_i (c_i/ε_i)² under Σ ε_i = ε is least where its derivatives are equal, 2 w_i c_i²/ε_i³ = λ, so
ε_i ∝ (w_i c_i²)^⅓; the sum is convex, so there is no other minimum.

**For equal errors**: w_i c_i/ε_i are equal
where ε_i ∝ w_i c_i, and no other division has a smaller maximum, for it would give some ε_i less.

**A budget in ρ** is divided the same way. Errors are c_i/√ρ_i there, of Gaussian noise exactly, so that the
least total error has ρ_i ∝ (w_i c_i²)^½, and equal errors ρ_i ∝ (w_i c_i)².
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.columns.cells import cells_of
from leakcap.release.columns.joins import joined_policy
from leakcap.release.measurements.measurement import as_printed
from leakcap.release.planning.plan import Plan, plan_query
from leakcap.release.planning.queries import Query, query_from

__all__ = ["OBJECTIVES", "Objective", "QueryTemplate", "budget_shares", "divided"]

Objective: TypeAlias = Literal["shares by weight", "least total error", "equal errors"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)

# Shares of ε are whole ticks of the ledger, 10⁻¹², those of δ 10⁻³⁰; any fifteen digits are a double's own.
_TICKS, _SLACK, _DIGITS = 12, 30, 15
# The largest ε that is tried for a wanted error where no budget says so.
_MOST = 1_000
_FINE = 20
_SIGNS = {"epsilon": "ε", "rho": "ρ"}
# Which powers of the weight, and of c, a share is in proportion to: see above.
_POWERS = {
    ("least total error", "epsilon"): (1 / 3, 2 / 3),
    ("equal errors", "epsilon"): (1.0, 1.0),
    ("least total error", "rho"): (0.5, 1.0),
    ("equal errors", "rho"): (2.0, 2.0),
}
# The 95 % error of one Laplace variable of scale 1.
_LN_20 = math.log(20.0)


@dataclass(frozen=True)
class QueryTemplate:
    """A query without its ε, and its claim on a budget: a `weight`, or the `error` it must stay within.

    >>> QueryTemplate({"name": "n", "statistic": "count"}, weight=2.0).at(0.5).epsilon
    0.5
    """

    content: Mapping[str, Any]
    weight: float | None = None
    error: float | None = None

    def __post_init__(self) -> None:
        name = self.content.get("name")
        for field, value in (("weight", self.weight), ("error", self.error)):
            if value is not None and not _positive(value):
                raise InvalidQuery(f"`{field}` of query `{name}` must be a positive finite number.")
        if self.weight is not None and self.error is not None:
            raise InvalidQuery(f"Query `{name}` may have a `weight` or an `error`, not both.")

    def at(self, epsilon: float | None, delta: float | None = None, *, rho: float | None = None) -> Query:
        """The query with this ε, or this ρ. Raises `InvalidQuery`."""
        given = {"epsilon": epsilon, "rho": rho, "delta": delta}
        return query_from({**self.content, **{name: one for name, one in given.items() if one is not None}})

    def kept(
        self,
        policy: Policy,
        epsilon: float | None = None,
        delta: float | None = None,
        *,
        rho: float | None = None,
    ) -> Query:
        """The query at the least ε that keeps its error, which is its price. Raises `InvalidQuery`."""
        if epsilon is not None or rho is not None:
            raise InvalidQuery(
                f"`error` of query `{self.content.get('name')}` must be left out beside `epsilon` or `rho`: "
                "one of them is the price."
            )
        return divided([self], policy, delta=delta)[0]


def divided(
    templates: Sequence[QueryTemplate],
    policy: Policy,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    objective: Objective = "shares by weight",
    rho: float | None = None,
) -> list[Query]:
    """The templates as queries whose ε add up to no more than `epsilon`, or whose ρ to no more than `rho`.
    Touches neither data nor ledger.

    What has an `error` gets the least price that keeps it, the others share what is left. The budget may be
    left out where every template has an `error`. `delta` goes in equal parts to the queries with
    private keys.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> count, total = {"name": "n", "statistic": "count"}, {"name": "s", "statistic": "sum", "column": "age"}
    >>> templates = [QueryTemplate(count), QueryTemplate(total, weight=2.0)]
    >>> [query.epsilon for query in divided(templates, policy, epsilon=0.9)]
    [0.3, 0.6]
    >>> divided([QueryTemplate(count, error=30.0)], policy)[0].epsilon < 0.1
    True
    """
    if not templates:
        raise InvalidQuery("A batch must hold at least one query.")
    if objective not in OBJECTIVES:
        raise InvalidQuery(
            f"A budget is divided for one of {', '.join(OBJECTIVES)}. Got {objective!r}."[:200]
        )
    if epsilon is not None and rho is not None:
        raise InvalidQuery("`rho` of the budget must be left out beside `epsilon`: give one of them.")
    money, budget = ("epsilon", epsilon) if rho is None else ("rho", rho)
    if budget is not None:
        _check_budget(budget, money)
    slacks = _slacks(templates, policy, delta)
    found = {
        place: _least(_Search(template, policy, slacks[place], money), budget)
        for place, template in enumerate(templates)
        if template.error is not None
    }
    rest = [place for place in range(len(templates)) if place not in found]
    found |= _shared(rest, templates, policy, slacks, _left(budget, found, rest, money), objective, money)
    return [_at(template, found[place], slacks[place], money) for place, template in enumerate(templates)]


def _at(template: QueryTemplate, price: float, delta: float | None, money: str) -> Query:
    """The query at this ε or ρ."""
    return template.at(price, delta) if money == "epsilon" else template.at(None, delta, rho=price)


def _left(budget: float | None, found: Mapping[int, float], rest: Sequence[int], money: str) -> Fraction:
    """What the wanted errors leave of the budget. Raises `InvalidQuery` where that is nothing."""
    spent = sum(map(as_printed, found.values()), Fraction(0))
    if budget is None:
        if rest:
            raise InvalidQuery("`epsilon`, or `rho`, of the budget is missing: weights share it out.")
        return Fraction(0)
    left = as_printed(budget) - spent
    if left < 0 or (rest and left == 0):
        raise InvalidQuery(
            f"The wanted errors need {_SIGNS[money]} = {float(spent)!r} together, of a budget of {budget!r}. "
            f"Allow larger errors, or more {_SIGNS[money]}."
        )
    return left


def _shared(
    places: Sequence[int],
    templates: Sequence[QueryTemplate],
    policy: Policy,
    slacks: Sequence[float | None],
    left: Fraction,
    objective: Objective,
    money: str,
) -> dict[int, float]:
    """The ε, or ρ, of the templates that have no wanted error."""
    if not places:
        return {}
    weights = [
        1.0 if templates[place].weight is None else float(templates[place].weight or 0) for place in places
    ]
    if objective != "shares by weight":
        each = float(left / len(places))
        plans = [plan_query(_at(templates[place], each, slacks[place], money), policy) for place in places]
        constants = [_constant(plan, each if money == "epsilon" else math.sqrt(each)) for plan in plans]
        weights = _claims(objective, weights, constants, money)
    return dict(zip(places, budget_shares(left, weights, name=money), strict=True))


def _claims(
    objective: Objective, weights: Sequence[float], constants: Sequence[float], money: str
) -> list[float]:
    """How much more than the least of them each gets, to nine digits: the last ones are others on another
    processor, where the same batch shall ask the same.

    In logarithms, because squares of large bounds are no doubles.
    """
    of_weight, of_constant = _POWERS[objective, money]
    logs = [
        of_weight * math.log(weight) + of_constant * math.log(constant)
        for weight, constant in zip(weights, constants, strict=True)
    ]
    least = min(logs)
    if max(logs) - least > 700.0:
        raise InvalidQuery(
            "The weights and the bounds of the queries are too far apart to share a budget by."
        )
    return [float(f"{math.exp(log - least):.9g}") for log in logs]


def _constant(plan: Plan, divisor: float) -> float:
    """c where the 95 % error is c/ε, or c/√ρ: exact for one noisy sum or count, else from what a preview
    says."""
    expected = plan.statistic.expected(plan).error
    if len(plan.parts) == 1 and plan.parts[0].mechanism == "discrete Laplace":
        expected = plan.parts[0].noise_scale * _LN_20
    return max(expected * divisor, 5e-324)


def budget_shares(
    budget: Fraction, weights: Sequence[float], *, ticks: int = _TICKS, name: str = "epsilon"
) -> list[float]:
    """A budget by weights, each share rounded down to 10^−ticks, or to fifteen digits where it is large.

    >>> budget_shares(Fraction(1), [1.0, 1.0, 1.0]), budget_shares(Fraction(9, 10), [0.1, 0.2])
    ([0.333333333333, 0.333333333333, 0.333333333333], [0.3, 0.6])
    """
    if not all(map(_positive, weights)):
        raise InvalidQuery("`weights` must be positive finite numbers.")
    if len(weights) == 1:
        return [_floor(budget, ticks, name)]
    exact = [as_printed(weight) for weight in weights]
    return [_floor(budget * weight / sum(exact), ticks, name) for weight in exact]


def _floor(share: Fraction, ticks: int, name: str = "epsilon") -> float:
    """The share in decimals that a double says as they are: what is charged is what is written."""
    number = math.floor(share * 10**ticks)
    if number <= 0:
        raise InvalidQuery(f"`{name}` is too small to be shared out. Ask for more, or for fewer queries.")
    number -= number % 10 ** max(0, len(str(number)) - _DIGITS)
    return float(Fraction(number, 10**ticks))


def _slacks(templates: Sequence[QueryTemplate], policy: Policy, delta: float | None) -> list[float | None]:
    """δ in equal parts for what has private keys; where nothing has, all get it, and are refused for it."""
    if delta is None:
        return [None] * len(templates)
    if not (_positive(delta) and delta < 0.5):
        raise InvalidQuery("`delta` of the budget must be a number above 0 and below 0.5.")
    open_ = [_has_private_keys(template, policy) for template in templates]
    takers = open_ if any(open_) else [True] * len(templates)
    each = _floor(as_printed(delta) / sum(takers), _SLACK, "delta")
    return [each if taker else None for taker in takers]


def _has_private_keys(template: QueryTemplate, policy: Policy) -> bool:
    query = template.at(1.0)
    return cells_of(query.kind.with_defaults(query), joined_policy(policy, query.join)).open


@dataclass(frozen=True)
class _Search:
    """A query whose price is looked for."""

    template: QueryTemplate
    policy: Policy
    delta: float | None
    money: str

    def within(self, ticks: int, *, checked: bool = False) -> bool:
        """Whether so many ticks keep the error. Too little to draw noise for does not."""
        try:
            plan = plan_query(_at(self.template, _as_float(ticks), self.delta, self.money), self.policy)
        except InvalidQuery:
            if checked:
                raise
            return False
        assert self.template.error is not None
        return plan.statistic.expected(plan).error <= self.template.error


def _least(search: _Search, most: float | None) -> float:
    """The least price at which the answer stays within the wanted error, to six digits, rounded up."""
    limit = Fraction(_MOST) if most is None else as_printed(most)
    high = math.floor(limit * 10**_TICKS)
    if not search.within(high, checked=True):
        name, error, sign = search.template.content.get("name"), search.template.error, _SIGNS[search.money]
        raise InvalidQuery(
            f"Query `{name}` cannot stay within {error!r} with 95 % at {sign} = {float(limit)!r}. "
            f"Allow a larger error, or more {sign}."
        )
    while high > 1 and search.within(high // 2):
        high //= 2
    low = high // 2
    while high - low > max(1, high >> _FINE):
        middle = (low + high) // 2
        low, high = (low, middle) if search.within(middle) else (middle, high)
    return _as_float(_short(search, high, limit))


def _short(search: _Search, ticks: int, limit: Fraction) -> int:
    """Rounded up to six digits, where that keeps the error and the limit."""
    unit = 10 ** max(0, len(str(ticks)) - 6)
    rounded = -(-ticks // unit) * unit
    fits = Fraction(rounded, 10**_TICKS) <= limit and search.within(rounded)
    return rounded if fits else ticks


def _as_float(ticks: int) -> float:
    return float(Fraction(ticks, 10**_TICKS))


def _check_budget(budget: float, name: str) -> None:
    if not _positive(budget):
        raise InvalidQuery(f"`{name}` must be a positive finite number. Got {budget!r}."[:100])


def _positive(number: object) -> bool:
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return 0.0 < number <= 1e300
