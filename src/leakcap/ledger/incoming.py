"""Spends of other software, in a file: read without trust, and made into charges.

    {"schema": "leakcap/events/1", "neighbours": "add-remove-one", "key": "digits, run 3",
     "spends": [{"query": "digits", "delta": 1e-6, "history": [[1.1, 0.00512, 11760]]}]}

Each spend says what it was by one of `event` (dp-accounting's names), `history` (Opacus), `profile` (pairs
of ε and δ), `trade_off` (pairs of α and β), `orders` (pairs of an order and nats) or `losses` (a table on a
grid). Numbers are taken as the decimals that they are written as.
"""

from __future__ import annotations

import json
import math
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from leakcap.errors import DataError, InvalidParameter, LedgerError, require
from leakcap.ledger.chain import require_line, require_text, text_hash
from leakcap.ledger.dp_events import checked, read_event
from leakcap.ledger.measured import event_epsilon, guarantee
from leakcap.ledger.outside import outside_event, trade_off_event
from leakcap.ledger.steps import steps_in
from leakcap.ledger.ticks import LARGEST
from leakcap.ledger.values import Charge, Spend, event_text
from leakcap.numeric import float_up

__all__ = ["OutsideSpend", "OutsideSpends", "charges_of", "read_spends"]

_SCHEMA = "leakcap/events/1"
_LARGEST = 8 * 2**20
_MOST_SPENDS = 1000
_RELATIONS = ("add-remove-one", "replace-one")
_SAYS = ("event", "history", "profile", "trade_off", "orders", "losses")
_ONE_RELATION = {
    "PoissonSampledDpEvent": "add-remove-one",
    "SingleEpochTreeAggregationDpEvent": "add-remove-one",
    "TruncatedSubsampledGaussianDpEvent": "add-remove-one",
    "RandomizedResponseDpEvent": "replace-one",
    "SampledWithReplacementDpEvent": "replace-one",
    "SampledWithoutReplacementDpEvent": "replace-one",
}
"""Events whose loss is known for one relation alone."""


@dataclass(frozen=True)
class OutsideSpend:
    """What one mechanism of other software spent: its name, its event as `outside_event` makes it, and the δ
    at which the ledger counts its ε; without one its curve alone, as of Gaussian noise.

    >>> OutsideSpend("digits", outside_event([(1.1, 0.01, 200)]), delta=1e-6).charged.delta
    1e-06
    """

    query: str
    event: Mapping[str, Any] = field(repr=False)
    delta: float | None = None
    text: str = ""

    def __post_init__(self) -> None:
        require_text(self.query, "query", "OutsideSpend")
        require_text(self.text, "text", "OutsideSpend")
        require_line(self.query, "query", "OutsideSpend")
        require(bool(self.query), "query", "OutsideSpend", "be a name", self.query)
        checked(self.event)
        if self.delta is not None:
            value = self.delta
            number = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1
            require(number, "delta", "OutsideSpend", "lie in (0, 1), or be left out", value)

    @property
    def charged(self) -> Spend:
        """What a ledger charges for it."""
        text = event_text(self.event)
        found = guarantee(text)
        if self.delta is not None:
            epsilon = event_epsilon(text, Fraction(repr(float(self.delta))))
            if epsilon > LARGEST:
                raise InvalidParameter(
                    f"No ε that a ledger counts is known of `{self.query}` at δ = {self.delta:g}. Its event "
                    f"has a δ of {float(found.delta):g} of its own: give a larger one, or leave `delta` out."
                )
            delta = float(self.delta)
        else:
            epsilon = math.inf if found.epsilon is None else _as_printed(found.epsilon)
            delta = _as_printed(found.delta)
        told = found.curve[0] if found.delta == 0 else math.inf
        known = {} if told > LARGEST else {"nats_person": told}
        return Spend(epsilon, delta, curve=found.curve, event=text, **known)


def _as_printed(number: Fraction) -> float:
    """A double that prints as no smaller a decimal: as that, a ledger counts it."""
    near = float(number)
    return near if Fraction(repr(near)) >= number else float_up(number)


