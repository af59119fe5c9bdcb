"""Genomes of a family and joints given as samples, against every world listed in fractions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from leakcap.attack import (
    Pedigree,
    Sums,
    correlated_record,
    cousins,
    equal_copies,
    genomes,
    sampled_joint,
    sampled_record,
    siblings,
)
from leakcap.attack.correlated.pedigree import transmission
from leakcap.errors import InvalidParameter

Joint = dict[tuple[int, ...], Fraction]

HALF_SIBLINGS = Pedigree((None, None, None, (0, 1), (1, 2)))
INBRED = Pedigree((None, None, (0, 1), (0, 1), (2, 3), (2, 3)))  # brother and sister have two children


def worlds(pedigree: Pedigree, p: Fraction) -> Joint:
    """Every choice of two alleles a founder and one coin a parent of each child, written out."""
    founders = [i for i, pair in enumerate(pedigree.parents) if pair is None]
    children = [i for i, pair in enumerate(pedigree.parents) if pair is not None]
    found: Joint = {}
    for alleles in itertools.product(itertools.product((0, 1), repeat=2), repeat=len(founders)):
        chance = math.prod((p if a else 1 - p for pair in alleles for a in pair), start=Fraction(1))
        for coins in itertools.product(itertools.product((0, 1), repeat=2), repeat=len(children)):
            copies: dict[int, tuple[int, int]] = dict(zip(founders, alleles, strict=True))
            for child, (from_mother, from_father) in zip(children, coins, strict=True):
                mother, father = pedigree.parents[child] or (0, 0)
                copies[child] = copies[mother][from_mother], copies[father][from_father]
            world = tuple(sum(copies[i]) for i in range(len(pedigree)))
            found[world] = found.get(world, Fraction(0)) + chance / 4 ** len(children)
    return found


def by_hand(joint: Joint, person: int, scale: float) -> tuple[float, float, float, float]:
    """I(X;Y), I(X;Y|others), I_∞(X; others) and the largest log-lift, output by output over a window."""
    people = len(next(iter(joint)))
    reach = math.ceil(45 * scale)
    window = np.arange(-reach, 2 * people + reach + 1)

    def information(part: Joint) -> tuple[float, float]:
        rows: dict[int, np.ndarray] = {}
        for world, p in part.items():
            noise = math.tanh(0.5 / scale) * np.exp(-np.abs(window - sum(world)) / scale)
            rows[world[person]] = rows.get(world[person], 0.0 * window) + float(p) * noise
        total = float(sum(part.values()))
        prior = {x: float(sum(p for w, p in part.items() if w[person] == x)) / total for x in rows}
        q = sum(rows.values())
        lifts = [np.log(row / (q * prior[x])) for x, row in rows.items()]
        told = math.fsum(float((row * lift).sum()) for row, lift in zip(rows.values(), lifts, strict=True))
        return told, max(float(lift.max()) for lift in lifts)

    parts: dict[tuple[int, ...], Joint] = {}
    for world, p in joint.items():
        parts.setdefault(world[:person] + world[person + 1 :], {})[world] = p
    prior = {x: sum(p for w, p in joint.items() if w[person] == x) for x in (0, 1, 2)}
    extent = max(
        p / (sum(part.values()) * prior[w[person]]) for part in parts.values() for w, p in part.items()
    )
    told, lift = information(joint)
    return told, math.fsum(information(part)[0] for part in parts.values()), math.log(extent), lift


CASES = [
    (siblings(1), 0, Fraction(1, 3)),
    (siblings(1), 2, Fraction(1, 2)),
    (siblings(3), 1, Fraction(1, 5)),
    (siblings(2), 3, Fraction(2, 3)),
    (cousins(2, 1), 4, Fraction(1, 3)),
    (cousins(2, 1), 2, Fraction(1, 10)),
    (HALF_SIBLINGS, 1, Fraction(1, 4)),
    (INBRED, 2, Fraction(1, 3)),
    (INBRED, 4, Fraction(1, 3)),
]


@pytest.mark.parametrize(("pedigree", "person", "p"), CASES, ids=lambda value: str(value)[:40])
def test_against_every_world(pedigree: Pedigree, person: int, p: Fraction) -> None:
    joint = worlds(pedigree, p)
    assert sum(joint.values()) == 1
    law = genomes(pedigree, person, float(p))
    for x in (0, 1, 2):
        mass = sum(q for w, q in joint.items() if w[person] == x)
        assert law.prior[x] == pytest.approx(float(mass), rel=1e-14)
        for s in range(2 * len(pedigree) + 1):
            exact = sum(q for w, q in joint.items() if w[person] == x and sum(w) == s) / mass
            assert law.given[x, s] == pytest.approx(float(exact), rel=1e-13, abs=0)
    for epsilon in (0.5, 2.0):
        found = correlated_record(law, epsilon)
        told, given_others, extent, lift = by_hand(joint, person, 2.0 / epsilon)
        assert found.got == pytest.approx(told, abs=1e-12)
        assert found.given_others == pytest.approx(given_others, abs=1e-12)
        assert law.extent == pytest.approx(extent, abs=1e-12)
        assert found.lift == pytest.approx(lift, abs=1e-9)
        assert found.got <= found.at_most
        assert found.given_others <= found.independent_cap
        assert found.lift <= found.lift_at_most * (1 + 1e-12)
        assert found.posterior <= found.posterior_at_most * (1 + 1e-12)


def test_without_mendel_the_numbers_differ() -> None:
    """The planted bug: a child copies the mother. The comparison above would see it."""
    joint = {w: q for w, q in worlds(siblings(1), Fraction(1, 3)).items() if w[0] == w[2]}
    copied = sum(q for w, q in joint.items() if sum(w) == 2) / sum(joint.values())
    law = genomes(siblings(1), 2, 1 / 3)
    assert abs(float(np.array(law.prior) @ law.given[:, 2]) - float(copied)) > 0.01


def test_many_families_are_added_up() -> None:
    """Three trios: the sum's law given one child, against the cube of the worlds of one."""
    one = worlds(siblings(1), Fraction(1, 4))
    sums: dict[int, Fraction] = {}
    for w, q in one.items():
        sums[sum(w)] = sums.get(sum(w), Fraction(0)) + q
    law = genomes(siblings(1), 2, 0.25, families=3)
    assert law.records == 9
    for x in (0, 1, 2):
        mass = sum(q for w, q in one.items() if w[2] == x)
        for total in (0, 4, 9, 18):
            exact = sum(
                q / mass * sums[a] * sums[total - a - sum(w)]
                for w, q in one.items()
                if w[2] == x
                for a in sums
                if total - a - sum(w) in sums
            )
            assert law.given[x, total] == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def test_thousands_of_relatives() -> None:
    found = correlated_record(genomes(cousins(3, 2), 4, 0.3, families=250), 1.0)
    assert found.records == 3500
    assert 0.0 < found.got < found.independent_cap  # the crowd hides, once it is a crowd of others
    parent = correlated_record(genomes(siblings(60), 0, 0.3), 1.0)
    assert parent.got > 3 * parent.independent_cap  # sixty children give a parent away
    assert parent.got <= parent.at_most


