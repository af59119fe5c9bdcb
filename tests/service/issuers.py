"""An OpenID provider of the tests' own: keys that change, and tokens sound or forged in one way."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from leakcap.service.identity.fetching import FetchFailed

__all__ = ["Issuer", "key_of", "part", "signed", "unsigned"]


@cache
def key_of(algorithm: str, name: str) -> Key:
    """A private key for an algorithm; another name is another key."""
    fields = {"kid": name}
    if algorithm[:2] in ("RS", "PS"):
        return RSAKey.import_key(rsa.generate_private_key(65537, 2048), fields)
    if algorithm[:2] == "ES":
        curve = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}[algorithm]
        return ECKey.import_key(ec.generate_private_key(curve), fields)
    return OKPKey.import_key(ed25519.Ed25519PrivateKey.generate(), fields)


def part(fields: object) -> str:
    """A part of a token: JSON in base64url."""
    raw = json.dumps(fields).encode() if not isinstance(fields, bytes) else fields
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed(header: Mapping[str, Any], claims: Mapping[str, Any] | bytes, key: Key) -> str:
    """A token with this header and these claims, whatever they are, signed by the key as the header says."""
    signing = f"{part(dict(header))}.{part(claims)}"
    signature = JWSRegistry.algorithms[header["alg"]].sign(signing.encode(), key)
    return f"{signing}.{part(signature)}"


def unsigned(header: Mapping[str, Any], claims: Mapping[str, Any], signature: str = "") -> str:
    """A token with any signature at all."""
    return f"{part(header)}.{part(claims)}.{signature}"


class Issuer:
    """A provider at `url`; `fetch` is how a curator reads its documents, and counts."""

    def __init__(self, url: str, audience: str = "curator", algorithm: str = "RS256") -> None:
        self.url, self.audience, self.algorithm = url, audience, algorithm
        self.names = [f"{url}/1"]
        self.asked: list[str] = []
        self.fails = False
        self.jwks_uri: object = f"{url}/keys"
        self.extra: list[object] = []

    def fetch(self, url: str) -> Mapping[str, Any]:
        self.asked.append(url)
        if self.fails:
            raise FetchFailed("status 503")
        if url == f"{self.url}/.well-known/openid-configuration":
            return {
                "issuer": self.url,
                "jwks_uri": self.jwks_uri,
                "token_endpoint": f"{self.url}/token",
                "device_authorization_endpoint": f"{self.url}/device",
            }
        assert url == self.jwks_uri, url
        return {"keys": [*self.public(), *self.extra]}

    def public(self) -> list[dict[str, Any]]:
        keys = ((name, key_of(self.algorithm, name)) for name in self.names)
        return [dict(key.as_dict(private=False, kid=name, use="sig")) for name, key in keys]

    def header(self, **changes: Any) -> dict[str, Any]:
        return {"alg": self.algorithm, "typ": "at+jwt", "kid": self.names[-1], **changes}

    def claims(self, now: datetime, **changes: Any) -> dict[str, Any]:
        moment = int(now.timestamp())
        fields = {
            "iss": self.url, "aud": self.audience, "sub": "8f14e45f", "client_id": "terminal",
            "iat": moment - 5, "nbf": moment - 5, "exp": moment + 300, "jti": "1",
        }  # fmt: skip
        return {name: value for name, value in {**fields, **changes}.items() if value is not None}

    def token(self, now: datetime, header: Mapping[str, Any] | None = None, **changes: Any) -> str:
        """A sound token, but for the changes: a field that is None is left out."""
        fields = self.header(**(header or {}))
        left = {name: value for name, value in fields.items() if value is not None}
        return signed(left, self.claims(now, **changes), key_of(self.algorithm, self.names[-1]))
