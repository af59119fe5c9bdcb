"""Certificates as an office's own authority makes them, and as others do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Shown:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        """The certificate alone."""
        return self.certificate.public_bytes(PEM).decode()

    @property
    def escaped(self) -> str:
        """As nginx passes it on."""
        return quote(self.pem, safe="")

    @property
    def thumbprint(self) -> str:
        """Its SHA-256, by another library than the curator's."""
        return self.certificate.fingerprint(hashes.SHA256()).hex()

    def file(self, folder: Path, name: str) -> Path:
        """Certificate and key in one file, as clients load them."""
        secret = self.key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        made = folder / f"{name}.pem"
        made.write_bytes(self.pem.encode() + secret)
        made.chmod(0o600)
        return made


class Authority:
    """An authority, which signs what it is asked to."""

    def __init__(self, name: str = "The office's authority") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)

    @classmethod
    def played_by(cls, one: Shown) -> Authority:
        """Somebody with a certificate, who signs as if it made them an authority."""
        found = cls()
        found._key, found._name = one.key, one.certificate.subject
        return found

    @cached_property
    def root(self) -> Shown:
        """Its own certificate."""
        extension = x509.BasicConstraints(ca=True, path_length=0)
        made = self._made(self._name, self._key, days=(-1, 2)).add_extension(extension, critical=True)
        return Shown(made.sign(self._key, hashes.SHA256()), self._key)

    def issued(self, name: str, *, days: tuple[int, int] = (-1, 2), server: bool = False) -> Shown:
        """A certificate for somebody called so, that begins and ends so many days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        use = ExtendedKeyUsageOID.SERVER_AUTH if server else ExtendedKeyUsageOID.CLIENT_AUTH
        made = self._made(_named(name), key, days=days).add_extension(
            x509.ExtendedKeyUsage([use]), critical=False
        )
        return Shown(made.sign(self._key, hashes.SHA256()), key)

    def _made(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *, days: tuple[int, int]
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        begin, end = (now + timedelta(days=one) for one in days)
        fields: dict[str, Any] = {"subject_name": name, "issuer_name": self._name}
        return x509.CertificateBuilder(
            **fields,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=begin,
            not_valid_after=end,
        )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
