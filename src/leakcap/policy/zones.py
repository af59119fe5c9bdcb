"""The offsets from UTC of a time zone, as a table that a policy keeps: every engine then shows the same day.

Each engine has time zone data of its own, of another year, and a policy lasts longer than these do. So the
table is made once, from the data that Python has (the IANA time zone database), and is a part of the policy's
text: where rules have changed, it is another policy.
"""

from __future__ import annotations

import datetime
import zoneinfo
from collections.abc import Callable

__all__ = ["Offsets", "offsets_of"]

Offsets = tuple[tuple[int, int], ...]
"""From which second since 1970 on, UTC, a clock is so many seconds ahead of UTC; the first also before."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY = 86_400
# Clocks that were changed twice within a step would be missed. In the data of 2025 none were within three
# days: the nearest two changes are those of Freetown in September 1939, on the first and the fifth.
_STEP = _DAY
_MOST_YEARS = 200


def offsets_of(name: str, first: datetime.datetime, last: datetime.datetime) -> Offsets:
    """The offsets of the zone called `name`, from a day before `first` to a day after `last`, on its clocks.

    Raises `ValueError` where there is no such zone, or where the bounds are too far apart.

    >>> offsets_of("Europe/Berlin", datetime.datetime(2024, 1, 1), datetime.datetime(2024, 6, 30))
    ((1703980800, 3600), (1711846800, 7200))
    """
    try:
        zone = zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            "`zone` must be a name in the IANA time zone database, like Europe/Berlin. "
            f"Got {name[:60]!r}. If it is one, this machine lacks the data: install `tzdata`"
        ) from None
    if last.year - first.year > _MOST_YEARS or first.year < 2 or last.year > 9998:
        raise ValueError(
            f"`bounds` beside a `zone` must lie in the years 2 to 9998, {_MOST_YEARS} years apart at most"
        )

    def ahead(second: int) -> int:
        offset = (_EPOCH + datetime.timedelta(seconds=second)).astimezone(zone).utcoffset()
        assert offset is not None
        return round(offset.total_seconds())

    start, end = (_seconds(day) + by for day, by in ((first, -_DAY), (last, 2 * _DAY)))
    found = [(start, ahead(start))]
    for second in range(start, end, _STEP):
        if ahead(second + _STEP) != found[-1][1]:
            changed = _first(second, second + _STEP, ahead)
            found.append((changed, ahead(changed)))
    return tuple(found)


def _seconds(moment: datetime.datetime) -> int:
    return (moment.replace(tzinfo=datetime.UTC) - _EPOCH) // datetime.timedelta(seconds=1)


def _first(low: int, high: int, ahead: Callable[[int], int]) -> int:
    """The first second after `low` with another offset than it, by halving."""
    before = ahead(low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ahead(middle) == before else (low, middle)
    return high
