"""The four privacies of each person in a database, against sums over the whole joint distribution."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.leakage import (
    each_individual,
    individual,
    inferential_privacy,
    information_privacy,
    mutual_information_privacy,
    privacies,
    relative_entropy_privacy,
    worst_individual,
)

DATABASES = list(itertools.product((0, 1), (0, 1), ("a", "b", "c")))


def world(seed: int) -> tuple[Channel, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(4), len(DATABASES))
    return Channel(rows, inputs=DATABASES), rng.dirichlet(np.full(len(DATABASES), 0.6))


def beliefs(
    channel: Channel, prior: np.ndarray, person: int
) -> tuple[dict[object, float], dict[object, np.ndarray]]:
    """p(x_i) and p(x_i | y) for every y, summed straight from the joint."""
    joint = prior[:, None] * channel.matrix
    before: dict[object, float] = {}
    after: dict[object, np.ndarray] = {}
    for row, (label, p) in enumerate(zip(DATABASES, prior, strict=True)):
        before[label[person]] = before.get(label[person], 0.0) + p
        after[label[person]] = after.get(label[person], np.zeros(4)) + joint[row] / joint.sum(axis=0)
    return before, after


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("person", range(3))
def test_all_four_by_brute_force(seed: int, person: int) -> None:
    channel, prior = world(seed)
    p, post = beliefs(channel, prior, person)
    seen = privacies(*individual(channel, prior, person))
    odds = max(math.log(post[x][y] / post[z][y] / (p[x] / p[z])) for x in p for z in p for y in range(4))
    assert seen.inferential == pytest.approx(odds, abs=1e-12)
    assert seen.information == pytest.approx(max(math.log(post[x].max() / p[x]) for x in p), abs=1e-12)
    divergences = [sum(post[x][y] * math.log(post[x][y] / p[x]) for x in p) for y in range(4)]
    assert seen.relative_entropy == pytest.approx(max(divergences), abs=1e-12)
    outputs = prior @ channel.matrix
    assert seen.mutual_information == pytest.approx(float(outputs @ divergences), abs=1e-12)


def test_a_certain_group_shares_one_fate() -> None:
    """Everybody equal: a mean that hides one person in n shows all (Cuff & Yu 2016, example 4.1)."""
    count = 4
    inputs = list(itertools.product((0, 1), repeat=count))
    flips = [0.5 + 0.4 * (sum(x) / count - 0.5) for x in inputs]
    channel = Channel([[1 - f, f] for f in flips], inputs=inputs)
    equal = np.array([0.5 if len(set(x)) == 1 else 0.0 for x in inputs])
    free = np.full(len(inputs), 1 / len(inputs))
    assert worst_individual(inferential_privacy, channel, equal) == pytest.approx(
        math.log(0.7 / 0.3), abs=1e-12
    )
    assert worst_individual(inferential_privacy, channel, free) == pytest.approx(
        math.log(0.55 / 0.45), abs=1e-12
    )


def test_each_person_has_a_number_of_their_own() -> None:
    """Only the second of two people is in the output."""
    channel = Channel([[0.9, 0.1], [0.1, 0.9]] * 2, inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    first, second = each_individual(information_privacy, channel, [0.25] * 4)
    assert first == pytest.approx(0.0, abs=1e-15)
    assert second == pytest.approx(math.log(1.8), abs=1e-12)


def test_a_record_that_reveals_itself_is_infinite() -> None:
    channel = Channel([[1.0, 0.0], [0.5, 0.5]])
    assert math.isinf(inferential_privacy(channel, [0.5, 0.5]))
    assert inferential_privacy(channel, [1.0, 0.0]) == 0.0
    assert relative_entropy_privacy(channel, [0.5, 0.5]) == pytest.approx(math.log(2), abs=1e-12)
    assert mutual_information_privacy(channel, [0.0, 1.0]) == 0.0


def test_databases_must_be_tuples_of_records() -> None:
    with pytest.raises(InvalidChannel, match="one entry a person"):
        worst_individual(information_privacy, Channel([[1.0], [1.0]]), [0.5, 0.5])
    with pytest.raises(InvalidChannel, match="one length"):
        worst_individual(information_privacy, Channel([[1.0], [1.0]], inputs=[(0,), (0, 1)]), [0.5, 0.5])
    channel, prior = world(0)
    with pytest.raises(InvalidParameter, match="from 0 to 2"):
        individual(channel, prior, 3)
