"""Adversaries on databases: Cuff & Yu's examples, chain rules, and brute force over distributions."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from leakcap.adversary import (
    AllPriors,
    BayesianAdversary,
    BayesianNeighbours,
    Centre,
    DependentRecords,
    GivenPrior,
    InputCost,
    StrongAdversary,
)
from leakcap.capacities import capacity
from leakcap.capacities.records.databases import hamming_neighbours, personal_capacities
from leakcap.channel import Channel
from leakcap.divergence import HockeyStick, Renyi, TotalVariation
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.numeric import inverse_binary_entropy

SHANNON, WIDEST = Renyi(1.0), Renyi(math.inf)


def databases(values, records):
    return list(product(range(values), repeat=records))


def random_channel(seed, values=2, records=3, outputs=4, concentration=1.0):
    rng = np.random.default_rng(seed)
    inputs = databases(values, records)
    rows = rng.dirichlet(np.full(outputs, concentration), size=len(inputs))
    rows = np.maximum(rows, 1e-12)
    return Channel(rows / rows.sum(axis=1, keepdims=True), inputs=inputs)


def information(joint):
    """I between the first and the last axis of a table of probabilities, by the entropies of its margins."""

    def entropy(p):
        return -sum(v * math.log(v) for v in np.ravel(p) if v > 0)

    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint)


def conditional_information(channel, prior, record, known):
    """I(X_i; Y | X_S), context by context, from the joint distribution itself."""
    joint = np.asarray(prior)[:, None] * channel.matrix
    contexts = {tuple(x[i] for i in known) for x in channel.inputs}
    values = sorted({x[record] for x in channel.inputs})
    total = 0.0
    for context in contexts:
        table = np.zeros((len(values), channel.shape[1]))
        for x, row in zip(channel.inputs, joint, strict=True):
            if tuple(x[i] for i in known) == context:
                table[values.index(x[record])] += row
        mass = table.sum()
        if mass > 0:
            total += mass * information(table / mass)
    return total


def example_5_1(m, delta):
    """Cuff & Yu, Example 5.1: with probability δ the common value, or that there is none."""
    rows = []
    for a, b in databases(m, 2):
        row = [0.0] * (m + 2)
        row[a if a == b else m] = delta
        row[m + 1] = 1.0 - delta
        rows.append(row)
    return Channel(rows, inputs=databases(m, 2), outputs=[*range(m), "differ", "erased"])


# --- MI-DP -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 5, 12])
@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_example_5_1_caps_one_record_but_no_group(m, delta):
    channel = example_5_1(m, delta)
    one = capacity(channel, SHANNON, StrongAdversary())
    assert one.lower <= delta * math.log(2) + 1e-12
    assert one.upper >= delta * math.log(2) - 1e-12
    assert one.width <= 1e-9
    both = capacity(channel, SHANNON, StrongAdversary(size=2))
    free_lunch = capacity(channel, SHANNON, AllPriors())
    for bound in (both, free_lunch):
        assert abs(bound.lower - delta * math.log(m + 1)) < 2e-9
        assert abs(bound.upper - delta * math.log(m + 1)) < 2e-9


def test_mi_dp_is_above_every_distribution_and_attained_by_its_witness():
    rng = np.random.default_rng(4)
    for seed in range(8):
        channel = random_channel(seed, values=2 + seed % 2, records=2)
        bound = capacity(channel, SHANNON, StrongAdversary())
        for _ in range(20):
            prior = rng.dirichlet(np.full(channel.shape[0], 0.3))
            for record in range(2):
                assert conditional_information(channel, prior, record, [1 - record]) <= bound.upper + 1e-12
        known = bound.witness
        prior = np.zeros(channel.shape[0])
        for database, belief in zip(known.databases, known.belief, strict=True):
            assert tuple(v for i, v in enumerate(database) if i not in known.unknown) == known.context
            prior[channel.inputs.index(database)] = belief
        others = [i for i in range(2) if i not in known.unknown]
        attained = conditional_information(channel, prior / prior.sum(), known.unknown[0], others)
        assert attained >= bound.lower - 1e-12


def test_personal_capacities():
    parity_of_two = [[1.0, 0.0] if (a + b) % 2 == 0 else [0.0, 1.0] for a, b, _ in databases(2, 3)]
    channel = Channel(parity_of_two, inputs=databases(2, 3))
    found = personal_capacities(channel)
    for bound, expected in zip(found, [math.log(2), math.log(2), 0.0], strict=True):
        assert abs(bound.lower - expected) < 1e-9
        assert abs(bound.upper - expected) < 1e-9
    last = capacity(channel, SHANNON, StrongAdversary(records=(2,)))
    assert last.upper < 1e-9


def test_the_strong_adversary_at_other_orders_and_rulers():
    for seed in range(5):
        channel = random_channel(seed)
        near = hamming_neighbours(channel)
        for ruler in (TotalVariation(), HockeyStick(1.5)):
            assert capacity(channel, ruler, StrongAdversary()).upper == capacity(channel, ruler, near).upper
        # Two values a record: maximal leakage of a pair of rows is ln(1 + TV).
        expected = math.log1p(capacity(channel, TotalVariation(), near).upper)
        sibson = capacity(channel, WIDEST, StrongAdversary(centre=Centre.SIBSON))
        assert math.isclose(sibson.upper, expected, rel_tol=1e-13)
        # The level of order ∞ is ε between neighbours.
        level, epsilon = capacity(channel, WIDEST, StrongAdversary()), capacity(channel, WIDEST, near)
        assert math.isclose(level.upper, epsilon.upper, rel_tol=1e-14)
        assert "hamming" not in level.method


def rows_of_a_count(records, epsilon):
    """Two-sided geometric noise, clamped to 0, …, n: by hand."""
    s = math.exp(-epsilon)
    rows = np.array(
        [[(1 - s) / (1 + s) * s ** abs(y - x) for y in range(records + 1)] for x in range(records + 1)]
    )
    for x in range(records + 1):
        rows[x, 0], rows[x, records] = s**x / (1 + s), s ** (records - x) / (1 + s)
    return rows


def test_one_of_three_people_at_every_order():
    """The issue's count of three at ε = 1: ε with the others known, 3 with any belief, Sibson's .380."""
    tables = list(product((0, 1), repeat=3))
    count = Channel([rows_of_a_count(3, 1.0)[sum(table)] for table in tables], inputs=tables)
    known, joint = StrongAdversary(), BayesianAdversary()
    assert abs(capacity(count, WIDEST, known).upper - 1.0) < 1e-12
    assert abs(capacity(count, WIDEST, joint).upper - 3.0) < 1e-12
    sibson = capacity(count, WIDEST, StrongAdversary(centre="sibson"))
    assert abs(sibson.upper - math.log1p(math.tanh(0.5))) < 1e-12
    before = (0.0, 0.0)
    for alpha in (0.3, 0.9, 1.0, 1.5, 2.0, 4.0, 30.0, math.inf):
        ends = tuple(capacity(count, Renyi(alpha), who) for who in (known, joint))
        assert all(end.width < 1e-7 for end in ends)
        assert all(end.upper >= least for end, least in zip(ends, before, strict=True))
        assert ends[0].lower <= ends[1].upper
        before = tuple(end.lower for end in ends)


def brute_level(channel, alpha, record, prior):
    """D_α(P_{X_iY} ‖ P_{X_i} × P_Y), term by term."""
    values = sorted({x[record] for x in channel.inputs})
    total = 0.0
    seen = prior @ channel.matrix
    for value in values:
        rows = [x for x, database in enumerate(channel.inputs) if database[record] == value]
        mass, joint = prior[rows].sum(), prior[rows] @ channel.matrix[rows]
        total += float((joint**alpha * (mass * seen) ** (1.0 - alpha)).sum())
    return math.log(total) / (alpha - 1.0)


@pytest.mark.parametrize("alpha", [0.4, 1.7, 3.0])
def test_no_belief_about_the_database_tells_more_of_a_record(alpha):
    rng, tested = np.random.default_rng(9), 0
    for seed in range(3):
        channel = random_channel(seed, values=2, records=3)
        bound = capacity(channel, Renyi(alpha), BayesianAdversary())
        for prior in rng.dirichlet(np.full(8, 0.15), size=60):
            told = [brute_level(channel, alpha, record, prior) for record in range(3)]
            assert max(told) <= bound.upper + 1e-12
            given = capacity(channel, Renyi(alpha), BayesianAdversary(prior)).upper
            assert max(told) - 1e-12 <= given <= bound.upper + 1e-12
            tested += 1
        known, prior = bound.witness, np.full(8, 0.0)
        for database, belief in zip(known.databases, np.asarray(known.belief), strict=True):
            prior[channel.inputs.index(database)] = belief
        assert brute_level(channel, alpha, known.unknown[0], prior / prior.sum()) >= bound.lower - 1e-9
    assert tested == 180


def test_what_is_known_is_averaged_at_its_own_order():
    """S known: (1/(α−1)) ln Σ p(s) e^{(α−1)D}, the divergence of the two joint laws, written out."""
    channel = random_channel(4, values=2, records=2)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    for alpha in (0.5, 2.0):
        joint, apart = [], []
        for a, b in product((0, 1), repeat=2):  # the record, what is known
            mass = prior[[channel.inputs.index((x, b)) for x in (0, 1)]]
            seen = (
                sum(m * channel.matrix[channel.inputs.index((x, b))] for x, m in enumerate(mass)) / mass.sum()
            )
            joint.append(mass[a] * channel.matrix[channel.inputs.index((a, b))])
            apart.append(mass[a] * seen)
        total = sum(float((p**alpha * q ** (1 - alpha)).sum()) for p, q in zip(joint, apart, strict=True))
        least = math.log(total) / (alpha - 1.0)
        assert capacity(channel, Renyi(alpha), BayesianAdversary(prior)).upper >= least - 1e-12


def test_radius_is_below_level_is_below_diameter():
    for seed in range(5):
        channel = random_channel(seed, values=3, records=2)
        diameter = capacity(channel, SHANNON, hamming_neighbours(channel)).upper
        assert capacity(channel, SHANNON, StrongAdversary()).upper <= diameter + 1e-9


def test_corollary_8():
    """κ-MI-DP gives (0, δ), groups of k get kδ, and so at most kδ·ln(mᵏ) nats of k records of m values."""
    tested = 0
    for seed in range(12):
        channel = random_channel(
            seed, values=2 + seed % 2, records=3, concentration=[0.3, 3.0, 30.0][seed % 3]
        )
        kappa = capacity(channel, SHANNON, StrongAdversary()).upper
        if kappa >= math.log(2):
            continue
        delta = 1.0 - 2.0 * inverse_binary_entropy(math.log(2) - kappa)
        assert capacity(channel, TotalVariation(), hamming_neighbours(channel)).upper <= delta + 1e-9
        values = 2 + seed % 2
        for size in (2, 3):
            group = capacity(channel, SHANNON, StrongAdversary(size=size))
            assert group.lower <= size * delta * math.log(values**size)
            tested += 1
    assert tested >= 12


def test_corollary_8_for_example_5_1_is_what_fails_without_a_finite_alphabet():
    delta = 0.01
    for m in (2, 5, 15):
        channel = example_5_1(m, delta)
        kappa = capacity(channel, SHANNON, StrongAdversary()).upper
        tight = 1.0 - 2.0 * inverse_binary_entropy(math.log(2) - kappa)
        assert capacity(channel, SHANNON, AllPriors()).lower <= 2 * tight * math.log(m**2)


# --- Bayesian and adversarial ----------------------------------------------------------------------------


def test_bayesian_against_every_subset():
    rng = np.random.default_rng(9)
    for seed in range(5):
        channel = random_channel(seed)
        prior = rng.dirichlet(np.full(8, 0.4))
        values = {
            (record, known): conditional_information(channel, prior, record, known)
            for record in range(3)
            for size in range(3)
            for known in combinations([i for i in range(3) if i != record], size)
        }
        bound = capacity(channel, SHANNON, BayesianAdversary(prior))
        assert math.isclose(bound.upper, max(values.values()), rel_tol=1e-9)
        record, known = bound.witness
        assert math.isclose(values[record, tuple(sorted(known))], bound.lower, rel_tol=1e-9)


def test_the_weak_adversary_gains_more_from_correlated_records():
    """Example 4.1: all records equal, a noisy sum: who knows nothing learns the most."""
    kept = 0.7
    binomial = [[math.comb(n, k) * kept**k * (1 - kept) ** (n - k) for k in range(4)] for n in range(4)]
    channel = Channel([binomial[sum(x)] for x in databases(2, 3)], inputs=databases(2, 3))
    equal = [0.5, 0, 0, 0, 0, 0, 0, 0.5]
    record, known = capacity(channel, SHANNON, BayesianAdversary(equal)).witness
    assert known == frozenset()
    assert conditional_information(channel, equal, record, [i for i in range(3) if i != record]) == 0.0


def test_bayesian_over_all_beliefs():
    """Records that move together: more than MI-DP, never more than the whole database."""
    rng = np.random.default_rng(3)
    for seed in range(4):
        channel = random_channel(seed, values=2, records=3)
        bound = capacity(channel, SHANNON, BayesianAdversary())
        assert capacity(channel, SHANNON, StrongAdversary()).lower <= bound.upper + 1e-12
        assert bound.lower <= capacity(channel, SHANNON, AllPriors()).upper
        for prior in rng.dirichlet(np.full(8, 0.2), size=20):
            assert capacity(channel, SHANNON, BayesianAdversary(prior)).upper <= bound.upper + 1e-12
        known = bound.witness
        prior = np.zeros(8)
        for database, belief in zip(known.databases, known.belief, strict=True):
            prior[channel.inputs.index(database)] = belief
        attained = conditional_information(channel, prior / prior.sum(), known.unknown[0], [])
        assert attained >= bound.lower - 1e-12


def test_all_beliefs_in_example_5_1_reach_the_common_value():
    channel = example_5_1(3, 0.5)
    bound = capacity(channel, SHANNON, BayesianAdversary())
    assert abs(bound.lower - 0.5 * math.log(3)) < 2e-9
    assert bound.width < 2e-9


def test_bayesian_neighbours_average_what_is_unknown():
    channel = Channel([[0.8, 0.2], [0.4, 0.6], [0.5, 0.5], [0.1, 0.9]], inputs=databases(2, 2))
    uniform = [0.25] * 4
    one_known = [([0.8, 0.2], [0.5, 0.5]), ([0.4, 0.6], [0.1, 0.9])]
    other_known = [([0.8, 0.2], [0.4, 0.6]), ([0.5, 0.5], [0.1, 0.9])]
    none_known = [([0.6, 0.4], [0.3, 0.7]), ([0.65, 0.35], [0.25, 0.75])]
    pairs = one_known + other_known + none_known
    for ruler in (TotalVariation(), WIDEST, SHANNON):
        expected = max(float(ruler.between(*p)) for a, b in pairs for p in ((a, b), (b, a)))
        found = capacity(channel, ruler, BayesianNeighbours(uniform))
        assert math.isclose(found.upper, expected, rel_tol=1e-12)


def test_adversarial_privacy_bounds_the_information_under_its_prior():
    rng = np.random.default_rng(2)
    for seed in range(5):
        channel = random_channel(seed)
        prior = rng.dirichlet(np.ones(8))
        whole = capacity(channel, SHANNON, GivenPrior(prior)).upper
        assert math.isclose(whole, information(prior[:, None] * channel.matrix), rel_tol=1e-9)
        assert whole <= capacity(channel, SHANNON, AllPriors()).upper
        # The chain rule from the first record to the last.
        steps = [conditional_information(channel, prior, i, list(range(i))) for i in range(3)]
        assert math.isclose(math.fsum(steps), whole, rel_tol=1e-9)


# --- dependent records -----------------------------------------------------------------------------------


def log_lift_of_record(channel, prior, record):
    codes = np.array(channel.inputs)
    centre = prior @ channel.matrix
    best = 0.0
    for value in np.unique(codes[:, record]):
        share = prior * (codes[:, record] == value)
        if share.sum() > 0:
            best = max(best, float(np.max(np.log(share @ channel.matrix / share.sum() / centre))))
    return best


def dependence(prior, channel, record):
    """I_∞(X_i; X_{−i}) of a distribution on databases."""
    codes = np.array(channel.inputs)
    worst = 0.0
    for x, p in zip(codes, prior, strict=True):
        if p > 0:
            mine = prior[codes[:, record] == x[record]].sum()
            rest = prior[(np.delete(codes, record, 1) == np.delete(x, record)).all(axis=1)].sum()
            worst = max(worst, math.log(p / (mine * rest)))
    return worst


def test_no_distribution_of_that_extent_beats_the_upper_end():
    rng = np.random.default_rng(12)
    tested = 0
    for seed in range(30):
        channel = random_channel(seed, values=2 + seed % 2, records=2, outputs=3)
        for _ in range(20):
            prior = rng.dirichlet(np.full(channel.shape[0], rng.choice([0.1, 0.5, 2.0])))
            prior = np.maximum(prior, 1e-9)
            prior /= prior.sum()
            for record in range(2):
                bound = capacity(channel, WIDEST, DependentRecords(2, dependence(prior, channel, record)))
                assert log_lift_of_record(channel, prior, record) <= bound.upper + 1e-12
                tested += 1
    assert tested == 1200


@pytest.mark.parametrize("extent", [0.1, 0.5, math.log(2), 1.0, 3.0])
def test_the_lower_end_is_attained_in_the_limit(extent):
    """w always together with a, P(a) = 10⁻¹¹; the rest is shared by (b, w) and any (c, v)."""
    share = math.exp(-extent)
    for seed in range(10):
        channel = random_channel(seed, values=2, records=2, outputs=3)
        bound = capacity(channel, WIDEST, DependentRecords(2, extent))
        best = 0.0
        for record, a, w, b, v, c in product(range(2), repeat=6):
            prior = np.zeros(4)
            for value, rest, p in ((a, w, 1e-11), (b, w, share), (c, v, 1 - share)):
                database = (value, rest) if record == 0 else (rest, value)
                prior[channel.inputs.index(database)] += p
            prior /= prior.sum()
            if dependence(prior, channel, record) <= extent + 1e-6:
                best = max(best, log_lift_of_record(channel, prior, record))
        assert best >= bound.lower - 1e-5
        if extent >= math.log(2):
            assert bound.is_sharp


def test_dependence_between_its_limits():
    for seed in range(10):
        channel = random_channel(seed)
        near = capacity(channel, WIDEST, hamming_neighbours(channel)).upper
        for k in (1, 2, 3):
            far = capacity(channel, WIDEST, hamming_neighbours(channel, k)).upper
            free = capacity(channel, WIDEST, DependentRecords(k))
            assert math.isclose(free.lower, far, rel_tol=1e-12)  # Wu, Xia & He 2017, theorem 1: equivalence
            none = capacity(channel, WIDEST, DependentRecords(k, 0.0))
            assert math.isclose(none.upper, near, rel_tol=1e-12)
            for extent in (0.05, 0.4, 2.0):
                some = capacity(channel, WIDEST, DependentRecords(k, extent))
                assert near - 1e-12 <= some.lower
                assert some.upper <= min(far, near + extent, k * near) + 1e-12


# --- input cost ------------------------------------------------------------------------------------------


def test_the_cost_of_a_noiseless_bit_is_binary_entropy():
    for cost in (0.01, 0.1, 0.3, 0.5, 0.9):
        p = min(cost, 0.5)
        bound = capacity(Channel(np.eye(2)), SHANNON, InputCost((0.0, 1.0), cost))
        expected = -p * math.log(p) - (1 - p) * math.log(1 - p)
        assert bound.lower <= expected + 1e-12
        assert bound.upper >= expected - 1e-12
        assert bound.width <= 1e-9


def test_noiseless_symbols_under_a_cost_are_a_gibbs_distribution():
    """max H(π) with mean cost c: π ∝ e^{−λ·cost}; three symbols of cost 0, 1, 1 and c = 0.4."""
    expected = -(0.6 * math.log(0.6) + 0.4 * math.log(0.2))
    bound = capacity(Channel(np.eye(3)), SHANNON, InputCost((0.0, 1.0, 1.0), 0.4))
    assert abs(bound.lower - expected) < 1e-9
    assert abs(bound.upper - expected) < 1e-9


def test_the_cost_is_met_and_no_other_prior_does_better():
    rng = np.random.default_rng(6)
    tested = 0
    for _ in range(10):
        rows = rng.dirichlet(np.full(5, 0.7), size=4)
        costs = rng.normal(size=4)
        at_most = float(rng.uniform(costs.min(), costs.mean()))
        bound = capacity(Channel(rows), SHANNON, InputCost(tuple(costs), at_most))
        assert bound.witness @ costs <= at_most + 1e-12
        assert information(bound.witness[:, None] * rows) >= bound.lower - 1e-12
        assert bound.width <= 1e-9
        for prior in rng.dirichlet(np.full(4, 0.5), size=300):
            if prior @ costs <= at_most:
                assert information(prior[:, None] * rows) <= bound.upper + 1e-12
                tested += 1
        loose = capacity(Channel(rows), SHANNON, InputCost(tuple(costs), float(costs.max())))
        assert abs(loose.upper - capacity(Channel(rows), SHANNON, AllPriors()).upper) < 2e-9
    assert tested > 100


def test_only_the_cheapest_secrets():
    channel = Channel([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    assert abs(capacity(channel, SHANNON, InputCost((1.0, 1.0, 2.0), 1.0)).upper - math.log(2)) < 1e-9
    assert capacity(channel, SHANNON, InputCost((1.0, 2.0, 2.0), 1.0)).upper < 1e-9


# --- what is refused -------------------------------------------------------------------------------------


def test_what_is_refused():
    plain, channel = Channel(np.eye(2)), random_channel(0)
    with pytest.raises(InvalidChannel, match="tuples of one length"):
        capacity(plain, SHANNON, StrongAdversary())
    with pytest.raises(InvalidParameter, match="0 to 2"):
        capacity(channel, SHANNON, StrongAdversary(records=(3,)))
    with pytest.raises(InvalidParameter, match="4 or more"):
        capacity(channel, SHANNON, StrongAdversary(size=4))
    with pytest.raises(InvalidParameter, match="BayesianNeighbours"):
        capacity(channel, TotalVariation(), BayesianAdversary([0.125] * 8))
    with pytest.raises(InvalidParameter, match="log-lift"):
        capacity(channel, SHANNON, DependentRecords(2))
    with pytest.raises(InvalidParameter, match="no prior is allowed"):
        capacity(plain, SHANNON, InputCost((1.0, 2.0), 0.5))
    with pytest.raises(InvalidParameter, match="one a secret"):
        capacity(plain, SHANNON, InputCost((1.0,), 0.5))
    with pytest.raises(InvalidParameter, match="mutual information"):
        capacity(plain, WIDEST, InputCost((1.0, 2.0), 1.5))
    wide = Channel(np.full((200, 1), 1.0), inputs=list(product(range(2), range(100))))
    with pytest.raises(InvalidParameter, match="Got 10000"):
        capacity(wide, SHANNON, BayesianAdversary())
    many = Channel([[1.0]], inputs=[(0,) * 14])
    with pytest.raises(InvalidChannel, match="up to 13 records"):
        capacity(many, SHANNON, BayesianAdversary([1.0]))
