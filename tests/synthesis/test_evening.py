"""Rows that are evened out: nearer to the law in every sense that was asked, and still possible rows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from leakcap.synthesis import drawing
from leakcap.synthesis.drawing import drawn_rows
from leakcap.synthesis.evening import even_out
from leakcap.synthesis.impossible import Impossible

FREE = Impossible((), (), {})
SIZES = (2, 5, 4, 3)


def law(components: int, seed: int, sizes: Sequence[int] = SIZES) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.dirichlet(np.full(size, 0.5), components) for size in sizes]


def squares(weights: Sequence[np.ndarray], codes: Sequence[np.ndarray]) -> float:
    """Σ(count − expected)² over the tables of two columns, cell by cell."""
    found, rows = 0.0, len(codes[0])
    for one, other in itertools.combinations(range(len(codes)), 2):
        for a, b in itertools.product(range(weights[one].shape[1]), range(weights[other].shape[1])):
            count = int(((codes[one] == a) & (codes[other] == b)).sum())
            found += (count - rows * float((weights[one][:, a] * weights[other][:, b]).mean())) ** 2
    return found


@pytest.mark.parametrize("rows", [1, 2, 3, 50, 900, 5_000])
def test_tables_of_two_columns_come_nearer(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded: of rows that are not evened out Σ(count − expected)² is three times as large or more."""
    weights = law(7, 1)
    even = drawn_rows(weights, rows, np.random.default_rng(2), FREE)
    monkeypatch.setattr(drawing, "even_out", lambda *_: None)
    plain = drawn_rows(weights, rows, np.random.default_rng(2), FREE)
    assert [len(own) for own in even] == [rows] * len(SIZES)
    if rows >= 50:
        assert 3.0 * squares(weights, even) < squares(weights, plain)
    else:
        assert squares(weights, even) <= squares(weights, plain) + 1e-9


def test_one_row_at_a_time_never_goes_away_from_the_law() -> None:
    """Of few rows each is looked at alone: every move is an improvement, counted anew by brute force."""
    weights, draw = law(3, 4), np.random.default_rng(5)
    component = np.repeat(np.arange(3), 20)
    for _ in range(20):
        codes = [draw.integers(0, size, 60).astype(np.int32) for size in SIZES]
        before = squares(weights, codes)
        even_out(codes, weights, component, draw)
        assert squares(weights, codes) < before


def test_a_row_keeps_to_its_component() -> None:
    """Components that share no key: no row has keys of two of them, which its tables of two columns alone
    would not tell of three columns."""
    weights = [np.eye(6).reshape(2, 3, 6).mean(axis=1) for _ in range(4)]
    codes = drawn_rows(weights, 3_000, np.random.default_rng(6), FREE)
    halves = np.stack([own >= 3 for own in codes])
    assert (halves == halves[0]).all()
    assert halves[0].sum() == 1_500


def test_keys_without_a_share_and_rows_that_cannot_be_stay_away() -> None:
    weights = law(5, 7)
    for own in weights:
        own[:, -1] = 0.0
    rule = ((0, np.array([True, False])), (1, np.array([False, True, False, False, False])))
    some = {0: np.array([1], dtype=np.int32), 1: np.array([0], dtype=np.int32)}
    codes = drawn_rows(weights, 4_000, np.random.default_rng(8), Impossible((rule,), (), some))
    assert all(own.max() < size - 1 for own, size in zip(codes, SIZES, strict=True))
    assert not ((codes[0] == 0) & (codes[1] == 1)).any()


def test_fixed_columns_stay_and_others_follow_them() -> None:
    """A column that is fixed at one key, against its law: the others keep to their shares in each component,
    as they are independent of it there. Counted by brute force."""
    weights, component = law(4, 10), np.repeat(np.arange(4), 500)
    draw = np.random.default_rng(11)
    codes = [draw.integers(0, size, 2_000).astype(np.int32) for size in SIZES]
    codes[1][:] = np.where(component < 2, 3, 0)
    kept = codes[1].copy()
    for _ in range(5):
        even_out(codes, weights, component, draw, {1})
    assert (codes[1] == kept).all()
    for place in (0, 2, 3):
        for key, own in ((3, slice(0, 2)), (0, slice(2, 4))):
            found = np.bincount(codes[place][codes[1] == key], minlength=SIZES[place])
            assert np.abs(found - 500 * weights[place][own].sum(axis=0)).max() < 30.0


def test_one_column_is_left_as_it_is() -> None:
    weights = law(5, 9, (4,))
    codes = [np.arange(8, dtype=np.int32) % 4]
    even_out(codes, weights, np.zeros(8, dtype=np.int64), np.random.default_rng(0))
    assert codes[0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_very_many_keys_are_left_to_chance() -> None:
    """A matrix of keys by keys would not fit: rows stay as they were drawn, and no memory is taken."""
    random = np.random.default_rng(2)
    weights = [np.full((1, 40_000), 1 / 40_000), np.array([[0.5, 0.5]])]
    codes = [
        random.integers(40_000, size=300).astype(np.int32),
        random.integers(2, size=300).astype(np.int32),
    ]
    before = [own.copy() for own in codes]
    even_out(codes, weights, np.zeros(300, dtype=np.int64), random)
    assert all((own == old).all() for own, old in zip(codes, before, strict=True))