def test_transmission_is_mendels() -> None:
    table = transmission()
    assert table[0, 2].tolist() == [0.0, 1.0, 0.0]
    assert table[1, 0].tolist() == [0.5, 0.5, 0.0]
    assert (table.sum(axis=2) == 1.0).all()


def test_pedigrees() -> None:
    named = Pedigree.of({"kid": ["mum", "dad"], "dad": [], "mum": []})
    assert named.number("kid") == 2
    assert named.number("0") == 0
    assert cousins(2, 2).relatives(5) == 10
    assert Pedigree((None, None)).relatives(0) == 1
    wide = Pedigree((None,) * 14 + tuple(itertools.combinations(range(14), 2)))
    for call in (
        lambda: Pedigree(()),
        lambda: Pedigree((None, (0, 2), None)),
        lambda: Pedigree((None, (0, 0))),
        lambda: Pedigree((None, None), ("a", "a")),
        lambda: Pedigree.of({"a": ["b", "c"], "b": [], "c": ["a", "b"]}),
        lambda: Pedigree.of({"a": ["b"], "b": []}),
        lambda: named.number("cat"),
        lambda: siblings(0),
        lambda: cousins(0, 1),
        lambda: cousins(1, -1),
        lambda: genomes(named, 3, 0.5),
        lambda: genomes(named, 0, 1.0),
        lambda: genomes(named, 0, 0.5, families=0),
        lambda: genomes(wide, 0, 0.5),
    ):
        with pytest.raises(InvalidParameter):
            call()


