"""What an answer is published as, and the calendar periods that it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Any

from leakcap.errors import InvalidParameter
from leakcap.ledger.caps import Period
from leakcap.ledger.chain import require_line, require_text

__all__ = [
    "Edition",
    "calendar_days",
    "day_label",
    "period_labels",
]

_FORMS = re.compile(
    r"(?P<year>\d{4})(?:-Q(?P<quarter>[1-4])|-W(?P<week>\d\d)|-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
)


@dataclass(frozen=True)
class Edition:
    """The title, reference period and version under which an answer is published; empty where not said.

    A `period` is a calendar period where it is written as in ISO 8601 and SDMX: ``2026``, ``2026-Q1``,
    ``2026-03``, ``2026-W10``, ``2026-03-05``. Any other text says it to people alone.

    >>> Edition("Hospital stays", "2026-03", "1.0").line
    'Hospital stays, 2026-03, version 1.0'
    """

    title: str = ""
    period: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        for one in fields(self):
            text = getattr(self, one.name)
            require_text(text, one.name, "Edition")
            require_line(text, one.name, "Edition")

    @property
    def line(self) -> str:
        """All that is said, in one line; empty where nothing is."""
        told = (self.title, self.period, f"version {self.version}" if self.version else "")
        return ", ".join(text for text in told if text)

    @property
    def details(self) -> dict[str, str]:
        """What the ledger keeps of it among an entry's details."""
        told = {_KEYS[one.name]: getattr(self, one.name) for one in fields(self)}
        return {name: text for name, text in told.items() if text}

    @classmethod
    def of(cls, details: Mapping[str, Any]) -> Edition | None:
        """The one that an entry's details have; None where they have none. Details of these names that no
        edition has are a caller's own, from before there were editions.

        >>> Edition.of({"reference_period": "2026-03", "scale": 10.0})
        Edition(title='', period='2026-03', version='')
        """
        told = {name: str(details[key]) for name, key in _KEYS.items() if key in details}
        try:
            return cls(**told) if told else None
        except InvalidParameter:
            return None


_KEYS = {"title": "publication", "period": "reference_period", "version": "publication_version"}


def calendar_days(period: str) -> tuple[date, date] | None:
    """The first and the last day of a calendar period; None where the text is none.

    >>> calendar_days("2026-Q1"), calendar_days("March 2026")
    ((datetime.date(2026, 1, 1), datetime.date(2026, 3, 31)), None)
    """
    found = _FORMS.fullmatch(period)
    if found is None or not period.isascii():
        return None
    year, quarter, month = int(found["year"]), found["quarter"], found["month"]
    try:
        if found["week"] is not None:
            first = date.fromisocalendar(year, int(found["week"]), 1)
            return first, first + timedelta(days=6)
        if found["day"] is not None:
            first = date.fromisoformat(period)
            return first, first
        months = (1, 12) if month is None else (int(month), int(month))
        if quarter is not None:
            months = (3 * int(quarter) - 2, 3 * int(quarter))
        ends = date(year, months[1], 28) + timedelta(days=4)
        return date(year, months[0], 1), ends - timedelta(days=ends.day)
    except (ValueError, OverflowError):
        return None


def period_labels(period: str, length: Period) -> list[str]:
    """The calendar periods of a length that a reference period touches; none where it is no calendar period.

    >>> period_labels("2026-Q1", "month"), period_labels("2026-W01", "year"), period_labels("spring", "day")
    (['2026-01', '2026-02', '2026-03'], ['2025', '2026'], [])
    """
    days = calendar_days(period)
    if days is None:
        return []
    count = (days[1] - days[0]).days + 1
    return list(dict.fromkeys(day_label(length, days[0] + timedelta(days=n)) for n in range(count)))


def day_label(length: Period, day: date) -> str:
    """The name of the calendar period that holds a day.

    >>> [day_label(length, date(2027, 1, 1)) for length in ("day", "week", "month", "year")]
    ['2027-01-01', '2026-W53', '2027-01', '2027']
    """
    if length == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02d}"
    return day.isoformat()[: {"day": 10, "month": 7, "year": 4}[length]]
