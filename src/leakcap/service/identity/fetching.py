"""Documents of an issuer, fetched by https: small, soon, from where it was said, and nowhere else.

Nothing that a token carries (`jku`, `x5u`, `jwk`) is ever followed: addresses come from the configuration and
from the issuer's own document.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx

__all__ = ["FetchFailed", "fetch_document", "post_form", "require_address", "require_issuer"]

_LARGEST = 256 * 1024
_SECONDS = 3.0
_LONGEST_SECONDS = 5.0
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class FetchFailed(Exception):
    """A document that did not come, or not as it should. The text names the rule, for the log."""


def fetch_document(url: str) -> Mapping[str, Any]:
    """The JSON object at a URL, of at most 256 KiB, within seconds; no redirect is followed."""
    return _asked("GET", url)


def post_form(url: str, form: Mapping[str, str], account: tuple[str, str] | None) -> Mapping[str, Any]:
    """What a URL answers to a form, as `fetch_document`; `account` is a client's name and secret."""
    return _asked("POST", url, data=dict(form), auth=account)


def _asked(method: str, url: str, **sent: Any) -> Mapping[str, Any]:
    give_up = time.monotonic() + _LONGEST_SECONDS
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    # To this machine no proxy leads; elsewhere an office's proxy may be the only way out.
    trust = not _is_loopback(urlsplit(url))
    try:
        with (
            httpx.Client(
                timeout=_SECONDS, follow_redirects=False, trust_env=trust, headers=headers
            ) as client,
            client.stream(method, url, **sent) as answer,
        ):
            found = json.loads(_body(answer, give_up))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError, OSError) as error:
        raise FetchFailed(type(error).__name__) from None
    if not isinstance(found, dict):
        raise FetchFailed("no JSON object")
    return found


def _body(answer: httpx.Response, give_up: float) -> bytes:
    """What was answered, as far as it is short, plain and soon."""
    if answer.status_code != 200:
        raise FetchFailed(f"status {answer.status_code}")
    if answer.headers.get("content-encoding", "identity") != "identity":
        raise FetchFailed("compressed")
    raw = b""
    for part in answer.iter_raw():
        raw += part
        if len(raw) > _LARGEST:
            raise FetchFailed("too large")
        if time.monotonic() > give_up:
            raise FetchFailed("too slow")
    return raw


def require_issuer(url: object) -> None:
    """Raise `ValueError` for what no issuer can be: https, or http on loopback, no query, no password."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("be a URL")
    parts = _parts(url)
    if parts.query or parts.fragment or "?" in url or "#" in url:
        raise ValueError("have no query and no fragment")
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts)):
        raise ValueError("begin with https:// (http:// only on this machine)")


def require_address(url: object, issuer: str) -> str:
    """An address from the issuer's document, if it may be asked; `FetchFailed` otherwise.

    A document of an issuer elsewhere does not lead to this machine, nor to a private address in figures.
    """
    if not isinstance(url, str):
        raise FetchFailed("no address")
    try:
        parts, home = _parts(url), _parts(issuer)
    except ValueError:
        raise FetchFailed("no address") from None
    if parts.scheme != "https" and not (
        parts.scheme == "http" and _is_loopback(parts) and _is_loopback(home)
    ):
        raise FetchFailed("no https")
    if parts.hostname != home.hostname and not _is_loopback(home) and _is_inside(parts):
        raise FetchFailed("private address")
    return url


def _parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    if not parts.hostname or parts.username is not None or parts.password is not None:
        raise ValueError("be a URL with a host, without a user")
    _ = parts.port  # raises ValueError for a port that is none
    return parts


def _is_loopback(parts: SplitResult) -> bool:
    return parts.hostname in _LOOPBACK


def _is_inside(parts: SplitResult) -> bool:
    """Whether a host is this machine, or an address that is not on the internet."""
    host = parts.hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        # Figures in other writings (0x7f.1, 2130706433) are addresses too; the last label of a name is none.
        last = host.rstrip(".").rpartition(".")[2]
        return last == "localhost" or last[:1].isdigit()
