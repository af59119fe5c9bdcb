"""Acts that wait for another administrator's word, where the curator's configuration asks for one.

    book.ask(ROLE, by=…, subject=…, dataset=…, body=…)   it waits, for seven days
    book.confirm(number, by)                             done, once so many have confirmed as it needs
    book.refuse(number, by, reason)                      by an administrator, or withdrawn by who asked

Whoever asked does not confirm, nor does the person whom it is about. What was asked at the machine's terminal
takes two administrators, because any one of them may be who sat there. A word counts while its administrator
is one, and a request while who asked could ask for it. Each step is in the log of acts.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, select

from leakcap.ledger.chain import require_reason
from leakcap.service.store.acts import append_act
from leakcap.service.store.confirmed import ADMINISTRATORS, AMEND, done_now, named_act, require_asker
from leakcap.service.store.database import StoreDatabase
from leakcap.service.store.errors import Forbidden, NotFound, StateConflict
from leakcap.service.store.schema import ACTS, CONFIRMATIONS, GRANTS, HEAD, PENDING, PEOPLE
from leakcap.service.store.times import Clock, moment_of, stored_time

__all__ = ["WAITS", "ConfirmationBook", "PendingAct"]

_KEPT = timedelta(days=7)
_RULE = ("ask for a second administrator", "no longer ask for a second administrator")
WAITS, BEGUN, DONE, FAILED, REFUSED, WITHDRAWN = "waits", "begun", "done", "failed", "refused", "withdrawn"


@dataclass(frozen=True)
class PendingAct:
    """An act that waits: `needed` administrators have to confirm it, `confirmed` have. `state` is one of
    waits, expired, begun, done, failed, refused and withdrawn; `body` what it takes beside subject and data
    set; `last_word` when somebody last confirmed it, None where nobody has."""

    id: str
    act: str
    by: str
    subject: str
    dataset: str
    body: Mapping[str, Any]
    needed: int
    confirmed: tuple[str, ...]
    state: str
    created: datetime
    expires: datetime
    last_word: datetime | None


class ConfirmationBook:
    """Acts that wait, and who confirmed them."""

    def __init__(self, database: StoreDatabase, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def ask(
        self,
        act: str,
        *,
        by: str,
        subject: str = "",
        dataset: str = "",
        body: Mapping[str, Any] | None = None,
    ) -> PendingAct:
        """Have an act wait. Raises `StateConflict` where the same one waits, or nobody could confirm it."""
        named_act(act)
        now = self._clock()
        row: dict[str, Any] = {
            "id": secrets.token_hex(10),
            "act": act,
            "by": by,
            "subject": subject,
            "dataset": dataset,
            "body": json.dumps(dict(body or {}), sort_keys=True, separators=(",", ":")),
            "state": WAITS,
            "created": stored_time(now),
            "expires": stored_time(now + _KEPT),
        }
        with self._database.writing() as connection:
            row["needed"] = _needed(connection, by, subject)
            same = [PENDING.c[name] == row[name] for name in ("act", "by", "subject", "dataset", "body")]
            waits = select(PENDING.c.id).where(
                *same, PENDING.c.state == WAITS, PENDING.c.expires > row["created"]
            )
            if connection.execute(waits).first() is not None:
                raise StateConflict("The same already waits for another administrator. Nothing changed.")
            connection.execute(PENDING.insert().values(row))
            details = {"request": row["id"], **_shown(act, row["body"])}
            append_act(
                connection, now, by, f"ask to {act}", subject=subject, dataset=dataset, details=details
            )
            return _pending(connection, row["id"], now)

    def confirm(self, number: str, by: str) -> PendingAct:
        """An administrator's word; with the last that it needs the act is done, in the same transaction. An
        amendment is then `begun`, and whoever makes it says so with `settle`.

        Raises `Forbidden` for who asked, whom it is about, who confirmed before or is no administrator;
        `StateConflict` where it no longer waits, or who asked could no longer ask.
        """
        now = self._clock()
        with self._database.writing() as connection:
            row = _locked(connection, number, now)
            _require_other(connection, row, by)
            require_asker(connection, row)
            said = {"pending": row.id, "subject": by, "time": stored_time(now)}
            connection.execute(CONFIRMATIONS.insert().values(said))
            _told(connection, now, by, f"confirm: {row.act}", row)
            words = _words(connection, row.id)
            if len(words) >= row.needed:
                if row.act == AMEND:
                    _become(connection, row.id, BEGUN)
                else:
                    details = {"request": row.id, "confirmed": ", ".join(words)}
                    done_now(connection, row, now, details)
                    _become(connection, row.id, DONE)
            return _pending(connection, row.id, now)

    def settle(self, number: str, *, done: bool) -> PendingAct:
        """Say what became of an amendment that was begun; the same may be said twice. Raises `StateConflict`
        where it is said otherwise."""
        now = self._clock()
        with self._database.writing() as connection:
            row = connection.execute(select(PENDING).where(PENDING.c.id == number).with_for_update()).one()
            became = DONE if done else FAILED
            if row.state == became:
                return _pending(connection, row.id, now)
            if row.state != BEGUN:
                raise StateConflict(f"Request {row.id} is {row.state}. Nothing changed.")
            _become(connection, row.id, became)
            _told(connection, now, row.by, row.act if done else f"failed to {row.act}", row)
            return _pending(connection, row.id, now)

    def refuse(self, number: str, by: str, reason: str = "") -> PendingAct:
        """End a request: an administrator with a reason, or whoever asked, who withdraws it."""
        now = self._clock()
        with self._database.writing() as connection:
            row = _locked(connection, number, now)
            if row.by != by:
                require_reason(reason, by, "refusal")
                _require_administrator(connection, by)
            _become(connection, row.id, WITHDRAWN if row.by == by else REFUSED)
            verb = "withdraw" if row.by == by else "refuse"
            _told(connection, now, by, f"{verb}: {row.act}", row, reason=reason)
            return _pending(connection, row.id, now)

    def find(self, number: str) -> PendingAct:
        """The request. Raises `NotFound` where there is none."""
        with self._database.reading() as connection:
            return _pending(connection, number, self._clock())

    def list(self, *, by: str | None = None, most: int = 100) -> tuple[PendingAct, ...]:
        """The newest requests, at most `most`: all, or those of one who asked."""
        asked = select(PENDING.c.id).order_by(PENDING.c.created.desc(), PENDING.c.id).limit(most)
        asked = asked if by is None else asked.where(PENDING.c.by == by)
        now = self._clock()
        with self._database.reading() as connection:
            return tuple(_pending(connection, id_, now) for id_ in connection.execute(asked).scalars().all())

    def note_rule(self, asked_for: bool, *, by: str) -> None:
        """Write down that a second administrator is asked for, or no longer, where that has changed."""
        last = select(ACTS.c.act).where(ACTS.c.act.in_(_RULE)).order_by(ACTS.c.seq.desc()).limit(1)
        with self._database.writing() as connection:
            # Of processes that begin at once one writes it.
            connection.execute(select(HEAD.c.seq).with_for_update())
            before = connection.execute(last).scalar_one_or_none()
            if (before == _RULE[0]) != asked_for:
                append_act(connection, self._clock(), by, _RULE[0] if asked_for else _RULE[1])


def _needed(connection: Connection, by: str, subject: str) -> int:
    """How many have to confirm: one other than who asked, and two where no account asked."""
    known = connection.execute(select(PEOPLE.c.subject).where(PEOPLE.c.subject == by)).first()
    needed = 2 if known is None else 1
    others = connection.execute(ADMINISTRATORS.where(GRANTS.c.subject.not_in((by, subject)))).all()
    if len(others) < needed:
        who = "two administrators" if needed == 2 else "an administrator other than you"
        raise StateConflict(
            f"This takes the word of {who}, other than whom it is about, and there are not enough. Nothing "
            "changed. Whoever runs the curator can make another one with `second_administrator = false`, "
            "which the log of acts tells."
        )
    return needed


def _locked(connection: Connection, number: str, now: datetime) -> Any:
    """The row of a request that waits, which nobody else changes in this transaction."""
    row = connection.execute(select(PENDING).where(PENDING.c.id == number).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("There is no such request.")
    state = _state(row, now)
    if state != WAITS:
        raise StateConflict(f"Request {row.id} is {state}, and waits for nobody. Nothing changed.")
    return row


def _require_other(connection: Connection, row: Any, by: str) -> None:
    if row.by == by:
        raise Forbidden("Nobody confirms what they asked for themselves. Ask another administrator.")
    if row.subject == by:
        raise Forbidden("Nobody confirms what is about themselves. Ask another administrator.")
    _require_administrator(connection, by)
    mine = select(CONFIRMATIONS.c.pending).where(
        CONFIRMATIONS.c.pending == row.id, CONFIRMATIONS.c.subject == by
    )
    if connection.execute(mine).first() is not None:
        raise Forbidden("You have confirmed this before. Another administrator has to.")


def _require_administrator(connection: Connection, by: str) -> None:
    asked = ADMINISTRATORS.where(GRANTS.c.subject == by).with_for_update()
    if connection.execute(asked).first() is None:
        raise Forbidden("Only an administrator confirms or refuses what another one asks.")


def _words(connection: Connection, number: str) -> list[str]:
    """Who confirmed and is an administrator still."""
    said = select(CONFIRMATIONS.c.subject).where(CONFIRMATIONS.c.pending == number)
    standing = ADMINISTRATORS.where(GRANTS.c.subject.in_(said)).order_by(GRANTS.c.subject)
    return [str(one) for one in connection.execute(standing).scalars()]


def _become(connection: Connection, number: str, state: str) -> None:
    connection.execute(PENDING.update().where(PENDING.c.id == number).values(state=state))


def _told(connection: Connection, now: datetime, by: str, act: str, row: Any, *, reason: str = "") -> None:
    details = {"request": row.id, **({"reason": reason} if reason else {})}
    append_act(connection, now, by, act, subject=row.subject, dataset=row.dataset, details=details)


def _shown(act: str, body: str) -> dict[str, Any]:
    """What of a request the log tells: never a hash, and no whole policy."""
    told = json.loads(body)
    return {name: told[name] for name in ("role", "thumbprint", "paused", "reason") if name in told}


def _state(row: Any, now: datetime) -> str:
    return "expired" if row.state == WAITS and row.expires <= stored_time(now) else str(row.state)


def _pending(connection: Connection, number: str, now: datetime) -> PendingAct:
    row = connection.execute(select(PENDING).where(PENDING.c.id == number)).one_or_none()
    if row is None:
        raise NotFound("There is no such request.")
    said = select(CONFIRMATIONS.c.subject, CONFIRMATIONS.c.time).where(CONFIRMATIONS.c.pending == number)
    words = connection.execute(said.order_by(CONFIRMATIONS.c.subject)).all()
    return PendingAct(
        row.id,
        row.act,
        row.by,
        row.subject,
        row.dataset,
        json.loads(row.body),
        row.needed,
        tuple(one.subject for one in words),
        _state(row, now),
        moment_of(row.created),
        moment_of(row.expires),
        max((moment_of(one.time) for one in words), default=None),
    )
