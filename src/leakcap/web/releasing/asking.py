"""The release form: a query from its fields, its preview, and the release itself, one at a time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any

from leakcap.errors import InvalidQuery, LedgerError
from leakcap.keyed import keyed_digest, same_text
from leakcap.release import PrivateTable, Query, preview, query_from
from leakcap.release.asking.planned import PlannedRecord
from leakcap.release.results.record import ReleasedRecord
from leakcap.release.statistics import statistics
from leakcap.web.releasing.ledger_view import policy_of
from leakcap.web.serving.settings import Settings

__all__ = ["FIELDS", "OneTimeTokens", "asked_query", "previewed", "released"]

FIELDS = (
    *("name", "statistic", "column", "columns", "over", "when", "where", "by", "cut", "join"),
    *(
        "bins",
        "edges",
        "quantiles",
        "top",
        "up_to",
        "formula",
        "range",
        "design_weight",
        "epsilon",
        "rho",
        "noise",
        "delta",
        "slot",
    ),
)
_MOST = 2000
_ONE = threading.Lock()
_PATIENCE = 10.0


class OneTimeTokens:
    """What a preview promised: this query under this policy, once.

    A form that is sent again (a second click, a reload, the back button) must not pay again where the table
    has no name by which the ledger could repeat its answer; and what was previewed under one policy must not
    be released under another.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._kept: set[str] = set()
        self._lock = threading.Lock()

    def make(self, settings: Settings, fields: Mapping[str, str]) -> str:
        """The promise that a preview's form carries."""
        once = secrets.token_urlsafe(16)
        return f"{once}.{self._seal(once, settings, fields)}"

    def keep(self, promise: str, settings: Settings, fields: Mapping[str, str]) -> None:
        """Take a promise at its word, once. Raises `InvalidQuery`."""
        once, _, seal = promise.partition(".")
        wanted = self._seal(once, settings, fields)
        if not same_text(seal, wanted):
            raise InvalidQuery(
                "This is not what was previewed, or the policy changed since. Preview it again."
            )
        with self._lock:
            if once in self._kept:
                raise InvalidQuery("This form was sent before. Nothing more was spent. Preview it again.")
            self._kept.add(once)

    def _seal(self, once: str, settings: Settings, fields: Mapping[str, str]) -> str:
        told = [once, policy_of(settings).fingerprint(), *(fields.get(name, "") for name in FIELDS)]
        return keyed_digest(self._key, *told).hex()


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
    }
    # The form opens with an ε: where ρ is named too, it is the price, as the preview shows.
    price = "rho" if given["rho"] else "epsilon"
    content[price] = _number(given[price], price)
    for name in ("where", "noise", "slot"):
        if given[name]:
            content[name] = given[name]
    if given["delta"]:
        content["delta"] = _number(given["delta"], "delta")
    for name in ("by", "join"):
        if given[name]:
            content[name] = _listed(given[name])
    if given["cut"]:
        content["cut"] = _cut(given["cut"], "cut")
    # What belongs to other statistics was left standing in the form; the preview shows what is asked.
    mine = {name: text for name, text in given.items() if text and name in own}
    content |= {name: _READ[name](text, name) if name in _READ else text for name, text in mine.items()}
    return query_from(content)


def _listed(text: str, name: str = "") -> list[str]:
    return [part.strip() for part in text.split(",")]


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


def _numbers(text: str, name: str) -> list[float]:
    return [_number(part, name) for part in text.split(",")]


def _cut(text: str, name: str) -> dict[str, list[float]]:
    """Columns with their edges, as in `age: 0, 18, 65; stay: 0, 7`."""
    pairs = [part.partition(":") for part in text.split(";") if part.strip()]
    return {column.strip(): _numbers(edges, name) for column, _, edges in pairs}


_READ: Mapping[str, Callable[[str, str], object]] = {
    "columns": _listed,
    "bins": _whole,
    "top": _whole,
    "up_to": _whole,
    "edges": _numbers,
    "quantiles": _numbers,
    "range": _numbers,
}


def previewed(settings: Settings, query: Query) -> PlannedRecord:
    """Accuracy and price of a query; touches neither data nor ledger."""
    return preview([query], policy=policy_of(settings))[0].record


def released(settings: Settings, query: Query) -> ReleasedRecord:
    """The answer, paid for under every cap. Raises what the table raises, with nothing spent."""
    if not settings.allow_release or settings.ledger is None or settings.data is None:
        raise InvalidQuery("This explorer only shows. Start it with --allow-release to release.")
    if not _ONE.acquire(timeout=_PATIENCE):
        raise LedgerError("Another release is under way. Nothing was spent. Try again in a moment.")
    try:
        with PrivateTable(
            settings.data,
            policy=policy_of(settings),
            ledger=settings.ledger,
            table=settings.table,
            tables=settings.tables,
            analyst=settings.analyst,
            edition=settings.edition,
            asked=[query],
        ) as table:
            (release,) = table.release([query])
            return release.record
    finally:
        _ONE.release()
