"""The table of most entropy: its moments exactly, two multipliers by another solver, and no room above."""

from __future__ import annotations

from fractions import Fraction

import pytest

from disclosure.test_cell_key import most_entropy
from leakcap.disclosure.cell_key import CellKey
from leakcap.disclosure.most_entropy import most_entropic_table
from leakcap.disclosure.weighing import CellRisk, mean_squared_error
from leakcap.errors import InvalidParameter

CASES = [(5, Fraction(3)), (2, Fraction(1)), (8, Fraction(79, 10)), (2, Fraction(1, 10)), (8, Fraction(8, 5))]


@pytest.mark.parametrize(("largest", "variance"), CASES)
def test_rows_have_the_moments_exactly_and_most_entropy(largest: int, variance: Fraction) -> None:
    table = most_entropic_table(largest, variance)
    for count in range(1, largest + 2):
        row = table.law(count)
        assert [sum(k**power * chance for k, chance in row.items()) for power in range(3)] == [1, 0, variance]
        wanted = most_entropy(min(count, largest), largest, float(variance))
        assert max(abs(float(row[k]) - chance) for k, chance in wanted.items()) < 1e-8
    assert CellKey(table).law(0) == {0: 1}
    assert mean_squared_error(CellKey(table)) == variance


def test_reference_values() -> None:
    """Theory §11: .0405 and .116 nats of a large cell; 1 cell is guessed with .614 and .691."""
    for largest, variance, nats, right in ((5, 3, 0.0405, 0.614), (2, 1, 0.116, 0.691)):
        risk = CellRisk(CellKey(most_entropic_table(largest, variance)), largest)
        assert risk.capacity.upper == pytest.approx(nats, abs=5e-4)
        assert float(risk.guess()) == pytest.approx(right, abs=5e-4)


@pytest.mark.parametrize(
    ("largest", "variance"), [(1, 1), (13, 5), (5, 5), (5, Fraction(1, 2)), (5, 3.0), (True, 1)]
)
def test_what_no_table_can_have_is_refused(largest: int, variance: Fraction) -> None:
    with pytest.raises(InvalidParameter, match="of `most_entropic_table` must be"):
        most_entropic_table(largest, variance)
