"""A signed token taken apart before anything in it is believed: strict, so that it has one reading only."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

from leakcap.service.identity.refusals import Refusal, Refused

__all__ = ["base64_text", "unverified_claims", "unverified_header", "unverified_issuer"]

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


def base64_text(raw: bytes) -> str:
    """Base64 as tokens have it: for URLs, and without the signs at its end.

    >>> base64_text(b"\\xfb\\xff")
    '-_8'
    """
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


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
