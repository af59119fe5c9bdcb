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
from fractions import Fraction
from typing import get_args

from leakcap.errors import InvalidQuery
from leakcap.policy.document import Policy
from leakcap.release.asking.currency import EPSILON, RHO, Currency, Objective
from leakcap.release.asking.least_price import PriceSearch
from leakcap.release.asking.templates import QueryTemplate, is_price
from leakcap.release.plan import Plan
from leakcap.release.planning.plan import cells_of, plan_query, with_columns
from leakcap.release.planning.queries import Query
from leakcap.release.statistics import statistic_of
from leakcap.sampling.rational import printed

__all__ = ["OBJECTIVES", "budget_shares", "divided", "within_error"]

OBJECTIVES: tuple[str, ...] = get_args(Objective)

# Shares of ε are whole ticks of the ledger, 10⁻¹², those of δ 10⁻³⁰; any fifteen digits are a double's own.
_TICKS, _SLACK, _DIGITS = 12, 30, 15
# The 95 % error of one Laplace variable of scale 1.
_LN_20 = math.log(20.0)


def divided(
    templates: Sequence[QueryTemplate],
    policy: Policy,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    objective: Objective = "shares by weight",
    rho: float | None = None,
    assumed: int | None = None,
) -> list[Query]:
    """The templates as queries whose ε add up to no more than `epsilon`, or whose ρ to no more than `rho`.
    Touches neither data nor ledger.

    What has an `error` gets the least price that keeps it, the others share what is left. The budget may be
    left out where every template has an `error`. `delta` goes in equal parts to the queries with private
    keys. `assumed` is how many rows a wanted error is taken for, where it depends on that.

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
    currency, budget = (EPSILON, epsilon) if rho is None else (RHO, rho)
    if budget is None and any(_has_no_epsilon(template, policy) for template in templates):
        currency = RHO
    if budget is not None:
        _check_budget(budget, currency.name)
    slacks = _slacks(templates, policy, delta)
    found = {
        place: PriceSearch(template, policy, slacks[place], currency, assumed).least(budget)
        for place, template in enumerate(templates)
        if template.error is not None
    }
    rest = [place for place in range(len(templates)) if place not in found]
    found |= _shared(
        rest, templates, policy, slacks, _left(budget, found, rest, currency), objective, currency
    )
    return [
        template.at(delta=slacks[place], **currency.priced(found[place]))
        for place, template in enumerate(templates)
    ]


def _has_no_epsilon(template: QueryTemplate, policy: Policy) -> bool:
    """Whether it asks for Gaussian noise where no δ is named at which an ε could be said."""
    room = policy.caps.has_room_for_gaussian and not policy.caps.delta
    return room and template.content.get("noise") == "gaussian"


def within_error(
    template: QueryTemplate,
    policy: Policy,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
) -> Query:
    """The query at the least ε that keeps its error, which is its price. Raises `InvalidQuery`."""
    if epsilon is not None or rho is not None:
        raise InvalidQuery(
            f"`error` of query `{template.content.get('name')}` must be left out beside `epsilon` or `rho`: "
            "one of them is the price."
        )
    return divided([template], policy, delta=delta)[0]


def _left(
    budget: float | None, found: Mapping[int, float], rest: Sequence[int], currency: Currency
) -> Fraction:
    """What the wanted errors leave of the budget. Raises `InvalidQuery` where that is nothing."""
    spent = sum(map(printed, found.values()), Fraction(0))
    if budget is None:
        if rest:
            raise InvalidQuery("`epsilon`, or `rho`, of the budget is missing: weights share it out.")
        return Fraction(0)
    left = printed(budget) - spent
    if left < 0 or (rest and left == 0):
        raise InvalidQuery(
            f"The wanted errors need {currency.sign} = {float(spent)!r} together, of a budget of {budget!r}. "
            f"Allow larger errors, or more {currency.sign}."
        )
    return left


def _shared(
    places: Sequence[int],
    templates: Sequence[QueryTemplate],
    policy: Policy,
    slacks: Sequence[float | None],
    left: Fraction,
    objective: Objective,
    currency: Currency,
) -> dict[int, float]:
    """The ε, or ρ, of the templates that have no wanted error."""
    if not places:
        return {}
    weights = [
        1.0 if templates[place].weight is None else float(templates[place].weight or 0) for place in places
    ]
    if objective != "shares by weight":
        each = float(left / len(places))
        plans = [
            plan_query(templates[place].at(delta=slacks[place], **currency.priced(each)), policy)
            for place in places
        ]
        constants = [_constant(plan, currency.of_error(each)) for plan in plans]
        weights = _claims(weights, constants, currency.powers[objective])
    return dict(zip(places, budget_shares(left, weights, name=currency.name), strict=True))


def _claims(weights: Sequence[float], constants: Sequence[float], powers: tuple[float, float]) -> list[float]:
    """How much more than the least of them each gets, to nine digits: the last ones are others on another
    processor, where the same batch shall ask the same.

    In logarithms, because squares of large bounds are no doubles.
    """
    of_weight, of_constant = powers
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
    expected = statistic_of(plan.query).expected(plan).error
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
    if not all(map(is_price, weights)):
        raise InvalidQuery("`weights` must be positive finite numbers.")
    if len(weights) == 1:
        return [_floor(budget, ticks, name)]
    exact = [printed(weight) for weight in weights]
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
    if not (is_price(delta) and delta < 0.5):
        raise InvalidQuery("`delta` of the budget must be a number above 0 and below 0.5.")
    open_ = [_has_private_keys(template, policy) for template in templates]
    takers = open_ if any(open_) else [True] * len(templates)
    each = _floor(printed(delta) / sum(takers), _SLACK, "delta")
    return [each if taker else None for taker in takers]


def _has_private_keys(template: QueryTemplate, policy: Policy) -> bool:
    query, known = with_columns(template.at(1.0), policy)
    return cells_of(statistic_of(query).with_defaults(query), known).open


def _check_budget(budget: float, name: str) -> None:
    if not is_price(budget):
        raise InvalidQuery(f"`{name}` must be a positive finite number. Got {budget!r}."[:100])
