"""Bounds that have no closed truth, and which test encloses or attains each by another route."""

from __future__ import annotations

_TELLS = "tests/release/test_noise_laws.py::test_what_a_noisy_number_tells_lies_within_its_bound"
_PRICE = "tests/release/test_price.py::test_the_tight_bound_against_fifty_digits"
_LEVELS = (
    "tests/mechanism/test_levels.py"
    "::test_the_witness_attains_the_lower_end_and_no_other_prior_beats_the_upper"
)
_SAMPLES = "tests/audit/test_black_box.py::test_the_intervals_hold"
_NOISE = "tests/web/test_real_noise.py::test_no_sentence_is_false"
_POWER = "tests/capacities/test_power.py::test_shannon_and_hartley_at_fifty_digits"
_LEAST = "tests/utility/test_least.py::test_least_guessing_is_certified_on_random_losses"

_JOINING = "tests/leakage/test_joining.py::test_no_prior_does_more_and_some_prior_does_as_much"

_BINS = "tests/accounting/test_bins.py::test_two_bins_by_quadrature"

_SET = "tests/disclosure/test_whole_set.py::test_every_key_of_every_record"
_TOGETHER = "tests/disclosure/test_evidence.py::test_all_together_against_the_accountant"
_EXCHANGE = "tests/disclosure/test_whole_weighing.py::test_the_epsilon_of_an_exchange_holds_the_logarithm"
_WHOLE = "tests/disclosure/test_whole_weighing.py::test_one_row_is_a_channel_that_is_known"
_BESIDE = "tests/disclosure/test_beside.py::test_it_has_the_variance_and_tells_what_plain_sums_say"

