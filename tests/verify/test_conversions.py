"""Steps between guarantees, proved by their formulas in balls; truth comes from mpmath."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import pytest
from mpmath import mp, mpf

import leakcap as lc
import leakcap_verify as verify
from certificate_mutants import changed, exact, mutants, number, verdict
from leakcap.definition import ApproxDP, Definition, DeltaDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP

STEPS: list[tuple[Definition, type[Definition], dict[str, float]]] = [
    (PureDP(1.0), lc.KLDP, {}),
    (PureDP(0.25), ZeroConcentratedDP, {}),
    (PureDP(0.5), lc.MIDP, {}),
    (PureDP(1.0), RenyiDP, {"alpha": 3.0}),
    (PureDP(2.0), DeltaDP, {}),
    (PureDP(1.0), ApproxDP, {"epsilon": 0.5}),
    (PureDP(1.0), ApproxDP, {"delta": 0.1}),
    (GaussianDP(1.0), ZeroConcentratedDP, {}),
    (GaussianDP(0.5), RenyiDP, {"alpha": 1.5}),
    (GaussianDP(1.0), ApproxDP, {"epsilon": 0.5}),
    (GaussianDP(1.0), ApproxDP, {"delta": 1e-6}),
    (ZeroConcentratedDP(0.1), ApproxDP, {"delta": 1e-6}),
    (RenyiDP(8.0, 0.1), ApproxDP, {"delta": 1e-6}),
]


def certificates() -> list[dict[str, Any]]:
    found = [step for given, kind, free in STEPS for step in lc.route(given, kind, **free).steps]
    return [json.loads(json.dumps(step.certificate())) for step in found]


ALL = certificates()


@lru_cache(maxsize=4096)
def truth(problem: str) -> mpf:
    """The formulas as they are published, which is not how the checker writes them."""
    mp.dps, given = 40, json.loads(problem)
    edge = given["edge"]
    e, m, r, a, x = (exact(number(given.get(n, "2"))) for n in ("epsilon", "mu", "rho", "alpha", "at"))
    if edge in ("pure_to_kl", "pure_to_zcdp"):
        p = mp.exp(e) / (1 + mp.exp(e))
        return p * mp.log(p / (1 - p)) + (1 - p) * mp.log((1 - p) / p)
    if edge == "pure_to_mi":
        # The largest E[r ln r] of a mean of one on {s, s·e^ε}, over the share of the larger value.
        def told(f: mpf) -> mpf:
            least = 1 / (1 + f * (mp.exp(e) - 1))
            return f * least * mp.exp(e) * mp.log(least * mp.exp(e)) + (1 - f) * least * mp.log(least)

        low, high = mpf(0), mpf(1)
        for _ in range(90):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (left, high) if told(left) < told(right) else (low, right)
        return told(low)
    if edge == "pure_to_renyi" and e:
        return mp.log((mp.sinh(a * e) - mp.sinh((a - 1) * e)) / mp.sinh(e)) / (a - 1)
    if edge == "pure_to_delta":
        return 2 * mp.exp(e) / (1 + mp.exp(e)) - 1
    if edge == "pure_to_delta_at":
        return max(mp.exp(e) / (1 + mp.exp(e)) - mp.exp(x) / (1 + mp.exp(e)), mpf(0))
    if edge == "gaussian_to_delta_at":
        return mp.ncdf(m / 2 - x / m) - mp.exp(x) * mp.ncdf(-m / 2 - x / m)
    if edge == "renyi_to_delta_at":
        return mp.exp((a - 1) * (e - x)) * (1 - 1 / a) ** (a - 1) / a
    return {
        "pure_to_renyi": mpf(0),
        "gaussian_to_zcdp": m**2 / 2,
        "gaussian_to_renyi": a * m**2 / 2,
        "zcdp_to_renyi": a * r,
    }[edge]


def too_much(found: dict[str, Any]) -> bool:
    value = truth(json.dumps(found["problem"]))
    claim = found["claim"]
    high = mp.inf if claim["upper"] == "inf" else exact(number(claim["upper"]))
    return bool(exact(number(claim["lower"])) > value + mpf("1e-28") or high < value - mpf("1e-28"))


@pytest.mark.parametrize("found", ALL, ids=lambda found: found["problem"]["edge"])
def test_a_step_is_proved_and_no_mutant_of_it_that_claims_too_much(found: dict[str, Any]) -> None:
    assert found["evidence"] == "proved"
    assert verdict(found) == "proved"
    assert not too_much(found)
    every = list(mutants(found, tuple(verify.KINDS)))
    proved = [one for one in every if verdict(one) == "proved"]
    assert len(every) > len(proved) > 0
    assert [one for one in proved if too_much(one)] == []


def test_every_edge_of_the_checker_is_made_and_told_apart() -> None:
    assert {found["problem"]["edge"] for found in ALL} == {*verify.NATS, *verify.DELTAS}
    for found in ALL:
        less = float.fromhex(found["claim"]["upper"]) * 0.99
        loose = found["problem"]["edge"] == "renyi_to_delta_at"
        assert verdict(changed(found, ("claim", "upper"), less.hex())) == (
            "not proved" if loose else "refuted"
        )


def test_orders_that_a_formula_is_not_for_are_refused() -> None:
    """At an order below one the closed form of Rényi's δ is no bound."""
    (found,) = (one for one in ALL if one["problem"]["edge"] == "gaussian_to_renyi")
    for alpha in ("1", "1/2", "0", "-2", "inf"):
        assert verdict(changed(found, ("problem", "alpha"), alpha)) == "refused"


def test_a_step_without_a_checker_is_stated() -> None:
    (step,) = lc.route(lc.MIDP(0.1), DeltaDP).steps
    found = step.certificate()
    assert (found["kind"], found["evidence"], found["claim"]["upper"]) == ("stated", "numerical", "inf")
    assert verdict(found) == "not proved"
