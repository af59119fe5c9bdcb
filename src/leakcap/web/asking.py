"""The release form: a query from its fields, its preview, and the release itself, one at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from leakcap.errors import InvalidQuery
from leakcap.ledger import Balance
from leakcap.release import Preview, PrivateTable, Query, Release, preview, query_from
from leakcap.release.statistics import statistics
from leakcap.web.books import policy_of
from leakcap.web.settings import Settings

__all__ = ["FIELDS", "asked_query", "previewed", "released"]

FIELDS = ("name", "statistic", "column", "where", "by", "bins", "quantiles", "epsilon")
_MOST = 2000
_ONE = threading.Lock()


def asked_query(fields: Mapping[str, str]) -> Query:
    """The query that the form's fields ask for. Raises `InvalidQuery`."""
    given = {name: fields.get(name, "").strip() for name in FIELDS}
    long = [name for name, text in given.items() if len(text) > _MOST]
    if long:
        raise InvalidQuery(f"`{long[0]}` must have at most {_MOST:,} characters.")
    statistic = given["statistic"]
    known = statistics().get(statistic)
    own = frozenset[str]() if known is None else known.fields
    content: dict[str, Any] = {
        "name": given["name"] or f"{statistic} {given['column'] if 'column' in own else ''}".strip(),
        "statistic": statistic,
        "epsilon": _number(given["epsilon"], "epsilon"),
    }
    if given["where"]:
        content["where"] = given["where"]
    if given["by"]:
        content["by"] = [part.strip() for part in given["by"].split(",")]
    # What belongs to other statistics was left standing in the form; the preview shows what is asked.
    if given["column"] and "column" in own:
        content["column"] = given["column"]
    if given["bins"] and "bins" in own:
        content["bins"] = _whole(given["bins"], "bins")
    if given["quantiles"] and "quantiles" in own:
        content["quantiles"] = [_number(part, "quantiles") for part in given["quantiles"].split(",")]
    return query_from(content)


def _number(text: str, name: str) -> float:
    try:
        return float(text[:32])
    except ValueError:
        raise InvalidQuery(f"`{name}` must be a number.") from None


def _whole(text: str, name: str) -> int:
    try:
        return int(text[:12])
    except ValueError:
        raise InvalidQuery(f"`{name}` must be a whole number.") from None


def previewed(settings: Settings, query: Query) -> Preview:
    """Accuracy and price of a query; touches neither data nor ledger."""
    return preview([query], policy=policy_of(settings))[0]


def released(settings: Settings, query: Query) -> tuple[Release, list[Balance]]:
    """The answer, paid for under every cap. Raises what the table raises, with nothing spent."""
    if not settings.allow_release or settings.ledger is None or settings.data is None:
        raise InvalidQuery("This explorer only shows. Start it with --allow-release to release.")
    with _ONE:
        table = PrivateTable(
            settings.data,
            policy=policy_of(settings),
            ledger=settings.ledger,
            table=settings.table,
            analyst=settings.analyst,
        )
        try:
            (release,) = table.release([query])
            return release, table.budget()
        finally:
            table.ledger.close()
