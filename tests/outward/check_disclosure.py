"""What a published cell tells: the truth is that of the fractions, not of the doubles near them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.cells import CellMethod
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells
from leakcap.disclosure.weighing import CellRisk
from outward.balls import INFINITE, Case, ball, largest
from outward.registry import checks

ONE = Fraction(1)
PAIRS = [
    (base, others) for base in (2, 3, 4, 5, 7, 10, 100) for others in range(base) if base < 10 or others < 12
]


def risks(full: bool) -> Iterator[CellRisk]:
    for base, others in PAIRS if full else PAIRS[::3]:
        yield CellRisk(RandomRounding(base), others)
    small = tuple((value, Fraction(end, 14)) for value, end in ((-1, 3), (0, 9), (1, 13), (2, 14)))
    methods: list[CellMethod] = [
        SmallCells(below=3),
        NearestRounding(3),
        CellKey(PerturbationTable((((0, ONE),), ((-1, Fraction(1, 7)), (1, ONE)), small))),
    ]
    for method in methods:
        yield from (CellRisk(method, others) for others in range(4))


def pairs_of(risk: CellRisk) -> list[tuple[Fraction, Fraction]]:
    absent, present = risk.method.law(risk.others), risk.method.law(risk.others + 1)
    return [(absent.get(shown, Fraction(0)), present.get(shown, Fraction(0))) for shown in absent | present]


def of_two_outputs(rows: list[tuple[Fraction, Fraction]]) -> arb:
    """Shannon's capacity of two outputs: ln Σ_j exp(−Σ_i (P⁻¹)_{ji}·H_i) (Muroga 1953)."""
    (a, b), (c, d) = zip(*rows, strict=True)
    size = a * d - b * c
    if not size:
        return ball(0)
    doubt = [-sum((ball(p) * ball(p).log() for p in row if p), ball(0)) for row in ((a, b), (c, d))]
    inverse = ((d / size, -b / size), (-c / size, a / size))
    return sum((-(ball(one) * doubt[0] + ball(two) * doubt[1])).exp() for one, two in inverse).log()


@checks("leakcap.disclosure.weighing.CellRisk.capacity")
def capacities_of_cells(full: bool) -> Iterator[Case]:
    for risk in risks(full):
        rows = pairs_of(risk)
        if len(rows) == 2:
            truth = of_two_outputs(rows)
        elif all(min(pair) == 0 for pair in rows):
            truth = ball(2).log()
        elif len(rows) == 1:
            truth = ball(0)
        else:
            continue
        yield Case(f"capacity of {risk.method.words}, {risk.others}", risk.capacity, truth, 1e-8, 1e-9)


@checks("leakcap.disclosure.weighing.CellRisk.epsilon")
def epsilons_of_cells(full: bool) -> Iterator[Case]:
    for risk in risks(full):
        rows = pairs_of(risk)
        if any(min(pair) == 0 for pair in rows):
            truth = INFINITE
        else:
            truth = largest([ball(max(pair) / min(pair)).log() for pair in rows])
        yield Case(f"ε of {risk.method.words}, {risk.others}", risk.epsilon, truth)


@checks("leakcap.disclosure.weighing.CellRisk.delta")
def deltas_of_cells(full: bool) -> Iterator[Case]:
    for risk in risks(full):
        for epsilon in (0.0, 0.1, 1.0, 30.0, 700.0):
            factor = ball(epsilon).exp()
            sums = []
            for turned in (False, True):
                rows = [(b, a) if turned else (a, b) for a, b in pairs_of(risk)]
                parts = [(ball(p) - factor * ball(q)).max(ball(0)) for p, q in rows]
                sums.append(sum(parts, ball(0)))
            yield Case(f"δ({epsilon}) of {risk.method.words}", risk.delta(epsilon), largest(sums))


@checks("leakcap.disclosure.weighing.RepeatedRisk.success")
def successes_of_cells(full: bool) -> Iterator[Case]:
    for risk in risks(full):
        rows = pairs_of(risk)
        for times in (1, 2, 7, 23) if len(rows) <= 2 else (1,):
            total = Fraction(0)
            if len(rows) == 2:
                (p, q), (r, s) = rows
                for often in range(times + 1):
                    here, there = p**often * r ** (times - often), q**often * s ** (times - often)
                    total += math.comb(times, often) * max(here, there)
            else:
                total = sum((max(pair) for pair in rows), Fraction(0)) if len(rows) > 1 else ONE
            truth = ball(total / 2)
            yield Case(f"{times} cells of {risk.method.words}", risk.success(times), truth, 1e-11, 1e-12)