def draws(seed: int, rows: int) -> Iterator[tuple[int, ...]]:
    generator = np.random.default_rng(seed)
    for _ in range(rows):
        first = int(generator.integers(3))
        yield first, (first + int(generator.integers(2))) % 3, int(generator.integers(3))


@pytest.mark.parametrize("person", [0, 1, 2])
def test_samples_against_every_draw(person: int) -> None:
    rows = list(draws(1, 200))
    joint: Joint = {}
    for row in rows:
        joint[row] = joint.get(row, Fraction(0)) + Fraction(1, len(rows))
    law = sampled_joint(rows, person=person)
    assert (law.step, law.values, law.records) == (2, (0, 1, 2), 3)
    found = correlated_record(law, 1.0)
    told, given_others, extent, lift = by_hand(joint, person, 2.0)
    assert found.got == pytest.approx(told, abs=1e-12)
    assert found.given_others == pytest.approx(given_others, abs=1e-12)
    assert law.extent == pytest.approx(extent, abs=1e-12)
    assert found.lift == pytest.approx(lift, abs=1e-9)
    assert found.got <= found.at_most


def test_copies_as_samples_are_copies() -> None:
    rows = np.repeat([[0], [1]], 2000, axis=1)
    sampled, exact = sampled_joint(rows), equal_copies(2000)
    np.testing.assert_array_equal(sampled.given, exact.given)
    assert correlated_record(sampled, 0.01).got == correlated_record(exact, 0.01).got


def test_chance_explains_what_few_draws_show() -> None:
    """400 draws of 300 independent coins. The excess of a plug-in is about 1/(2·400) times the effective
    number of outputs; shuffled draws show the same, and the dependent column stands out of it."""
    generator = np.random.default_rng(3)
    coins = generator.integers(2, size=(400, 300))
    found = sampled_record(coins, 1.0, generator=generator)
    assert found.by_chance > 0.01  # the true value is about 1/(8·75)·…: below 0.002
    assert 0.5 < found.got / found.by_chance < 2.0
    coins[:, :150] = coins[:, :1]
    tied = sampled_record(coins, 1.0, generator=generator)
    assert tied.got > 5 * tied.by_chance


def test_grids_and_bounds() -> None:
    rows = [[0.24, 1.0], [0.26, -5.0], [9.0, 0.5]]
    law = sampled_joint(rows, grid=0.25, bounds=(0.0, 1.0))
    assert (law.step, law.values) == (4, (1, 4))
    assert law.given[0].nonzero()[0].tolist() == [1, 5]
    assert sampled_joint([[5.0, 5.0]]).prior == (1.0,)
    assert correlated_record(sampled_joint([[5.0, 5.0]]), 1.0).got == 0.0
    assert sampled_joint([[0.0], [1.0]]).extent == 0.0


def test_bad_samples() -> None:
    for call in (
        lambda: sampled_joint([1, 2]),
        lambda: sampled_joint([["a"]]),
        lambda: sampled_joint([[math.nan]]),
        lambda: sampled_joint([[0, 1]], person=2),
        lambda: sampled_joint([[0, 1]], grid=0.0),
        lambda: sampled_joint([[0, 1e30]]),
        lambda: sampled_joint([[0, 1]], bounds=(1.0, 0.0)),
        lambda: sampled_joint(np.arange(200_000.0).reshape(-1, 1)),
        lambda: sampled_record([[0, 1]], 1.0, generator=np.random.default_rng(0), shuffles=0),
        lambda: Sums("bad values", np.eye(2), (0.5, 0.5), 1, 0.0, (), values=(0, 2)),
        lambda: Sums("bad prior", np.eye(2), (0.5, 0.4), 1, 0.0, ()),
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_by_chance_is_the_same_attack_on_shuffled_columns() -> None:
    """A record of three values, so that the noise has scale 2/ε; the shuffles repeated by hand."""
    rows = np.array(list(draws(2, 100)))
    found = sampled_record(rows, 0.7, generator=np.random.default_rng(5), person=1, shuffles=3)
    generator, shuffled = np.random.default_rng(5), []
    for _ in range(3):
        again = rows.copy()
        again[:, 1] = generator.permutation(rows[:, 1])
        shuffled.append(correlated_record(sampled_joint(again, person=1), 0.7).got)
    least, middle, most = sorted(shuffled)
    assert found.by_chance == pytest.approx(middle, abs=1e-14)
    assert (found.by_chance_least, found.by_chance_most) == pytest.approx((least, most), abs=1e-14)
