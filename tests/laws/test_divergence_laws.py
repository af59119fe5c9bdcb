"""The law of every ruler: post-processing never lengthens it. Rulers enrol by existing."""

from __future__ import annotations

import numpy as np
import pytest

import leakcap.divergence as module
from families import leaves
from leakcap.divergence import Divergence

CHANNELS = 150


RULERS = [
    ruler
    for leaf in leaves(Divergence)
    if leaf.__module__.startswith("leakcap.")
    for ruler in leaf.examples()
]


def stochastic(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """A random channel: smooth, sparse, near-deterministic or deterministic."""
    rows = rng.dirichlet(np.full(shape[1], rng.choice([0.1, 1.0, 10.0])), size=shape[0])
    kind = rng.integers(4)
    if kind == 1:
        rows = rows * (rng.random(shape) < 0.5) + np.eye(*shape) + 1e-300
    elif kind == 2:
        rows = np.eye(shape[1])[rng.integers(shape[1], size=shape[0])] + 1e-9 * rows
    elif kind == 3:
        rows = np.eye(shape[1])[rng.integers(shape[1], size=shape[0])]
    return rows / rows.sum(axis=1, keepdims=True)


def pairs_and_posts():
    rng = np.random.default_rng(20240)
    for _ in range(CHANNELS):
        x, y, z = rng.integers(2, 7, size=3)
        yield stochastic(rng, (x, y)), stochastic(rng, (y, z))


def violations(ruler, before, after):
    """Pairs of rows whose divergence grew; doubles allow 1e-11 of the value and 1e-14."""
    first = ruler.between(before[:, None], before[None])
    second = ruler.between(after[:, None], after[None])
    with np.errstate(invalid="ignore"):
        return int(np.sum(second > first * (1 + 1e-11) + 1e-14)), first.size


def test_every_ruler_of_the_module_is_enrolled():
    named = {getattr(module, name) for name in module.__all__} - {Divergence}
    assert {type(ruler) for ruler in RULERS} >= named
    assert len(RULERS) >= 10


@pytest.mark.parametrize("ruler", RULERS, ids=repr)
def test_data_processing(ruler):
    tested = 0
    for rows, post in pairs_and_posts():
        wrong, size = violations(ruler, rows, rows @ post)
        assert wrong == 0
        tested += size
    assert tested > CHANNELS


@pytest.mark.parametrize("ruler", RULERS, ids=repr)
def test_zero_to_itself_and_never_negative(ruler):
    for rows, _ in pairs_and_posts():
        table = ruler.between(rows[:, None], rows[None])
        assert (table >= 0).all()
        least = max(0.0, 1.0 - getattr(ruler, "exp_epsilon", 1.0))
        np.testing.assert_allclose(np.diagonal(table), least, atol=1e-15)


@pytest.mark.parametrize("ruler", RULERS, ids=repr)
def test_permuting_outcomes_changes_nothing(ruler):
    rng = np.random.default_rng(1)
    for rows, _ in pairs_and_posts():
        order = rng.permutation(rows.shape[1])
        before = ruler.between(rows[:, None], rows[None])
        after = ruler.between(rows[:, None, order], rows[None][:, :, order])
        np.testing.assert_allclose(before, after, rtol=1e-12, atol=1e-15)


def test_a_ruler_that_post_processing_lengthens_is_caught():
    class Euclidean:
        def between(self, p, q):
            return np.sqrt(np.sum((p - q) ** 2, axis=-1))

    caught = sum(violations(Euclidean(), rows, rows @ post)[0] for rows, post in pairs_and_posts())
    assert caught > 10
