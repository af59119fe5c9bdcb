"""What the ledger takes and gives: spends, caps, charges, entries, balances."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from numbers import Real
from typing import Literal

from leakcap.errors import require
from leakcap.ledger.ticks import LARGEST, Ticks, cap_ticks, spend_ticks

__all__ = ["Balance", "Caps", "Charge", "Entry", "Head", "Spend", "Totals"]


@dataclass(frozen=True)
class Spend:
    """What one answer gives away at most.

    `epsilon` and `delta` of differential privacy per privacy unit, `nats_person` of MI-DP, and
    `nats_table`, the mutual information about the whole table; `math.inf` there says that no bound
    is known, which a ledger accepts only while the table is not capped. Everything else is finite.

    >>> Spend(epsilon=0.1, nats_person=0.00125)
    Spend(epsilon=0.1, delta=0.0, nats_person=0.00125, nats_table=0.0)
    """

    epsilon: float = 0.0
    delta: float = 0.0
    nats_person: float = 0.0
    nats_table: float = 0.0

    def __post_init__(self) -> None:
        for name, largest in (("epsilon", LARGEST), ("delta", 1), ("nats_person", LARGEST)):
            _amount(self, name, largest)
        if self.nats_table != math.inf:
            _amount(self, "nats_table", LARGEST)

    @property
    def ticks(self) -> Ticks:
        """The spend in ticks, each rounded up."""
        return Ticks(
            spend_ticks(self.epsilon),
            spend_ticks(self.delta),
            spend_ticks(self.nats_person),
            spend_ticks(self.nats_table),
        )


@dataclass(frozen=True)
class Caps:
    """The most that may ever be spent, in each currency; None: not capped.

    >>> Caps(epsilon=1.0, delta=0.0)
    Caps(epsilon=1.0, delta=0.0, nats_person=None, nats_table=None)
    """

    epsilon: float | None = None
    delta: float | None = None
    nats_person: float | None = None
    nats_table: float | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "nats_person", "nats_table"):
            if getattr(self, name) is not None:
                remedy = "Leave the cap out where there is none."
                _amount(self, name, 1 if name == "delta" else LARGEST, remedy)

    @property
    def ticks(self) -> Ticks:
        """The caps in ticks, each rounded down."""
        return Ticks(
            cap_ticks(self.epsilon),
            cap_ticks(self.delta),
            cap_ticks(self.nats_person),
            cap_ticks(self.nats_table),
        )


@dataclass(frozen=True)
class Charge:
    """One query's price, before it is paid.

    `query` is its name, `text` its normalised text, `details` public facts worth keeping (mechanism,
    noise scale, sensitivity). Nothing here may come from the data: it is stored as it is.

    >>> Charge("malignant", "count where diagnosis = 'malignant'", Spend(epsilon=0.1)).analyst
    ''
    """

    query: str
    text: str
    spend: Spend
    analyst: str = ""
    details: Mapping[str, str | float | int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(bool(self.query), "query", "Charge", "be a name", self.query)
        for name in ("query", "text", "analyst"):
            require_text(getattr(self, name), name, "Charge")
        object.__setattr__(self, "details", dict(self.details))
        for key, value in self.details.items():
            require_text(key, "details", "Charge")
            _require_detail(key, value)

    @property
    def details_json(self) -> str:
        """The details as canonical JSON."""
        return json.dumps(self.details, sort_keys=True, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True)
class Entry:
    """One committed spend. `hash` is its link in the chain, `batch` the id of its batch's first entry.

    `spend` is what was charged: what was asked, rounded up to the tick. `state` is ``reserved`` from
    the commit on, and ``released`` once the answer left.
    """

    id: int
    time: datetime
    query: str
    text: str
    analyst: str
    spend: Spend
    state: Literal["reserved", "released"]
    version: str
    hash: str
    batch: int
    details: Mapping[str, str | float | int] = field(default_factory=dict)


@dataclass(frozen=True)
class Totals:
    """All that was ever committed, and by how many entries."""

    epsilon: float
    delta: float
    nats_person: float
    nats_table: float
    entries: int


@dataclass(frozen=True)
class Balance:
    """One currency's account. `cap` and `left` are None where nothing is capped."""

    name: str
    unit: str
    cap: float | None
    spent: float
    left: float | None


@dataclass(frozen=True)
class Head:
    """The chain's end: how many rows it has and the hash of the last. Publish it to anchor the chain."""

    rows: int
    hash: str


def require_text(value: object, name: str, owner: str) -> None:
    """Refuse what a database cannot store as text.

    >>> require_text("a\\0b", "query", "Charge")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `query` of `Charge` must be text without null characters. Got 'a\\x00b'.
    """
    storable = (
        isinstance(value, str) and "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)
    )
    require(storable, name, owner, "be text without null characters", value)


def _require_detail(key: str, value: object) -> None:
    if isinstance(value, str):
        require_text(value, f"details[{key!r}]", "Charge")
        return
    finite = isinstance(value, int | float) and math.isfinite(value)
    require(finite, f"details[{key!r}]", "Charge", "be text or a finite number", value)


def _amount(owner: Spend | Caps, name: str, largest: int, remedy: str = "") -> None:
    value = getattr(owner, name)
    number = isinstance(value, Real) and not isinstance(value, bool)
    rule = f"be a number from 0 to {largest:,}"
    require(number and 0 <= value <= largest, name, type(owner).__name__, rule, value, remedy)
    object.__setattr__(owner, name, float(value))
