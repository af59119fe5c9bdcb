"""The hash chain: each row's hash covers all of the row and the hash of the row before.

    rest = SHA-256(canonical JSON of every column that a certificate keeps to itself, and the row's salt)
    hash = SHA-256(canonical JSON of every other column but `hash`, and of `rest`)

So a certificate shows what was charged and when, and that it is what the chain holds, without the question,
the answer, or who asked: of these it has the digest `rest`, and nobody can try out guesses of them, since
each row has 128 random bits of its own as its `salt`. `previous`, the hash of the row before, is shown.

Canonical JSON: keys sorted, no spaces, ASCII. The first row of a ledger, of kind ``open``, binds the data
set, the policy and the caps; its `previous` is 64 zeros. What stands in a row is text that every database
stores as it is.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from leakcap.errors import require

__all__ = [
    "FORMAT",
    "START",
    "certified_text",
    "fingerprint",
    "link",
    "require_detail",
    "require_line",
    "require_reason",
    "require_text",
    "row_hash",
    "storable",
    "text_hash",
    "texts_of",
]

FORMAT = 6
"""Of the rows that this leakcap writes."""

START = "0" * 64
"""What the first row follows."""

_CERTIFIED = (
    *("format", "seq", "kind", "epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho"),
    *("curve", "slot", "event", "shown", "previous"),
)
"""The columns that a certificate shows as they are; of the time it shows the day."""

_LONGEST = 200
_LONGEST_REASON = 1000
# A column edited to something that leakcap never writes, a blob, still has to hash to something.
_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr)
_HALF = re.compile(r"[\ud800-\udfff]")


def text_hash(text: str) -> str:
    """SHA-256 of a text, in hex: of a policy's text its fingerprint.

    >>> text_hash("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(fields: Mapping[str, Any]) -> str:
    """SHA-256 of the fields' canonical JSON.

    >>> fingerprint({"b": 1, "a": None}) == fingerprint({"a": None, "b": 1})
    True
    """
    return text_hash(_canonical(fields))


def _canonical(fields: Mapping[str, Any]) -> str:
    return _WRITER.encode(dict(fields))


def certified_text(row: Mapping[str, Any]) -> str:
    """What a certificate shows of a row, as canonical JSON: its SHA-256 is the row's hash.

    >>> kept = {"time": "2026-03-05T09:00", "text": "count", "salt": "7f"}
    >>> shown = json.loads(certified_text({"seq": 1, **kept}))
    >>> sorted(shown), shown["rest"] == fingerprint(kept)
    (['day', 'rest', 'seq'], True)
    """
    rest = {name: row[name] for name in row if name not in _CERTIFIED and name != "hash"}
    shown = {name: row[name] for name in _CERTIFIED if name in row}
    return _canonical({**shown, "day": str(row["time"])[:10], "rest": fingerprint(rest)})


def row_hash(row: Mapping[str, Any]) -> str:
    """The hash that a row should carry.

    >>> row = {"seq": 1, "time": "2026-03-05T09:00", "hash": "?"}
    >>> row_hash(row) == text_hash(certified_text(row))
    True
    """
    return text_hash(certified_text(row))


def link(row: Mapping[str, Any], previous: str) -> dict[str, Any]:
    """The row with its place in the chain, and a salt of its own.

    >>> row = link({"seq": 1, "time": "2026-03-05T09:00"}, START)
    >>> row["hash"] == row_hash(row), len(row["salt"])
    (True, 32)
    """
    fields = {**row, "format": FORMAT, "salt": secrets.token_hex(16), "previous": previous}
    return {**fields, "hash": row_hash(fields)}


def storable(text: str) -> bool:
    """Whether a database can hold the text: no null characters, no half surrogates."""
    return "\0" not in text and (text.isascii() or _HALF.search(text) is None)


def require_text(value: object, name: str, owner: str) -> None:
    """Refuse what a database cannot store as text.

    >>> require_text("a\\0b", "query", "Charge")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `query` of `Charge` must be text without null characters. Got 'a\\x00b'.
    """
    good = isinstance(value, str) and storable(value)
    require(good, name, owner, "be text without null characters", value)


def require_line(text: str, name: str, owner: str) -> None:
    """Refuse what no list can show on one line.

    >>> require_line("a\\nb", "source", "Charge")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `source` of `Charge` must be one line of at most 200 characters. Got ...
    """
    line = len(text) <= _LONGEST and not any(sign in text for sign in "\r\n")
    require(line, name, owner, f"be one line of at most {_LONGEST} characters", text[:80])


def require_reason(reason: str, by: str, owner: str) -> None:
    """Refuse what is recorded for good without saying why.

    >>> require_reason("", "ada", "withdraw")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `reason` of `withdraw` must say why, in one line of at most 1,000 ...
    """
    require_text(reason, "reason", owner)
    require_text(by, "by", owner)
    line = bool(reason.strip()) and reason.isprintable() and len(reason) <= _LONGEST_REASON
    rule = f"say why, in one line of at most {_LONGEST_REASON:,} characters"
    require(line, "reason", owner, rule, reason[:80])


def require_detail(key: str, value: object) -> None:
    """Refuse a detail that is neither text nor a finite number.

    >>> require_detail("scale", 10.0)
    """
    if isinstance(value, str):
        require_text(value, f"details[{key!r}]", "Charge")
        return
    finite = isinstance(value, int | float) and math.isfinite(value)
    require(finite, f"details[{key!r}]", "Charge", "be text or a finite number", value)


def texts_of(answers: Mapping[int, Sequence[Sequence[float | str]]]) -> dict[int, str]:
    """The answers as they are stored: JSON lists of finite numbers.

    >>> texts_of({1: [[212, 182, 242]]})
    {1: '[[212,182,242]]'}
    """
    texts = {}
    for id_, rows in answers.items():
        try:
            texts[id_] = json.dumps(rows, separators=(",", ":"), allow_nan=False, default=list)
        except ValueError:
            require(False, "answers", "mark_released", "be finite numbers", "a number that is not")
    return texts
