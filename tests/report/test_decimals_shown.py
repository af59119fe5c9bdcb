"""Exact decimals are shown with the places that they have, and no more, in every rendering."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow
import pytest
from rich.console import Console

from leakcap.errors import InvalidQuery
from leakcap.release import PrivateTable, Query, Release, with_margins
from leakcap.release.planning.plan import plan_query
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.statistics import statistic_of
from leakcap.report.records import ReleaseRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.render.sheet import values_text
from leakcap.report.sources import page_of
from leakcap.report.terminal.tables import print_values
from leakcap.report.words.wording import to_its_noise
from release.asked import contents
from release.world import COLUMNS, policy_of
from seeded import SeededSource

PRICE = {"type": "decimal", "places": 2, "bounds": ["0.00", "20.00"]}
DECIMALS = {"sum", "median", "quantiles", "interquartile_range"}
POINT = re.compile(r"\d\.(\d+)")
POINT_3 = re.compile(r"\d\.\d{3}")


def prices() -> PrivateTable:
    """A price for each of 2,000 rows, in two wards."""
    found = pyarrow.array([Decimal(i * 7 % 2001) / 100 for i in range(2000)], pyarrow.decimal128(6, 2))
    data = pyarrow.table({"x": found, "w": ["a", "b"] * 1000})
    policy = policy_of(columns={"x": PRICE, "w": {"keys": ["a", "b"]}}, caps={"epsilon": 1e6})
    return PrivateTable(data, policy=policy, ledger="sqlite://", source=SeededSource(6))


def asked() -> list[Query]:
    """With little noise and with much, whole and by ward."""
    kinds: list[dict[str, Any]] = [{"statistic": "sum"}, {"statistic": "median"}]
    kinds += [{"statistic": "quantiles", "quantiles": (0.1, 0.9)}, {"statistic": "interquartile_range"}]
    return [
        Query(name=f"{kind['statistic']} {epsilon:g} {len(by)}", column="x", by=by, epsilon=epsilon, **kind)
        for kind in kinds
        for epsilon in (1.0, 1e3, 1e4)
        for by in ((), ("w",))
    ]


@pytest.fixture(scope="module")
def table() -> PrivateTable:
    return prices()


@pytest.fixture(scope="module")
def releases(table: PrivateTable) -> list[Release]:
    return table.release(asked())


def test_the_statistics_with_places_are_those_whose_answers_are_decimals(table: PrivateTable) -> None:
    """Every kind of every statistic of a column of decimals; of whole numbers and numbers none has any."""
    with_places, seen = set(), set()
    decimals = policy_of(columns={**COLUMNS, "x": PRICE, "y": PRICE})
    for content in contents():
        for policy in (decimals, policy_of(columns=COLUMNS)):
            try:
                plan = plan_query(Query(**{"name": "q", "epsilon": 5.0, **content}), policy)
            except InvalidQuery:
                continue
            seen.add(content["statistic"])
            if (places := statistic_of(plan.query).places(plan)) is not None:
                assert (places, policy) == (2, decimals)
                with_places.add(content["statistic"])
    assert with_places == DECIMALS <= seen


def test_values_and_ends_have_no_more_places(releases: list[Release], table: PrivateTable) -> None:
    again = table.release(asked())
    for release, repeated in zip(releases, again, strict=True):
        assert repeated.repeated
        assert release.places == repeated.places == release.record.places == 2
        for row in release.rows:
            for number in (row.value, *row.interval):
                assert (Fraction(repr(float(number))) * 100).denominator == 1
    assert table.mean("x", epsilon=1.0).record.places is None
    assert table.count(epsilon=1.0).record.places is None


def test_what_is_shown_is_the_value_and_an_interval_around_its_own(releases: list[Release]) -> None:
    """Rounded outward; to the last digit where the noise leaves it."""
    whole = 0
    for release in releases:
        for row in release.rows:
            low, high = (Fraction(repr(end)) for end in row.interval)
            told = to_its_noise(row.value, *row.interval, release.places)
            value, down, up = (Fraction(one.replace(",", "")) for one in told)
            assert down <= low <= high <= up
            if high - low < 1:
                whole += 1
                assert (value, down, up) == (Fraction(repr(row.value)), low, high)
                assert all(one[-3] == "." for one in told)
    assert whole > 10


def test_no_rendering_shows_more_places(releases: list[Release], table: PrivateTable) -> None:
    releases = [*releases, with_margins(releases[3], table.policy)]
    record = ReleaseRecord.of(table.policy, releases, table.statement(), table.budget())
    console = Console(file=io.StringIO(), width=200, highlight=False)
    print_values(console, record.releases)
    html = re.sub(r"<sup>.*?</sup>|<[^>]+>", " ", render_html(page_of(record, "board")))
    markdown = render_markdown(page_of(record, "board")).replace("\\", "")
    text = console.file.getvalue()  # type: ignore[attr-defined]
    shown = csv.DictReader(io.StringIO(values_text(record.releases)))
    cells = [line[name] for line in shown for name in ("value", "lower", "upper")]
    assert max(len(places) for cell in cells for places in POINT.findall(cell)) == 2
    for way in (text, html, markdown):
        found = 0
        for release in record.releases:
            for row in release.values:
                told = to_its_noise(row.value, *row.interval, 2)
                assert all(one in way for one in told)
                # Two digits of so little noise are beyond the last place.
                beyond = [one for one in to_its_noise(row.value, *row.interval) if POINT_3.search(one)]
                found += len(beyond)
                assert not any(one in way for one in beyond)
        assert found > 20
    kept = ReleasedRecord.model_validate(releases[0].to_dict())
    assert kept.places == 2
