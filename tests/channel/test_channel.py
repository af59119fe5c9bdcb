"""Channels: what they are made of, their algebra, and what they refuse."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from leakcap.channel import Channel, ChannelBatch, as_prior
from leakcap.errors import InvalidChannel, InvalidPrior, LeakcapError

F = Fraction
THIRDS = [[F(1, 3), F(2, 3)], [F(1, 2), F(1, 2)]]


def random_rows(seed, x, y, zeros=0.0):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(y), size=x) * (rng.random((x, y)) >= zeros)
    rows[:, 0] += 1e-3
    return rows / rows.sum(axis=1, keepdims=True)


def exact_rows(seed, x, y):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, size=(x, y)) + np.eye(x, y, dtype=int)
    return [[F(int(v), int(row.sum())) for v in row] for row in counts]


# --- what it is given as -------------------------------------------------------------------------------


def test_the_matrix_is_a_frozen_copy():
    given = np.array([[0.5, 0.5]])
    channel = Channel(given)
    given[0, 0] = 0.0
    assert channel.matrix.tolist() == [[0.5, 0.5]]
    with pytest.raises(ValueError, match="read-only"):
        channel.matrix[0, 0] = 1.0


def test_rows_are_scaled_to_one_within_the_tolerance():
    channel = Channel([[0.5 + 4e-10, 0.5], [0.25, 0.75]])
    assert abs(math.fsum(channel.matrix[0]) - 1.0) < 3e-16
    assert channel.matrix[1].tolist() == [0.25, 0.75]


def test_pandas_labels():
    frame = pd.DataFrame([[0.9, 0.1], [0.2, 0.8]], index=["ill", "well"], columns=["+", "-"])
    channel = Channel(frame)
    assert (channel.inputs, channel.outputs) == (("ill", "well"), ("+", "-"))
    assert channel == Channel([[0.9, 0.1], [0.2, 0.8]], inputs=["ill", "well"], outputs=["+", "-"])
    assert Channel(pd.DataFrame([[1.0]])).inputs == (0,)


def test_polars_labels():
    frame = pl.DataFrame({"secret": ["ill", "well"], "+": [0.9, 0.2], "-": [0.1, 0.8]})
    assert Channel(frame).inputs == ("ill", "well")
    assert Channel(frame).outputs == ("+", "-")
    assert Channel(frame.drop("secret")).inputs == (0, 1)
    assert Channel(frame.drop("secret"), inputs="ab").inputs == ("a", "b")


def test_fractions_stay_fractions_and_doubles_are_the_nearest():
    channel = Channel(THIRDS)
    assert channel.exact.tolist() == THIRDS
    assert channel.matrix.tolist() == [[1 / 3, 2 / 3], [0.5, 0.5]]
    assert Channel([[Decimal("0.1"), Decimal("0.9")]]).exact.tolist() == [[F(1, 10), F(9, 10)]]
    assert Channel([[F(1, 2), 0.5]]).exact is None


def test_sparse_stays_sparse():
    rows = random_rows(1, 5, 6, zeros=0.5)
    for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        channel = Channel(kind(rows))
        assert channel.sparse is not None
        np.testing.assert_allclose(channel.matrix, rows, rtol=1e-15)
        assert channel == Channel(sparse.csr_array(rows))
        assert hash(channel) == hash(Channel(sparse.csr_array(rows)))


def test_a_huge_sparse_channel_is_never_written_out():
    channel = Channel(sparse.eye_array(100_000, format="csr"))
    assert channel.shape == (100_000, 100_000)
    with pytest.raises(InvalidChannel, match="dense matrix"):
        _ = channel.matrix
    assert (channel >> channel) == channel


# --- what it refuses -----------------------------------------------------------------------------------

BAD = {
    "a short row": ([[0.5, 0.5], [1.0]], "different lengths"),
    "text": ([["0.5", "0.5"]], "text"),
    "a string": ("0.5 0.5", "Channel.load"),
    "nothing": (None, "NoneType"),
    "no rows": ([], "non-empty"),
    "no columns": ([[]], "non-empty"),
    "a vector": ([0.5, 0.5], "shape"),
    "a cube": ([[[1.0]]], "shape"),
    "NaN": ([[0.5, math.nan]], "NaN one at row 0, column 1"),
    "infinity": ([[0.5, math.inf]], "infinite one at row 0, column 1"),
    "negative": ([[0.5, 0.5], [1.5, -0.5]], "negative one at row 1, column 1"),
    "a gap": ([[0.5, None]], "text, complex numbers, dates or gaps"),
    "complex": ([[1j, 1.0]], "complex"),
    "a short sum": ([[0.5, 0.5], [0.5, 0.4]], "sum to one within 1e-09. Got 0.9 in row 1"),
    "a sum beyond the tolerance": ([[0.5 + 2e-9, 0.5]], "sum to one"),
    "fractions off by a hair": ([[F(1, 3), F(2, 3) + F(1, 10**30)]], "exactly one"),
    "a negative fraction": ([[F(-1, 3), F(4, 3)]], "negative one at row 0, column 0"),
    "a decimal NaN": ([[Decimal("NaN"), Decimal(1)]], "NaN"),
    "sparse negative": (sparse.csr_array([[1.5, -0.5]]), "negative one at row 0, column 1"),
    "sparse empty row": (sparse.csr_array([[1.0, 0.0], [0.0, 0.0]]), "Got 0.0 in row 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_matrices_are_named(name):
    matrix, message = BAD[name]
    with pytest.raises(InvalidChannel, match=message):
        Channel(matrix)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"inputs": ["a"]}, "2 labels. Got 1"),
        ({"outputs": [0, 0]}, "distinct"),
        ({"inputs": [[], {}]}, "hashable"),
    ],
)
def test_bad_labels_are_named(labels, message):
    with pytest.raises(InvalidChannel, match=message):
        Channel(np.eye(2), **labels)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([1.0], "one entry a secret"),
        ([0.5, 0.4], "sum to one"),
        ([1.5, -0.5], "non-negative"),
        (["a", "b"], "numbers"),
    ],
)
def test_bad_priors_are_named(prior, message):
    with pytest.raises(InvalidPrior, match=message):
        as_prior(prior, 2)


def test_unlike_labels_do_not_compose():
    a, b = Channel(np.eye(2), outputs="ab"), Channel(np.eye(2), inputs="ba")
    for compose in (lambda: a >> b, lambda: b << a, lambda: a & b, lambda: a.hidden_choice(b, 0.5)):
        with pytest.raises(InvalidChannel, match="relabelled"):
            compose()
    assert (a >> b.relabelled(inputs="ab")).matrix.tolist() == np.eye(2).tolist()


@pytest.mark.parametrize("times", [0, -1, 1.5, True])
def test_bad_exponents(times):
    with pytest.raises(InvalidChannel, match="number of observations"):
        _ = Channel(np.eye(2)) ** times


@pytest.mark.parametrize("probability", [-0.1, 1.1, math.nan, F(3, 2)])
def test_bad_probabilities(probability):
    with pytest.raises(LeakcapError, match="probability"):
        Channel(np.eye(2)).visible_choice(Channel(np.eye(2)), probability)


def test_foreign_operands():
    with pytest.raises(TypeError):
        _ = Channel(np.eye(2)) >> np.eye(2)
    with pytest.raises(TypeError):
        _ = Channel(np.eye(2)) & 1


# --- the algebra, in all three kinds -------------------------------------------------------------------

KINDS = {
    "dense": lambda rows: Channel(np.array(rows, dtype=float)),
    "exact": Channel,
    "sparse": lambda rows: Channel(sparse.csr_array(np.array(rows, dtype=float))),
}


def entries(channel):
    """Fractions where there are any, so that exactness is part of the comparison."""
    return channel.exact.tolist() if channel.exact is not None else channel.matrix


def assert_rows(channel, expected, kind):
    assert (channel.sparse is not None) == (kind == "sparse")
    if kind == "exact":
        assert channel.exact is not None
        assert channel.exact.tolist() == expected
    np.testing.assert_allclose(channel.matrix, np.array(expected, dtype=float), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("kind", KINDS)
def test_cascade_is_the_sum_over_what_is_shown(kind):
    a, b = exact_rows(1, 3, 4), exact_rows(2, 4, 2)
    expected = [[sum(a[x][y] * b[y][z] for y in range(4)) for z in range(2)] for x in range(3)]
    make = KINDS[kind]
    assert_rows(make(a) >> make(b), expected, kind)
    assert (make(b) << make(a)) == (make(a) >> make(b))


@pytest.mark.parametrize("kind", KINDS)
def test_both_is_the_product(kind):
    a, b = exact_rows(3, 3, 2), exact_rows(4, 3, 3)
    pairs = list(product(range(2), range(3)))
    both = KINDS[kind](a) & KINDS[kind](b)
    assert both.outputs == tuple(pairs)
    assert_rows(both, [[a[x][y] * b[x][z] for y, z in pairs] for x in range(3)], kind)


@pytest.mark.parametrize("kind", KINDS)
def test_visible_and_hidden_choice(kind):
    a, b, p = exact_rows(5, 2, 2), exact_rows(6, 2, 3), F(1, 3)
    first, second = KINDS[kind](a), KINDS[kind](b)
    visible = first.visible_choice(second, p)
    assert visible.outputs == ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2))
    assert_rows(visible, [[p * v for v in a[x]] + [(1 - p) * v for v in b[x]] for x in range(2)], kind)
    hidden = first.hidden_choice(second, p)
    assert hidden.outputs == (0, 1, 2)
    longer = [[*row, F(0)] for row in a]
    expected = [[p * u + (1 - p) * v for u, v in zip(longer[x], b[x], strict=True)] for x in range(2)]
    assert_rows(hidden, expected, kind)


def test_a_zero_one_channel_is_exact_beside_fractions():
    parity = Channel.of_function(lambda y: y % 2, range(2))
    assert (Channel(THIRDS) >> parity).exact.tolist() == THIRDS
    assert (Channel(THIRDS) >> Channel([[0.5, 0.5], [0.5, 0.5]])).exact is None


@pytest.mark.parametrize("kind", KINDS)
def test_reduction_merges_proportional_columns_only(kind):
    # Columns 0, 2 and 4 are proportional, 1 stands alone, 3 never happens, 5 is nearly like 1.
    rows = [
        [F(1, 10), F(2, 10), F(2, 10), F(0), F(3, 10), F(2, 10)],
        [F(1, 20), F(3, 10), F(2, 20), F(0), F(3, 20), F(4, 10)],
    ]
    channel = KINDS[kind](rows).reduced()
    assert channel.outputs == (0, 1, 5)
    assert_rows(channel, [[F(6, 10), F(2, 10), F(2, 10)], [F(3, 10), F(3, 10), F(4, 10)]], kind)
    assert channel.reduced() is channel


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_columns_that_differ_in_a_tiny_entry_stay_apart(kind):
    tiny = 1e-20
    rows = np.array([[0.5, 0.5, 0.0, 0.0], [tiny, 2 * tiny, 0.5, 0.5], [0.0, 0.0, 0.25, 0.75]])
    assert KINDS[kind](rows).reduced().outputs == (0, 1, 2, 3)


def test_reduction_keeps_every_posterior_of_random_channels():
    for seed in range(40):
        base = random_rows(seed, 4, 5, zeros=0.3)
        post = random_rows(seed + 100, 5, 5)
        spread = np.hstack([base * share for share in (0.5, 0.3, 0.2)])
        assert Channel(spread).reduced().shape[1] == Channel(base).reduced().shape[1]
        mixed = Channel(base) >> Channel(post)
        assert mixed.reduced().shape == mixed.shape


@pytest.mark.parametrize("kind", KINDS)
def test_repetition_says_what_all_observations_say(kind):
    """Against the full product: equal columns up to merging, hence equal Σ_y max_x w_x C_xy for all w."""
    base = KINDS[kind](exact_rows(8, 3, 3))
    power, full = base**3, base & base & base
    assert (power.exact is not None) == (kind == "exact")
    assert power.shape[1] == 10  # multisets of three from three outputs
    rng = np.random.default_rng(0)
    for weights in rng.random((20, 3)):
        values = [(weights[:, None] * c.matrix).max(axis=0).sum() for c in (power, full)]
        assert math.isclose(*values, rel_tol=1e-12)


def test_repetition_of_a_symmetric_channel_is_binomial():
    power = Channel([[F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]]) ** 4
    expected = [math.comb(4, k) * F(3, 4) ** (4 - k) * F(1, 4) ** k for k in range(5)]
    assert power.outputs == tuple((4 - k, k) for k in range(5))
    assert power.exact.tolist() == [expected, expected[::-1]]


def test_repetition_merges_what_types_leave_apart():
    """Columns e^{±ε}: the sum of the signs is all that matters, whichever outputs gave them."""
    rows = np.array([[4, 1, 2, 2], [1, 4, 2, 2]]) / 9
    power = Channel(rows) ** 6
    assert Channel(rows).reduced().shape[1] == 3
    assert power.shape[1] == 13  # log-likelihood ratios −6 … 6 steps, not C(8, 2) = 28 types


def test_a_thousand_observations_of_a_bit():
    power = Channel([[0.505, 0.495], [0.495, 0.505]]) ** 1000
    assert power.shape == (2, 1001)
    middle = power.matrix[0, 500]
    expected = math.exp(math.lgamma(1001) - 2 * math.lgamma(501) + 500 * math.log(0.505 * 0.495))
    assert math.isclose(middle, expected, rel_tol=1e-10)


def test_a_repetition_that_would_explode_is_refused():
    rows = random_rows(3, 20, 200)
    with pytest.raises(InvalidChannel, match="Compose the privacy loss"):
        _ = Channel(rows) ** 50


def test_restriction_to_some_secrets():
    channel = Channel(np.eye(3), inputs="abc")
    assert channel.restricted("ca").matrix.tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(InvalidChannel, match="lacks"):
        channel.restricted("d")


def test_equality_is_of_labels_and_entries():
    a = Channel(THIRDS)
    assert a == Channel(THIRDS)
    assert a == Channel([[1 / 3, 2 / 3], [0.5, 0.5]])
    assert hash(a) == hash(Channel([[1 / 3, 2 / 3], [0.5, 0.5]]))
    assert hash(a) == hash(Channel(sparse.csr_array(a.matrix)))
    assert a != Channel([[F(1, 3) + F(1, 10**40), F(2, 3) - F(1, 10**40)], THIRDS[1]])
    assert a != a.relabelled(inputs="ab")
    assert a != 1


# --- batches -------------------------------------------------------------------------------------------


def test_a_batch_is_its_channels():
    stack = np.stack([random_rows(seed, 3, 4) for seed in range(5)])
    batch = ChannelBatch(stack, inputs="abc")
    assert len(batch) == 5
    assert list(batch) == [Channel(rows, inputs="abc") for rows in stack]
    assert list(ChannelBatch(list(batch))) == list(batch)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.eye(2), "shape"),
        ([], "shape"),
        ([[[0.5, 0.4]]], "sum to one"),
        ([Channel(np.eye(2)), Channel(np.eye(2), inputs="ab")], "same labels"),
    ],
)
def test_bad_batches(given, message):
    with pytest.raises(InvalidChannel, match=message):
        ChannelBatch(given)


def test_a_function_of_a_hundred_thousand_secrets_is_sparse():
    names = Channel.of_function(lambda x: x, range(100_000))
    assert names.sparse is not None
    assert names.shape == (100_000, 100_000)
    assert names.sparse.nnz == 100_000
    assert Channel.of_function(lambda x: x % 7, range(100)).sparse is None


def test_two_large_channels_together_are_refused_by_their_size() -> None:
    """3 GiB of doubles are not asked for; the line says how many entries they would be."""
    wide = Channel(np.full((400, 1_000), 1e-3))
    with pytest.raises(InvalidChannel, match=r"at most 268435456 entries\. Got 400000000, for 400 secrets"):
        wide & wide


def test_a_function_that_shows_lists_is_refused() -> None:
    with pytest.raises(InvalidChannel, match="must be hashable"):
        Channel.of_function(lambda x: [x], range(3))