ELSEWHERE = {
    "leakcap.disclosure.beside.NoiseRisk.capacity": _BESIDE,
    "leakcap.disclosure.beside.NoiseRisk.epsilon": _BESIDE,
    "leakcap.disclosure.joint.evidence.JointEvidence.capacity": (
        "tests/disclosure/test_evidence.py::test_one_margin_against_its_exact_channel"
    ),
    "leakcap.disclosure.joint.evidence.JointEvidence.delta": _TOGETHER,
    "leakcap.disclosure.joint.evidence.JointEvidence.success": _TOGETHER,
    "leakcap.disclosure.place.PlaceRisk.capacity": _SET,
    "leakcap.disclosure.place.PlaceRisk.delta": _SET,
    "leakcap.disclosure.place.PlaceRisk.success": _SET,
    "leakcap.disclosure.whole.weighing.ExchangeRisk.epsilon": _EXCHANGE,
    "leakcap.disclosure.whole.weighing.WholeRisk.capacity": _WHOLE,
    "leakcap.disclosure.whole.weighing.WholeRisk.epsilon": _WHOLE,
    "leakcap.disclosure.joint.success.margin_success": (
        "tests/disclosure/test_success.py::test_holds_the_exact_channel"
    ),
    "leakcap.accounting.bracket.LossBracket.delta": _BINS,
    "leakcap.accounting.bracket.LossBracket.epsilon": (
        "tests/accounting/test_bins.py::test_bins_lie_below_what_is_known_and_compose"
    ),
    "leakcap.accounting.bracket.LossBracket.epsilon_both": (
        "tests/accounting/test_bins.py"
        "::test_shuffling_costs_nearly_as_much_as_no_shuffling_where_noise_is_small"
    ),
    "leakcap.accounting.profile.Profile.advantage": (
        "tests/accounting/test_profile.py::test_advantage_reconstruction_and_the_guesser_agree"
    ),
    "leakcap.accounting.sampled_steps.SampledSteps.epsilon": (
        "tests/accounting/test_sampled_steps.py::test_one_sampled_step_by_its_formula"
    ),
    "leakcap.leakage.joining.belief_change": _JOINING,
    "leakcap.leakage.joining.joining_change": _JOINING,
    "leakcap.bound.Bound.bits": "tests/numeric/test_bound.py::test_bits_are_rounded_outward",
    "leakcap.capacities.noise.gaussian.gaussian_capacity": (
        "tests/capacities/test_gaussian.py::test_two_atoms_at_forty_digits"
    ),
    "leakcap.capacities.noise.geometric.geometric_capacity": (
        "tests/capacities/test_geometric.py::test_value_at_forty_digits"
    ),
    "leakcap.capacities.noise.laplace.laplace_capacity": (
        "tests/capacities/test_laplace.py::test_two_ends_at_fifty_digits"
    ),
    "leakcap.capacities.records.knowledge.limited_knowledge": (
        "tests/capacities/test_knowledge.py::test_another_optimiser_comes_as_far_and_no_further"
    ),
    "leakcap.capacities.power.gaussian_power_capacity": _POWER,
    "leakcap.capacities.power.power_constraint": _POWER,
    "leakcap.capacities.power.laplace_power_capacity": (
        "tests/capacities/test_power.py::test_laplace_noise_by_the_information_of_a_gaussian_secret"
    ),
    "leakcap.definition.binary.divergence_profile": (
        "tests/definition/test_binary_optima.py::test_one_order_profile_against_brute_force"
    ),
    "leakcap.definition.binary.shannon_profile": (
        "tests/definition/test_binary_optima.py::test_capacity_profile_is_enclosed_by_its_dual"
    ),
    "leakcap.definition.skewing.outcome_skew": (
        "tests/definition/test_skewing.py::test_the_channel_keeps_the_cap_and_a_little_more_breaks_it"
    ),
    "leakcap.leakage.augustin.csiszar": (
        "tests/leakage/test_information.py::test_csiszar_against_a_fine_search_over_two_outputs"
    ),
    "leakcap.mechanism.base.Mechanism.level": _LEVELS,
    "leakcap.mechanism.discrete_gaussian.DiscreteGaussian.level": _LEVELS,
    "leakcap.mechanism.gaussian.Gaussian.exact": _POWER,
    "leakcap.mechanism.gaussian.Gaussian.level": _LEVELS,
    "leakcap.mechanism.laplace.Laplace.exact": _POWER,
    "leakcap.mechanism.laplace.Laplace.level": _LEVELS,
    "leakcap.mechanism.levels.level_of_noise": _LEVELS,
    "leakcap.mechanism.planar_laplace.PlanarLaplace.level": _LEVELS,
    "leakcap.mechanism.staircase.Staircase.level": _LEVELS,
    "leakcap.mechanism.additive.AdditiveNoise.tells": _TELLS,
    "leakcap.mechanism.discrete_gaussian.DiscreteGaussian.tells": _TELLS,
    "leakcap.mechanism.geometric.TwoSidedGeometric.tells": _TELLS,
    "leakcap.mechanism.orders.best_of": (
        "tests/laws/test_mechanism_laws.py::test_radii_lie_above_those_of_a_few_secrets_seen_through_cells"
    ),
    "leakcap.release.measurements.one_hot.one_hot_capacity": (
        "tests/release/test_price.py::test_grouped_counts_against_blahut_arimoto"
    ),
    "leakcap.release.measurements.measurement.NoisyMeasurement.capacity": _PRICE,
    "leakcap.release.measurements.measurement.Measurement.capacity": _PRICE,
    "leakcap.release.measurements.choice.ChoiceMeasurement.capacity": _PRICE,
    "leakcap.release.statistics.matrices.JointMeasurement.capacity": _PRICE,
    "leakcap.release.measurements.thresholds.ThresholdMeasurement.capacity": (
        "tests/release/test_thresholds.py::test_no_person_tells_more_than_the_nats_that_are_charged"
    ),
    "leakcap.leakage.findings.evaluated": (
        "tests/leakage/test_information.py::test_every_order_is_right_to_the_last_digits"
    ),
    "leakcap.utility.least.least_bayes_capacity": _LEAST,
    "leakcap.utility.least.least_bayes_vulnerability": _LEAST,
    "leakcap.utility.rate.least_mutual_information": (
        "tests/utility/test_least.py::test_rate_distortion_is_certified_on_random_losses"
    ),
    "leakcap.utility.synthesis.least_epsilon": (
        "tests/utility/test_synthesis.py::test_least_epsilon_inverts_the_optimum"
    ),
    "leakcap.audit.asked_system.BlackBox.additive_leakage": _SAMPLES,
    "leakcap.audit.asked_system.BlackBox.bayes_risk": _SAMPLES,
    "leakcap.audit.asked_system.BlackBox.leakage": _SAMPLES,
    "leakcap.audit.asked_system.BlackBox.min_entropy_leakage": _SAMPLES,
    "leakcap.choosing.meaning.Meaning.guess": _NOISE,
    "leakcap.choosing.meaning.Meaning.orders": _NOISE,
    "leakcap.choosing.meaning.of_so_many_values": _NOISE,
    "leakcap.choosing.gaussian.GaussianMeaning.beyond": _NOISE,
    "leakcap.choosing.gaussian.GaussianMeaning.orders": _NOISE,
}
