"""A column of whole numbers in which some are not whole: the owner is told."""

from __future__ import annotations

import math
from typing import Any

import pyarrow
import pytest

from leakcap.owner import check
from leakcap.owner.finding import DataFault
from release.world import policy_of

WHOLE = {"bounds": [0, 9], "type": "integer"}


def found(values: list[Any], column: dict[str, Any]) -> list[DataFault]:
    return list(check(pyarrow.table({"x": values}), policy_of(columns={"x": column})))


@pytest.mark.parametrize("more", [[], [None, math.nan], [-0.0, 9.0]])
def test_numbers_that_are_not_whole_are_counted(more: list[float | None]) -> None:
    sound: list[float | None] = [1.0, 2.0, 8.0, *more]
    before = [one.text for one in found(sound, WHOLE)]
    assert not any("whole" in text for text in before)
    (told,) = [one for one in found([*sound, 2.5, 3.25], WHOLE) if "whole" in one.text]
    assert told.grade == "problem"
    assert "2 are no whole numbers" in told.text
    assert "Leave the type out, or correct the data." in told.text
    (told,) = [one for one in found([*sound, 2.5], WHOLE) if "whole" in one.text]
    assert "1 is no whole number," in told.text
    assert not any("whole" in one.text for one in found([*sound, 2.5], {"bounds": [0, 9]}))


def test_text_is_looked_at_too() -> None:
    assert [one.text for one in found(["1", "2.5"], WHOLE) if "1 is no whole number" in one.text]
