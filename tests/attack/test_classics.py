"""Each attack against leakcap, whose guard holds it, and against a textbook mechanism without that guard.

Statistical bounds are at five standard deviations of a game's frequency: false alarms below 3·10⁻⁷ a line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest

from leakcap.attack import (
    Played,
    averaging,
    differencing,
    key_exists,
    low_bits,
    play,
    random_subsets,
    reconstruct,
    reconstruction,
    textbook_reachable,
)
from leakcap.errors import BudgetExceeded, InvalidParameter
from leakcap.release import PrivateTable
from leakcap.sampling import discrete_laplace
from seeded import SeededSource

RNG = np.random.default_rng


def table(bit: int, *, epsilon: float = 1000.0, people: int = 6) -> PrivateTable:
    """A real table in which person 0 is ill, alone in ward `z`, or is not."""
    policy: dict[str, Any] = {
        "dataset": "clinic",
        "neighbours": "replace-one",
        "rows": people,
        "caps": {"epsilon": epsilon},
        "columns": {
            "id": {"keys": list(range(people))},
            "ill": {"keys": [0, 1]},
            "ward": {"keys": ["a", "z"]},
        },
    }
    data = {
        "id": list(range(people)),
        "ill": [bit] + [1] * (people - 1),
        "ward": ["z" if bit else "a"] + ["a"] * (people - 1),
    }
    return PrivateTable(pyarrow.table(data), policy=policy, ledger="sqlite://", source=SeededSource(bit))


def fresh(scale: Fraction, seed: int) -> Callable[[int], np.ndarray]:
    """The engine's own noise, many draws at once."""
    source = SeededSource(seed)
    return lambda size: discrete_laplace(scale, size, source)


def above(found: Played) -> bool:
    return found.got > found.at_most + 5 * found.spread


def below(found: Played) -> bool:
    return found.got <= found.at_most + 5 * found.spread


class TestAveraging:
    """Guard: the ledger, by its repeated answers and its caps."""

    def test_without_a_ledger_it_wins(self) -> None:
        draw = fresh(Fraction(10), 1)
        found = averaging(lambda b: (draw(4000) + b).tolist(), epsilon=0.1, rounds=400, generator=RNG(1))
        assert above(found)
        assert found.got > 0.95

    def test_the_ledger_repeats_one_answer(self) -> None:
        victim = table(1)
        answers = [victim.count(where="ill = 1 AND id = 0", epsilon=0.1).value for _ in range(10)]
        assert len(set(answers)) == 1
        assert victim.ledger.totals().epsilon == pytest.approx(0.1)
        draw = fresh(Fraction(10), 2)
        found = averaging(lambda b: [int(draw(1)[0]) + b] * 10, epsilon=0.1, rounds=5000, generator=RNG(2))
        assert below(found)

    def test_fresh_noise_is_paid_for_and_stopped(self) -> None:
        victim = table(1, epsilon=1.0)
        answers = [victim.count(where="ill = 1", epsilon=0.1, fresh=True).value for _ in range(10)]
        assert len(set(answers)) > 1
        with pytest.raises(BudgetExceeded):
            victim.count(where="ill = 1", epsilon=0.1, fresh=True)
        draw = fresh(Fraction(10), 3)
        found = averaging(lambda b: (draw(10) + b).tolist(), epsilon=1.0, rounds=5000, generator=RNG(3))
        assert below(found)
        assert found.got > 0.5 + 5 * found.spread


class TestDifferencing:
    """Guard: fresh noise in every answer."""

    def test_reused_noise_gives_the_difference_away(self) -> None:
        draw = fresh(Fraction(10), 4)

        def seen(bit: int) -> tuple[float, float]:
            noise = int(draw(1)[0])
            return 5 + bit + noise, 5 + noise

        found = differencing(seen, epsilon=0.1, rounds=400, generator=RNG(4))
        assert found.got == 1.0
        assert above(found)

    def test_fresh_noise_hides_it(self) -> None:
        draw = fresh(Fraction(10), 5)

        def seen(bit: int) -> tuple[float, float]:
            first, second = draw(2)
            return 5 + bit + int(first), 5 + int(second)

        assert below(differencing(seen, epsilon=0.1, rounds=5000, generator=RNG(5)))

    def test_the_engine_draws_noise_for_each_answer(self) -> None:
        victim, differences = table(1), set()
        for i in range(10):
            all_ = victim.count(where="ill = 1", epsilon=0.1, fresh=True).value
            but_one = victim.count(where="ill = 1 AND id <> 0", epsilon=0.1, fresh=True, name=str(i)).value
            assert isinstance(all_, int)
            assert isinstance(but_one, int)
            differences.add(all_ - but_one)
        assert len(differences) > 5


