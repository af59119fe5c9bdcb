"""Small numbers on the terminal: errors in one style, a fit to its noise and outward, two ε told apart."""

from __future__ import annotations

import io
import math
import random
from fractions import Fraction

import pytest
from rich.console import Console

from leakcap.release import Query, load_policy, preview
from leakcap.report.records import CapRecord, PreviewRecord
from leakcap.report.terminal.previews import print_preview
from leakcap.report.terminal.spending import caps_table
from leakcap.report.words.publication import estimated, off_by
from leakcap.statement.wording import error_text

POLICY = load_policy({
    "dataset": "stays", "neighbours": "add-remove-one", "caps": {"epsilon": 3.0, "delta": 1e-5},
    "columns": {"age": {"bounds": [0.0, 120.0]}, "sex": {"keys": ["F", "M"]}},
})  # fmt: skip


def shown(record: object, width: int = 400) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    if isinstance(record, PreviewRecord):
        print_preview(console, record)
    else:
        console.print(record)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_errors_are_rounded_up_and_in_one_style() -> None:
    source = random.Random(7)
    values = [10.0 ** source.uniform(-6, 12) for _ in range(2000)] + [30.0, 13.0, 1079.0, 0.1, 999.5, 1e-9]
    for value in values:
        text = error_text(value)
        assert Fraction(value) * (1 - Fraction(1, 10**12)) <= Fraction(text.replace(",", ""))
        assert float(text.replace(",", "")) <= value * 1.0101
        assert not text.endswith(".0")
        assert off_by(value) == f"± {text}" or value > 1e11 or value < 1e-5
    assert [error_text(one) for one in (13.0, 1079.0, 3156.0)] == ["13", "1,080", "3,160"]
    assert (error_text(0.0), error_text(math.inf)) == ("0", "∞")


def test_a_choice_of_noise_quotes_errors_as_the_table_does() -> None:
    asked = [
        Query(name="n", statistic="sum", column="age", epsilon=0.2, noise="best"),
        Query(name="m", statistic="count", by=("sex",), epsilon=0.2, noise="best"),
    ]
    record = PreviewRecord.of(POLICY, preview(asked, policy=POLICY))
    for one in record.statistics:
        assert one.chosen is not None
        assert off_by(one.error) in one.chosen


def test_the_epsilon_of_the_statement_and_that_of_the_cap_have_names() -> None:
    asked = [Query(name=f"q{n}", statistic="count", epsilon=0.2, noise="gaussian") for n in range(3)]
    record = PreviewRecord.of(POLICY, preview(asked, policy=POLICY))
    (cap,) = (one for one in record.caps if one.cap == "epsilon")
    total = record.together.exposure
    assert cap.spent is not None
    assert abs(cap.spent - total.epsilon) > 0.01
    last = next(line for line in shown(record).splitlines() if line.startswith("All together"))
    assert f"ε = {total.epsilon:g} with δ = {total.delta:g}, which is what the statement says;" in last
    assert f"of the cap on ε, all together, {cap.spent:.3f}" in last.replace("  ", " ")
    plain = POLICY.model_copy(update={"caps": POLICY.caps.model_copy(update={"delta": 0.0})})
    asked = [Query(name="q", statistic="count", epsilon=0.2)]
    alone = shown(PreviewRecord.of(plain, preview(asked, policy=plain)))
    assert "All together ε = 0.2. Nothing was read" in alone


@pytest.mark.parametrize("seed", range(5))
def test_a_coefficient_is_shown_to_its_noise_and_its_interval_outward(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(500):
        centre, half = source.gauss(0, 10.0 ** source.uniform(-3, 5)), 10.0 ** source.uniform(-4, 5)
        low, high = centre - half, centre + half * source.uniform(0.3, 2)
        value, interval = estimated(centre, (low, high))
        first, last = (Fraction(one.replace(",", "")) for one in interval.split(" to "))
        assert first <= Fraction(repr(low))
        assert Fraction(repr(high)) <= last
        assert last - first <= Fraction(repr(high - low)) * Fraction(125, 100)
        assert len(value.replace("-", "").replace(",", "").replace(".", "").lstrip("0")) <= 12
    assert estimated(2.0, (None, 3.0)) == ("2", "anything: the noise hides it")


def test_what_is_left_of_a_delta_has_three_digits() -> None:
    cap = CapRecord(cap="delta", unit="δ, of answers", limit=5e-6, spent=2e-9, left=4.998000000001e-06)
    text = shown(caps_table([cap]))
    assert "0.00000499 " in text
    assert "0.000004998" not in text
