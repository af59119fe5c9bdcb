"""The details of an entry that are no part of what was asked: whom it counts, what it is published as."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from leakcap.errors import require
from leakcap.ledger.editions import Edition
from leakcap.ledger.ticks import TICKS_PER_UNIT

__all__ = [
    "DATASET",
    "EPSILON_CONTENTS",
    "EVENT_CONTENTS",
    "EXACT_TOTALS",
    "FROM",
    "KEPT",
    "SAME_AS",
    "SOURCE",
    "STREAM",
    "as_asked",
    "dataset_told",
    "floor_read",
    "people_from",
    "steps_paid",
]

FROM = "people_with_a_cap_from"
"""From which cap of their own on people are counted, as a decimal."""

DATASET = "dataset"
"""Which data set an entry paid for, where that is not the ledger's own."""

EPSILON_CONTENTS = "epsilon_contents"
"""The ε between any two contents of one unit."""

EVENT_CONTENTS = "event_contents"
"""What an answer is between any two contents of one unit, as an event, where that was worked out."""

EXACT_TOTALS = "exact_totals"
"""How many totals were published exactly beside the noise; only where there are such."""

SOURCE = "data_source"
"""What its owner calls the data that was asked: a file's name, a table's."""

SAME_AS = "same_as"
"""Of which version, by its number, somebody said that the data is the same."""

STREAM = "stream_steps"
"""What marks the charge of a stream: how many steps it pays for."""

KEPT = frozenset((DATASET, FROM, SOURCE, SAME_AS, *Edition("t", "p", "v").details))
"""The details that the ledger writes; no charge may have one of these names among its own."""


def floor_read(details: str) -> int | None:
    """The least level that an entry counted, in ticks; None where people have no caps of their own.

    >>> floor_read('{"people_with_a_cap_from":"0.5"}'), floor_read("{}")
    (500000000000, None)
    """
    told = json.loads(details).get(FROM)
    return None if told is None else int(Fraction(str(told)) * TICKS_PER_UNIT)


def dataset_told(details: str) -> str:
    """The data set that an entry paid for; empty for the ledger's own."""
    return str(json.loads(details).get(DATASET, ""))


def people_from(details: Mapping[str, Any]) -> float | None:
    """The same as the number that it is."""
    return None if FROM not in details else float(details[FROM])


def as_asked(details: Mapping[str, Any]) -> dict[str, Any]:
    """An entry's details as they were asked.

    >>> as_asked({"scale": 10.0, "reference_period": "2026-03"})
    {'scale': 10.0}
    """
    return {name: value for name, value in details.items() if name not in KEPT}


def steps_paid(details: Mapping[str, Any]) -> int:
    """How many steps the charge of a stream pays for, a whole number from 1 on.

    >>> steps_paid({"stream_steps": 12})
    12
    """
    steps = details.get(STREAM)
    whole = isinstance(steps, int) and not isinstance(steps, bool) and steps >= 1
    require(whole, "details", "Charge", f"say in `{STREAM}` how many steps it pays for, 1 or more", steps)
    assert isinstance(steps, int)
    return steps
