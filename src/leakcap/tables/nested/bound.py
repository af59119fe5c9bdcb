"""Below which no strategy errs for tables of nested columns.

With a measure μ on the cells of all columns together, Λ = √μ, and W all that is wanted, each row times the
root of its weight, the squared error at ρ is no less than (nuclear norm of WΛ)²/(2ρ)
(`docs/theory/ranges.md`, (1)). The norm is no less than tr(UᵀWΛ) for any U that lengthens nothing;
`docs/theory/nested-tables.md` has one for each measure that is a product over the chains of columns, with

    T = Σ_A Σ_p √(Σ_{B⊇A} w_B·a_{A,B}(p)²)

over the tables A and the parents p of their keys. Any measure will do; the best of a few is taken.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leakcap.tables.nested.level import Level

if TYPE_CHECKING:
    from leakcap.tables.workload import Places, Workload

__all__ = ["least_error"]

Floats: TypeAlias = NDArray[np.float64]
_Parts: TypeAlias = dict[tuple[int | None, int | None], Floats]
"""From a column of a chain, or the total, to one that is no higher: a number for each parent of its keys."""

_SAFE = 1.0 - 1e-9
"""Sums, products and roots of positive doubles, a few for each number, lose less."""


def least_error(workload: Workload, *, replace: bool) -> Fraction:
    """T² of the best of the measures; between contents also twice that without the total, the larger one."""
    best = 0.0
    chains = _lines(workload)
    for shares in itertools.product(range(3), repeat=sum(len(line) > 1 for line in chains)):
        left = iter(shares)
        parts = [_parts(workload, line, next(left) if len(line) > 1 else 0) for line in chains]
        terms = {table: _term(workload, table, chains, parts) for table in workload.closure}
        whole = math.fsum(terms.values()) * _SAFE
        found = whole * whole * _SAFE
        if replace:
            unlike = math.fsum(term for table, term in terms.items() if table) * _SAFE
            found = max(found, 2.0 * unlike * unlike * _SAFE)
        best = max(best, found)
    return Fraction(best)


def _lines(workload: Workload) -> list[tuple[int, ...]]:
    """Each chain of columns, and each column that is in none."""
    down = [workload.chains.down_to(place) for place in range(len(workload.columns))]
    return [line for line in down if not any(line[-1] in other[:-1] for other in down)]


def _term(workload: Workload, table: Places, chains: list[tuple[int, ...]], parts: list[_Parts]) -> float:
    """Σ_p √(Σ_B w_B·a_{A,B}(p)²) of one table A."""
    total: Floats | None = None
    for wanted, weight in workload.weights.items():
        used = [
            (one, (_on(line, table), _on(line, wanted)))
            for line, one in zip(chains, parts, strict=True)
            if set(line).intersection((*table, *wanted))
        ]
        if not all(pair in one for one, pair in used):
            continue
        found = np.array([math.sqrt(weight)])
        for one, pair in used:
            found = np.multiply.outer(found, one[pair]) if one[pair].size > 1 else found * one[pair]
        square = found * found
        total = square if total is None else total + square
    return 0.0 if total is None else math.fsum(np.sqrt(total).ravel().tolist())


def _on(line: tuple[int, ...], table: Places) -> int | None:
    return next((one for one in line if one in table), None)


def _parts(workload: Workload, line: tuple[int, ...], share: int) -> _Parts:
    """a of one chain, or of a column by itself."""
    basis, place = workload.bases[line[0]], line[0]
    if not isinstance(basis, Level):
        spread, rest = math.sqrt(basis.least_total), math.sqrt(basis.least_rest)
        one = {(None, None): 1.0, (None, place): spread, (place, place): rest}
        return {pair: np.array([number * _SAFE]) for pair, number in one.items()}
    return _of_chain(line, [workload.chains.levels[one] for one in line], share)


def _of_chain(line: tuple[int, ...], levels: list[Level], share: int) -> _Parts:
    """Σ_c √μ(c)·μ(c)/μ(v)·(1 − μ(v)/μ(p)) over the keys c of the one below each p, v of the two the one that
    c lies within; and Σ_c √μ(c)·μ(c) from the total."""
    measures = _measures(levels, share)
    found: _Parts = {(None, None): np.ones(1)}
    for low, place in enumerate(line):
        own = measures[low]
        found[None, place] = np.array([math.fsum((np.sqrt(own) * own).tolist())])
        held, above = np.sqrt(own) * own, np.arange(len(own))
        for high in range(low, -1, -1):
            level = levels[high]
            over = measures[high - 1] if high else np.ones(1)
            # What siblings have is added up, for no difference of two numbers is sure of its digits.
            siblings = _others(measures[high], level)
            by_key = np.asarray(np.bincount(above, weights=held, minlength=level.size) / measures[high])
            each = by_key * siblings / over[level.parents]
            found[line[high], place] = _added(level, each)
            above = level.parents[above]
    return found


def _added(level: Level, numbers: Floats) -> Floats:
    """The sums over each parent's children, one after the other."""
    found = np.bincount(level.parents, weights=numbers, minlength=len(level.children))
    return np.asarray(found, dtype=np.float64)


def _others(measure: Floats, level: Level) -> Floats:
    """What the siblings of each key have together."""
    found = np.zeros(level.size)
    for start, many in zip(level.starts.tolist(), level.children.tolist(), strict=True):
        own = measure[start : start + many]
        before = np.concatenate([[0.0], np.cumsum(own)[:-1]])
        after = np.concatenate([np.cumsum(own[::-1])[::-1][1:], [0.0]])
        found[start : start + many] = before + after
    return found


def _measures(levels: list[Level], share: int) -> list[Floats]:
    """Of the keys of each level: alike for all that lie within one key, alike for all innermost keys, or
    between the two, by the root of how many of these each has."""
    below = [np.ones(levels[-1].size)]
    for level in reversed(levels[1:]):
        below.insert(0, _added(level, below[0]))
    found: list[Floats] = []
    for level, many in zip(levels, below, strict=True):
        part = (np.ones(level.size), np.sqrt(many), many)[share]
        whole = _added(level, part)
        above = found[-1] if found else np.ones(1)
        found.append(part / whole[level.parents] * above[level.parents])
    return found
