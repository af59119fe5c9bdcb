"""Every ε that a statement or an annex says with a δ holds at that δ: against the exact profile of the noise.

Gaussian noise alone has Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Balle & Wang 2018, theorem 8), k answers the same
with μ√k. Beside Laplace noise of loss L it is E δ(ε − L) over the law of L. The grid of a sum is so fine
that the law on it differs from the continuous one by nothing that a double shows.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from flint import acb, arb, ctx

from leakcap.release import PrivateTable, Query, exposure_so_far
from leakcap.release.results.exposure import exposure_of, exposure_of_plan, proven_so_far
from leakcap.web.releasing.ledger_view import ledger_view
from leakcap.web.serving.settings import Settings
from release.test_gaussian_without_epsilon import TAKING

ROWS = pyarrow.table({"x": [-1.0, 0.5, 1.0] * 20})
RELATIONS: dict[str, dict[str, Any]] = {
    "add-remove-one": {"max_rows": 100},
    "replace-one": {"rows": 60},
}
CAPS = TAKING | {
    "much rho and a delta": {"rho": 9.0, "delta": 1e-6},
    "much epsilon and a small delta": {"epsilon": 30.0, "delta": 1e-6},
    "much epsilon and a delta": {"epsilon": 30.0, "delta": 1e-3},
    "a delta for answers": {"epsilon": 30.0, "delta": 1e-3, "delta_of_answers": 9e-4},
}
NOISES: dict[str, tuple[str, ...]] = {
    "gaussian": ("gaussian",),
    "gaussian four times": ("gaussian",) * 4,
    "laplace": ("laplace",),
    "both": ("gaussian", "laplace"),
}
# The rounding of the doubles that the noise is read back as.
HAIR = 1e-15
BITS = 100


def gaussian(mu: arb, epsilon: arb) -> arb:
    """Of complex ε too, in balls (python-flint): its integrals take a hundredth of mpmath's time."""
    near, far = ((epsilon / mu + half) / arb(2).sqrt() for half in (-mu / 2, mu / 2))
    return (near.erfc() - epsilon.exp() * far.erfc()) / 2


@functools.cache
def exact(apart: float, scales: tuple[tuple[str, float], ...], epsilon: float) -> arb:
    """The δ at which answers of these scales keep ε between sums so far apart; at most one is Laplace."""
    with ctx.workprec(BITS):
        at = arb(epsilon)
        squares = [(arb(apart) / scale) ** 2 for noise, scale in scales if noise == "gaussian"]
        mu = sum(squares, arb(0)).sqrt()
        losses = [arb(apart) / scale for noise, scale in scales if noise == "laplace"]
        if not losses:
            return gaussian(mu, at)
        (most,) = losses
        if not squares:
            return (1 - ((at - most) / 2).exp()).max(arb(0))
        ends = gaussian(mu, at - most) + (-most).exp() * gaussian(mu, at + most)
        between = acb.integral(
            lambda u, _: (-u).exp() * gaussian(mu, at - most + 2 * u),
            acb(0),
            acb(most),
            abs_tol=arb(2) ** -70,
        )
        return (ends + between.real) / 2