@dataclass(frozen=True)
class OutsideSpends:
    """Several of them, of one privacy unit: `neighbours` is the relation that their numbers are about, `unit`
    what a neighbour has more or less of: ``row``, or the name of the column that says whose a row is.

    `key` makes a second spend of the same a repetition, which costs nothing.
    """

    spends: Sequence[OutsideSpend]
    neighbours: str
    unit: str = "row"
    key: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spends", tuple(self.spends))
        owner, kinds = "OutsideSpends", {type(one) for one in self.spends}
        require(
            kinds == {OutsideSpend}, "spends", owner, "be `OutsideSpend`s, at least one", len(self.spends)
        )
        require(
            len(self.spends) <= _MOST_SPENDS, "spends", owner, f"be at most {_MOST_SPENDS}", len(self.spends)
        )
        rule = f"be one of {', '.join(_RELATIONS)}"
        require(self.neighbours in _RELATIONS, "neighbours", owner, rule, str(self.neighbours)[:40])
        for name in ("unit", "key"):
            require_text(getattr(self, name), name, owner)
            require_line(getattr(self, name), name, owner)
        for one in self.spends:
            for name in _kinds_in(one.event):
                stated = _ONE_RELATION.get(name, self.neighbours)
                if stated != self.neighbours:
                    raise InvalidParameter(
                        f"`{name}` of `{one.query}` is about {stated} neighbours, and the file says "
                        f"{self.neighbours}. Nothing was spent."
                    )

    @property
    def text(self) -> str:
        """All that is asked, canonically."""
        told = [[one.query, one.text, event_text(one.event), repr(one.delta)] for one in self.spends]
        return json.dumps([self.neighbours, self.unit, told], sort_keys=True, separators=(",", ":"))


def _kinds_in(event: Mapping[str, Any]) -> set[str]:
    inside = [*event.get("events", ()), *([event["event"]] if "event" in event else [])]
    return {str(event["name"])}.union(*map(_kinds_in, inside)) if inside else {str(event["name"])}


def charges_of(
    told: OutsideSpends, declared: tuple[str, str] | None, *, analyst: str = "", slot: str = ""
) -> list[Charge]:
    """The charges under a policy of these neighbours and this unit; None where the ledger does not know.

    Raises `LedgerError` for another unit, or for neighbours that the policy's are not made of.
    """
    neighbours, unit = (told.neighbours, told.unit) if declared is None else declared
    if unit != told.unit:
        raise LedgerError(
            f"The spends are about one `{told.unit}`, and the policy protects one `{unit}`. Nothing was "
            "spent. Account for what one unit adds at most, and say so in `unit`."
        )
    charges = []
    for one in told.spends:
        priced = one if neighbours == told.neighbours else _replaced(one, neighbours)
        facts = {"mechanism": "of other software", "neighbours": neighbours, "unit": unit}
        facts |= {"told_by": "its own account, of which nothing was checked but the arithmetic"}
        mark = text_hash(event_text(priced.event))[:16]
        what = f"{one.text or one.event['name']}, spent elsewhere ({mark})"
        asked = "" if one.delta is None else f"δ {Fraction(repr(float(one.delta)))}"
        charges.append(Charge(one.query, what, priced.charged, analyst, facts, asked, slot=slot))
    return charges


def _replaced(one: OutsideSpend, neighbours: str) -> OutsideSpend:
    """Between two contents of a unit, by way of its absence: known for steps of Gaussian noise."""
    event = _between_contents(one.event) if neighbours == "replace-one" else None
    if event is None:
        other = next(name for name in _RELATIONS if name != neighbours)
        raise LedgerError(
            f"`{one.query}` is about {other} neighbours, and the policy's are {neighbours}: what "
            f"`{one.event['name']}` tells of these does not follow. Nothing was spent. Account for "
            f"{neighbours} neighbours."
        )
    return OutsideSpend(one.query, read_event(event_text(event)), one.delta, one.text)


def _between_contents(event: Mapping[str, Any]) -> dict[str, Any] | None:
    if event["name"] == "RepeatAndSelectDpEvent":
        run = _between_contents(event["event"])
        return None if run is None else {**event, "event": run}
    steps = steps_in(event)
    return None if steps is None or steps.replaced else {"name": "ReplacedDpEvent", "event": dict(event)}


def read_spends(source: str | Path | bytes | Mapping[str, Any]) -> OutsideSpends:
    """Spends from a file, from its bytes, or from what JSON of it is.

    Raises `DataError` for what is no such file, `InvalidParameter` for what it says. Pickles are not read.

    >>> told = {"schema": "leakcap/events/1", "neighbours": "add-remove-one",
    ...     "spends": [{"query": "count", "event": {"name": "LaplaceDpEvent", "noise_multiplier": 10}}]}
    >>> read_spends(told).spends[0].charged.epsilon
    0.1
    """
    told = source if isinstance(source, Mapping) else _json_of(source)
    if not isinstance(told, Mapping) or told.get("schema") != _SCHEMA:
        said = told.get("schema") if isinstance(told, Mapping) else type(told).__name__
        raise DataError(f'A file of events must say `"schema": "{_SCHEMA}"`. Got {str(said)[:40]!r}.')
    _only(told, ("schema", "neighbours", "unit", "key", "spends"), "A file of events")
    rows = told.get("spends")
    if not isinstance(rows, list) or not 1 <= len(rows) <= _MOST_SPENDS:
        raise DataError(f"`spends` must be a list of 1 to {_MOST_SPENDS} spends.")
    return OutsideSpends(
        [_spend(row, place) for place, row in enumerate(rows, 1)],
        _text(told, "neighbours"),
        _text(told, "unit", "row"),
        _text(told, "key"),
    )


