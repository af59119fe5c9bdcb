"""A signed token taken apart before anything in it is believed: strict, so that it has one reading only."""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any

from leakcap.service.identity.refusals import Refusal, Refused

__all__ = ["same_text", "unverified_claims", "unverified_header", "unverified_issuer"]

_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")


def unverified_header(text: str) -> Mapping[str, Any]:
    """The header of a signed token. Raises `Refused` for what is none."""
    return _part(text, 1)


def unverified_claims(text: str) -> Mapping[str, Any]:
    """The claims of a signed token. Raises `Refused` for what is none."""
    return _part(text, 2)


def unverified_issuer(text: str) -> str:
    """The issuer that a signed token names.

    >>> unverified_issuer("e30.eyJpc3MiOiJodHRwczovL2lkLmV4YW1wbGUifQ.x")
    'https://id.example'
    """
    issuer = unverified_claims(text).get("iss")
    if not isinstance(issuer, str):
        raise Refused(Refusal.CLAIMS)
    return issuer


def same_text(given: object, wanted: str) -> bool:
    """Whether what was given is this text, compared in constant time.

    >>> same_text("a", "a"), same_text("b", "a"), same_text(None, "a")
    (True, False, False)
    """
    return isinstance(given, str) and hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _part(text: str, number: int) -> Mapping[str, Any]:
    found = _FORM.fullmatch(text)
    if found is None:
        raise Refused(Refusal.MALFORMED)
    part = found[number]
    try:
        raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        fields = json.loads(raw.decode("utf-8"), object_pairs_hook=_once, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Refused(Refusal.MALFORMED) from None
    if not isinstance(fields, dict):
        raise Refused(Refusal.MALFORMED)
    return fields


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object that names no field twice: which of the two holds would be anybody's guess."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("twice")
    return fields


def _refuse_constant(_name: str) -> float:
    raise ValueError("not JSON")