@pytest.mark.parametrize("noises", NOISES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("caps", CAPS)
def test_every_pair_holds(caps: str, relation: str, noises: str) -> None:
    """The ends of [-1, 1] are two apart, a row and none are one: the relation says which are neighbours."""
    policy = {"dataset": "d", "neighbours": relation, "columns": {"x": {"bounds": [-1.0, 1.0]}}}
    policy |= RELATIONS[relation] | {"caps": CAPS[caps]}
    asked = [
        Query(name=f"s{i}", statistic="sum", column="x", rho=0.1, noise=noise)
        for i, noise in enumerate(NOISES[noises])
    ]
    with PrivateTable(ROWS, policy=policy, ledger="sqlite://") as table:
        found = table.release(asked, fresh=True)
        entries, known = table.ledger.entries(), table.policy
    prices = [one.price for one in found]
    scales = [(noise, one.noise_scale) for noise, one in zip(NOISES[noises], found, strict=True)]
    each = [exposure_of(price, "one") for price in prices]
    together = [exposure_so_far(entries, known), exposure_of_plan(prices, each, known)]
    said = [(one, scales) for one in (*together, *proven_so_far(entries, known))]
    said += [(one, [scale]) for one, scale in zip(each, scales, strict=True)]
    said += [(exposure_so_far([one], known), [scale]) for one, scale in zip(entries, scales, strict=True)]
    near = 2.0 if relation == "replace-one" else 1.0
    tight = 0
    for one, drawn in said:
        for epsilon, delta, apart in (
            (one.epsilon, one.delta, near),
            (one.epsilon_contents, one.delta_contents, 2.0),
        ):
            true = exact(apart, tuple(drawn), epsilon)
            assert true.rad() < HAIR / 1000
            assert true.upper() <= delta * (1 + 1e-9) + HAIR, (one, apart)
            tight += true > delta / 1000
    assert len(said) > 10
    assert tight > 0
    assert math.isfinite(together[0].epsilon)


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("relation", RELATIONS)
def test_an_answer_has_one_epsilon_and_many_are_said_by_their_curves(
    relation: str, delta: float | None
) -> None:
    """Under a cap on ρ alone ten counts of ρ = 1/20 are ρ = 1/2, whose ε at any order is a bound."""
    caps = {"rho": 5.0} | ({} if delta is None else {"delta": delta})
    policy = {"dataset": "d", "neighbours": relation, "columns": {"x": {"bounds": [-1.0, 1.0]}}}
    with PrivateTable(
        ROWS, policy=policy | RELATIONS[relation] | {"caps": caps}, ledger="sqlite://"
    ) as table:
        found = [table.count(rho=0.05, noise="gaussian", fresh=True) for _ in range(10)]
        entries, known = table.ledger.entries(), table.policy
    at = delta or 1e-12
    for one, entry in zip(found, entries, strict=True):
        alone = exposure_so_far([entry], known)
        assert (alone.epsilon, alone.delta) == (pytest.approx(one.price.epsilon, rel=1e-9), at)
    for together in (
        exposure_so_far(entries, known),
        exposure_of_plan([one.price for one in found], [exposure_of(one.price, "n") for one in found], known),
    ):
        # Orders 2, 3, 4, …: D_α ≤ α/2, and ln(31/δ)/(α − 1) pays for a choice among 31 orders at most.
        least = min(order / 2 + math.log(31 / at) / (order - 1) for order in range(2, 33))
        assert together.delta == at
        assert 0.9 * least < together.epsilon * 1.2 < 1.2 * least
        assert together.epsilon < sum(one.price.epsilon for one in found) / 2


def test_the_page_of_a_ledger_shows_answers_that_have_no_epsilon_of_their_own(tmp_path: Path) -> None:
    """Under a cap on ρ alone the curve over time has a δ as well."""
    policy = tmp_path / "policy.toml"
    words = ('dataset = "d"', 'neighbours = "add-remove-one"', "max_rows = 100", "[caps]", "rho = 5.0")
    policy.write_text("\n".join((*words, "[columns.x]", "bounds = [-1.0, 1.0]")), "utf-8")
    ledger = tmp_path / "d.db"
    with PrivateTable(ROWS, policy=policy, ledger=ledger) as table:
        for _ in range(3):
            table.count(rho=0.05, noise="gaussian", fresh=True)
        said = table.statement().exposure.epsilon
    view = ledger_view(Settings(policy=policy, ledger=f"sqlite:///{ledger}"))
    assert len(view.entries) == 3
    shown = [row["epsilon"] for row in view.figures[0].spec["data"]["values"] if row["which"] == "spent"]
    assert len(shown) == 4
    assert shown[-1] == pytest.approx(said, rel=1e-9)
