"""Outcomes of like ratios merged and split; all other keys known; one margin with both worlds' laws."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from leakcap.accounting import PrivacyLoss
from leakcap.adversary import AllPriors
from leakcap.capacities import capacity
from leakcap.channel import Channel
from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.joint import laws, margin_channel, siblings
from leakcap.disclosure.joint.evidence import JointEvidence, condensed, told_by_all
from leakcap.disclosure.joint.keyed import RowsByKey
from leakcap.disclosure.joint.known import Pair, told_with_known_keys
from leakcap.disclosure.joint.siblings import margin_evidence
from leakcap.divergence import Renyi


def rows_of(seed: int, size: int) -> np.ndarray:
    """Two laws, some of whose outcomes have ratios beyond the grid, or none."""
    rng = np.random.default_rng(seed)
    rows = np.exp(rng.normal(0, 6, (2, size)))
    rows[rng.integers(0, 2, size), np.arange(size)] *= rng.random(size) < 0.9
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(4))
def test_merged_tells_less_and_split_tells_more(seed: int) -> None:
    rows = rows_of(seed, 400)
    least, most = condensed(rows)
    for prior in np.linspace(0.001, 0.999, 97):
        weights = np.array([[1 - prior], [prior]])
        low, right, high = (np.max(weights * each, axis=0).sum() for each in (least, rows, most))
        assert low - 1e-12 <= right <= high + 1e-12
        assert high - low < 2e-3
    ends = [
        capacity(Channel(each / each.sum(axis=1, keepdims=True)), Renyi(1.0), AllPriors())
        for each in (least, rows, most)
    ]
    assert ends[0].lower <= ends[1].upper
    assert ends[1].lower <= ends[2].upper


@pytest.mark.parametrize("seed", range(3))
def test_all_together_against_the_accountant(seed: int) -> None:
    """The composed privacy loss is another route: δ(ε) at any ε, hence every guess."""
    several = [rows_of(10 * seed + place, 9) for place in range(4)]
    told = told_by_all(JointEvidence.of(*rows) for rows in several)
    loss = PrivacyLoss.of([PrivacyLoss.of_rows(rows[1], rows[0]) for rows in several])
    for prior in (0.02, 0.5, 0.9):
        right = 1 - prior + prior * loss.delta(float(np.log((1 - prior) / prior))).upper
        assert told.success(prior).lower - 1e-9 <= right <= told.success(prior).upper + 1e-9
        assert told.success(prior).width < 2e-3
    for epsilon in (0.0, 0.5, 2.0):
        bound, other = told.delta(epsilon), loss.delta_both(epsilon)
        assert bound.lower <= other.upper
        assert other.lower <= bound.upper


def test_nothing_of_this_total_variation_tells_more() -> None:
    for seed in range(20):
        rows = rows_of(seed, 5)
        most = JointEvidence.of(*rows).at_most(abs(rows[0] - rows[1]).sum() / 2)
        assert JointEvidence.of(*rows).capacity.lower <= most.capacity.upper
        for prior in (0.1, 0.5, 0.7):
            assert JointEvidence.of(*rows).success(prior).lower <= most.success(prior).upper


def known(pairs: list[Pair]) -> Fraction:
    """The mean over all differences of the cells' keys, each listed."""
    keys, total = pairs[0].keys, 0
    people = [pair for pair in pairs if pair.people]
    for drawn in product(range(keys), repeat=len(people) - all(pair.people for pair in pairs)):
        worlds = []
        for present in (False, True):
            # Somebody else in the person's own cell: its key is unknown, and that of the person adds nothing.
            unknown = range(keys) if len(people) == len(pairs) or present else range(1)
            moved = iter((0, *drawn) if len(people) == len(pairs) else drawn)
            own = [next(moved) if pair.people else 0 for pair in pairs]
            seen = Counter(
                tuple(
                    int((pair.present if present else pair.absent)[(key + k) % keys])
                    for pair, key in zip(pairs, own, strict=True)
                )
                for k in unknown
            )
            worlds.append({shown: Fraction(many, len(unknown)) for shown, many in seen.items()})
        total += sum(
            max(Fraction(0), p - worlds[1].get(shown, Fraction(0))) for shown, p in worlds[0].items()
        )
    return total / keys ** (len(people) - all(pair.people for pair in pairs))


