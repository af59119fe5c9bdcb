"""The strategy of an ordered column and its inverse, against exact fractions; the lower bound, against
optimisation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from leakcap.tables.ordered import basis as bases
from leakcap.tables.ordered.basis import basis_of
from leakcap.tables.ordered.certified import least_alone, least_parts
from leakcap.tables.ordered.dense import inverted, multiplied, root
from leakcap.tables.ordered.design import Kind, designed, gram_of
from tables.dense import sums

KINDS: tuple[Kind, ...] = ("ranges", "prefixes")
CASES = [(kind, size) for kind in KINDS for size in (2, 3, 5, 12)]


def solved(matrix: Any) -> list[list[Fraction]]:
    """The inverse by fractions: Gauss and Jordan with pivots."""
    size = len(matrix)
    rows = [
        [Fraction(int(x)) for x in row] + [Fraction(i == j) for j in range(size)]
        for i, row in enumerate(matrix)
    ]
    for k in range(size):
        pivot = next(r for r in range(k, size) if rows[r][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for r in range(size):
            if r != k and rows[r][k]:
                rows[r] = [x - rows[r][k] * y for x, y in zip(rows[r], rows[k], strict=True)]
    return [row[size:] for row in rows]


def check_inverted(found: Any) -> None:
    """L and u within `off` of the exact ones; columns add up to 0 and 1, exactly."""
    n = found.size
    exact = solved(np.vstack([found.matrix, np.ones((1, n), dtype=np.int64)]))
    rows = [found.along([int(i == j) for j in range(n)]) for i in range(n)]
    for (total, rest), own in zip(rows, exact, strict=True):
        assert abs(total - own[-1]) <= found.off
        apart = [Fraction(int(x), found.bottom) - y for x, y in zip(rest, own[:-1], strict=True)]
        assert max(map(abs, apart)) <= found.off
        assert max(map(abs, own)) <= found.largest
    assert sum(total for total, _ in rows) == 1
    assert not np.sum([rest for _, rest in rows], axis=0).any()
    assert 0 < found.off < Fraction(1, 2**60)


@pytest.mark.parametrize(("kind", "size"), CASES)
def test_the_inverse_is_as_near_as_it_says(kind: Kind, size: int) -> None:
    check_inverted(basis_of(kind, size, 1024))


def test_an_inverse_that_is_further_off_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "_BITS", 40)
    with pytest.raises(AssertionError):
        check_inverted(bases._ordered.__wrapped__("ranges", 6, 1024))


@pytest.mark.parametrize(("kind", "size"), CASES)
def test_facts_of_a_strategy_are_those_of_its_matrix(kind: Kind, size: int) -> None:
    found: Any = basis_of(kind, size, 1024)
    columns = [[int(x) for x in column] for column in found.matrix.T]
    products = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in columns] for x in columns]
    assert found.reach == max(products[k][k] for k in range(size))
    assert found.least == min(0, *(products[j][k] for j in range(size) for k in range(size) if j != k))
    assert found.stretch == max(sum(abs(int(x)) for x in row) for row in found.matrix)
    w = sums(size, kind)
    assert np.array_equal(gram_of(kind, size), w.T @ w)
    assert found.answers == len(w)
    exact = np.array(solved(np.vstack([found.matrix, np.ones((1, size), dtype=np.int64)])), dtype=float)
    for told, own in ((found.rest_error, w @ exact[:, :-1]), (found.spread_error, w @ exact[:, -1:])):
        assert float(told) == pytest.approx((own**2).sum(), rel=1e-9)
    for cumulative, rows in ((False, np.eye(size)), (True, sums(size, "prefixes"))):
        squares, absolutes, totals = found.each(cumulative)
        assert np.allclose([float(x) for x in squares], ((rows @ exact[:, :-1]) ** 2).sum(axis=1))
        assert np.allclose([float(x) for x in absolutes], np.abs(rows @ exact[:, :-1]).sum(axis=1))
        assert np.allclose([float(x) for x in totals], np.abs(rows @ exact[:, -1]))
    assert found.most_in_cells[0] >= max(found.each(False)[0])


@pytest.mark.parametrize("size", [1, 2, 5])
def test_facts_of_cells_are_those_of_their_matrix(size: int) -> None:
    found = basis_of(None, size, 1)
    matrix = size * np.eye(size) - np.ones((size, size))
    assert found.reach == (matrix**2).sum(axis=0).max()
    assert found.least == min(0, (matrix.T @ matrix)[0, size - 1] if size > 1 else 0)
    assert found.stretch == np.abs(matrix).sum(axis=1).max()
    for cumulative, rows in ((False, np.eye(size)), (True, sums(size, "prefixes"))):
        squares, absolutes, totals = found.each(cumulative)
        assert np.allclose([float(x) for x in squares], ((rows @ matrix / size**2) ** 2).sum(axis=1))
        assert np.allclose([float(x) for x in absolutes], np.abs(rows @ matrix / size**2).sum(axis=1))
        assert np.allclose([float(x) for x in totals], rows.sum(axis=1) / size)
    assert float(found.rest_error) == pytest.approx(((matrix / size**2) ** 2).sum())


def best(gram: Any, steps: int = 150) -> float:
    """tr(GX⁻¹) of a strategy with columns of length 1, by many steps in doubles: no less than the optimum."""
    weights = np.full(len(gram), 1.0 / len(gram))
    for _ in range(steps):
        apart = np.sqrt(weights)
        values, vectors = np.linalg.eigh(apart[:, None] * gram * apart)
        strategy = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T / apart[:, None] / apart
        weights = weights * strategy.diagonal()
        weights = weights / weights.sum()
    return float(np.trace(gram @ np.linalg.inv(strategy / strategy.diagonal().max())))


@pytest.mark.parametrize(("kind", "size"), [*CASES, ("ranges", 40), ("prefixes", 40)])
def test_the_bound_is_just_below_the_best_strategy_and_ours_is_near(kind: Kind, size: int) -> None:
    gram = gram_of(kind, size).astype(float)
    optimum, found = best(gram), basis_of(kind, size, 1024)
    assert optimum * 0.996 <= float(found.least_alone) <= optimum
    total, rest = float(found.least_total), float(found.least_rest)
    assert optimum * 0.93 <= (total**0.5 + rest**0.5) ** 2 <= optimum
    ours = (float(found.spread_error) ** 0.5 + float(found.rest_error * found.reach) ** 0.5) ** 2
    assert optimum <= ours <= 1.006 * optimum


def test_a_bound_with_too_large_a_part_would_be_seen() -> None:
    """What stands beside the total is D, not all of H: with that the bound would pass the optimum."""
    weights = np.ones(8, dtype=np.int64)
    h = gram_of("prefixes", 8) / 8
    unit = np.ones(8) / 8**0.5
    total, rest = least_parts("prefixes", weights)
    whole = np.sqrt(np.clip(np.linalg.eigvalsh(h), 0, None)).sum()
    d = h - np.outer(h @ unit, h @ unit) / (unit @ h @ unit)
    assert float(total) == pytest.approx(unit @ h @ unit)
    # The least eigenvalue is 0, of which a root of doubles is nothing to go by.
    assert float(rest) ** 0.5 == pytest.approx(np.sqrt(np.linalg.eigvalsh(d)[1:]).sum(), rel=1e-9)
    assert (float(total) ** 0.5 + whole) ** 2 > best(gram_of("prefixes", 8).astype(float))
    assert float(least_alone("prefixes", weights)) == pytest.approx(whole**2, rel=1e-9)


def test_dense_matrices_are_those_of_lapack() -> None:
    draw = np.random.default_rng(4)
    for size in (1, 3, 17):
        some = draw.normal(size=(size, size + 2))
        positive = some @ some.T
        assert np.allclose(multiplied(some, some.T), positive)
        assert np.allclose(inverted(positive) @ positive, np.eye(size), atol=1e-6)
        assert np.allclose(root(positive) @ root(positive), positive)


def test_a_design_adds_up_in_one_order() -> None:
    """No sum is left to a library, whose order of terms depends on the processor."""
    import inspect

    from leakcap.tables.ordered import certified, dense, design

    for one in (dense, design, certified):
        source = inspect.getsource(one)
        for name in (".sum(", "linalg", "einsum", " @ ", "np.mean"):
            assert name not in source, (one.__name__, name)
    first, weights = designed("ranges", 7, 1024)
    assert np.array_equal(first, designed.__wrapped__("ranges", 7, 1024)[0])
    assert not first.flags.writeable
    assert not weights.flags.writeable
