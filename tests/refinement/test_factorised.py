"""Refinement by factorisation: beside the linear program alone, in fractions, and at sizes of minutes."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

import leakcap.refinement as room
from blind_factors import Blind
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel
from leakcap.numeric.columns_solved import ColumnFactors, dyadic_rows
from leakcap.refinement import TOLERANCE, Refinement, refines
from strange_channels import strange_channels

Rows = list[list[Fraction]]


def normalised(channel: Channel) -> Rows:
    """The doubles as the rationals they are, each row divided by its sum: no rounding anywhere."""
    rows = [[Fraction(v) for v in row] for row in channel.matrix.tolist()]
    return [[v / sum(row) for v in row] for row in rows]


def worth(rows: Rows, table: Rows) -> Fraction:
    """V_g under the uniform prior."""
    columns = list(zip(*rows, strict=True))
    best = (max(sum(map(Fraction.__mul__, g, c)) for g in table) for c in columns)
    return sum(best, Fraction(0)) / len(rows)


def confirmed(a: Channel, b: Channel, answer: Refinement) -> bool | None:
    """What the evidence shows when it is checked without a rounding; an answer without evidence fails."""
    if answer.holds is None:
        return None
    rows_a, rows_b = normalised(a), normalised(b)
    if answer.holds:
        assert answer.witness_post is not None
        post = [[Fraction(v) for v in row] for row in answer.witness_post.matrix.tolist()]
        if answer.witness_post.exact is not None:
            post = answer.witness_post.exact.tolist()
        assert all(sum(row) == 1 and min(row) >= 0 for row in post)
        columns = list(zip(*post, strict=True))
        off = max(
            abs(sum(map(Fraction.__mul__, row, column)) - target)
            for row, targets in zip(rows_a, rows_b, strict=True)
            for column, target in zip(columns, targets, strict=True)
        )
        assert off <= answer.residual <= answer.tolerance
        return True
    assert answer.witness_gain is not None
    table = [[Fraction(v) for v in row] for row in answer.witness_gain.table.tolist()]
    gap = worth(rows_b, table) - worth(rows_a, table)
    assert gap >= Fraction(answer.margin) > 0
    return False


def cases() -> list[tuple[Channel, Channel]]:
    """Random and strange pairs, both ways: wide, tall, singular, equal rows, zero columns, one secret."""
    rng = np.random.default_rng(18)
    found: list[tuple[Channel, Channel]] = []
    for a, _ in strange_channels(40, seed=43, largest=5):
        post = Channel(rng.dirichlet(np.full(3, 0.5), a.shape[1]))
        found += [(a, a >> post), (a >> post, a.relabelled())]
    for secrets, outputs in ((1, 3), (2, 6), (3, 3), (4, 2), (5, 4)):
        for _ in range(6):
            a, b = (Channel(rng.dirichlet(np.full(outputs, 0.7), secrets)) for _ in range(2))
            mixed = np.vstack([a.matrix, a.matrix[:1]])  # equal rows
            doubled = np.hstack([a.matrix / 2, a.matrix / 2, np.zeros((secrets, 1))])
            found += [(a, b), (Channel(mixed), Channel(np.vstack([b.matrix, b.matrix[:1]])))]
            found += [(Channel(doubled), a), (a, Channel(doubled)), (Channel(mixed), Channel(mixed[:, ::-1]))]
            if secrets > 1:
                tilted = np.vstack([b.matrix, b.matrix[1:2]])
                found += [(Channel(mixed), Channel(tilted))]
    low = rng.dirichlet(np.ones(2), 5) @ rng.dirichlet(np.ones(6), 2)
    found += [
        (Channel(low), Channel(low[:, ::-1])),
        (Channel(low), Channel(low @ rng.dirichlet(np.ones(3), 6))),
    ]
    tiny = np.array([[1.0, 5e-324, 0.0], [1.0, 0.0, 5e-324]])
    found += [
        (Channel(tiny), Channel(tiny)),
        (Channel(tiny), Channel(np.eye(2))),
        (Channel(np.eye(2)), Channel(tiny)),
    ]
    return found


def test_every_answer_is_the_linear_programs_and_confirmed_in_fractions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs = cases()
    answers = [refines(a, b) for a, b in pairs]
    seen = [confirmed(a, b, answer) for (a, b), answer in zip(pairs, answers, strict=True)]
    assert (seen.count(True) >= 60, seen.count(False) >= 60, seen.count(None)) == (True, True, 0)
    monkeypatch.setattr(room, "ColumnFactors", Blind)
    some = range(0, len(pairs), 3)
    assert [refines(*pairs[at]).holds for at in some] == [seen[at] for at in some]


@pytest.mark.parametrize("max_case", [False, True])
def test_both_routes_agree_on_the_order_of_posteriors(
    max_case: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = cases()[::5]
    ours = [refines(a, b, max_case=max_case).holds for a, b in pairs]
    monkeypatch.setattr(room, "ColumnFactors", Blind)
    assert ours == [refines(a, b, max_case=max_case).holds for a, b in pairs]


def test_a_gap_that_is_not_measured_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: every direction is said to separate."""
    monkeypatch.setattr(room, "_proved_margin", lambda *_: 1.0)
    monkeypatch.setattr(room, "TOLERANCE", -1.0)
    a = Channel(np.random.default_rng(1).dirichlet(np.ones(3), 3))
    with pytest.raises(AssertionError):
        confirmed(a, a, refines(a, a))


