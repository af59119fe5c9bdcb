"""Requests: what is asked under a key is paid once, however often it is asked.

Whoever asks over a network cannot know, when no answer comes back, whether the question was paid for. So it
is asked again under the same key, and the ledger finds what that key paid for. The row that says so is
written in the transaction of the spend, at its end: there is no moment at which one stands without the other.
See `requested` for how it is found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from leakcap.errors import require
from leakcap.ledger.chain import fingerprint, require_text, text_hash
from leakcap.ledger.told import Answer
from leakcap.ledger.values import Charge, Entry

__all__ = ["AnsweredEntry", "Asked", "Foreseen", "RecordedRequest", "Request"]

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Request:
    """Something that is asked under a key, so that it may be asked again and is paid for once.

    `key` is the SHA-256, in hex, of whose request it is and of the key that was given; `digest` the SHA-256
    of all that is asked. `Request.of` makes both. Raises `InvalidParameter`.
    """

    key: str
    digest: str

    def __post_init__(self) -> None:
        for name in ("key", "digest"):
            value = getattr(self, name)
            good = isinstance(value, str) and _HASH.fullmatch(value) is not None
            require(good, name, "Request", "be a SHA-256, 64 lower-case hex digits", value)

    @classmethod
    def of(cls, asker: str, key: str, asked: str) -> Request:
        """The request of one who asks, by the key that they gave it; `asked` is all that is asked, as text.

        Two askers never share a key, whatever they call it.

        >>> Request.of("ann", "1", "count").key == Request.of("an", "n1", "count").key
        False
        """
        for name, value in (("asker", asker), ("key", key), ("asked", asked)):
            require_text(value, name, "Request.of")
        return cls(fingerprint({"asker": asker, "key": key}), text_hash(asked))


@dataclass(frozen=True)
class RecordedRequest:
    """A request as the ledger has it.

    `entries` are the numbers of the entries that answer it, one for each question, in their order; `paid` are
    those that were paid for by it, the others were known before. `dataset` is empty for the ledger's own.
    """

    key: str
    digest: str
    time: datetime
    analyst: str
    policy: str
    dataset: str
    entries: tuple[int, ...]
    paid: tuple[int, ...]
    hash: str


@dataclass(frozen=True)
class AnsweredEntry:
    """An entry that answers a question of a request, and its answer; None where none has left."""

    entry: Entry
    answer: Answer | None


@dataclass(frozen=True)
class Asked:
    """All that a request asks: its charges; the recorded answers to some of them, by place; and for each
    place the first one that asks the same (`first`; where it is empty, none does)."""

    request: Request
    charges: tuple[Charge, ...]
    recalled: Mapping[int, Answer] = field(default_factory=dict)
    first: Sequence[int] = ()

    def __post_init__(self) -> None:
        require(bool(self.charges), "charges", "Ledger", "hold at least one charge", list(self.charges))
        names = sorted({charge.analyst for charge in self.charges})
        require(len(names) == 1, "analyst", "Request", "be the same in all charges of a request", names)

    @property
    def analyst(self) -> str:
        """Who asks."""
        return self.charges[0].analyst

    @property
    def paid_places(self) -> list[int]:
        """The places of the charges that have to be paid."""
        first = self.first or range(len(self.charges))
        return [i for i in range(len(self.charges)) if i not in self.recalled and first[i] == i]

    def entries(self, paid: Sequence[int]) -> list[int]:
        """The entry of each charge, where those of `paid_places` have these."""
        found = {place: answer.entry for place, answer in self.recalled.items()}
        found |= zip(self.paid_places, paid, strict=True)
        return [found[i] if i in found else found[self.first[i]] for i in range(len(self.charges))]


@dataclass(frozen=True)
class Foreseen:
    """What a payment will look for: what its request is found by, and what it recalled; recorded answers
    about the table `data`, where that has a name; whether the `entries` that it has reserved stand as they
    did; and the entries of these numbers whose answers are `repeated`."""

    asked: Asked | None = None
    data: str = ""
    entries: Sequence[Entry] = ()
    repeated: Sequence[int] = ()
