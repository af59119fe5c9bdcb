"""Short cuts of the Shannon solver and of ε: they may only change the time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakcap.adversary import Neighbours
from leakcap.capacities import capacity
from leakcap.capacities.solvers import columns, shannon
from leakcap.capacities.solvers.columns import widest_column
from leakcap.capacities.solvers.mirror import unfolded
from leakcap.capacities.solvers.pivots import exchange, shannon_prior
from leakcap.capacities.solvers.rows import DenseRows
from leakcap.capacities.solvers.shannon import ShannonProblem
from leakcap.channel import Channel
from leakcap.divergence import Renyi


def energies(rows):
    return np.array([sum(v * math.log(v) for v in row if v > 0) for row in rows.tolist()])


def duality_gap(rows, prior):
    centre = prior @ rows
    distance = energies(rows) - rows @ np.log(np.maximum(centre, 1e-300))
    return float(distance.max() - prior @ distance)


def mirrored(count, width, seed):
    rows = np.random.default_rng(seed).dirichlet(np.full(width, 0.5), size=count) + 1e-4
    rows = rows + rows[::-1, ::-1]
    return rows / rows.sum(axis=1, keepdims=True)


def test_exchange_solves_for_the_chosen_variables():
    rng = np.random.default_rng(0)
    matrix, constant, free = rng.normal(size=(6, 6)), rng.normal(size=6), rng.normal(size=6)
    matrix = matrix @ matrix.T
    result = constant + matrix @ free
    for which in ([2], [0, 3, 5], [1, 4]):
        table = np.column_stack([matrix, constant])
        exchange(table, np.array(which))
        inputs, outputs = free.copy(), result.copy()
        inputs[which], outputs[which] = result[which], free[which]
        np.testing.assert_allclose(table[:, 6] + table[:, :6] @ inputs, outputs, rtol=1e-10, atol=1e-10)


def test_few_secrets_are_solved_by_the_table_alone():
    solved = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 40))
        rows = rng.dirichlet(np.full(count + int(rng.integers(0, 20)), 0.7), size=count) + 1e-6
        rows /= rows.sum(axis=1, keepdims=True)
        prior = shannon_prior(rows, energies(rows), 1e-9)
        if prior is not None:
            assert prior.min() >= 0.0
            assert prior.sum() == pytest.approx(1.0, abs=1e-12)
            assert duality_gap(rows, prior) <= 1e-9
            solved += 1
    assert solved >= 50


@pytest.mark.parametrize("rows", [np.full((4, 6), 1 / 6), np.repeat(np.eye(5), 2, axis=0)[:5], np.eye(7)])
def test_a_table_that_fails_is_said_to_fail(rows):
    prior = shannon_prior(rows, energies(rows), 1e-9)
    assert prior is None or duality_gap(rows, prior) <= 1e-9


@pytest.mark.parametrize(("count", "width"), [(2, 2), (5, 4), (4, 5), (7, 7), (30, 41), (301, 260)])
def test_half_of_a_symmetric_channel_is_the_same_problem(count, width):
    rows = mirrored(count, width, count + width)
    half = ShannonProblem.of(DenseRows(rows)).half()
    assert half is not None
    rng = np.random.default_rng(1)
    part = rng.dirichlet(np.ones((count + 1) // 2))
    prior = unfolded(part, count)
    assert prior.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_array_equal(prior, prior[::-1])
    # I(π) from the halves and from the whole.
    centre = half.rows.mix(part)
    inner = part @ half.divergences(np.log(centre))
    whole = prior @ (energies(rows) - rows @ np.log(prior @ rows))
    assert inner == pytest.approx(whole, abs=1e-13)
    halves = np.full(len(part), 2.0 / count)
    if count % 2:
        halves[-1] = 1.0 / count
    np.testing.assert_allclose(half.average, half.rows.mix(halves), atol=1e-14)


def test_other_channels_are_not_folded():
    rows = np.random.default_rng(2).dirichlet(np.ones(8), size=8)
    assert ShannonProblem.of(DenseRows(rows)).half() is None


@pytest.mark.parametrize("seed", range(12))
def test_signs_of_symmetry_are_not_believed(seed):
    # Rows of equal entropy and a uniform average without mirror symmetry: a circulant channel and its like.
    base = np.random.default_rng(seed).dirichlet(np.full(9, 0.4)) + 1e-3
    rows = np.array([np.roll(base / base.sum(), 2 * shift) for shift in range(9)])
    lame = np.vstack([rows[:4], rows[5:]])
    for channel in (rows, lame):
        plain = shannon.shannon_capacity(channel)
        shuffled = shannon.shannon_capacity(channel[np.random.default_rng(seed).permutation(len(channel))])
        assert plain.width <= 1e-9
        assert plain.lower <= shuffled.upper
        assert shuffled.lower <= plain.upper


def test_a_wrong_leap_costs_time_only(monkeypatch):
    rows = mirrored(24, 24, 7)
    right = shannon.shannon_capacity(rows)
    bad = np.zeros(24)
    bad[0] = 1.0
    monkeypatch.setattr(shannon, "shannon_prior", lambda *_: bad)
    monkeypatch.setattr(shannon, "unfolded", lambda *_: bad)
    wrong = shannon.shannon_capacity(rows)
    assert wrong.width <= 1e-9
    assert wrong.lower <= right.upper
    assert right.lower <= wrong.upper


def every_column(rows):
    best, at = -1.0, 0
    for y in range(rows.shape[1]):
        top, low = float(rows[:, y].max()), float(rows[:, y].min())
        ratio = 0.0 if top == 0 else math.inf if low == 0 else top / low
        if ratio > best:
            best, at = ratio, y
    return best, at


@pytest.mark.parametrize("seed", range(40))
def test_widest_column_is_that_of_a_full_look(seed):
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(2, 30)), int(rng.integers(33, 300))
    rows = rng.dirichlet(np.full(width, 2.0), size=count) + 1e-9
    if seed % 4 == 1:
        rows[rng.integers(count), rng.integers(width)] = 0.0
    elif seed % 4 == 2:
        rows[:, rng.integers(width)] = 0.0
    elif seed % 4 == 3:
        rows = np.full((count, width), 1.0) + 5.0 * np.eye(count, width)
    rows /= rows.sum(axis=1, keepdims=True)
    channel = Channel(rows)
    best, at = every_column(channel.matrix)
    y, top, bottom = widest_column(channel)
    assert (y, top, bottom) == (at, channel.matrix[:, at].max(), channel.matrix[:, at].min())
    bound = capacity(channel, Renyi(math.inf), Neighbours())
    assert bound.upper == pytest.approx(math.log(best) if math.isfinite(best) else math.inf, rel=1e-13)


def test_few_columns_are_looked_at_where_few_can_win(monkeypatch):
    channel = Channel(np.random.default_rng(3).dirichlet(np.ones(300), size=300))
    monkeypatch.setattr(columns, "column_tops", None)  # a look at every column would fail
    assert widest_column(channel)[0] == every_column(channel.matrix)[1]
