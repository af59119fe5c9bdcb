"""Edges between likelihood ratios and beliefs."""

from __future__ import annotations

import math

from leakcap.definition.bayesian import InformationPrivacy, LocalInformationPrivacy, dependence_price
from leakcap.definition.graph import implies
from leakcap.definition.pure import PureDP
from leakcap.definition.theorems.pure import at_least_two
from leakcap.numeric.rounding import product_up, up


@implies(
    formula="min(kε, ε+d) for at most k dependent records of dependence extent d; ε when independent",
    citation="Wu, Xia & He 2017, Thm 1 and Cor. 2; the extent by the argument in docs/theory/conversions.md",
    attained_by="k equal records, each through its own randomised response (kε), or k = 1",
    error=0.0,
)
def pure_to_information(
    source: PureDP, *, records: float = 1, extent: float = math.inf
) -> InformationPrivacy:
    """What an adversary who believes records to depend on one another can still learn."""
    value = dependence_price(source.epsilon, records, extent)
    return InformationPrivacy(value, records=records, extent=extent)


@implies(
    formula="ε (independent beliefs are among those allowed)",
    citation="Wu, Xia & He 2017, Cor. 2",
    attained_by="any mechanism, for independent beliefs",
    error=0.0,
)
def information_to_pure(source: InformationPrivacy) -> PureDP:
    """A belief concentrated on one value turns the lift into a likelihood ratio."""
    return PureDP(source.epsilon)


@implies(
    formula="ε",
    citation="Jiang et al. 2021",
    attained_by="the subset mechanism that hides one value of k, as k → ∞",
    error=0.0,
)
def pure_to_local_information(
    source: PureDP, *, prior: tuple[float, ...] | None = None
) -> LocalInformationPrivacy:
    """The output's probability is an average of the likelihoods."""
    if prior is None:
        return LocalInformationPrivacy(source.epsilon)
    return LocalInformationPrivacy(_lift_below(source.epsilon, min(prior)), prior=prior)


@implies(
    formula="ε + ln(1 − (1−e^{−ε})/k), uniform prior on k values",
    citation="bounded range, in docs/theory/conversions.md",
    attained_by="the subset mechanism that hides one value of k",
)
def pure_to_local_information_of_values(source: PureDP, *, values: int) -> LocalInformationPrivacy:
    """One value at the low likelihood, all others at e^ε times it."""
    return LocalInformationPrivacy(_lift_below(source.epsilon, 1.0 / at_least_two(values)))


def _lift_below(epsilon: float, least: float) -> float:
    """ln(A − p(A−1)): the secret of least prior p sits low, the rest high. It exceeds the lift upwards.

    Rounded up.
    """
    return (
        epsilon if math.isinf(epsilon) else up(epsilon + math.log1p(least * math.expm1(-epsilon)), 8, epsilon)
    )


@implies(
    formula="2ε",
    citation="Jiang et al. 2021",
    attained_by="one output a pair (i, j): likelihood e^ε for i, e^{−ε} for j, between them for all others",
    error=0.0,
)
def local_information_to_pure(source: LocalInformationPrivacy) -> PureDP:
    """One secret above the mixture by ε, another below it by ε."""
    return PureDP(product_up(2.0, source.epsilon))
