"""Time zones: the table of offsets beside Python's own clocks, and a policy that keeps its table."""

from __future__ import annotations

import datetime
import itertools
import json
import random
import zoneinfo
from bisect import bisect_right
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidPolicy
from leakcap.policy.zones import offsets_of
from leakcap.release import attach, load_policy
from leakcap.release.dummy import dummy_engine
from release.world import exact, planned, policy_of

# Half hours, whole days lost, summers that begin twice a year, no summer, and offsets of odd seconds.
PLACES = (
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"),
    *("America/Recife", "Asia/Kathmandu", "UTC", "America/Sao_Paulo", "Asia/Gaza", "Antarctica/Troll"),
)
FIRST, LAST = datetime.datetime(1999, 6, 1), datetime.datetime(2039, 2, 3, 4, 5)


@pytest.mark.parametrize("place", PLACES)
def test_the_offsets_are_those_of_the_clocks(place: str) -> None:
    found = offsets_of(place, FIRST, LAST)
    zone, draw = zoneinfo.ZoneInfo(place), random.Random(place)
    first, last = (round(one.replace(tzinfo=zone).timestamp()) for one in (FIRST, LAST))
    seconds = [draw.randrange(first, last) for _ in range(4_000)]
    seconds += [start + off for start, _ in found[1:] for off in (-1, 0, 1)]
    for second in seconds:
        there = datetime.datetime.fromtimestamp(second, zone).utcoffset()
        assert there is not None
        place_in = max(0, bisect_right([start for start, _ in found], second) - 1)
        assert found[place_in][1] == there.total_seconds()
    assert all(one[0] < other[0] and one[1] != other[1] for one, other in itertools.pairwise(found))


def _policy(**changes: Any) -> Any:
    year = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31, 23, 59, 59)]
    columns = {"at": {"bounds": year, "zone": "Europe/Berlin"}, "day": {"from": "at", "truncate": "day"}}
    return policy_of(columns={**columns, **changes})


def test_a_day_is_the_one_on_the_clocks_there() -> None:
    """An evening of summer in UTC is the next day in Berlin from ten o'clock on, in winter from eleven."""
    hours = [
        datetime.datetime(2024, month, 30, hour, 30, tzinfo=datetime.UTC)
        for month in (1, 7)
        for hour in (21, 22, 23)
    ]
    policy = _policy()
    for engine in (
        attach(pyarrow.table({"at": hours})),
        attach(pyarrow.table({"at": [str(one) for one in hours]})),
    ):
        counts = exact(planned(policy, statistic="count", by=("day",)), engine)[0]
        keys = policy.columns["day"].keys
        told = {key: count for key, count in zip(keys, counts, strict=True) if count}
        assert told == {"2024-01-30": 2, "2024-01-31": 1, "2024-07-30": 1, "2024-07-31": 2}
        # Conditions ask what the clocks show.
        assert exact(
            planned(policy, statistic="count", where="at >= TIMESTAMP '2024-07-31 00:30:00'"), engine
        ) == [[2]]


def test_the_hour_that_is_shown_twice_has_an_order() -> None:
    """On 27 October 2024 clocks went from three back to two: half past two came twice."""
    moments = [datetime.datetime(2024, 10, 27, hour, 30, tzinfo=datetime.UTC) for hour in (0, 1)]
    engine = attach(pyarrow.table({"at": moments[:1], "then": moments[1:]}))
    known = {
        "bounds": [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31)],
        "zone": "Europe/Berlin",
    }
    policy = _policy(then=known, later={"from": ["at", "then"], "compare": "<"})
    assert exact(planned(policy, statistic="count", where="later"), engine) == [[1]]
    half_past = "at = TIMESTAMP '2024-10-27 02:30:00' AND then = TIMESTAMP '2024-10-27 02:30:00'"
    assert exact(planned(policy, statistic="count", where=half_past.replace("then", '"then"')), engine) == [
        [1]
    ]


def test_a_policy_keeps_its_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read again it needs no data of zones; under other rules it is another policy."""
    policy = _policy()
    text = policy.text()

    def other_rules(name: str) -> zoneinfo.ZoneInfo:
        return real("Europe/London")

    def no_data(name: str) -> zoneinfo.ZoneInfo:
        raise zoneinfo.ZoneInfoNotFoundError(name)

    real = zoneinfo.ZoneInfo
    monkeypatch.setattr("leakcap.policy.zones.zoneinfo.ZoneInfo", no_data)
    again = load_policy(json.loads(text))
    assert again.fingerprint() == policy.fingerprint()
    assert again.columns["at"].offsets == policy.columns["at"].offsets
    with pytest.raises(InvalidPolicy, match="install `tzdata`"):
        _policy()
    monkeypatch.setattr("leakcap.policy.zones.zoneinfo.ZoneInfo", other_rules)
    assert _policy().fingerprint() != policy.fingerprint()


def test_a_dry_run_has_moments_in_the_zone() -> None:
    policy = _policy()
    counts = exact(planned(policy, statistic="count", by=("day",)), dummy_engine(policy))[0]
    assert sum(counts) >= 990


YEAR = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 12, 31)]
BERLIN = {"bounds": YEAR, "zone": "Europe/Berlin"}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"bounds": YEAR, "zone": "Berlin"}, "like Europe/Berlin. Got 'Berlin'. If it is one"),
    ({"bounds": YEAR, "zone": ""}, "a name in the IANA time zone database"),
    ({"bounds": YEAR, "zone": "Europe"}, "a name in the IANA time zone database"),
    ({"bounds": YEAR, "zone": "../../etc/passwd"}, "a name in the IANA time zone database"),
    ({"bounds": [one.date() for one in YEAR], "zone": "UTC"}, "dates with a time, without an offset"),
    ({"bounds": [one.replace(tzinfo=datetime.UTC) for one in YEAR], "zone": "UTC"}, "without an offset"),
    ({"bounds": [0, 1], "zone": "UTC"}, "dates with a time, without an offset"),
    ({"keys": "private", "zone": "UTC"}, "stands alone"),
    ({"from": "day", "groups": {"a": ["2024-01-01"]}, "zone": "UTC"}, "of its own"),
    ({"bounds": YEAR, "offsets": [[0, 0]]}, "`zone` goes with"),
    ({**BERLIN, "offsets": []}, "leave them out"),
    ({**BERLIN, "offsets": [[0, 86_400]]}, "leave them out"),
    ({**BERLIN, "offsets": [[1_711_846_800, 7200], [1_703_980_800, 3600]]}, "leave them out"),
    ({**BERLIN, "offsets": [[0, 3600], [0, 7200]]}, "leave them out"),
    ({**BERLIN, "bounds": [YEAR[0].replace(year=1800), YEAR[1]]}, "200 years apart at most"),
    ({**BERLIN, "bounds": [datetime.datetime(1, 1, 1), datetime.datetime(9, 1, 1)]}, "years 2 to 9998"),
]


@pytest.mark.parametrize(("column", "words"), BAD)
def test_each_broken_rule_is_one_line(column: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        _policy(x=column)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_clocks_of_two_places_are_not_compared() -> None:
    other = {"bounds": YEAR, "zone": "Europe/London"}
    with pytest.raises(InvalidPolicy, match="columns of two kinds"):
        _policy(there=other, later={"from": ["at", "there"], "compare": "<"})
