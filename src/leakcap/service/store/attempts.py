"""How often a password may be tried: ever more slowly after failures, and never not at all.

Failures are counted for the name, for the address and for the two together. Waits double with each failure
after the first few and end at a quarter of an hour. An address from which somebody has signed in before waits
for its own failures only, so that whoever guesses from elsewhere does not keep its owner out. What is counted
is forgotten a day after the last wait.

An attempt is counted before the password is looked at, so that attempts at the same moment count too.
"""

from __future__ import annotations

import ipaddress
import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import TooManyAttempts
from leakcap.service.store.schema import ATTEMPTS
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["AttemptCounter", "network_of"]

_FREE = {"name": 5, "address": 20, "both": 5}
_LONGEST_WAIT = timedelta(minutes=15)
_KEPT = timedelta(days=1)
_TRUSTED = timedelta(days=30)


@dataclass(frozen=True)
class _Count:
    failures: int
    again: datetime
    succeeded: datetime | None


class AttemptCounter:
    """Failed attempts to sign in, shared by all processes."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def begin(self, name: str, address: str | None) -> None:
        """Count an attempt as failed. Raises `TooManyAttempts`, counting nothing, where it is too early."""
        now = self._clock()
        with self._database.writing() as connection:
            _forget(connection, now)
            counts = {key: _read(connection, key, now) for key in _keys(name, address)}
            applying = _applying(counts, now)
            wait = max((counts[key].again - now for key in applying), default=timedelta(0))
            if wait > timedelta(0):
                raise TooManyAttempts(math.ceil(wait.total_seconds()))
            for key in applying:
                count = counts[key]
                failures = count.failures + 1
                again = now + _wait(failures - _FREE[key.partition(":")[0]])
                _write(connection, key, failures, again, count.succeeded)

    def succeed(self, name: str, address: str | None) -> None:
        """Forget the failures of this name from this address, wherever they were counted."""
        now = self._clock()
        with self._database.writing() as connection:
            counts = {key: _read(connection, key, now) for key in _keys(name, address)}
            own = next((one.failures for key, one in counts.items() if key.startswith("both:")), 1)
            for key in _applying(counts, now):
                # What others failed at stays counted: an account of their own clears no address.
                failures = max(counts[key].failures - own, 0)
                _write(connection, key, failures, now, now if key.startswith("both:") else None)


def network_of(address: str) -> str:
    """What counts as one address: IPv4 as it is, of IPv6 the network that one customer has.

    >>> network_of("192.0.2.7"), network_of("::ffff:192.0.2.7"), network_of("2001:db8:1:2:3::4")
    ('192.0.2.7', '192.0.2.7', '2001:db8:1:2::')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped or ipaddress.ip_network((found, 64), strict=False).network_address)
    return str(found)


def _keys(name: str, address: str | None) -> tuple[str, ...]:
    """In one order, so that no two processes wait for each other."""
    if address is None:
        return (f"name:{name}",)
    network = network_of(address)
    return (f"address:{network}", f"both:{network} {name}", f"name:{name}")


def _applying(counts: dict[str, _Count], now: datetime) -> list[str]:
    """Which counts hold: not that of the name, where they have signed in from here before."""
    known = any(one.succeeded is not None and now - one.succeeded < _TRUSTED for one in counts.values())
    return [key for key in counts if not (known and key.startswith("name:"))]


def _wait(beyond: int) -> timedelta:
    """How long after so many failures beyond the free ones.

    >>> [_wait(n).total_seconds() for n in (-1, 0, 1, 2, 3, 40)]
    [0.0, 1.0, 2.0, 4.0, 8.0, 900.0]
    """
    return timedelta(0) if beyond < 0 else min(timedelta(seconds=2 ** min(beyond, 20)), _LONGEST_WAIT)


def _forget(connection: Connection, now: datetime) -> None:
    """Delete what no longer counts, except what another process looks at just now."""
    old = ATTEMPTS.c.again < stored_time(now - _KEPT)
    unknown = ATTEMPTS.c.succeeded.is_(None) | (ATTEMPTS.c.succeeded < stored_time(now - _TRUSTED))
    keys = select(ATTEMPTS.c.key).where(old & unknown).limit(100).with_for_update(skip_locked=True)
    connection.execute(ATTEMPTS.delete().where(ATTEMPTS.c.key.in_(keys.scalar_subquery())))


def _read(connection: Connection, key: str, now: datetime) -> _Count:
    """The count, which no other process changes in this transaction; its row is made where there is none."""
    none = {"key": key, "failures": 0, "again": stored_time(now)}
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(ATTEMPTS).values(none).on_conflict_do_nothing())
    row = connection.execute(select(ATTEMPTS).where(ATTEMPTS.c.key == key).with_for_update()).one()
    again = moment_of(row.again)
    succeeded = None if row.succeeded is None else moment_of(row.succeeded)
    return _Count(row.failures if now - again < _KEPT else 0, again, succeeded)


def _write(
    connection: Connection, key: str, failures: int, again: datetime, succeeded: datetime | None
) -> None:
    row = {
        "failures": failures,
        "again": stored_time(again),
        "succeeded": None if succeeded is None else stored_time(succeeded),
    }
    connection.execute(ATTEMPTS.update().where(ATTEMPTS.c.key == key).values(row))
