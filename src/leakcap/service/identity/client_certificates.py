"""The certificate that a client showed to the proxy, which verified it: whose it is.

    thumbprint_of(headers, secret)      the certificate's thumbprint, or `Refused`

The proxy ends TLS, so that what it verified arrives in headers, which anybody could write who reaches the
worker's port. So it proves itself with a secret that only it and the curator have; without it nothing of the
three headers is believed. A header that comes twice counts as not there. The certificate comes whole, as
nginx has it (`$ssl_client_escaped_cert`), and is hashed here: no name that stands in it is read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from leakcap.keyed import same_text
from leakcap.service.identity.refusals import Refusal, Refused

__all__ = ["CERTIFICATE", "PROXY", "VERIFIED", "thumbprint_of"]

PROXY, VERIFIED, CERTIFICATE = b"x-leakcap-proxy", b"x-leakcap-verified", b"x-leakcap-certificate"
"""The headers: the proxy's secret, what came of verifying, and the certificate, PEM in percent signs."""
_PEM = re.compile(
    rb"-----BEGIN CERTIFICATE-----\n((?:[A-Za-z0-9+/]{1,76}={0,2}\n)+)-----END CERTIFICATE-----\n?"
)
_LONGEST = 24 * 1024


def thumbprint_of(headers: Iterable[tuple[bytes, bytes]], secret: str) -> str:
    """The SHA-256 of the certificate that the proxy verified. Raises `Refused` where no proxy with this
    secret says so."""
    found: dict[bytes, list[bytes]] = {PROXY: [], VERIFIED: [], CERTIFICATE: []}
    for name, value in headers:
        if name.lower() in found:
            found[name.lower()].append(value)
    if any(len(values) != 1 for values in found.values()):
        raise Refused(Refusal.CERTIFICATE)
    ((proxy,), (verified,), (certificate,)) = found.values()
    if not same_text(proxy.decode("latin-1"), secret) or verified != b"SUCCESS":
        raise Refused(Refusal.CERTIFICATE)
    return hashlib.sha256(_signed(certificate)).hexdigest()


def _signed(escaped: bytes) -> bytes:
    """The one certificate of a PEM text in percent signs, as it is signed (DER)."""
    text = _PEM.fullmatch(unquote_to_bytes(escaped)) if len(escaped) <= _LONGEST else None
    if text is None:
        raise Refused(Refusal.CERTIFICATE)
    try:
        return base64.b64decode(text[1].replace(b"\n", b""), validate=True)
    except binascii.Error:
        raise Refused(Refusal.CERTIFICATE) from None
