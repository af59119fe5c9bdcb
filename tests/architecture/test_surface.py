"""What may be relied on: the public names of each room, which `docs/stable.md` lists.

A name that goes or changes its meaning is a breaking change, and this file is where it shows. What stands
here in no room is private, wherever it lives.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import leakcap

ROOMS: dict[str, str] = {
    "leakcap.accounting": """
        Calibrated Filter InformationPrice LossBracket LossTable Odometer Partition PersonalBudgets
        PrivacyLoss Profile SampledSteps Values balls_in_bins best_orders calibrate compose
        compose_approximate dominating_loss from_event from_pld group guess_among guess_success
        information_price information_total loss_table most_telling odds_quantile parallel
        shannon_capacity shuffled to_event to_pld trade_off whole_table
    """,
    "leakcap.attack": """
        AveragedCounts CellRange Correlated Decoded Exposed FieldRead Finding Floored Guess
        HiddenCount Interrogated Linked LinkedFile Matched Misjudged Pedigree Played
        PublishedNumber PublishedTable PublishedTables ReadNumbers ReadRecords Reconstructed
        ReleasedFile Sampled Skew Span Sums Surprise TableBuilder Timed Transmission
        Unsuppressed Unsure Use all_at_once averaged_counts averaging cell_ranges class_channel
        copies_curve correlated_record cousins decode_parities differencing equal_copies
        finite_length_rate floor_curve games generalise genomes guessing_game households
        interrogate key_exists knowledge_curve least_uses lecture_regression link_file linkage
        low_bits markov_chain match_posterior membership parities parity play possible_counts
        published_timing random_subsets read_everybody read_field read_published_table
        read_published_tables read_released reconstruct reconstruction records_from_tables
        reused_noise ridge_regression row_by_row sampled_joint sampled_record search_field
        siblings skew_curve suppressed surprise surprise_curve textbook_reachable
        textbook_timing timing transmit transmit_adaptively under_entropy_floor unsure_of
        use_of_capacity walsh
    """,
    "leakcap.audit": """
        Audit Batched BlackBox CanaryAudit Command CurvePoint Evidence GaussianCanaryAudit Judgement Raised
        RecognisedMembers Verdict answer_patterns audit audit_canaries audit_gaussian_canaries audit_pairs
        audit_samples black_box canary_p_value members_recognised sample_black_box
    """,
    "leakcap.capacities": """
        BatchBound HasExact batch_capacity capacity gaussian_power_capacity geometric_capacity
        hamming_neighbours personal_capacities solve
    """,
    "leakcap.channel": """
        Channel ChannelBatch as_prior
    """,
    "leakcap.client": """
        AwaitingApproval Connection IssuedToken NoAnswer NotAllowed NotSignedIn NotThere
        PasswordNotChosen RemoteJob RemoteTable
        TryLater connect
    """,
    "leakcap.definition": """
        ApproxDP Centre Definition DeltaDP GaussianDP Implication InformationPrivacy KLDP
        LevelCapacity LocalInformationPrivacy MIDP MaximalLeakage Neighbourhood PureDP Relation
        RenyiDP Route Step ZeroConcentratedDP convert edges implications implies meaning route
        theorems to_replace_one
    """,
    "leakcap.disclosure": """
        SUPPRESSED CellKey CellMethod CellRisk ControlledRounding FollowedBy GivenMethod
        IndependentRounding KAnonymous LeastLeakingTable NearestRounding NoiseRisk
        PerturbationTable PlaceRisk RandomRounding RecordSwapping SecondarySuppression
        SmallCells SwappingInvariants TableSet TopCoding WholeMethod WholeSet all_margins
        different_cells key_faults lattice_channel least_leaking_table margin_channel margin_success
        most_entropic_table noise_of_error read_perturbation_table swapping_ratio tree_channel
        worst_cell write_perturbation_table
    """,
    "leakcap.gain": """
        Classes Diagonal Gain Table TopGuesses distance distribution_reciprocal identity k_guesses
        matrix negative_distance property_of within
    """,
    "leakcap.leakage": """
        Hyper Privacies additive_bayes_capacity additive_gain_capacity arimoto bayes_capacity
        bayes_risk bayes_vulnerability belief_change csiszar dalenius dalenius_capacity
        dalenius_g_leakage dalenius_lift each_individual factorise g_capacity g_leakage
        g_vulnerability gain_capacity guessing_entropy individual inferential_privacy
        information_privacy joining_change joint_renyi lift lift_capacity local_information_privacy
        log_lift mutual_information mutual_information_privacy pointwise_maximal_leakage
        posterior_guessing_entropy posterior_vulnerability privacies relative_entropy_privacy sibson
        worst_individual
    """,
    "leakcap.integrations": """
        PlannedTraining Training begin_training
    """,
    "leakcap.integrations.opacus": """
        attach descent_of model_hash
    """,
    "leakcap.integrations.optax": """
        OptaxTraining attach
    """,
    "leakcap.ledger": """
        Account Amendment Anchor Answer BackedUp Balance Caps Change Charge CustodyEvent DataVersion
        DatasetSpending Edition Entry Group Head Ledger Limits MOST_GROUPS MOST_LEVELS Moved OdometerReading
        OutsideSpend OutsideSpends Paid PaidSteps Planned PlannedDescent ProgressStep Proposed
        PublishedVersion RecordedRequest Request Restored Revision SaidSame Slot SlotPlan SlotUse Spend
        Totals admit_dataset answer_once answer_steps
        as_dp_event backup export move outside_event profile_event read_spends restore trade_off_event
        unpaid_places
    """,
    "leakcap.mechanism": """
        BinaryErasure BinarySymmetric BitVector CuffYuExample51 DIFFERENT DiscreteGaussian ERASED
        Exponential Gaussian HadamardResponse Laplace Mechanism OneTimePadPair PermuteAndFlip
        PlanarGeometric PlanarLaplace RandomisedResponse RowPair Staircase SubsetSelection
        TruncatedGeometric TwoSidedGeometric ZChannel
    """,
    "leakcap.models": """
        CustomLoss LinearRegression LinearSVC LogisticLoss LogisticRegression Loss
        PrivateDecisionTree PrivateGradientDescent RenyiCurve RidgeRegression SoftmaxLoss
        SquaredLoss lecture noise_multiplier_for
    """,
    "leakcap.program": """
        Program Run
    """,
    "leakcap.policy": """
        Column JoinedTable Policy load_policy
    """,
    "leakcap.owner": """
        DataFault KeysWithin PublicAnswers check draft
    """,
    "leakcap.release": """
        Batch Column Comparison Covariances DuckDB Engine IdUnit Policy PolicyCaps Preview Price
        PrivateTable Query QueryFile Question Release ReleasedRecord Row RowLimit Rows Selection admit
        agreeing amend amendment attach consistent covered covering difference dry_run exposure_of
        exposure_so_far layout_of_query load_policy load_queries margins_fit open_ledger preview
        query_from ratio_of row_limits sql_queries with_all_margins with_layouts with_margins
    """,
    "leakcap.report": """
        ReleaseRecord page_of read_record released_of write_report
    """,
    "leakcap.running": """
        ReleasedRunningCount RunningPlan RunningQuestion SquareRootFactor release_running
    """,
    "leakcap.statement": """
        Exposure Reading Statement compose statement_of
    """,
    "leakcap.synthesis": """
        ChosenTables FileRegression FileTable Microdata MixtureOfProducts RegressionAsked TableError ask_file
        compare_regression fit_generator release_chosen_tables synthesize table_errors
    """,
    "leakcap.tables": """
        Estimate ExactTotals Hierarchy HierarchyPlan HierarchyQuestion LevelCounts ReleasedHierarchy
        ReleasedTable ReleasedTables ResidualPlan TablesQuestion Workload release_hierarchy
        release_tables
    """,
    "leakcap.utility": """
        TradeoffPoint expected_distortion information least_bayes_capacity least_bayes_vulnerability
        least_distortion least_epsilon least_mutual_information optimal_mechanism synthesis
        tradeoff_curve
    """,
}
PRIVATE = {"choosing", "cli", "numeric", "sampling", "service", "web", "wire"}
"""Rooms in which nothing is public, though their modules lend each other names."""
PAGE = Path(__file__).parents[2] / "docs" / "stable.md"


def difference(room: ModuleType, pinned: str) -> set[str]:
    """Names that are public and not pinned, or pinned and not public."""
    return set(room.__all__) ^ set(pinned.split())


@pytest.mark.parametrize("name", ROOMS)
def test_exactly_these_names_are_public(name: str) -> None:
    room = importlib.import_module(name)
    assert difference(room, ROOMS[name]) == set()
    assert len(room.__all__) == len(set(room.__all__)) > 0
    for public in room.__all__:
        value = getattr(room, public)
        assert not public.startswith("_")
        assert not callable(value) or inspect.getdoc(value), public


def test_a_name_too_many_or_too_few_is_found() -> None:
    room = ModuleType("room")
    room.__all__ = ["kept", "new"]  # type: ignore[attr-defined]
    assert difference(room, "kept gone") == {"new", "gone"}


def test_a_room_that_is_not_private_by_name_is_pinned() -> None:
    """So that a new one is either here or said to be private."""
    rooms = {one.name for one in pkgutil.iter_modules(leakcap.__path__) if one.ispkg}
    public = {name.removeprefix("leakcap.") for name in ROOMS}
    assert len(rooms) > 20
    assert rooms - public == PRIVATE
    assert not public & PRIVATE


def test_the_page_lists_these_rooms() -> None:
    listed = re.findall(r"^\| `(leakcap[.\w]*)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(["leakcap", *ROOMS])
