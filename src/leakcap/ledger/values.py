"""What the ledger takes, and what it keeps of it: spends with their events, charges, entries."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

from leakcap.certificate import Proof, certificate_of
from leakcap.errors import require
from leakcap.ledger.chain import fingerprint, require_detail, require_line, require_text
from leakcap.ledger.curve import ORDERS, curve_of_pure, curve_ticks, rho_beside_delta
from leakcap.ledger.details import (
    DATASET,
    EPSILON_CONTENTS,
    EVENT_CONTENTS,
    FROM,
    KEPT,
    SAME_AS,
    SOURCE,
    people_from,
)
from leakcap.ledger.editions import Edition
from leakcap.ledger.implied import implied_person, renyi_of_pure, rho_of_pure
from leakcap.ledger.measured import priced_by_checker, required, rho_of
from leakcap.ledger.ticks import LARGEST, TICKS_PER_UNIT, Ticks, countable, spend_ticks, units_spent
from leakcap.numeric import float_up

__all__ = ["Charge", "Entry", "Spend", "composed", "event_text", "pure_event"]


class _NotStated(float):
    """Infinity, for want of a better bound: what a spend leaves to be implied by its ε and δ."""


_NOT_STATED = _NotStated("inf")


@dataclass(frozen=True)
class Spend:
    """What one answer gives away at most.

    `epsilon` and `delta` of differential privacy per privacy unit, `nats_person` of MI-DP, `nats_level` of
    level-α capacity at the ledger's order α (as a Rényi divergence, see `docs/ledger.md`), and
    `nats_table`, the mutual information about the whole table; `rho` of zero-concentrated privacy, but for δ.
    `math.inf` says that no bound is known, which a ledger accepts only where that currency is not capped. A
    field left out never counts as nothing: `nats_person` and `nats_level` become what follows from ε and δ,
    `rho` what follows from the event or from ε, and `nats_table` is without bound.

    `curve` is the largest Rényi divergence between neighbours at each of the ledger's orders (`ORDERS`), in
    nats. Left out it is all that ε allows. Where `epsilon` is ∞, as of Gaussian noise, the curve is all that
    bounds the odds: only a cap on ε with a δ takes such a spend, for it reads ε off the curves.

    `event` says in canonical JSON what the answer is, so that an auditor computes the charge again: see
    `docs/ledger.md`. Left out, it is ε and δ; with a curve and no event, the curve is only stated.

    >>> spend = Spend(epsilon=0.1, nats_person=0.00125)
    >>> spend.nats_person, round(spend.rho, 9), spend.nats_table
    (0.00125, 0.004995837, inf)
    """

    epsilon: float = 0.0
    delta: float = 0.0
    nats_person: float = _NOT_STATED
    nats_table: float = _NOT_STATED
    nats_level: float = _NOT_STATED
    rho: float = _NOT_STATED
    curve: tuple[float, ...] | None = field(default=None, repr=False, compare=False)
    event: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.epsilon, float) and self.epsilon == math.inf):
            self._amount("epsilon", LARGEST)
        self._amount("delta", 1)
        if isinstance(self.nats_person, _NotStated):
            object.__setattr__(self, "nats_person", implied_person(self.epsilon, self.delta))
        for name in ("nats_person", "nats_table", "nats_level"):
            if getattr(self, name) != math.inf:
                self._amount(name, LARGEST)
        self._check_curve()
        if self.event:
            required(self.event)
        if isinstance(self.rho, _NotStated):
            ticks = spend_ticks(countable(self._implied_rho()))
            object.__setattr__(self, "rho", math.inf if ticks is None else units_spent(ticks))
        elif self.rho != math.inf:
            self._check_rho()

    def _check_rho(self) -> None:
        """No ρ below what ε alone implies: `verify` would find it."""
        self._amount("rho", LARGEST)
        alone = not self.event and self.curve is None and math.isfinite(self.epsilon)
        least = rho_of_pure(self.epsilon) * (1 - 1e-9) if alone else 0.0
        rule = "be no less than what `epsilon` implies, ε·tanh(ε/2), without an event or a curve"
        require(self.rho + 1e-12 >= least, "rho", "Spend", rule, self.rho, "Leave it out.")

    @property
    def event_text(self) -> str:
        """The event as it is kept; empty where a curve, or no finite ε, was stated without one."""
        if self.event or self.curve is not None or math.isinf(self.epsilon):
            return self.event
        epsilon, delta = (Fraction(repr(one)) for one in (self.epsilon, self.delta))
        return event_text(pure_event(epsilon, delta))

    def _implied_rho(self) -> float:
        """What the event or ε says: of an answer with a δ what it is but for that."""
        if not self.event:
            return rho_of_pure(self.epsilon)
        own = rho_of(self.event)
        if self.delta > 0.0 and not math.isinf(self.epsilon):
            own = rho_beside_delta(self.curve or (math.inf,) * len(ORDERS), own, self.epsilon)
        return float_up(own)

    def ticks(self, alpha: float | None) -> Ticks:
        """The spend of one query in ticks, each rounded up, in a ledger whose level is `alpha`."""
        level = self.nats_level
        if alpha is None:
            level = math.inf
        elif isinstance(level, _NotStated) and self.delta == 0.0:
            level = renyi_of_pure(2 * self.epsilon, alpha)
        amounts = (self.epsilon, self.delta, self.nats_person, self.nats_table, level, self.rho)
        allowed = curve_of_pure(self.epsilon)
        if self.curve is None or self.delta == 0.0:
            curve = allowed if self.curve is None else tuple(map(min, self.curve, allowed))
        else:
            # Of what is left without its δ no more is known beside the curve than that no odds pass e^ε.
            curve = tuple(min(nats, self.epsilon) for nats in self.curve)
        if self.curve is not None and self.delta == 0.0:
            # No more is told on average than the divergence from one neighbour's answer.
            amounts = (*amounts[:2], min(self.nats_person, curve[0]), *amounts[3:])
        return Ticks.of([*map(spend_ticks, amounts), 1], curve_ticks(curve))

    def certificate(self, order: float | None = None) -> dict[str, Any]:
        """That its event tells no more at an order than is charged for it, in nats: for `leakcap-verify`.

        At order ∞ that is its ε; left out, the order is ∞ where there is an ε, and else 2. It is `stated`
        where the event, or the order, is none that a checker knows.

        >>> Spend(epsilon=0.1).certificate()["problem"]["event"]["epsilon"]
        '1/10'
        """
        ticks, text = self.ticks(None), self.event_text
        at = (math.inf if math.isfinite(self.epsilon) else 2.0) if order is None else float(order)
        charged = dict(zip((*ORDERS, math.inf), (*ticks.curve, ticks.epsilon), strict=True)).get(at)
        # What happens with a δ may tell anything: no divergence, and no ε by itself, is a price of that.
        known = text and charged is not None and self.delta == 0.0 and priced_by_checker(json.loads(text), at)
        exact = at if math.isinf(at) else Fraction(str(at))
        proof = Proof("price", {"event": json.loads(text), "order": exact}) if known else None
        claim = math.inf if charged is None else float_up(Fraction(charged, TICKS_PER_UNIT))
        return certificate_of(proof, (0.0, claim), unit="nats", method="as charged", source="Mironov 2017")

    def _check_curve(self) -> None:
        if self.curve is None:
            return
        numbers = all(_is_number(one) and one >= 0 for one in self.curve)
        rule = f"be numbers from 0, one for each of the {len(ORDERS)} orders `ORDERS` of a ledger"
        good = numbers and len(self.curve) == len(ORDERS)
        require(good, "curve", "Spend", rule, self.curve, "Leave it out where none is known.")
        object.__setattr__(self, "curve", tuple(map(float, self.curve)))

    def _amount(self, name: str, largest: int) -> None:
        value = getattr(self, name)
        good = _is_number(value) and 0 <= value <= largest
        require(good, name, "Spend", f"be a number from 0 to {largest:,}", value)
        object.__setattr__(self, name, float(value))


def _is_number(value: object) -> bool:
    """Whether it is real and no truth value. Nearly all are doubles: to ask `Real` is slow."""
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


@dataclass(frozen=True)
class Charge:
    """One query's price, before it is paid.

    `query` is its name, `text` its normalised text, `details` public facts worth keeping (mechanism,
    noise scale, sensitivity). Nothing here may come from the data: it is stored as it is.

    `asked` is what else was asked, in exact numbers as somebody gave them (``"ε 1/10"``): a charge with the
    same text that asks the same is the same query. Where it is empty, ε and δ of the spend say it.

    `counts_by_cap` is the word of whoever asks that only those people are counted whose own caps have room,
    as the entry says (`Entry.people_from`). A ledger in which people have caps takes no other charge.

    `slot` names the slot of a plan (`Ledger.plan`) that the answer is taken from; it then costs nothing more.
    `edition` is what the answer is published as, `source` what its owner calls the data (a file's name, a
    table's), `same_as` the number of the version that the data is said to be: they are recorded, and are no
    part of the question.

    >>> Charge("malignant", "count where diagnosis = 'malignant'", Spend(epsilon=0.1)).analyst
    ''
    """

    query: str
    text: str
    spend: Spend
    analyst: str = ""
    details: Mapping[str, str | float | int] = field(default_factory=dict)
    asked: str = ""
    counts_by_cap: bool = False
    slot: str = ""
    edition: Edition | None = None
    source: str = ""
    same_as: int | None = None

    def __post_init__(self) -> None:
        require(bool(self.query), "query", "Charge", "be a name", self.query)
        for name in ("query", "text", "analyst", "asked", "slot", "source"):
            require_text(getattr(self, name), name, "Charge")
        require_line(self.source, "source", "Charge")
        if self.same_as is not None:
            number = isinstance(self.same_as, int) and not isinstance(self.same_as, bool) and self.same_as > 0
            require(number, "same_as", "Charge", "be the number of a version, from 1", self.same_as)
        object.__setattr__(self, "details", dict(self.details))
        for key, value in self.details.items():
            require_text(key, "details", "Charge")
            require_detail(key, value)
        if EVENT_CONTENTS in self.details:
            required(str(self.details[EVENT_CONTENTS]))
            said = self.details.get(EPSILON_CONTENTS, 0)
            number = type(said) in (int, float) and float(said) >= 0
            require(number, EPSILON_CONTENTS, "Charge", "be a number from 0 beside `event_contents`", said)
        for key in sorted(KEPT & self.details.keys()):
            require(False, "details", "Charge", f"leave `{key}` to the ledger", key)

    @property
    def reference(self) -> str:
        """The reference period that it is published for; empty where none is said."""
        return "" if self.edition is None else self.edition.period

    @property
    def details_json(self) -> str:
        """The details as canonical JSON."""
        return json.dumps(self.details, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @property
    def occasion(self) -> dict[str, str | int]:
        """As what it is published, and of which data: what the ledger keeps beside the question.

        >>> Charge("n", "count", Spend(0.1), source="stays.csv", same_as=1).occasion
        {'data_source': 'stays.csv', 'same_as': 1}
        """
        told: dict[str, str | int] = {} if self.edition is None else dict(self.edition.details)
        told |= {SOURCE: self.source} if self.source else {}
        return told if self.same_as is None else told | {SAME_AS: self.same_as}

    def cache_key(self, data: str, meaning: str = "", *, own: bool) -> str:
        """What two queries share when the answer to one answers the other; empty where no table is known.

        `meaning` tells policies apart under which the same text means something else: see `policies`. With
        `own`, where analysts have their own accounts, an answer is remembered for its own analyst only: what
        another one learns from it would not be on that one's account.
        """
        if not data:
            return ""
        same = {
            "text": self.text,
            # ε and δ in whole ticks, read from the decimals that they print as.
            "asked": self.asked or list(self.spend.ticks(None)[:2]),
            "analyst": self.analyst if own else None,
            "data": data,
        }
        return fingerprint(same | ({"meaning": meaning} if meaning else {}))


@dataclass(frozen=True)
class Entry:
    """One committed spend. `hash` is its link in the chain, `batch` the id of its batch's first entry.

    `spend` is what was charged: what was asked, rounded up to the tick; after an amendment of the policy
    what it counts for under the one that governs. `state` is ``reserved`` from the commit on, ``released``
    once the answer left, and ``acknowledged`` where somebody looked into it and found that none left; it
    stays spent in any case. `data_version` counts the versions of the table, from 1.

    A plan that was paid for is an entry too, without a number (0), in state ``planned``. What is answered
    from its `slot` costs nothing; `own` is what such an answer tells by itself. So are, together and in state
    ``lost``, the spends that a ledger lacks since it was restored.

    `under_these_caps` says whether the caps on everything, and the neighbouring relation, were those that
    govern now when it was paid for: only then were they fixed before it was seen.
    """

    id: int
    time: datetime
    query: str
    text: str
    analyst: str
    spend: Spend
    state: Literal["reserved", "released", "acknowledged", "planned", "lost"]
    version: str
    hash: str
    batch: int
    details: Mapping[str, str | float | int] = field(default_factory=dict)
    data_version: int = 1
    slot: str = ""
    own: Spend = field(default_factory=Spend, repr=False)
    under_these_caps: bool = True

    @property
    def people_from(self) -> float | None:
        """From which cap of their own on people were counted; None where people have none."""
        return people_from(self.details) if FROM in self.details else None

    @property
    def dataset(self) -> str:
        """The data set that was asked, where it is not the ledger's own."""
        return str(self.details.get(DATASET, ""))

    @property
    def edition(self) -> Edition | None:
        """What it was published as; None where nothing was said."""
        return Edition.of(self.details)

    @property
    def source(self) -> str:
        """What its owner called the data that was asked; empty where it has no name, as a data frame."""
        return str(self.details.get(SOURCE, ""))

    @property
    def same_as(self) -> int | None:
        """The number of the version that the data was said to be; None where nothing was said."""
        said = self.details.get(SAME_AS)
        return said if isinstance(said, int) else None


def event_text(content: Mapping[str, Any]) -> str:
    """An event as canonical JSON, fractions written out.

    >>> event_text({"name": "EpsilonDeltaDpEvent", "epsilon": Fraction(1, 10), "delta": Fraction(0)})
    '{"delta":"0","epsilon":"1/10","name":"EpsilonDeltaDpEvent"}'
    """
    return json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)


def pure_event(epsilon: Fraction, delta: Fraction = Fraction(0)) -> dict[str, Any]:
    """Of an answer of which no more is known than ε and δ."""
    return {"name": "EpsilonDeltaDpEvent", "epsilon": epsilon, "delta": delta}


def composed(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Of several with fresh noise each.

    >>> composed([pure_event(Fraction(1))])["name"]
    'EpsilonDeltaDpEvent'
    """
    return events[0] if len(events) == 1 else {"name": "ComposedDpEvent", "events": events}
