"""The store: what the curator knows of people, their tokens and roles, jobs and decisions. No answers."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType
from typing import Self

from argon2 import PasswordHasher

from leakcap.ledger.chain import START
from leakcap.service.store.acts import ActLog, VerifiedActs, append_act
from leakcap.service.store.admission import admission
from leakcap.service.store.attempts import AttemptCounter
from leakcap.service.store.certificates import CertificateBook
from leakcap.service.store.confirmations import WAITS, ConfirmationBook
from leakcap.service.store.database import StoreDatabase, database_at
from leakcap.service.store.decisions import DecisionBook
from leakcap.service.store.grants import GrantBook
from leakcap.service.store.jobs import JobQueue
from leakcap.service.store.passwords import HASHER, PasswordBook
from leakcap.service.store.pauses import PauseBook
from leakcap.service.store.people import Directory
from leakcap.service.store.schema import PENDING, PEOPLE, TOKENS, make_tables, require_store_version
from leakcap.service.store.served import ServedBook
from leakcap.service.store.thresholds import ThresholdBook
from leakcap.service.store.times import Clock, stored_time, utc_now
from leakcap.service.store.tokens import TokenBook

__all__ = ["Store"]


class Store:
    """A database of its own, SQLite or PostgreSQL, that all processes of a curator share.

    Each part changes and notes in the log of acts in one transaction. A store may be used by several threads,
    and after a fork.
    """

    def __init__(
        self, database: StoreDatabase, clock: Clock = utc_now, hasher: PasswordHasher = HASHER
    ) -> None:
        self._database, self.clock = database, clock
        self.people = Directory(database, clock)
        self.passwords = PasswordBook(database, clock, hasher)
        self.tokens = TokenBook(database, clock)
        self.certificates = CertificateBook(database, clock)
        self.grants = GrantBook(database, clock)
        self.jobs = JobQueue(database, clock)
        self.decisions = DecisionBook(database, clock)
        self.pauses = PauseBook(database, clock)
        self.confirmations = ConfirmationBook(database, clock)
        self.thresholds = ThresholdBook(database, clock)
        self.attempts = AttemptCounter(database, clock)
        self.acts = ActLog(database)
        self.served = ServedBook(database, clock)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        create: bool = True,
        clock: Clock = utc_now,
        hasher: PasswordHasher = HASHER,
    ) -> Store:
        """The store behind a URL; an empty database becomes one, unless `create` is False. One of the schema
        before this one is upgraded.

        Raises `StoreError` for a database that holds something else, or a store of another schema.
        """
        database = database_at(url, create=create)
        try:
            if create:
                with database.writing() as connection:
                    make_tables(connection, START, database.label)
            with database.reading() as connection:
                require_store_version(connection, database.label)
        except BaseException:
            database.close()
            raise
        return cls(database, clock, hasher)

    def verify_acts(self) -> VerifiedActs:
        """Check the log of administrative acts: see `ActLog.verify`."""
        return self.acts.verify()

    def note_restored(self, made: datetime, *, by: str) -> int:
        """Write down that this is the backup of that moment, and end what may have ended since: all tokens
        and sessions, one-time passwords, which may have been used, and requests that wait, which may have
        been refused; how many tokens and sessions there were."""
        now = self.clock()
        live = TOKENS.c.revoked.is_(None)
        good = PEOPLE.c.one_time > stored_time(now)
        waits = (PENDING.c.state == WAITS) & (PENDING.c.expires > stored_time(now))
        with self._database.writing() as connection:
            ended = connection.execute(TOKENS.update().where(live).values(revoked=stored_time(now))).rowcount
            used = PEOPLE.update().where(good).values(one_time=stored_time(now))
            over = PENDING.update().where(waits).values(expires=stored_time(now))
            details = {
                "made": stored_time(made),
                "tokens": ended,
                "one-time passwords": connection.execute(used).rowcount,
                "requests": connection.execute(over).rowcount,
            }
            append_act(connection, now, by, "restore the store", details=details)
        return ended

    def foreseeing(self, presented: str, dataset: str) -> AbstractContextManager[None]:
        """Within, this thread's request knows whom this token lets in, their roles and the data set's pause:
        they are looked up now, in one statement, and hold until `forget_foreseen`."""
        return self._database.foreseen(admission(self._database, presented, dataset))

    def forget_foreseen(self) -> None:
        """What this thread reads from here on is of later moments: it waits for something."""
        self._database.forget_foreseen()

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
