"""The keys of an issuer: fetched when first needed, again after a while, and once for an unknown key.

Keys are taken again after five minutes, and not used at all after fifteen, so that what an issuer withdrew is
refused soon. However many tokens name unknown keys, the issuer is asked at most every 30 seconds.
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, Key, OKPKey, RSAKey

from leakcap.service.identity.fetching import FetchFailed, require_address
from leakcap.service.identity.refusals import Refusal, Refused

__all__ = ["ALGORITHMS", "Fetch", "KeyCache", "fitting_key"]

Fetch: TypeAlias = Callable[[str], Mapping[str, Any]]
"""What brings the JSON object at a URL, or raises `FetchFailed`."""

ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    **{f"{kind}{bits}": ("RSA", None) for kind in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}
"""The algorithms that a provider may use, with type and curve of their keys. All have a public key."""

_LOG = logging.getLogger("leakcap.service.identity")
_FRESH, _USABLE, _PAUSE, _WAIT = 300.0, 900.0, 30.0, 5.0
_MOST_KEYS = 100
_LEAST_BITS = 2048


class KeyCache:
    """The keys and the public document of one issuer, for all threads of a process."""

    def __init__(self, issuer: str, fetch: Fetch, clock: Callable[[], float]) -> None:
        self._issuer, self._fetch, self._clock = issuer, fetch, clock
        self._lock = threading.Lock()
        self._keys: tuple[tuple[Mapping[str, Any], ...], dict[tuple[str | None, str], Key]] = ((), {})
        self._document: Mapping[str, Any] = {}
        self._fetched: float | None = None
        self._tried: float | None = None

    def find(self, kid: str | None, algorithm: str) -> Key:
        """The issuer's key with this name for this algorithm. Raises `Refused`."""
        seen = self._fetched
        if self._older_than(_FRESH):
            self._refresh(seen, wait=self._older_than(_USABLE))
            seen = self._fetched
        if self._older_than(_USABLE):
            raise Refused(Refusal.KEYS)
        found = self._kept(kid, algorithm)
        if found is None:
            self._refresh(seen, wait=True)
            found = self._kept(kid, algorithm)
        if found is None:
            raise Refused(Refusal.KEY)
        return found

    def _kept(self, kid: str | None, algorithm: str) -> Key | None:
        """The fitting key, which is made ready once for as long as the keys are these."""
        keys, ready = self._keys
        if (kid, algorithm) not in ready:
            found = fitting_key(keys, kid, algorithm)
            if found is None:
                return None
            ready[kid, algorithm] = found
        return ready[kid, algorithm]

    def document(self) -> Mapping[str, Any]:
        """What the issuer says of itself; empty where it could not be asked."""
        if self._older_than(_FRESH):
            self._refresh(self._fetched, wait=self._fetched is None)
        return self._document

    def _older_than(self, seconds: float) -> bool:
        return self._fetched is None or self._clock() - self._fetched > seconds

    def _refresh(self, seen: float | None, *, wait: bool) -> None:
        """Ask the issuer, unless another thread has since `seen`, or somebody did a moment ago.

        Where another thread is asking just now, `wait` for it, but not for long.
        """
        if not self._lock.acquire(timeout=_WAIT if wait else 0.0):
            return
        try:
            self._ask(seen)
        finally:
            self._lock.release()

    def _ask(self, seen: float | None) -> None:
        now = self._clock()
        if self._fetched != seen or (self._tried is not None and now - self._tried < _PAUSE):
            return
        self._tried = now
        try:
            document = self._fetch(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
            if document.get("issuer") != self._issuer:
                raise FetchFailed("another issuer")
            listed = self._fetch(require_address(document.get("jwks_uri"), self._issuer)).get("keys")
            if not isinstance(listed, list) or len(listed) > _MOST_KEYS:
                raise FetchFailed("no list of keys")
        except FetchFailed as error:
            _LOG.warning("keys of %s cannot be fetched: %s", self._issuer, error)
            return
        self._keys = tuple(one for one in listed if isinstance(one, dict)), {}
        self._document, self._fetched = document, now


def fitting_key(keys: tuple[Mapping[str, Any], ...], kid: str | None, algorithm: str) -> Key | None:
    """The one key that is for this algorithm and has this name; without a name, the one for this algorithm.

    None where there is none, or more than one.
    """
    named = [one for one in keys if kid is None or one.get("kid") == kid]
    fitting = [key for key in (_imported(one, algorithm) for one in named) if key is not None]
    return fitting[0] if len(fitting) == 1 else None


def _imported(fields: Mapping[str, Any], algorithm: str) -> Key | None:
    """The public key in these fields, if it is one for this algorithm, to verify signatures with."""
    kind, curve = ALGORITHMS[algorithm]
    operations = fields.get("key_ops", ["verify"])
    if (
        fields.get("kty") != kind
        or (curve is not None and fields.get("crv") != curve)
        or fields.get("use", "sig") != "sig"
        or fields.get("alg", algorithm) != algorithm
        or not (isinstance(operations, list) and "verify" in operations)
        or (kind == "RSA" and _is_short(fields.get("n")))
    ):
        return None
    public = {name: fields[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in fields}
    try:
        key = JWKRegistry.import_key(public)
    except (JoseError, ValueError, TypeError):
        return None
    return key if isinstance(key, RSAKey | ECKey | OKPKey) else None


def _is_short(modulus: object) -> bool:
    """Whether an RSA key has less than 2,048 bits, or none that can be read."""
    try:
        raw = base64.urlsafe_b64decode(f"{modulus}==")
    except ValueError:
        return True
    return int.from_bytes(raw, "big").bit_length() < _LEAST_BITS
