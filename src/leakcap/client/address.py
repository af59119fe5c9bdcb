"""The address of a curator: https, or this machine."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from leakcap.credentials import shown_url
from leakcap.errors import InvalidParameter

__all__ = ["on_this_machine", "require_secure", "server_address"]

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_LONGEST = 500


def server_address(url: str) -> str:
    """The address as it is asked and remembered: without a slash at its end, the host in small letters.

    Raises `InvalidParameter` for anything but https (http on this machine alone), and for a user, a password,
    a query or a fragment in it: a token goes to where it was meant for, and not in the open.

    >>> server_address("https://Curator.example.org/"), server_address("http://127.0.0.1:8422")
    ('https://curator.example.org', 'http://127.0.0.1:8422')
    >>> server_address("http://curator.example.org")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `url` of a curator must begin with https:// (http:// is for this ...
    """
    parts = require_secure(url, "url", "a curator")
    if parts.query or parts.fragment or "?" in url or "#" in url or parts.path.strip("/"):
        raise _wrong("url", "a curator", "have no path, query or fragment", url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def require_secure(url: object, name: str, owner: str) -> SplitResult:
    """The parts of an address to which a secret may go. Raises `InvalidParameter`."""
    if not isinstance(url, str) or not 0 < len(url) <= _LONGEST or not url.isascii() or not url.isprintable():
        raise _wrong(name, owner, "be a URL", url)
    try:
        parts = urlsplit(url)
        known = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        known = False
    if not known or " " in url or "\\" in url:
        raise _wrong(name, owner, "be a URL, as in https://curator.example.org", url)
    if "@" in parts.netloc:
        raise _wrong(name, owner, "name no user and no password", url)
    if parts.scheme != "https" and not (parts.scheme == "http" and on_this_machine(parts.hostname or "")):
        raise _wrong(name, owner, "begin with https:// (http:// is for this machine alone)", url)
    return parts


def on_this_machine(host: str) -> bool:
    """Whether a host is this machine.

    >>> on_this_machine("localhost"), on_this_machine("127.0.0.1.example.org")
    (True, False)
    """
    return host.lower() in _LOOPBACK


def _wrong(name: str, owner: str, rule: str, url: object) -> InvalidParameter:
    got = repr(shown_url(url)[:100]) if isinstance(url, str) else type(url).__name__
    return InvalidParameter(f"`{name}` of {owner} must {rule}. Got {got}.")
