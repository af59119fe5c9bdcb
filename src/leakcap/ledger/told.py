"""What a ledger tells: recorded answers and what became of them, totals, accounts, the end of the chain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from leakcap.ledger.editions import Edition
from leakcap.ledger.limits import Balance
from leakcap.ledger.ticks import NOTHING, decimal, total
from leakcap.ledger.values import Entry

__all__ = [
    "Account",
    "Amendment",
    "Answer",
    "Change",
    "DataVersion",
    "DatasetSpending",
    "Head",
    "ProgressStep",
    "PublishedVersion",
    "Revision",
    "SaidSame",
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


@dataclass(frozen=True)
class Revision:
    """That the answer of an entry was replaced by another's, or withdrawn (`replaced_by` is None).

    `edition` is what it was published as, `by_edition` what the other one is; `hash` is its link in the
    chain.

    >>> when = datetime(2026, 5, 4)
    >>> Revision(3, "stays", Edition("Stays"), None, None, when, "ada", "A ward is missing.").what
    'withdrawn'
    """

    entry: int
    query: str
    edition: Edition | None
    replaced_by: int | None
    by_edition: Edition | None
    time: datetime
    by: str
    reason: str
    hash: str = ""

    @property
    def what(self) -> str:
        """What became of the answer, in a few words."""
        return "withdrawn" if self.replaced_by is None else f"replaced by entry {self.replaced_by}"

    @property
    def became(self) -> str:
        """The same with when and why, as `Answer.revised` says it."""
        return f"{self.what} on {self.time:%Y-%m-%d}: {self.reason.rstrip('.')}."


@dataclass(frozen=True)
class DataVersion:
    """What the ledger knows of one version of a table: its number, what its owner called the data, and the
    reference periods for which answers about it were published.

    >>> DataVersion(1, ("stays.csv",), ("2026-03",)).line
    'version 1 of the table (stays.csv, published for 2026-03)'
    """

    number: int
    sources: tuple[str, ...]
    periods: tuple[str, ...]

    @property
    def line(self) -> str:
        """All that is known, in a few words."""
        published = f"published for {', '.join(self.periods)}" if self.periods else ""
        told = ", ".join(text for text in (", ".join(self.sources), published) if text)
        return f"version {self.number} of the table" + (f" ({told})" if told else "")


@dataclass(frozen=True)
class SaidSame:
    """That somebody said of data, whatever it was called then, that it is a version which the ledger knew:
    who, since when, and how many answers were given on this word, repeated ones among them."""

    source: str
    by: str
    time: datetime
    answers: int


@dataclass(frozen=True)
class PublishedVersion:
    """What was published as one edition about one version of a table.

    `sources` is what its owner called the data, without what was only said to be the same (`same_as`).
    `answers` of the ledger left as this edition, paid for or repeated; so many of them were `replaced`, by
    those of the editions `replaced_by`, or `withdrawn`, for these `reasons`. `repeated` is how often one left
    for free.
    """

    dataset: str
    edition: Edition
    data_version: int
    sources: tuple[str, ...]
    first: datetime
    last: datetime
    answers: int
    repeated: int
    replaced: int
    replaced_by: tuple[Edition, ...]
    withdrawn: int
    reasons: tuple[str, ...]
    same_as: tuple[SaidSame, ...]