def _spend(row: Any, place: int) -> OutsideSpend:
    what = f"Spend {place}"
    if not isinstance(row, Mapping):
        raise DataError(f"{what} must be an object with `query` and one of {', '.join(_SAYS)}.")
    _only(row, ("query", "text", "delta", *_SAYS), what)
    says = [name for name in _SAYS if name in row]
    if len(says) != 1:
        raise DataError(f"{what} must say by one of {', '.join(_SAYS)} what it was. Got {len(says)} of them.")
    delta = row.get("delta")
    number = isinstance(delta, int | float | Decimal) and not isinstance(delta, bool)
    if delta is not None and not (number and 0 < delta < 1):
        raise DataError(f"`delta` of spend {place} must be a number above 0 and below 1.")
    try:
        event = _event(says[0], row[says[0]])
        return OutsideSpend(
            _text(row, "query"), event, None if delta is None else float(delta), _text(row, "text")
        )
    except InvalidParameter as error:
        raise InvalidParameter(f"{what}: {error}") from None


def _event(says: str, value: Any) -> dict[str, Any]:
    if says == "event":
        if not isinstance(value, Mapping):
            raise InvalidParameter("`event` must be an object with a `name`.")
        return outside_event(value)
    if says == "losses":
        back = value.get("adding") if isinstance(value, Mapping) else None
        return outside_event(_table(value), adding=None if back is None else _table(back))
    if not isinstance(value, list):
        raise InvalidParameter(f"`{says}` must be a list.")
    if says == "history":
        return outside_event(value)
    if says == "trade_off":
        pairs = all(isinstance(one, list) and len(one) == 2 for one in value)
        if not pairs:
            raise InvalidParameter("`trade_off` must be pairs of α and β.")
        return trade_off_event([(one[0], one[1]) for one in value])
    kind, points = ("ProfileDpEvent", "points") if says == "profile" else ("RenyiDpEvent", "orders")
    return outside_event({"name": kind, points: value})


def _table(value: Any) -> Any:
    """A pessimistic table of losses (first + k)·step, as prv accountants and PLDs write them."""
    from leakcap.accounting import LossTable

    fields = ("step", "first", "masses", "infinite")
    if not isinstance(value, Mapping):
        raise InvalidParameter(f"`losses` must be an object with {', '.join(fields)}.")
    _only(value, (*fields, "adding"), "`losses`")
    masses = value.get("masses")
    numbers = [value.get("step"), value.get("infinite", 0), *(masses if isinstance(masses, list) else [None])]
    good = all(isinstance(one, int | float | Decimal) and not isinstance(one, bool) for one in numbers)
    first = value.get("first")
    if not good or not isinstance(first, int) or isinstance(first, bool) or abs(first) > 10**9:
        raise InvalidParameter(f"`losses` must have numbers in {', '.join(fields)}, `first` a whole one.")
    import numpy as np

    step, infinite, *found = map(float, numbers)
    return LossTable(step, first, np.array(found), infinite, True)


def _only(told: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    unknown = sorted(str(name)[:40] for name in told if name not in known)
    if unknown:
        raise DataError(f"{what} has no field `{unknown[0]}`. It has {', '.join(known)}.")


def _text(told: Mapping[str, Any], name: str, default: str = "") -> str:
    value = told.get(name, default)
    if not isinstance(value, str):
        raise DataError(f"`{name}` of a file of events must be text.")
    return value


def _json_of(source: str | Path | bytes) -> Any:
    called = "what was given" if isinstance(source, bytes) else f"`{source}`"
    data = source if isinstance(source, bytes) else _bytes_of(Path(source))
    try:
        return json.loads(
            data.decode("utf-8"),
            parse_float=_decimal,
            parse_constant=_no_number,
            object_pairs_hook=_once,
        )
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        said = f": {error}" if isinstance(error, _Refused) else ""
        pickled = " It looks like a pickle, which is never read." if data[:1] == b"\x80" else ""
        raise DataError(f"{called} is no JSON of events{said}.{pickled} Nothing was spent.") from None


def _bytes_of(path: Path) -> bytes:
    try:
        told = path.stat()
        if not stat.S_ISREG(told.st_mode):
            raise DataError(f"`{path}` is no file.")
        if told.st_size > _LARGEST:
            raise DataError(f"`{path}` is larger than {_LARGEST:,} bytes. Spend it in several files.")
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise DataError(f"`{path}` cannot be read: {error.strerror or 'no such file'}.") from None
    if len(data) > _LARGEST:
        raise DataError(f"`{path}` is larger than {_LARGEST:,} bytes. Spend it in several files.")
    return data


class _Refused(ValueError):
    """Why JSON was refused, in words that may be shown."""


def _decimal(text: str) -> Decimal:
    if len(text) > 400 or len(text.lower().partition("e")[2]) > 4:
        raise _Refused("it has a number that is too long")
    return Decimal(text)


def _no_number(text: str) -> Any:
    raise _Refused(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("a field stands in it twice")
    return found
