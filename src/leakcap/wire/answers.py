"""An answer as the ledger remembers it, all of what left: from it both sides make the same release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from leakcap.errors import DataError
from leakcap.ledger import Answer
from leakcap.release.plan import Plan
from leakcap.release.planning.price import Price
from leakcap.release.results.recorded import from_ledger, recorded_of
from leakcap.release.results.result import Release

__all__ = ["answer_from", "answer_on_wire"]


def answer_on_wire(release: Release, entry: int) -> dict[str, Any]:
    """The recorded values of a release, the number of its entry in the ledger, and whether it was repeated
    for free. `people_from` is there where people have caps of their own."""
    told: dict[str, Any] = {"entry": entry, "repeated": release.repeated, "values": recorded_of(release)}
    if release.people_from is not None:
        told["people_from"] = release.people_from
    return told


def answer_from(plan: Plan, price: Price, told: Mapping[str, Any]) -> Release:
    """The release that an answer is, of the query that was planned. Raises `DataError` for anything else."""
    entry, values = told.get("entry"), told.get("values")
    if not isinstance(entry, int) or isinstance(entry, bool) or not isinstance(values, dict):
        raise DataError("The curator's answer is none. Check that its version is the client's.")
    people = told.get("people_from")
    answer = Answer(entry, values, float(people) if isinstance(people, int | float) else None)  # type: ignore[arg-type]
    return replace(from_ledger(plan, price, answer), repeated=told.get("repeated") is True)
