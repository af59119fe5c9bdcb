"""Columns of decimals: drafted from a schema's decimals, and what of them is rounded, told to the owner."""

from __future__ import annotations

import tomllib
from decimal import Decimal

import pyarrow
import pytest

from leakcap.owner import check, draft
from leakcap.owner.answers import PublicAnswers
from leakcap.policy import load_policy
from release.world import policy_of

PRICE = {"type": "decimal", "places": 2, "bounds": [0, 10]}


def prices(*values: str | None) -> pyarrow.Table:
    found = [None if one is None else Decimal(one) for one in values]
    return pyarrow.table({"x": pyarrow.array(found, pyarrow.decimal128(12, 4))})


@pytest.mark.parametrize(
    ("type_", "bounds", "places"),
    [
        ("DECIMAL(18,2)", (0.0, 99.99), 2),
        ("DECIMAL(38, 15)", (0.0, 0.5), 15),
        ("DECIMAL(18,2)", (0.0, 0.005), None),
        ("DECIMAL(18,0)", (0.5, 1.0), None),
        ("DECIMAL(38,10)", (0.0, 1e6), None),
        ("DOUBLE", (0.0, 99.99), None),
    ],
)
def test_a_draft_has_the_places_of_a_schemas_decimals(
    type_: str, bounds: tuple[float, float], places: int | None
) -> None:
    text = draft({"x": type_}, PublicAnswers("bills", bounds={"x": bounds}))
    found = load_policy(tomllib.loads(text)).columns["x"]
    assert (found.places, found.bounds) == (places, bounds)


def test_what_is_rounded_is_counted() -> None:
    """By decimals: two of five have more places, and one of them lies at the bound once it is rounded."""
    policy = policy_of(columns={"x": PRICE})
    (found,) = check(prices("1.5", "1.005", "10.0049", None, "0", "10"), policy)
    assert (found.grade, found.place) == ("note", "x")
    assert (
        found.text == "of 5 values 2 have more than 2 decimal places and are rounded, halves away from zero."
    )
    assert check(prices("1.5", "10", None), policy) == ()


def test_what_is_no_number_is_told_with_what_to_write() -> None:
    text = pyarrow.table({"x": ["1.5", "1,234.56 €", "2.005"]})
    problem, note = check(text, policy_of(columns={"x": PRICE}))
    assert "counts as missing" in problem.text
    assert "Write 1234.56" in problem.text
    assert note.text.startswith("of 2 values 1 has more than 2 decimal places")
