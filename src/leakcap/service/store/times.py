"""Times as the store keeps them: text in UTC with microseconds, which sorts as the moments do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

from leakcap.errors import require

__all__ = ["Clock", "moment_of", "stored_time", "utc_now"]

Clock: TypeAlias = Callable[[], datetime]
"""What says how late it is."""


def utc_now() -> datetime:
    """The time of this machine, in UTC."""
    return datetime.now(UTC)


def stored_time(moment: datetime) -> str:
    """A moment as it is stored.

    >>> stored_time(datetime(2026, 11, 27, 9, 0, tzinfo=UTC))
    '2026-11-27T09:00:00.000000Z'
    """
    require(moment.tzinfo is not None, "moment", "stored_time", "have a time zone", moment)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment_of(stored: str) -> datetime:
    """The moment that was stored.

    >>> moment_of("2026-11-27T09:00:00.000000Z").hour
    9
    """
    return datetime.fromisoformat(stored)
