"""Sums by parts of a day that clocks show in zones of their own, by day first, against plain Python."""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from zoneinfo import ZoneInfo

import pyarrow
import pytest

from leakcap.release import Policy, Query, attach, load_policy
from leakcap.release.columns.typed import SumOfSums
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from leakcap.release.planning.statements import select_of

UTC = datetime.UTC
FIRST, LAST = datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31, 23, 59, 59)
ZONES = ("Europe/Berlin", "America/St_Johns", "Pacific/Auckland")
"""Whole hours and half hours off, north and south: summer begins and ends there on other days."""
Rows = list[tuple[datetime.datetime, float]]


def policy_of(zone: str) -> Policy:
    parts = {"weekday": "weekday", "month": "month", "year": "year"}
    derived = {name: {"from": "at", "part": part} for name, part in parts.items()}
    return load_policy({
        "dataset": "t", "neighbours": "add-remove-one", "caps": {"epsilon": 1e6},
        "columns": {
            "at": {"bounds": [FIRST, LAST], "zone": zone}, "x": {"bounds": [0.0, 8.0]}, **derived,
        },
    })  # fmt: skip


def rows_of(zone: str) -> Rows:
    """Instants about each midnight on the clocks there, about each change of them, and any of the year; each
    with a number of quarters, so that sums are exact."""
    source, found = random.Random(zone), []
    own, day = ZoneInfo(zone), datetime.datetime(2023, 12, 29)
    while day < datetime.datetime(2025, 1, 3):
        midnight = day.replace(tzinfo=own).astimezone(UTC)
        found += [midnight + datetime.timedelta(seconds=off) for off in (-1, 0, 1, source.randrange(86_400))]
        day += datetime.timedelta(1)
    hour = datetime.datetime(2024, 1, 1, tzinfo=UTC)
    for step in range(366 * 24):
        at = hour + datetime.timedelta(hours=step)
        later = at + datetime.timedelta(hours=1)
        if at.astimezone(own).utcoffset() != later.astimezone(own).utcoffset():
            found += [at + datetime.timedelta(minutes=m) for m in range(-60, 121, 10)]
    return [(at, source.randrange(-4, 40) / 4) for at in found]


def by_hand(rows: Rows, zone: str, part: str) -> dict[int, float]:
    """The clamped sums by what a clock in the zone shows."""
    found: defaultdict[int, float] = defaultdict(float)
    for at, number in rows:
        shown = at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        if FIRST.date() <= shown.date() <= LAST.date():
            key = {"weekday": shown.isoweekday(), "month": shown.month, "year": shown.year}[part]
            found[key] += min(max(number, 0.0), 8.0)
    return dict(found)


def by_leakcap(rows: Rows, zone: str, part: str) -> dict[int, float]:
    """The same integers as they are released from, in place of noisy ones; made by day first."""
    table = pyarrow.table({
        "at": pyarrow.array([at for at, _ in rows], pyarrow.timestamp("us", tz="UTC")),
        "x": [number for _, number in rows],
    })  # fmt: skip
    engine = attach(table)
    plan = plan_query(Query(name="q", statistic="sum", column="x", by=(part,), epsilon=1.0), policy_of(zone))
    assert list(select_of([plan]).find_all(SumOfSums))
    (totals,) = scans_of([plan], engine)[0].run(engine)[0].totals
    keys = plan.cells.labels()[part].tolist()
    return {key: float(one * plan.parts[0].unit) for key, one in zip(keys, totals.tolist(), strict=True)}


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("part", ["weekday", "month", "year"])
def test_sums_are_by_what_clocks_show_in_the_zone(zone: str, part: str) -> None:
    rows = rows_of(zone)
    assert by_leakcap(rows, zone, part) == by_hand(rows, zone, part)


@pytest.mark.parametrize("zone", ZONES)
def test_days_of_another_zone_would_show(zone: str) -> None:
    """Planted: the days of UTC, and those of the zone without summer time."""
    rows = rows_of(zone)
    right = by_hand(rows, zone, "month")
    assert by_hand(rows, "UTC", "month") != right
    january = datetime.datetime(2024, 1, 15, tzinfo=ZoneInfo(zone)).utcoffset() or datetime.timedelta()
    fixed = [(at.astimezone(UTC) + january, number) for at, number in rows]
    assert by_hand(fixed, "UTC", "month") != right
