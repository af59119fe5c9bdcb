"""What was asked without approval: together, and not question by question, it stays below a threshold.

    place = book.hold(…)      the question's price is counted, or None: it has to be approved
    book.give_back(place)     nothing was spent of it, by this attempt

A question that is cut into many costs as much as they do together. Counted are the prices of the last days,
of who asks and of each group in which they may put answers together, before anything is spent, one question
at a time; what fails half-way stays counted. Several attempts at one request count as the dearest of them.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.job_states import JobState
from leakcap.service.store.schema import HEAD, JOBS, UNAPPROVED
from leakcap.service.store.times import Clock, stored_time

__all__ = ["ThresholdBook", "given_back_unbegun", "place_given_back"]


class ThresholdBook:
    """The prices of what was asked without approval."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def hold(
        self,
        request: str,
        subject: str,
        dataset: str,
        *,
        prices: Mapping[str, float],
        limits: Mapping[str, float],
        groups: Iterable[Iterable[str]] = (),
        within: timedelta,
    ) -> str | None:
        """Count a question, and return where; None, counting nothing, where it would pass a limit.

        `prices` and `limits` are by currency, the former at least in the latter's. `request` is the number
        under which the ledger knows the question, `groups` those that `subject` is in, by their members.
        """
        now = self._clock()
        row = {
            "id": secrets.token_hex(10),
            "request": request,
            "subject": subject,
            "dataset": dataset,
            "time": stored_time(now),
            **{name: None if name not in limits else repr(prices[name]) for name in ("epsilon", "rho")},
        }
        if not all(math.isfinite(prices[name]) for name in limits):
            return None
        together = [{subject}, *(set(one) | {subject} for one in groups)]
        with self._database.writing() as connection:
            # One at a time, on PostgreSQL too: who counts next sees what was counted here.
            connection.execute(select(HEAD).where(HEAD.c.id == 1).with_for_update()).one()
            for name, limit in limits.items():
                asked = _amounts(connection, dataset, name, stored_time(now - within))
                for members in together:
                    if _total(asked, members, (subject, request), prices[name]) > _exact(limit):
                        return None
            connection.execute(UNAPPROVED.insert().values(row))
        return row["id"]

    def give_back(self, place: str) -> None:
        """Count one attempt no longer, of which nothing was spent; other attempts at its request stay."""
        with self._database.writing() as connection:
            place_given_back(connection, place)


def place_given_back(connection: Connection, place: str | None) -> None:
    """The same, in the caller's transaction; nothing for None."""
    if place is not None:
        connection.execute(UNAPPROVED.delete().where(UNAPPROVED.c.id == place))


def given_back_unbegun(connection: Connection, jobs: Any) -> None:
    """Count no longer what was asked with those of the jobs, a condition on them, that have just been
    cancelled in the caller's transaction and were never begun: what was begun may be spent."""
    unbegun = jobs & (JOBS.c.state == JobState.CANCELLED) & (JOBS.c.attempt == 0)
    places = select(JOBS.c.place).where(unbegun, JOBS.c.place.is_not(None))
    connection.execute(UNAPPROVED.delete().where(UNAPPROVED.c.id.in_(places)))


def _amounts(connection: Connection, dataset: str, name: str, since: str) -> list[tuple[str, str, str]]:
    """Who asked under which request for how much, by attempt, since then."""
    amount: Any = UNAPPROVED.c[name]
    asked = select(UNAPPROVED.c.subject, UNAPPROVED.c.request, amount).where(
        UNAPPROVED.c.dataset == dataset, UNAPPROVED.c.time > since, amount.is_not(None)
    )
    return [(str(who), str(request), str(told)) for who, request, told in connection.execute(asked)]


def _total(
    asked: Iterable[tuple[str, str, str]], members: set[str], own: tuple[str, str], price: float
) -> Fraction:
    """What these people asked together with a question of this price: of each request its dearest attempt."""
    dearest = {own: _exact(price)}
    for who, request, told in asked:
        if who in members:
            key = (who, request)
            dearest[key] = max(dearest.get(key, Fraction(0)), Fraction(told))
    return sum(dearest.values(), Fraction(0))


def _exact(amount: float) -> Fraction:
    """The number that was written: ten times 0.1 is 1."""
    return Fraction(repr(amount))
