"""Methods for whole tables and files: laws by what defines them, by enumeration, and on a real table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from leakcap import AllPriors, Neighbours, Renyi, capacity, refines
from leakcap.attack import cell_ranges
from leakcap.disclosure.rounding import RandomRounding
from leakcap.disclosure.whole.controlled_rounding import ControlledRounding, IndependentRounding
from leakcap.disclosure.whole.generalising import KAnonymous
from leakcap.disclosure.whole.method import Table, and_margins, every_table
from leakcap.disclosure.whole.secondary import SecondarySuppression
from leakcap.disclosure.whole.swapping import RecordSwapping, SwappingInvariants, swapping_ratio
from leakcap.errors import InvalidParameter

HAIR_AND_EYES = ((68, 20, 15, 5), (119, 84, 54, 29), (26, 17, 14, 14), (7, 94, 10, 16))
"""592 students: hair (black, brown, red, blond) by eyes (brown, blue, hazel, green). Source: Snee 1974."""


def random_tables() -> Iterator[Table]:
    rng = np.random.default_rng(0)
    for rows, columns in ((1, 2), (2, 2), (2, 3), (3, 3), (1, 4)):
        for _ in range(4):
            counts = rng.integers(0, 12, size=(rows, columns)).tolist()
            yield tuple(tuple(row) for row in counts)


@pytest.mark.parametrize("base", [2, 3, 5, 10])
def test_controlled_rounding_is_additive_unbiased_and_near(base: int) -> None:
    """What defines it: sums are sums, multiples stay, others go to one beside, and every mean is right,
    exactly. So every number by itself has the law of random rounding."""
    tried = 0
    for table in random_tables():
        law = ControlledRounding(base).law(table)
        assert sum(law.values()) == 1
        full = and_margins(table)
        for shown in law:
            assert isinstance(shown, tuple)
            inner = tuple(row[:-1] for row in shown[:-1])
            assert [list(row) for row in shown] == and_margins(inner)
        for r, row in enumerate(full):
            for c, count in enumerate(row):
                alone: dict[int | str, Fraction] = {}
                for shown, chance in law.items():
                    alone[shown[r][c]] = alone.get(shown[r][c], Fraction(0)) + chance  # type: ignore[index]
                assert alone == RandomRounding(base).law(count)
                tried += 1
    assert tried == 4 * (2 * 3 + 9 + 12 + 16 + 10)


def test_controlled_rounding_is_less_than_all_numbers_rounded_apart() -> None:
    """Beside a person more in one cell: sums that hold take chance away from the numbers, which tell less."""
    among = [((1, 2), (2, 1)), ((2, 2), (2, 1))]
    told = [
        capacity(method.channel(among), Renyi(1.0), AllPriors())
        for method in (ControlledRounding(3), IndependentRounding(3))
    ]
    laws = [IndependentRounding(3).law(one) for one in among]
    assert all(sum(law.values()) == 1 for law in laws)
    assert told[0].upper < told[1].lower
    for table, law in zip(among, laws, strict=True):
        numbers = [one for row in and_margins(table) for one in row]
        for shown, chance in law.items():
            alone = (RandomRounding(3).law(n)[s] for n, s in zip(numbers, shown, strict=True))  # type: ignore[call-overload]
            assert chance == math.prod(alone, start=Fraction(1))


def agreeing(shown: tuple[tuple[int | None, ...], ...]) -> Iterator[np.ndarray]:
    """Every table that agrees with what is published, row by row; margins are published here."""
    choices = []
    for row in shown[:-1]:
        left = int(row[-1] or 0) - sum(one or 0 for one in row[:-1])
        places = [at for at, one in enumerate(row[:-1]) if one is None]
        choices.append([
            np.array([
                dict(zip(places, counts, strict=True)).get(at, one or 0) for at, one in enumerate(row[:-1])
            ])
            for counts in itertools.product(range(left + 1), repeat=len(places))
            if sum(counts) == left
        ])  # fmt: skip
    for rows in itertools.product(*choices):
        inner = np.array(rows)
        if (inner.sum(axis=0) == np.array(shown[-1][:-1])).all():
            yield inner


@pytest.mark.parametrize("below", [6, 8])
def test_a_real_table_audited_by_brute_force(below: int) -> None:
    """Hair and eyes: the counts that each suppressed cell can have are those of every table that agrees."""
    method = SecondarySuppression(below=below)
    shown = method.shown(HAIR_AND_EYES)
    hidden = method.hidden(HAIR_AND_EYES)
    small = {(r, c) for r, row in enumerate(HAIR_AND_EYES) for c, n in enumerate(row) if 0 < n < below}
    assert small <= hidden
    assert len(hidden) > len(small)
    ranges = {one.place: (one.low, one.high) for one in cell_ranges(shown)}
    assert set(ranges) == hidden
    tables = list(agreeing(shown))
    assert len(tables) > 1
    for place, ends in ranges.items():
        counts = [int(one[place]) for one in tables]
        assert (min(counts), max(counts)) == ends
    for place in small:
        count = HAIR_AND_EYES[place[0]][place[1]]
        assert ranges[place][0] <= max(0, count - 1)
        assert (ranges[place][1] or 0) >= count + 1


def cheapest(table: Table, below: int) -> int | None:
    """The least sum of counts left out that protects, by trying every set of cells and every table."""
    full = np.array(and_margins(table))
    last = tuple(size - 1 for size in full.shape)
    places = [place for place in np.ndindex(full.shape) if full[place] and place != last]
    small = [place for place in places if full[place] < below]
    others = [place for place in places if place not in small]
    everything = [
        np.array(and_margins(one)) for one in every_table(len(table), len(table[0]), int(full[last]))
    ]
    costs = []
    for size in range(len(others) + 1):
        for more in itertools.combinations(others, size):
            hidden = {*small, *more}
            known = [place for place in np.ndindex(full.shape) if place not in hidden]
            fitting = [one for one in everything if all(one[p] == full[p] for p in known)]
            if all(
                {max(0, int(full[p]) - 1), int(full[p]) + 1} <= {int(one[p]) for one in fitting}
                for p in small
            ):
                costs.append(sum(int(full[p]) for p in more))
    return min(costs, default=None)


@pytest.mark.parametrize(
    "table", [((2, 1), (1, 3)), ((3, 1), (0, 3)), ((1, 2, 2), (2, 0, 1)), ((4, 0), (0, 3))]
)
def test_the_cells_left_out_besides_cost_least(table: Table) -> None:
    method, full = SecondarySuppression(below=2), np.array(and_margins(table))
    hidden = method.hidden(table)
    small = {place for place in np.ndindex(full.shape) if 0 < full[place] < 2}
    least = cheapest(table, 2)
    if least is None:
        assert len(hidden) == full.size
    else:
        assert sum(int(full[p]) for p in hidden - small) == least


def test_who_knows_the_method_knows_more_than_the_margins_say() -> None:
    """What is left out follows from the table: others that agree with the numbers would look different."""
    method, truth = SecondarySuppression(below=3), ((1, 3), (3, 4))
    tables = every_table(2, 2, 11)
    channel = method.channel([truth, *(one for one in tables if one != truth and one[0][0] + one[0][1] == 4)])
    column = channel.outputs.index(method.shown(truth))
    exact = channel.as_exact()
    assert exact is not None
    fibre = [one for one, row in zip(channel.inputs, exact, strict=True) if row[column]]
    ranges = {one.place: one for one in cell_ranges(method.shown(truth))}
    counts = [one[0][0] for one in fibre]  # type: ignore[index]
    assert ranges[0, 0].low <= min(counts)
    assert ranges[0, 0].high is not None
    assert max(counts) < ranges[0, 0].high


STRATUM = ("a", "b", "c", "d", "e")


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(4, 5)])
def test_swapping_is_private_given_its_invariants(size: int, rate: Fraction) -> None:
    """All files with these invariants, by enumeration: an exchange moves probabilities by the ratio at most,
    which is reached, and is no more than (b + 1)/o, or o, for each of the two records."""
    files = [
        tuple(("s", kept, place) for kept, place in zip(STRATUM[:size], places, strict=True))
        for places in itertools.permutations(range(size))
    ]
    channel = RecordSwapping(rate).channel(files)
    exact = channel.as_exact()
    assert exact is not None
    largest = Fraction(1)
    for one, other in itertools.combinations(range(len(files)), 2):
        if sum(a != b for a, b in zip(files[one], files[other], strict=True)) == 2:
            pairs = [(p, q) for p, q in zip(exact[one], exact[other], strict=True) if p or q]
            if size == 2:
                assert all(p and q for p, q in pairs)
            largest = max([largest, *(max(p / q, q / p) for p, q in pairs if p and q)])
    assert largest == swapping_ratio(size, rate)
    odds = rate / (1 - rate)
    assert largest <= max((size + 1) / odds, odds) ** 2
    told = SwappingInvariants().channel(files)
    assert len(told.outputs) == 1  # invariant
    assert len(SwappingInvariants().channel([files[0], (("s", "a", 9), *files[0][1:])]).outputs) == 2


def played(rate: float, size: int, rng: np.random.Generator) -> tuple[int, ...]:
    """The algorithm step by step: select, again where it is one, and change places until all have moved."""
    while True:
        chosen = np.flatnonzero(rng.random(size) < rate)
        if len(chosen) != 1:
            break
    places = np.arange(size)
    while len(chosen):
        moved = rng.permutation(chosen)
        if (moved != chosen).all():
            places[chosen] = moved
            break
    return tuple(places.tolist())


def test_the_law_of_swapping_is_that_of_the_algorithm() -> None:
    """10,000 swaps of four records; all shares within 4.5 deviations (24: false alarm below 2·10⁻⁴)."""
    rng, size, times = np.random.default_rng(4), 4, 10_000
    file = tuple(("s", kept, at) for at, kept in enumerate(STRATUM[:size]))
    law = RecordSwapping(Fraction(3, 10)).law(file)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(times):
        places = played(0.3, size, rng)
        seen[places] = seen.get(places, 0) + 1
    found = {tuple(record[2] for record in shown): float(p) for shown, p in law.items()}  # type: ignore[attr-defined]
    assert set(seen) <= set(found)
    for places, chance in found.items():
        assert abs(seen.get(places, 0) / times - chance) < 4.5 * math.sqrt(chance * (1 - chance) / times)


def test_k_anonymity_tells_a_class_of_equals_for_sure() -> None:
    """Two people of a class and two secrets: exchanged, nothing is seen; both the same, it is told."""
    mixed, turned, equal = ((1, 0), (2, 1)), ((1, 1), (2, 0)), ((1, 1), (2, 1))
    channel = KAnonymous(2).channel([mixed, turned, equal])
    assert channel.shape == (3, 2)
    assert KAnonymous(2).law(mixed) == KAnonymous(2).law(turned) != KAnonymous(2).law(equal)
    assert KAnonymous(3).law(mixed) == {(): 1}
    assert capacity(channel, Renyi(math.inf), Neighbours()).upper == math.inf
    finer = KAnonymous(1).channel([mixed, turned, equal])
    assert refines(finer, channel).holds
    assert not refines(channel, finer).holds


@pytest.mark.parametrize(
    "call",
    [
        lambda: ControlledRounding(1),
        lambda: ControlledRounding(3).law(((1, 2), (3,))),
        lambda: ControlledRounding(3).law(((-1, 2),)),
        lambda: ControlledRounding(3).law(((True, 2),)),
        lambda: IndependentRounding(3).law(((1,) * 9,) * 2),
        lambda: SecondarySuppression(below=0),
        lambda: SecondarySuppression(below=5, protect=0),
        lambda: RecordSwapping(Fraction(0)),
        lambda: RecordSwapping(0.1),  # type: ignore[arg-type]
        lambda: RecordSwapping(Fraction(1, 10)).law(tuple(("s", at, at) for at in range(8))),
        lambda: RecordSwapping(Fraction(1, 10)).law((("s", 1),)),  # type: ignore[arg-type]
        lambda: swapping_ratio(0, Fraction(1, 2)),
        lambda: KAnonymous(0),
        lambda: KAnonymous(1).law(((1,),)),
        lambda: every_table(5, 5, 10),
        lambda: ControlledRounding(3).channel([]),
    ],
)
def test_what_is_none_is_refused_in_one_line(call: object) -> None:
    assert callable(call)
    with pytest.raises(InvalidParameter, match="must") as caught:
        call()
    assert "\n" not in str(caught.value)
