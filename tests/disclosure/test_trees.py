"""Trees of margins: groups in several cells and others known by a law, beside every key of every record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from leakcap import AllPriors, Renyi, capacity
from leakcap.channel import Channel
from leakcap.disclosure import margin_channel, tree_channel
from leakcap.disclosure.joint import trees
from leakcap.errors import InvalidParameter

ONE, HALF, THIRD, FOURTH = Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)
NOISE = [[0, 1, 0, 0], [-1, 0, 0, 1], [0, -2, 1, 0]]
NESTED = (("s", "t"), "u")
SURE = {"s": {1: ONE}, "t": {0: ONE}, "u": {2: ONE}}
UNSURE = {"s": {0: HALF, 1: HALF}, "t": {0: THIRD, 1: 2 * THIRD}, "u": {1: ONE}}
OTHER = {"s": {0: ONE}, "t": {1: ONE}, "u": {0: FOURTH, 1: 3 * FOURTH}}
ABSENT = [(ONE, dict[str, int]())]

# Somebody; a household in two cells; somebody whose place is asked, or not known; one who may bring another.
WORLDS = {
    "one": {"absent": ABSENT, "present": [(ONE, {"s": 1})]},
    "household": {"absent": ABSENT, "present": [(ONE, {"s": 1, "u": 1})]},
    "where": {"s": [(ONE, {"s": 1})], "t": [(ONE, {"t": 1})], "u": [(ONE, {"u": 1})]},
    "somewhere": {
        "absent": ABSENT,
        "present": [(HALF, {"s": 1}), (THIRD, {"t": 1}), (HALF * THIRD, {"u": 1})],
    },
    "together": {
        "absent": [(2 * THIRD, {}), (THIRD, {"t": 1})],
        "present": [(HALF, {"s": 1}), (HALF, {"s": 1, "t": 1})],
    },
}
OTHERS = {
    "known": [(ONE, SURE)],
    "unknown": [(ONE, UNSURE)],
    "dependent": [(THIRD, UNSURE), (2 * THIRD, OTHER)],
}


def by_every_record(
    others: list[tuple[Fraction, Mapping[str, Mapping[int, Fraction]]]],
    added: list[tuple[Fraction, dict[str, int]]],
) -> dict[tuple[int, ...], Fraction]:
    """All five published numbers, for all numbers of people and all keys of all records."""
    law: dict[tuple[int, ...], Fraction] = {}
    for (share, laws), (chance, more) in product(others, added):
        for counts in product(*(laws[name].items() for name in "stu")):
            people = [
                cell for cell, (n, _) in zip("stu", counts, strict=True) for _ in range(n + more.get(cell, 0))
            ]
            weight = share * chance * np.prod([one for _, one in counts]) / 4 ** len(people)
            for keys in product(range(4), repeat=len(people)):
                shown = []
                for cells in ("s", "t", "st", "u", "stu"):
                    own = [key for key, cell in zip(keys, people, strict=True) if cell in cells]
                    shown.append(len(own) + NOISE[min(len(own), 2)][sum(own) % 4])
                law[tuple(shown)] = law.get(tuple(shown), Fraction(0)) + weight
    return law


def found_in(channel: Channel) -> dict[str, dict[tuple[int, ...], Fraction]]:
    exact = channel.as_exact()
    assert exact is not None
    return {
        name: {shown: chance for shown, chance in zip(channel.outputs, row, strict=True) if chance}
        for name, row in zip(channel.inputs, exact.tolist(), strict=True)
    }


@pytest.mark.parametrize("known", OTHERS)
@pytest.mark.parametrize("asked", WORLDS)
def test_every_key_of_every_record(known: str, asked: str) -> None:
    channel = tree_channel(NOISE, NESTED, OTHERS[known], WORLDS[asked])
    truth = {name: by_every_record(OTHERS[known], added) for name, added in WORLDS[asked].items()}
    assert found_in(channel) == truth


def test_planted_keys_of_empty_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cell whose key is as good as any other's: the test above sees it."""
    right = trees._TreeLaw._cell

    def wrong(self: trees._TreeLaw, name: str) -> np.ndarray:
        ways = right(self, name)
        ways[0] = ways[0, 0] // 4
        return ways

    monkeypatch.setattr(trees._TreeLaw, "_cell", wrong)
    channel = tree_channel(NOISE, NESTED, OTHERS["known"], WORLDS["one"])
    assert found_in(channel)["absent"] != by_every_record(OTHERS["known"], ABSENT)


