"""Laplace or Gaussian noise: whichever errs less for as much of the policy's caps.

**As much.** Of a cap that adds up an answer takes its part. Of a cap on all answers together what counts is
how many such answers would fit: some order α has room for (ε − surcharge)/ρ(α) of them, and ε added up for
ε/ε₀ of them. The cap of which an answer takes most is the binding one. What a Gaussian answer takes of any of
them is in proportion to its ρ, so that one ρ takes just what the Laplace answer at the ε that is offered
takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from leakcap.errors import InvalidQuery
from leakcap.ledger.curve import ORDERS
from leakcap.ledger.rules import rules_of
from leakcap.ledger.ticks import AMOUNTS, Ticks
from leakcap.numeric import float_up
from leakcap.policy.document import Policy
from leakcap.release.measurements.measurement import Offer
from leakcap.release.plan import Plan
from leakcap.release.planning.price import price_of, rho_of_plan
from leakcap.release.query import QueryFields
from leakcap.release.statistics import statistic_of
from leakcap.statement.wording import error_text

__all__ = ["Way", "better_plan", "plan_as_priced", "share_of_caps", "ways_of"]

_FINE = 10**9
_TICKS = 10**12

Planner: TypeAlias = Callable[[QueryFields, Policy, Offer | None], Plan]
"""Plans a query whose noise is known, for what it offers, or for this offer in its place: `plan_at`."""


def share_of_caps(plan: Plan) -> tuple[Fraction, str]:
    """Which part of the policy's caps an answer takes: of the cap of which it takes most, and which that is.

    A cap on all answers together counts how many such answers would fit, had no other been given.
    """
    caps = rules_of(plan.policy.caps.ledger_caps()).whole
    asked = price_of(plan).spend.ticks(plan.policy.caps.alpha)
    shares = [
        (Fraction(ask, cap), name)
        for name, ask, cap in zip(AMOUNTS, asked.numbers, caps.numbers, strict=False)
        if name != "epsilon" and cap and ask
    ]
    if caps.epsilon is not None:
        shares.append((_of_epsilon(asked, caps), "epsilon"))
    return max(shares)


def _of_epsilon(asked: Ticks, caps: Ticks) -> Fraction:
    assert caps.epsilon is not None
    ways = [] if asked.epsilon is None else [Fraction(asked.epsilon, caps.epsilon)]
    for ask, more in zip(asked.curve, caps.curve or (None,) * len(ORDERS), strict=False):
        if ask is not None and more is not None and more < caps.epsilon:
            ways.append(Fraction(ask, caps.epsilon - more))
    return min(ways, default=Fraction(_FINE))


@dataclass(frozen=True)
class Way:
    """What an answer with this law of noise errs by and costs: ε and δ of its own, and a part of the caps.

    `share` is of the `cap` of which it takes most; of a cap on all answers, one in how many would fit.
    """

    noise: str
    error: float
    epsilon: float
    delta: float
    share: float
    cap: str


def ways_of(query: QueryFields, policy: Policy, plan_at: Planner) -> tuple[Way, ...]:
    """Both laws of noise at the price that a query names; nothing where only one will do."""
    if not _open_to_both(query, policy):
        return ()
    plans = [
        (noise, _planned(replace(query, noise=noise), policy, plan_at)) for noise in ("laplace", "gaussian")
    ]
    known = [(noise, plan) for noise, plan in plans if plan is not None and not plan.cells.open]
    if len(known) < len(plans):
        return ()
    found = []
    for noise, plan in known:
        (share, cap), price = share_of_caps(plan), price_of(plan)
        error = statistic_of(plan.query).expected(plan).error
        found.append(Way(noise, error, price.epsilon, price.delta, float_up(share), cap))
    return tuple(found)


def _planned(query: QueryFields, policy: Policy, plan_at: Planner) -> Plan | None:
    """The plan; None where this law does not go with the query, or cannot be drawn at its price."""
    try:
        return plan_as_priced(query, policy, plan_at)
    except InvalidQuery:
        return None


def _open_to_both(query: QueryFields, policy: Policy) -> bool:
    """Whether Gaussian noise has a place beside Laplace noise, private keys aside.

    An ε without a δ is a price of Laplace noise alone.
    """
    room = policy.caps.every_account_takes_gaussian and (policy.caps.delta or query.epsilon is None)
    return statistic_of(query).has_noise and bool(room) and query.slot is None


def plan_as_priced(query: QueryFields, policy: Policy, plan_at: Planner) -> Plan:
    """The plan of a query whose noise is known; Laplace noise priced in ρ has the largest ε that keeps it.

    It begins at the ε all of whose mechanisms keep ρ. Several noisy numbers for parts of ε each cost less
    than that together, as does one whose neighbours lie many steps apart. ε·tanh(ε/2) is the most that ρ can
    be for an ε, and ρ/ε² falls as ε rises, so that ε times the root of what is left comes near from below; a
    plan that costs more is not taken all the same. What a slot admits depends on ε. Raises `InvalidQuery`.
    """
    plan, asked = plan_at(query, policy, None), query.rho
    if asked is None or query.noise == "gaussian" or query.slot is not None:
        return plan
    for _ in range(6):
        epsilon, taken = plan.offer.epsilon, rho_of_plan(plan)
        assert epsilon is not None
        if not 0.0 < taken < 0.998 * asked:
            break
        more = Fraction(math.floor(float(epsilon) * math.sqrt(asked / taken) * _TICKS), _TICKS)
        further = plan_at(query, policy, Offer(policy, epsilon=more))
        if rho_of_plan(further) > asked:
            break
        plan = further
    return plan


def better_plan(query: QueryFields, policy: Policy, plan_at: Planner) -> Plan:
    """The plan of a query whose noise is left open, and why it is that. Raises `InvalidQuery`."""
    if not _open_to_both(query, policy):
        return _named(
            plan_as_priced(replace(query, noise="laplace"), policy, plan_at),
            query,
            "laplace, the only one here",
        )
    laplace = plan_as_priced(replace(query, noise="laplace"), policy, plan_at)
    if laplace.cells.open:
        return _named(laplace, query, "laplace, the only one for private keys")
    share, cap = share_of_caps(laplace)
    gaussian = _gaussian(replace(query, noise="gaussian"), policy, share, plan_at)
    errors = [statistic_of(plan.query).expected(plan).error for plan in (laplace, gaussian)]
    plan, name = (gaussian, "gaussian") if errors[1] < errors[0] else (laplace, "laplace")
    own, other = map(error_text, (min(errors), max(errors)))
    why = f"{name}: ± {own} where the other has ± {other}, for as much of the `{cap}` cap"
    return _named(plan, query, why)


def _gaussian(query: QueryFields, policy: Policy, share: Fraction, plan_at: Planner) -> Plan:
    """The plan at the ρ that takes this share; a little less where rounding would take more."""
    rho = Fraction(1, 100)
    for _ in range(4):
        plan = plan_at(query, policy, Offer(policy, rho=rho))
        taken, _ = share_of_caps(plan)
        if taken <= share and share - taken <= share / 500:
            return plan
        rho = Fraction(round(rho * share / taken * _FINE), _FINE) * Fraction(9999, 10000)
        rho = max(rho, Fraction(1, _FINE))
    return plan


def _named(plan: Plan, query: QueryFields, why: str) -> Plan:
    """Under the query that was asked, whose noise was left open."""
    return replace(plan, query=replace(plan.query, noise="best"), chosen=why)
