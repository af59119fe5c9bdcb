"""A table builder and the attack that averages its noise: its success by an exact law, and planted bugs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leakcap.attack import TableBuilder, averaged_counts
from leakcap.attack.tables.builder import _limit, queries_that_are_needed, queries_that_suffice
from leakcap.errors import InvalidParameter


def chance_of_the_mean(noise: int, pairs: int) -> float:
    """That the mean, rounded, is the count: −1/2 ≤ sum/pairs < 1/2, by a convolution of whole numbers."""
    one = np.array([1] * (2 * noise + 1), dtype=object)
    ways = np.array([1], dtype=object)
    for _ in range(2 * pairs):
        ways = np.convolve(ways, one)
    middle = len(ways) // 2
    inside = sum(int(w) for at, w in enumerate(ways) if -pairs <= 2 * (at - middle) < pairs)
    return float(Fraction(inside, (2 * noise + 1) ** (2 * pairs)))


def test_published_under_two_hundred_queries() -> None:
    """Asghar & Kaafar: noise of up to 2 is taken off with fewer than 200 queries. 120 counts; an interval of
    99 % and, for the exact law, four standard deviations (false alarm 10⁻⁴, the seed is fixed)."""
    mean, likeliest = averaged_counts(
        2, queries=180, counts=120, people=12_000, generator=np.random.default_rng(5)
    )
    assert mean.queries == 180 < 200
    assert (mean.got_lower or 0.0) > 0.9
    truth = chance_of_the_mean(2, 90)
    assert abs(mean.got - truth) < 4 * np.sqrt(truth * (1 - truth) / 120)
    assert likeliest.got >= mean.got
    assert mean.at_most <= 1.0
    assert abs(mean.blind - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 120)


def test_few_queries_are_not_enough_and_more_noise_needs_more() -> None:
    for noise, queries in ((2, 8), (5, 60)):
        mean, likeliest = averaged_counts(
            noise, queries=queries, counts=100, people=10_000, generator=np.random.default_rng(noise)
        )
        truth = chance_of_the_mean(noise, queries // 2)
        assert abs(mean.got - truth) < 4 * np.sqrt(truth * (1 - truth) / 100)
        assert truth < mean.at_most < 1.0
        for one in (mean, likeliest):
            assert (one.got_lower or 0.0) <= one.at_most


@pytest.mark.parametrize("noise", [1, 2, 3])
def test_how_many_queries_suffice_and_are_needed(noise: int) -> None:
    """The least by the exact law of whole numbers; one pair fewer does not do, nor does it by the channel."""
    suffice, needed = queries_that_suffice(noise), queries_that_are_needed(noise)
    assert suffice is not None
    assert needed is not None
    assert chance_of_the_mean(noise, suffice // 2 - 1) < 0.95 <= chance_of_the_mean(noise, suffice // 2)
    assert _limit(noise, needed // 2 - 1) < 0.95 <= _limit(noise, needed // 2)
    assert needed < suffice


def test_what_was_predicted_is_seen() -> None:
    """Fewer queries than the published 200 suffice by the law, and as many counts are named as it says, to
    four standard deviations (false alarm 10⁻⁴, fixed seed). With half of what is needed nobody comes as far.
    """
    suffice, needed = queries_that_suffice(2), queries_that_are_needed(2)
    assert suffice is not None
    assert needed is not None
    assert suffice < 200
    generator = np.random.default_rng(1)
    mean, _ = averaged_counts(2, queries=suffice, people=8_000, generator=generator)
    truth = chance_of_the_mean(2, suffice // 2)
    assert truth >= 0.95
    assert abs(mean.got - truth) < 4 * np.sqrt(truth * (1 - truth) / 100)
    few = averaged_counts(2, queries=needed // 2, counts=50, people=4_000, generator=generator)
    assert all((one.got_lower or 0.0) < one.at_most < 0.95 for one in few)


def test_noise_that_a_thousand_queries_do_not_take_off() -> None:
    mean, _ = averaged_counts(40, queries=4, counts=2, people=800, generator=np.random.default_rng(0))
    assert (mean.suffice, mean.needed) == (None, None)


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_the_limit_by_enumeration(pairs: int) -> None:
    """(1 + TV)/2 of `pairs` sums, over all of their values."""
    found = averaged_counts(1, queries=2 * pairs, counts=1, people=60, generator=np.random.default_rng(0))
    weights = {-2: 1, -1: 2, 0: 3, 1: 2, 2: 1}
    laws: list[dict[tuple[int, ...], int]] = [{(): 1}, {(): 1}]
    for place in (0, 1):
        for _ in range(pairs):
            laws[place] = {
                (*seen, one + place): chance * weight
                for seen, chance in laws[place].items()
                for one, weight in weights.items()
            }
    best = sum(max(laws[0].get(seen, 0), laws[1].get(seen, 0)) for seen in laws[0] | laws[1])
    assert found[0].at_most == pytest.approx(best / (2 * 9**pairs), abs=1e-12)


def test_the_same_people_have_the_same_noise() -> None:
    rows = np.random.default_rng(1).integers(4, size=(300, 3))
    builder = TableBuilder(rows, noise=3, below=5, generator=np.random.default_rng(2))
    first = builder.answer({0: [1]})
    assert {builder.answer({0: [1]}) for _ in range(50)} == {first}
    assert builder.answer({0: [1], 2: [0, 1, 2, 3]}) == first
    count = int((rows[:, 0] == 1).sum())
    assert abs(first - count) <= 3
    assert builder.answer({0: [9]}) == 0
    assert builder.asked == 53


def test_a_limit_is_broken_where_the_noise_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the builder adds nothing, and four answers tell what they must not."""

    def found() -> bool | None:
        mean, _ = averaged_counts(5, queries=4, counts=300, people=30_000, generator=np.random.default_rng(3))
        return mean.above_by_chance

    assert found() is not False
    honest = TableBuilder.answer

    def exact(self: TableBuilder, where: dict[int, list[int]]) -> int:
        honest(self, where)
        chosen = self._people(0, where[0][0])
        return len(chosen) if 1 not in where else int(np.isin(self._rows[chosen, 1], where[1]).sum())

    monkeypatch.setattr(TableBuilder, "answer", exact)
    assert found() is False


@pytest.mark.parametrize(
    "bad",
    [{"noise": 0}, {"queries": 1}, {"queries": 1000, "values": 5}, {"counts": 0}, {"below": -1},
     {"people": 0}, {"values": 2}],
)  # fmt: skip
def test_bad_parameters(bad: dict[str, int]) -> None:
    with pytest.raises(InvalidParameter, match="must"):
        averaged_counts(**bad, generator=np.random.default_rng(0))
