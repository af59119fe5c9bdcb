"""Dates that cannot be read, or lie outside their bounds: the owner is told, in a line that helps."""

from __future__ import annotations

import datetime
from typing import Any

import pyarrow
import pytest

from leakcap.owner import check
from release.world import policy_of

DAY = datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)
TIME = datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31)
ZONED = tuple(one.replace(tzinfo=datetime.UTC) for one in TIME)


@pytest.mark.parametrize(
    ("bounds", "good", "words"),
    [
        (DAY, "2024-02-29", "a date and counts as missing: "),
        (TIME, "2024-02-29 10:00:00", "a time and counts as missing: "),
        (ZONED, "2024-02-29 10:00:00+01:00", "a time with an offset from UTC and counts as missing: "),
    ],
)
def test_a_date_that_cannot_be_read(bounds: Any, good: str, words: str) -> None:
    columns = {"d": {"bounds": list(bounds)}, "month": {"from": "d", "truncate": "month"}}
    (found,) = check(pyarrow.table({"d": [good, "29.02.2024"]}), policy_of(columns=columns))
    assert f"1 of 2 rows cannot be read as {words}" in found.text
    assert "29.02.2024" in found.text
    assert "Write each like 2024-02-29" in found.text


@pytest.mark.parametrize(
    ("bounds", "type_"), [(DAY, pyarrow.date32()), (ZONED, pyarrow.timestamp("us", "UTC"))]
)
def test_a_date_outside_its_bounds(bounds: Any, type_: Any) -> None:
    inside, after = datetime.datetime(2024, 2, 29), datetime.datetime(2042, 2, 28)
    days = pyarrow.array([inside, inside, after], pyarrow.timestamp("us")).cast(type_)
    (found,) = check(pyarrow.table({"d": days}), policy_of(columns={"d": {"bounds": list(bounds)}}))
    assert "of 3 values 1 above 2024-12-31" in found.text
    assert "in no period" in found.text
