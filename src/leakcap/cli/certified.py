"""The thumbprint of a certificate in a file."""

from __future__ import annotations

import hashlib
import re
import ssl
from pathlib import Path

from leakcap.errors import InvalidParameter

__all__ = ["thumbprint_in"]

_ONE = re.compile(r"-----BEGIN CERTIFICATE-----\n[^-]+\n-----END CERTIFICATE-----")


def thumbprint_in(file: Path) -> str:
    """The SHA-256 of the one certificate of a PEM file. Raises `InvalidParameter` for any other file."""
    try:
        (found,) = _ONE.findall(file.read_text(encoding="utf-8"))
        signed = ssl.PEM_cert_to_DER_cert(found)
    except (OSError, ValueError):
        raise InvalidParameter(
            f"The certificate must be a PEM file with one certificate. Got `{file}`."
        ) from None
    return hashlib.sha256(signed).hexdigest()