def test_an_inverse_that_is_wrong_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the weights are off in the third digit; the linear program answers, and rightly."""

    class Wrong(ColumnFactors):
        def weights(self, targets: np.ndarray) -> np.ndarray:
            return super().weights(targets) * np.linspace(1.0, 1.01, targets.shape[1])

    monkeypatch.setattr(room, "ColumnFactors", Wrong)
    rng = np.random.default_rng(2)
    a, post = (Channel(rng.dirichlet(np.ones(4), 4)) for _ in range(2))
    assert confirmed(a, a >> post, refines(a, a >> post)) is True
    assert confirmed(a >> post, a, refines(a >> post, a)) is False


@pytest.mark.parametrize("secrets", [80, 150])
def test_large_channels_are_decided_without_a_linear_program(
    secrets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """80 × 80 took 75 seconds; now 2 ms of CPU, and 150 × 150 takes 8."""

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a linear program was asked")

    monkeypatch.setattr(room, "minimise_linear", refused)
    rng = np.random.default_rng(secrets)
    a, post = (Channel(rng.dirichlet(np.ones(secrets), secrets)) for _ in range(2))
    b = a >> post
    low = Channel(rng.dirichlet(np.ones(9), secrets) @ rng.dirichlet(np.ones(secrets), 9))
    asked = [(a, b, True), (b, a, False), (a, a, True), (low, low >> post, True), (low >> post, low, False)]
    for first, second, holds in asked:
        start = time.process_time()
        answer = refines(first, second)
        took = time.process_time() - start
        assert answer.holds is holds
        assert took < 3.0, "a hundred times what it takes"
    assert refines(a, b, max_case=True).holds is True
    assert refines(b, a, max_case=True).holds is False


def test_a_channel_that_is_all_but_singular_refines_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smooth kernel has singular values below any rounding; it is seen to be itself all the same."""
    places = np.arange(60)
    smooth = np.exp(-((places[:, None] - places) ** 2) / 200.0)
    kernel = Channel(smooth / smooth.sum(axis=1, keepdims=True))
    monkeypatch.setattr(room, "minimise_linear", lambda *_, **__: None)
    assert confirmed(kernel, kernel, refines(kernel, kernel)) is True


def test_one_row_is_rebuilt_by_whatever_is_shown() -> None:
    a, b = Channel([[0.2, 0.8]]), Channel([[0.5, 0.25, 0.25]])
    assert confirmed(a, b, refines(a, b)) is True
    assert confirmed(b, a, refines(b, a)) is True


def test_close_to_refinement_the_tolerance_decides() -> None:
    """A·R and a part in 10⁷ or 10¹² of something else, for 30 secrets."""
    rng = np.random.default_rng(30)
    a, post, other = (rng.dirichlet(np.ones(30), 30) for _ in range(3))
    post[:, 0], post[:, 1] = 0.0, post[:, 0] + post[:, 1]  # at the border: weights of zero
    for part, holds in ((1e-5, False), (1e-12, True)):
        b = Channel((1 - part) * a @ post + part * other)
        assert confirmed(Channel(a), b, refines(Channel(a), b)) is holds


def test_fractions_of_thirty_secrets_are_decided_exactly() -> None:
    """Post-processings in tenths come back as they were; a ten thousand millionth more is seen."""
    rng = np.random.default_rng(31)
    rows = rng.integers(1, 9, size=(30, 30))
    a = Channel([[Fraction(int(v), int(row.sum())) for v in row] for row in rows])
    tenths = [[Fraction(int(v), 10) for v in rng.multinomial(10, [1 / 30] * 30)] for _ in range(30)]
    answer = refines(a, a >> Channel(tenths))
    assert (answer.holds, answer.tolerance) == (True, 0.0)
    assert answer.witness_post is not None
    assert answer.witness_post.exact is not None
    assert answer.witness_post.exact.tolist() == tenths
    assert (refines(a >> Channel(tenths), a).holds, refines(a >> Channel(tenths), a).tolerance) == (
        False,
        0.0,
    )


def test_witnesses_sum_to_one_exactly() -> None:
    rows = dyadic_rows(np.array([[1e-320, 0.0], [0.1, 0.2], [0.0, 0.0], [np.inf, np.nan], [1e300, 1e300]]))
    assert [sum(map(Fraction, row)) for row in rows.tolist()] == [1] * 5
    assert rows.tolist()[0] == [1.0, 0.0]
    assert rows[1] == pytest.approx([1 / 3, 2 / 3], abs=2.0**-51)


def test_a_program_that_is_too_large_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "ColumnFactors", Blind)
    monkeypatch.setattr(room, "_LARGEST_PROGRAM", 26)
    a = Channel(np.random.default_rng(3).dirichlet(np.ones(3), 3))
    with pytest.raises(InvalidChannel, match=r"at most 26 entries\. Got 27, for channels of shapes \(3, 3\)"):
        refines(a, Channel(a.matrix[:, ::-1]))


def test_the_tolerance_is_the_stated_one() -> None:
    assert TOLERANCE == 1e-9
