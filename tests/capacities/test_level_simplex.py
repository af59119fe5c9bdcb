"""The upper end of the level-α capacity, against grids of beliefs and against the solver for two secrets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from leakcap import AllPriorsJoint, Renyi, capacity
from leakcap.capacities.solvers import level_simplex
from leakcap.capacities.solvers.level_binary import binary_level
from leakcap.capacities.solvers.level_simplex import simplex_ceiling
from leakcap.channel import Channel
from strange_channels import GEOMETRIC, strange_channels

ORDERS = (0.3, 0.9, 1.5, 2.0, 4.0, 12.0)


def grid(count: int, steps: int) -> np.ndarray:
    """All beliefs in `count` secrets with whole numbers of steps."""
    rows = [c for c in itertools.product(range(steps + 1), repeat=count - 1) if sum(c) <= steps]
    head = np.array(rows, dtype=float) / steps
    return np.hstack([head, np.maximum(1.0 - head.sum(axis=1, keepdims=True), 0.0)])


def leakage(rows: np.ndarray, alpha: float, beliefs: np.ndarray) -> np.ndarray:
    """ln(Σ_xy π_x C_xy^α q_y^{1−α})/(α−1) for many beliefs at once, written out once more."""
    centre = beliefs @ rows
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(centre > 0, (beliefs @ rows**alpha) * centre ** (1.0 - alpha), 0.0)
    return np.log(terms.sum(axis=1)) / (alpha - 1.0)


@pytest.mark.parametrize("alpha", ORDERS)
def test_the_bracket_of_the_survey_closes(alpha: float) -> None:
    bound = capacity(GEOMETRIC, Renyi(alpha), AllPriorsJoint())
    assert bound.width <= 2e-9
    best = float(leakage(GEOMETRIC.matrix, alpha, grid(3, 200)).max())
    # A grid of step h misses a smooth maximum by at most h² times the curvature.
    assert best - 1e-12 <= bound.upper <= best + 2e-3


@pytest.mark.parametrize("alpha", ORDERS)
def test_no_belief_of_a_grid_is_above(alpha: float) -> None:
    beliefs = {n: grid(n, {2: 400, 3: 60, 4: 20, 5: 10}[n]) for n in (2, 3, 4, 5)}
    for channel, _ in strange_channels(10, seed=31, largest=5):
        rows = channel.matrix
        if alpha > 2.0 and ((rows > 0).any(axis=0) & (rows == 0).any(axis=0)).any():
            continue
        best = max(float(leakage(rows, alpha, beliefs[len(rows)]).max()), 0.0)
        assert simplex_ceiling(rows, alpha, best) >= best - 1e-13


@pytest.mark.parametrize("alpha", [0.4, 1.7, 5.0])
def test_two_secrets_meet_the_other_solver(alpha: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        rows = rng.dirichlet(np.ones(4), 2)
        pair = binary_level(rows[0], rows[1], alpha)
        ceiling = simplex_ceiling(rows, alpha, pair.lower)
        assert pair.lower - 1e-12 <= ceiling <= pair.upper + 2e-9


def test_where_it_has_nothing_to_say() -> None:
    assert simplex_ceiling(GEOMETRIC.matrix, 1.001, 0.0) == math.inf
    assert simplex_ceiling(GEOMETRIC.matrix, 1e5, 0.0) == math.inf
    equal = np.full((3, 2), 0.5)
    assert 0.0 <= simplex_ceiling(equal, 2.0, 0.0) <= 1e-12


def test_work_that_runs_out_leaves_a_wider_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = simplex_ceiling(GEOMETRIC.matrix, 2.0, 0.26)
    monkeypatch.setattr(level_simplex, "_CELLS", 8)
    wide = simplex_ceiling(GEOMETRIC.matrix, 2.0, 0.26)
    assert exact + 1e-3 < wide < 2.0


def test_bounding_by_the_corners_alone_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = level_simplex._Search._bounds

    def corners_only(self: level_simplex._Search, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, edges = honest(self, cells)
        heights, centres = cells @ self.powers, cells @ self.rows
        values = ((heights * centres**-self.t).sum(axis=2) - 1.0) / self.t
        return values.max(axis=1), edges

    monkeypatch.setattr(level_simplex._Search, "_bounds", corners_only)
    best = float(leakage(GEOMETRIC.matrix, 2.0, grid(3, 60)).max())
    assert simplex_ceiling(GEOMETRIC.matrix, 2.0, 0.0) < best - 0.1


def test_zeros_are_bounded_too() -> None:
    rows = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]])
    for alpha in (0.5, 1.5, 1.9):
        bound = capacity(Channel(rows), Renyi(alpha), AllPriorsJoint())
        assert bound.width <= 2e-9
        assert float(leakage(rows, alpha, grid(3, 150)).max()) <= bound.upper
