"""What a ledger tells whoever asks: recorded answers, totals, balances, accounts, the chain's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from leakcap.ledger.ticks import NOTHING, decimal, total
from leakcap.ledger.values import Entry

__all__ = [
    "Account",
    "Amendment",
    "Answer",
    "Balance",
    "Change",
    "DatasetSpending",
    "Head",
    "OdometerReading",
    "ProgressStep",
    "Totals",
]


@dataclass(frozen=True)
class DatasetSpending:
    """What the answers from one of a ledger's data sets cost: how many, and their ε and ρ added up, in exact
    decimals; None where no bound is known."""

    dataset: str
    entries: int
    epsilon: str | None
    rho: str | None

    @classmethod
    def of(cls, dataset: str, entries: Sequence[Entry]) -> DatasetSpending:
        """Of these entries."""
        spent = total([NOTHING, *(entry.spend.ticks(None) for entry in entries)])
        amounts = [None if one is None else decimal(one) for one in (spent.epsilon, spent.rho)]
        return cls(dataset, len(entries), *amounts)


@dataclass(frozen=True)
class Answer:
    """A recorded answer: whose entry it was, the released values, and from which cap of their own on people
    were counted in it (None where people have none). `revised` says what became of it, where it was replaced
    or withdrawn: it is no valid answer then."""

    entry: int
    values: list[list[float | str]]
    people_from: float | None = None
    revised: str = ""


@dataclass(frozen=True)
class ProgressStep:
    """A recorded step of a run in several: to which step it went on, and the values that were seen there."""

    to: int
    values: list[list[float | str]]


@dataclass(frozen=True)
class Totals:
    """All that was ever committed, and by how many entries."""

    epsilon: float
    delta: float
    nats_person: float
    nats_table: float
    nats_level: float
    rho: float
    entries: int


@dataclass(frozen=True)
class OdometerReading:
    """What all answers told: no odds were moved by more than e^`epsilon`, but with probability `delta`."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Balance:
    """One currency's account. `cap` and `left` are None where nothing is capped."""

    name: str
    unit: str
    cap: float | None
    spent: float
    left: float | None


@dataclass(frozen=True)
class Account:
    """All balances of one account. `scope` is ``everything``, ``analyst``, a period such as ``month``, or
    ``people with a cap of`` for a level of the caps that people set themselves; there `left` is what still
    counts them, for which every level above needs room too."""

    scope: str
    name: str
    balances: tuple[Balance, ...]


@dataclass(frozen=True)
class Head:
    """The chain's end: how many rows it has and the hash of the last. Publish it to anchor the chain."""

    rows: int
    hash: str


@dataclass(frozen=True)
class Change:
    """One field in which two policies differ. `effect` is ``new``, ``removed``, ``raised``, ``lowered`` or
    ``changed``; `before` and `after` are empty where there is nothing.

    >>> Change("caps.epsilon", "1", "2", "raised").text
    '`caps.epsilon` raised from 1 to 2'
    """

    field: str
    before: str
    after: str
    effect: Literal["new", "removed", "raised", "lowered", "changed"]

    @property
    def text(self) -> str:
        """The change as a phrase."""
        if self.effect == "new":
            return f"`{self.field}` new: {self.after}"
        if self.effect == "removed":
            return f"`{self.field}` removed, was {self.before}"
        return f"`{self.field}` {self.effect} from {self.before} to {self.after}"


@dataclass(frozen=True)
class Amendment:
    """From when on another policy governs: who decided it and why, what changed, and how spends of before
    count since. `before` and `policy` are fingerprints, `hash` is its link in the chain."""

    time: datetime
    by: str
    reason: str
    before: str
    policy: str
    changes: tuple[Change, ...]
    carried: str
    hash: str = ""
