"""Every inequality of the theory's sections 1 to 4, each named, on random channels of the awkward kinds.

The channels have 2 to 8 secrets and outputs and are plain, near-deterministic, near-equal, with zero entries
or a zero column. Formulas are written out in `inequalities/` a second time, from the theory and not from the
code. An inequality between two capacities fails where the certified lower end of the smaller one lies above
the certified upper end of the larger.

Section 1  radius ≤ level ≤ diameter at every order · all three rise with the order · at α = 1 the radius is
           the level, at ∞ the level is ε and the radius ln Σ_y max_x C_xy
Section 2  Rényi divergence rises with the order · Pinsker, TV² ≤ KL/2 · the privacy profile starts at TV,
           falls, is convex and ends at ε
Section 3  Sibson ≤ joint · Csiszár ≤ Sibson for α ≥ 1, and the other way below · information ≤ capacity ·
           average ≤ max-case ≤ lift · average ≤ Bayes capacity ≤ lift ≤ e^ε · the reciprocal gain's max-case
           leakage is the lift · pointwise leakage and LIP are at least the log-lift · a correlated secret is
           told no more · the four privacies in order · the entropy floor falls from ε to the uniform log-lift
           · post-processing is a refinement and leaks less
Section 4  ε to KL, MI, binary MI, R_α, RDP, zCDP, Bayes capacity, posteriors · KL to MI · MI to TV, to the
           profile, to Fano's guesses · (ε, δ) to a smaller ε and to binary MI · TV to MI, three ways ·
           LIP to ε · RDP, zCDP and Gaussian DP to the profile · ε to independent records and back, to
           dependent records, and semantic privacy
"""

from __future__ import annotations

import itertools

import pytest

from laws.inequalities import capacities, conversions, leakages
from laws.inequalities.planted import PLANTED, Plant, tight
from laws.inequalities.sample import Law, samples, violations
from strange_channels import thousands

LAWS = (*capacities.LAWS, *leakages.LAWS, *conversions.LAWS)
# At most a millisecond a channel: these walk all ten thousand in every slow run.
QUICK = {
    *(capacities.rulers, leakages.guesses, leakages.pointwise, leakages.four_privacies),
    *(conversions.two_values, conversions.from_variation),
}
PLANTS = [(law, name, plant) for law, plants in PLANTED.items() for name, plant in plants.items()]


def name_of(law: Law) -> str:
    return law.__name__


@pytest.mark.parametrize("law", LAWS, ids=name_of)
def test_on_some_channels(law: Law) -> None:
    count = 10 if law is capacities.radius_level_diameter else 60
    channels, claims, found = violations(law, itertools.chain(samples(count, seed=11), tight()))
    assert found == []
    assert channels == count + 5
    assert claims >= 2 * channels


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS, ids=name_of)
def test_on_thousands_of_channels(law: Law) -> None:
    """Quick laws always on ten thousand; those that solve for capacities on as many as `thousands` says."""
    count = 10_000 if law in QUICK else thousands()
    channels, claims, found = violations(law, samples(count, seed=12))
    assert found[:3] == []
    assert channels == count
    assert claims >= count


def test_every_law_has_something_to_catch() -> None:
    assert set(PLANTED) == set(LAWS)


@pytest.mark.parametrize(("law", "name", "plant"), PLANTS, ids=[f"{p[0].__name__}: {p[1]}" for p in PLANTS])
def test_what_is_planted_is_caught(
    law: Law, name: str, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    assert any(not all(law(s)) for s in itertools.chain(tight(), samples(40, seed=11))), name