class TestKeys:
    """Guard: public keys."""

    def test_keys_from_the_data_give_a_person_away(self) -> None:
        draw = fresh(Fraction(10), 6)

        def group_by(bit: int) -> dict[Any, float]:
            counts = {"a": 6 - bit, **({"z": 1} if bit else {})}
            return {ward: count + int(draw(1)[0]) for ward, count in counts.items()}

        found = key_exists(group_by, "z", epsilon=0.1, rounds=400, generator=RNG(6))
        assert found.got == 1.0
        assert above(found)

    def test_the_engine_lists_every_public_key_and_no_other(self) -> None:
        for bit in (0, 1):
            release = table(bit).count(by="ward", epsilon=0.1)
            assert [row.keys["ward"] for row in release.rows] == ["a", "z"]

    def test_against_the_engine_the_noisy_count_is_all_there_is(self) -> None:
        victims = {bit: table(bit) for bit in (0, 1)}

        def group_by(bit: int) -> dict[Any, float]:
            rows = victims[bit].count(by="ward", epsilon=0.5, fresh=True).rows
            return {row.keys["ward"]: row.value for row in rows}

        found = key_exists(group_by, "z", epsilon=0.5, rounds=100, generator=RNG(7))
        assert below(found)
        assert found.got < 0.9


def textbook(generator: np.random.Generator, scale: float) -> Callable[[int], float]:
    """Laplace noise on doubles by inversion, as a lecture writes it down."""

    def answer(bit: int) -> float:
        uniform = float(generator.integers(1, 2**53 + 1)) * 2.0**-53
        sign = -1.0 if generator.integers(2) else 1.0
        return float(bit) + sign * (scale * float(np.log(uniform)))

    return answer


class TestLowBits:
    """Guard: integer noise on a public grid."""

    def test_textbook_laplace_on_doubles_is_not_private(self) -> None:
        found = low_bits(textbook(RNG(8), 10.0), scale=10.0, rounds=3000, generator=RNG(9))
        assert above(found)
        assert found.got > 0.7

    def test_the_engines_noise_is(self) -> None:
        draw = fresh(Fraction(10), 10)
        found = low_bits(lambda b: float(b + draw(1)[0]), scale=10.0, rounds=5000, generator=RNG(10))
        assert below(found)

    def test_every_engine_answer_is_on_the_grid(self) -> None:
        for _ in range(5):
            assert isinstance(table(1).count(where="ill = 1", epsilon=0.1).value, int)

    def test_what_the_sampler_made_is_reachable(self) -> None:
        sampler = textbook(RNG(11), 3.0)
        made = np.array([sampler(1) for _ in range(2000)])
        assert textbook_reachable(made, 1.0, 3.0).all()
        assert not textbook_reachable(made, 0.0, 3.0).all()


class TestReconstruction:
    """Guard: prices add up, and a cap on their sum."""

    def test_without_a_cap_nearly_all_bits_are_found(self) -> None:
        generator, draw = RNG(12), fresh(Fraction(2), 12)
        secret = generator.integers(2, size=100)
        subsets = random_subsets(100, 2000, generator)
        found = reconstruction(secret, subsets, subsets @ secret + draw(2000), epsilon=0.5)
        assert found.got > 0.98  # promised: ε = 0.5 by each answer; spent: 1000
        assert found.ratio > 1.5

    def test_with_the_budget_shared_out_it_stays_below_the_limit(self) -> None:
        generator, draw = RNG(13), fresh(Fraction(2000), 13)
        right = []
        for _ in range(10):
            secret = generator.integers(2, size=100)
            subsets = random_subsets(100, 1000, generator)
            found = reconstruction(secret, subsets, subsets @ secret + draw(1000), epsilon=0.5)
            right.append(found.got)
        assert np.mean(right) <= found.at_most + 5 * 0.5 / math.sqrt(1000)

    def test_the_cap_stops_it_in_a_real_table(self) -> None:
        victim, subsets = table(1, epsilon=2.0), random_subsets(6, 30, RNG(14))

        def ask_all() -> None:
            for subset in subsets:
                people = ", ".join(map(str, np.flatnonzero(subset).tolist())) or "0"
                victim.count(where=f"ill = 1 AND id IN ({people})", epsilon=0.5)

        with pytest.raises(BudgetExceeded):
            ask_all()
        assert victim.ledger.totals().epsilon <= 2.0

    def test_exact_answers_give_everything(self) -> None:
        generator = RNG(15)
        secret, subsets = generator.integers(2, size=50), random_subsets(50, 120, generator)
        assert reconstruct(subsets, subsets @ secret).tolist() == secret.tolist()


def test_a_game_with_nothing_to_see_is_a_coin() -> None:
    found = play(lambda bit: 0, lambda seen: seen, epsilon=0.0, rounds=5000, generator=RNG(16))
    assert below(found)
    assert abs(found.got - 0.5) < 5 * found.spread


def test_bad_parameters() -> None:
    for call in (
        lambda: play(lambda bit: bit, lambda seen: seen, epsilon=1.0, rounds=0, generator=RNG(0)),
        lambda: play(lambda bit: bit, lambda seen: seen, epsilon=-1.0, rounds=5, generator=RNG(0)),
        lambda: random_subsets(0, 5, RNG(0)),
        lambda: random_subsets(5, 0, RNG(0)),
        lambda: reconstruct(np.ones((2, 3), dtype=bool), [1.0]),
        lambda: reconstruction([1], np.ones((2, 3), dtype=bool), [1.0, 2.0], epsilon=1.0),
        lambda: textbook_reachable([1.0], 0.0, 0.0),
    ):
        with pytest.raises(InvalidParameter):
            call()