def test_one_margin_is_the_channel_of_a_margin() -> None:
    """256 keys and four parts: the same law as `margin_channel`, which sorts siblings that are alike."""
    table = [[0] * 256, [-1] * 80 + [0] * 100 + [1] * 76]
    laws = {"a": {1: ONE}, "b": {4: ONE}, "c": {9: ONE}}
    worlds = {"absent": ABSENT, "present": [(ONE, {"a": 1})]}
    mine, other = tree_channel(table, list(laws), [(ONE, laws)], worlds), margin_channel(table, 1, [4, 9])
    for channel in (mine, other):
        assert channel.as_exact() is not None
    right = [capacity(one, Renyi(1.0), AllPriors()) for one in (mine, other)]
    assert abs(right[0].upper - right[1].upper) < 1e-9
    moved = [float(abs(one.matrix[0] - one.matrix[1]).sum()) for one in (mine, other)]
    assert abs(moved[0] - moved[1]) < 1e-12


def test_who_knows_the_others_by_a_law_alone_is_told_less() -> None:
    """The law is the mean of those with known numbers, and total variation is convex."""

    def moved(others: list[tuple[Fraction, Mapping[str, Mapping[int, Fraction]]]]) -> Fraction:
        rows = found_in(tree_channel(NOISE, NESTED, others, WORLDS["household"]))
        one, two = rows["absent"], rows["present"]
        nothing = Fraction(0)
        return sum((abs(one.get(y, nothing) - two.get(y, nothing)) for y in one | two), nothing) / 2

    known = Fraction(0)
    for counts in product(*(UNSURE[name].items() for name in "stu")):
        sure = {name: {n: ONE} for name, (n, _) in zip("stu", counts, strict=True)}
        known += Fraction(np.prod([chance for _, chance in counts])) * moved([(ONE, sure)])
    assert moved(OTHERS["unknown"]) < known


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: tree_channel(NOISE, ["s", "s"], [(ONE, {"s": {1: ONE}})], WORLDS["one"]), "name each cell once"),
    (lambda: tree_channel(NOISE, NESTED, [(HALF, SURE)], WORLDS["one"]), "add up to one"),
    (lambda: tree_channel(NOISE, NESTED, [(ONE, {**SURE, "s": {1: HALF}})], WORLDS["one"]), "add up to one"),
    (lambda: tree_channel(NOISE, NESTED, [(ONE, {"s": {1: ONE}})], WORLDS["one"]), "a law for each of"),
    (lambda: tree_channel(NOISE, NESTED, [(ONE, {**SURE, "s": {-1: ONE}})], WORLDS["one"]), "from 0"),
    (lambda: tree_channel(NOISE, NESTED, [(ONE, SURE)], {"a": [(ONE, {"v": 1})]}), "among"),
    (lambda: tree_channel(NOISE, NESTED, [(ONE, SURE)], {"a": [(THIRD, {})]}), "add up to one"),
    (lambda: tree_channel(NOISE, NESTED, [(ONE, {**SURE, "s": {10**6: ONE}})], WORLDS["one"]), "fewer p"),
    (
        lambda: tree_channel(
            NOISE, list("abcdefghijk"), [(ONE, {name: {5: ONE} for name in "abcdefghijk"})], {"x": ABSENT}
        ),
        "at most 16,384 outcomes",
    ),
    (
        lambda: tree_channel(
            [[0] * 256, [0] * 256, [0] * 128 + [1] * 128],
            list("ab"),
            [(ONE, {name: dict.fromkeys(range(32), ONE / 32) for name in "ab"})],
            {"x": ABSENT},
        ),
        "at most 16,777,216 of all together",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), BAD)
def test_one_line_of_refusal(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words) as error:
        call()
    assert "\n" not in str(error.value)
