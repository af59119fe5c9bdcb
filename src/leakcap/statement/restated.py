"""From a record back to the statement: its numbers are taken, its sentences are made anew."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal

from leakcap.bound import Bound
from leakcap.errors import InvalidParameter
from leakcap.statement.capped import Capped
from leakcap.statement.exposure import Exposure
from leakcap.statement.record import StatementRecord
from leakcap.statement.statement import Statement, statement_of
from leakcap.statement.tally import Composed

__all__ = ["asked_for", "restated", "same_but_for_rounding"]

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")

_LATER = {"joining", "test_power"}
"""Lines that records of earlier versions do not have."""

_ASKED = (("family", "family", "k"), ("guesses", "one_in_k", "k"), ("more", "more", "more"))


def restated(record: StatementRecord) -> Statement:
    """The statement, made anew from its numbers; `InvalidParameter` where its sentences do not follow.

    >>> one = Exposure("a count", 0.1, 0.1, Bound.exact(0.00125, method="m"), 1.0, "replace-one", units=569)
    >>> restated(statement_of(one).record()) == statement_of(one)
    True
    """
    e = record.exposure
    exposure = Exposure(
        title=record.title,
        epsilon=e.epsilon,
        epsilon_contents=e.epsilon_contents,
        nats=Bound(
            e.nats_person.lower,
            _infinite(e.nats_person.upper),
            e.nats_person.method,
            e.nats_person.source,
        ),
        table_nats=_infinite(e.nats_table),
        relation=record.neighbours,
        unit=record.unit,
        units=e.units,
        queries=record.queries,
        delta=e.delta,
        delta_contents=e.delta_contents,
        exact_totals=e.exact_totals,
        composed=None if e.composed is None else Composed.read(e.composed),
        capped=None if e.capped is None else Capped.read(e.capped),
    )
    made = statement_of(exposure, **asked_for(record))
    told, keys = [line.sentence for line in record.lines], {line.key for line in record.lines}
    if not same_but_for_rounding(
        told, [one.sentence for one in made.lines if one.key in keys or one.key not in _LATER]
    ):
        raise InvalidParameter(
            f"The sentences about `{record.title}` do not follow from its numbers: the file was edited, or "
            "another version of leakcap wrote it. Make it anew."
        )
    return made


def asked_for(record: StatementRecord) -> dict[str, int]:
    """Of how many people, possibilities and further releases a statement speaks, as `statement_of` takes it.

    >>> one = Exposure("a count", 0.1, 0.1, Bound.exact(0.00125, method="m"), 1.0, "replace-one")
    >>> asked_for(statement_of(one, family=3).record())
    {'family': 3, 'guesses': 10, 'more': 100}
    """
    detail = {line.key: line.detail for line in record.lines}
    return {name: int(detail.get(key, {}).get(field, 0)) for name, key, field in _ASKED}


def same_but_for_rounding(told: Sequence[str], made: Sequence[str]) -> bool:
    """Whether sentences say the same, but for a unit in the last digit shown: another processor may have
    rounded a computed number the other way.

    >>> same_but_for_rounding(["at most 52.5 % of 1,000"], ["at most 52.6 % of 1,000"])
    True
    >>> same_but_for_rounding(["of 52.5 %"], ["of 52.7 %"])
    False
    """
    if len(told) != len(made):
        return False
    return all(
        _NUMBER.split(one) == _NUMBER.split(other)
        and all(map(_near, _NUMBER.findall(one), _NUMBER.findall(other)))
        for one, other in zip(told, made, strict=True)
    )


def _near(one: str, other: str) -> bool:
    first, second = (Decimal(number.replace(",", "")) for number in (one, other))
    digits = min(len(number.partition(".")[2]) for number in (one, other))
    return abs(first - second) <= Decimal(1).scaleb(-digits) if one != other else True


def _infinite(value: float | None) -> float:
    return math.inf if value is None else value
