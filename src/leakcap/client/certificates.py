"""The certificate of one's own, which some curators' proxies ask for beside the token."""

from __future__ import annotations

import os
import ssl
import stat
from pathlib import Path
from typing import Any

from leakcap.client.address import server_address
from leakcap.errors import InvalidParameter

__all__ = ["known_certificate", "with_certificate"]


def known_certificate(url: str) -> Path | None:
    """The file in `LEAKCAP_CERTIFICATE` where `LEAKCAP_SERVER` names this address; None otherwise. It is
    shown at no other address than its own."""
    given, server = os.environ.get("LEAKCAP_CERTIFICATE"), os.environ.get("LEAKCAP_SERVER")
    if given and server and server_address(server) == server_address(url):
        return Path(given)
    return None


def with_certificate(context: ssl.SSLContext, file: str | Path) -> ssl.SSLContext:
    """The context, which shows this certificate where a server asks for one: a PEM file with the certificate
    and its key, without a passphrase, that its owner alone may read. Raises `InvalidParameter`."""
    path = Path(file)
    if not path.is_file():
        raise InvalidParameter(f"The certificate must be a PEM file. Got `{path}`.")
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise InvalidParameter(f"`{path}` holds a key, and others can read it: chmod 600 {path}")
    try:
        context.load_cert_chain(path, password=_no_passphrase)
    except (OSError, ValueError):
        raise InvalidParameter(
            f"`{path}` must hold a certificate and its key in PEM, without a passphrase."
        ) from None
    return context


def _no_passphrase() -> Any:
    """Asked for one, OpenSSL would wait at the terminal."""
    return b""