def arcs(rng: np.random.Generator, keys: int, cells: int) -> list[Pair]:
    """Rows whose values are runs of keys, around the circle, of less than half of it."""
    found = []
    for _ in range(cells):
        rows = [np.roll(np.arange(keys) * 3 // keys + more, rng.integers(keys)) for more in (0, 1)]
        found.append(Pair(rows[0], rows[1], True))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_known_keys_by_listing_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = arcs(rng, 9, 3)
    assert told_with_known_keys(pairs, False) == pytest.approx(float(known(pairs)), abs=1e-8)
    lonely = [Pair(np.repeat(pairs[0].absent[:1], 9), pairs[0].present, False), *pairs[1:]]
    assert told_with_known_keys(lonely, True) == pytest.approx(float(known(lonely)), abs=1e-8)
    # Values at scattered keys: more is told than there is, never less.
    scattered = [Pair(*rng.integers(0, 3, (2, 5)), True) for _ in range(3)]
    assert told_with_known_keys(scattered, False) >= float(known(scattered))
    one = Pair(np.zeros(6, dtype=int), np.array([0, 0, 0, 0, 0, 1]), True)
    assert told_with_known_keys([one, one], False) >= float(known([one, one]))


FOURTH = Fraction(1, 4)
TABLE = PerturbationTable((
    ((0, Fraction(1)),),
    ((-1, FOURTH), (0, 3 * FOURTH), (1, Fraction(1))),
    ((-2, FOURTH), (0, 2 * FOURTH), (1, Fraction(1))),
))  # fmt: skip


@pytest.mark.parametrize(("cell", "parts"), [(0, [2]), (1, [3]), (2, [1, 2]), (0, [0, 1, 2, 2])])
def test_one_margin_against_its_exact_channel(cell: int, parts: list[int]) -> None:
    exact = margin_channel(TABLE.by_key(4), cell, parts)
    told = margin_evidence(RowsByKey(CellKey(TABLE), 4), cell, parts)
    absent, present = exact.matrix
    for prior in (0.1, 0.5, 0.8):
        right = np.maximum((1 - prior) * absent, prior * present).sum()
        assert told.success(prior).lower - 1e-12 <= right <= told.success(prior).upper + 1e-12
    truth = capacity(exact, Renyi(1.0), AllPriors())
    assert told.capacity.lower <= truth.upper
    assert truth.lower <= told.capacity.upper
    assert told.capacity.width < 1e-3


TWELFTHS = PerturbationTable((
    ((0, Fraction(1)),),
    ((-1, Fraction(3, 12)), (0, Fraction(7, 12)), (1, Fraction(1))),
    ((-2, Fraction(1, 12)), (-1, Fraction(4, 12)), (0, Fraction(9, 12)), (1, Fraction(1))),
))  # fmt: skip


def off(waves: int, room: int, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How far the truth lies outside the interval, 0 within, where laws are merged and waves left out."""
    monkeypatch.setattr(siblings, "_WAVES", waves)
    monkeypatch.setattr(siblings, "_LAWS", room)
    found = []
    for cell, parts in ((1, [1, 2, 1, 2]), (2, [2, 2, 3]), (0, [1, 1, 2])):
        absent, present = margin_channel(TWELFTHS.by_key(12), cell, parts).matrix
        told = margin_evidence(RowsByKey(CellKey(TWELFTHS), 12), cell, parts)
        for prior in (0.1, 0.5, 0.8):
            right = float(np.maximum((1 - prior) * absent, prior * present).sum())
            bound = told.success(prior)
            found.append(max(0.0, bound.lower - right, right - bound.upper))
    return found


@pytest.mark.parametrize(("waves", "room"), [(1, 256), (256, 2), (2, 3)])
def test_the_interval_holds_what_merging_changes(
    waves: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert max(off(waves, room, monkeypatch)) == 0.0


def test_planted_mergings_that_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = laws.stepped
    monkeypatch.setattr(laws, "stepped", lambda *given: (honest(*given)[0], 0.0))
    assert max(off(256, 2, monkeypatch)) > 1e-4
