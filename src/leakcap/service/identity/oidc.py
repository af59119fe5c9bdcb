"""Access tokens of an OpenID provider, verified: RFC 9068, and what providers issued before it.

A token is let in if all of this holds; whatever else it says is ignored.

- Three parts of base64url, each JSON that names no field twice. The header's `alg` is one of the provider's
  `algorithms`, which have public keys: never `none`, never one with a shared secret. There is no `crit`.
- The header's `typ` is `at+jwt`, or `JWT` as before RFC 9068. ID tokens are refused: they are made for the
  client `client_id`, and the curator's `audience` has to be another name. So are a provider's own marks of
  another kind (`at_hash`, a `typ` among the claims other than `Bearer`) and tokens that are bound to a key
  (`cnf`), of which a bearer would have to show more.
- The signature is right under the issuer's key of that name, which is for that algorithm.
- `iss` is the issuer, letter for letter; `aud` is the audience or a list that contains it; `exp` has not
  passed; `nbf`, or where a provider writes none `iat`, has come; clocks may differ by one minute.
- `sub` is text that `provider_subject` takes.

Where somebody signs in at the console, the ID token is looked at too, for one thing: that it was made for
this sign-in (`verify_identity`).
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from joserfc import jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError

from leakcap.errors import require
from leakcap.keyed import same_text
from leakcap.service.identity.fetching import fetch_document, post_form, require_address, require_issuer
from leakcap.service.identity.keys import ALGORITHMS, Fetch, KeyCache
from leakcap.service.identity.refusals import Refusal, Refused
from leakcap.service.identity.unverified import base64_text, unverified_claims, unverified_header
from leakcap.service.store.subjects import require_alias

__all__ = ["TOKEN_DAYS", "OidcProvider", "Post"]

TOKEN_DAYS = 30
"""So long a personal access token goes on after its person's provider last vouched for them."""

Post: TypeAlias = Callable[[str, Mapping[str, str], tuple[str, str] | None], Mapping[str, Any]]
"""What brings the JSON object that a URL answers to a form, or raises `FetchFailed`."""

_LEEWAY = 60.0
_TYPES = {"at+jwt", "application/at+jwt", "jwt"}
# What the provider says of terminals that sign in with a code (RFC 8628).
_PUBLIC = ("device_authorization_endpoint", "token_endpoint")


@dataclass(frozen=True)
class OidcProvider:
    """A provider whose access tokens are believed, under an alias of the curator's own.

    `audience` is what its tokens for the curator name; `client_id` is how the curator's clients ask for them,
    and `console_client_id`, with its `console_secret` where it has one, how the console does. Its people's
    personal access tokens rest where it has not vouched for them for `token_days`. Raises
    `InvalidParameter` for values that would let in more than was meant.
    """

    alias: str
    issuer: str
    audience: str
    client_id: str
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    fetch: Fetch = field(default=fetch_document, repr=False, compare=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
    console_client_id: str = ""
    console_secret: str = field(default="", repr=False)
    post: Post = field(default=post_form, repr=False, compare=False)
    token_days: int = TOKEN_DAYS

    def __post_init__(self) -> None:
        require_alias(self.alias)
        try:
            require_issuer(self.issuer)
        except ValueError as error:
            require(False, "issuer", "OidcProvider", str(error), self.issuer)
        for name in ("audience", "client_id"):
            value = getattr(self, name)
            require(isinstance(value, str) and value != "", name, "OidcProvider", "be text", value)
        remedy = "Tokens for the client are ID tokens; register the curator as an API of its own."
        for name in ("client_id", "console_client_id"):
            apart = self.audience != getattr(self, name)
            require(apart, "audience", "OidcProvider", f"not be the `{name}`", self.audience, remedy)
        days = isinstance(self.token_days, int) and 1 <= self.token_days <= 366
        require(days, "token_days", "OidcProvider", "be 1 to 366 days", self.token_days)
        object.__setattr__(self, "algorithms", tuple(self.algorithms))
        known = bool(self.algorithms) and set(self.algorithms) <= set(ALGORITHMS)
        rule = f"be some of {', '.join(ALGORITHMS)}"
        require(known, "algorithms", "OidcProvider", rule, list(self.algorithms))
        object.__setattr__(self, "_keys", KeyCache(self.issuer, self.fetch, self.clock))

    def verify(self, text: str, now: datetime) -> str:
        """The verified `sub` of an access token. Raises `Refused` with the kind of the reason."""
        header, claims = unverified_header(text), unverified_claims(text)
        self._check_signature(text, header)
        return self._checked_claims(claims, now)

    def verify_identity(self, text: str, now: datetime, *, nonce: str, access_token: str) -> str:
        """The verified `sub` of an ID token that was made for the console's sign-in with this nonce, beside
        this access token. Raises `Refused`."""
        header, claims = {"typ": "JWT", **unverified_header(text)}, unverified_claims(text)
        if str(header["typ"]).lower() != "jwt":
            raise Refused(Refusal.TYPE)
        algorithm = self._check_signature(text, header)
        if claims.get("iss") != self.issuer:
            raise Refused(Refusal.ISSUER)
        audience = claims.get("aud")
        if audience not in (self.console_client_id, [self.console_client_id]):
            raise Refused(Refusal.AUDIENCE)
        if claims.get("azp", self.console_client_id) != self.console_client_id:
            raise Refused(Refusal.AUDIENCE)
        if not same_text(claims.get("nonce"), nonce):
            raise Refused(Refusal.NONCE)
        if "at_hash" in claims and not same_text(claims["at_hash"], _half_hash(access_token, algorithm)):
            raise Refused(Refusal.NONCE)
        return _current_sub(claims, now)

    def endpoint(self, name: str) -> str:
        """The address that the issuer's document has under this name. Raises `FetchFailed`."""
        return require_address(self.described().get(name), self.issuer)

    def described(self) -> Mapping[str, Any]:
        """What the issuer says of itself; empty where it could not be asked."""
        return self._cache().document()

    def _check_signature(self, text: str, header: Mapping[str, Any]) -> str:
        """The algorithm under which the issuer signed this. Raises `Refused`."""
        algorithm = self._checked_header(header)
        kid = header.get("kid")
        if kid is not None and not isinstance(kid, str):
            raise Refused(Refusal.KEY)
        key = self._cache().find(kid, algorithm)
        try:
            jws.deserialize_compact(text.encode(), key, registry=_OneAlgorithm(algorithm))
        except (JoseError, ValueError, TypeError):
            raise Refused(Refusal.SIGNATURE) from None
        return algorithm

    def public(self) -> Mapping[str, str]:
        """What a client has to know to sign in here; the endpoints only where the issuer could be asked."""
        document = self.described()
        found = {name: document[name] for name in _PUBLIC if isinstance(document.get(name), str)}
        return {
            "alias": self.alias,
            "issuer": self.issuer,
            "client_id": self.client_id,
            "audience": self.audience,
            **found,
        }

    def _cache(self) -> KeyCache:
        found: KeyCache = self.__dict__["_keys"]
        return found

    def _checked_header(self, header: Mapping[str, Any]) -> str:
        algorithm, kind = header.get("alg"), header.get("typ")
        if not isinstance(algorithm, str) or algorithm not in self.algorithms:
            raise Refused(Refusal.ALGORITHM)
        if not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise Refused(Refusal.TYPE)
        if "crit" in header or "b64" in header:
            raise Refused(Refusal.MALFORMED)
        return algorithm

    def _checked_claims(self, claims: Mapping[str, Any], now: datetime) -> str:
        if claims.get("iss") != self.issuer:
            raise Refused(Refusal.ISSUER)
        audience = claims.get("aud")
        listed = audience if isinstance(audience, list) else [audience]
        if self.audience not in listed or not all(isinstance(one, str) for one in listed):
            raise Refused(Refusal.AUDIENCE)
        if "cnf" in claims or "at_hash" in claims or claims.get("typ", "Bearer") != "Bearer":
            raise Refused(Refusal.TYPE)
        return _current_sub(claims, now)


class _OneAlgorithm(jws.JWSRegistry):
    """Of all algorithms the one that was chosen, whatever the token says and whatever is recommended."""

    max_header_length = 4096

    def __init__(self, algorithm: str) -> None:
        super().__init__(algorithms=[algorithm], strict_check_header=False)
        self._only = algorithm

    def get_alg(self, name: str) -> Any:
        """The chosen algorithm; `UnsupportedAlgorithmError` for any other name."""
        if name != self._only:
            raise UnsupportedAlgorithmError("not the chosen one")
        return self.algorithms[name]


def _current_sub(claims: Mapping[str, Any], now: datetime) -> str:
    """The subject of claims whose time has come and not passed. Raises `Refused`."""
    moment = now.timestamp()
    if moment >= _seconds(claims.get("exp")) + _LEEWAY:
        raise Refused(Refusal.EXPIRED)
    begins = [_seconds(claims[name]) for name in ("nbf", "iat") if name in claims]
    if not begins:
        raise Refused(Refusal.CLAIMS)
    if moment < max(begins) - _LEEWAY:
        raise Refused(Refusal.EARLY)
    sub = claims.get("sub")
    if not isinstance(sub, str):
        raise Refused(Refusal.SUBJECT)
    return sub


def _half_hash(text: str, algorithm: str) -> str:
    """The `at_hash` of an access token: half of its hash, of the length that the algorithm has."""
    bits = algorithm[2:] if algorithm[2:] in ("256", "384") else "512"
    digest = hashlib.new(f"sha{bits}", text.encode()).digest()
    return base64_text(digest[: len(digest) // 2])


def _seconds(value: object) -> float:
    """A time of a token in seconds since 1970. Raises `Refused` for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(Refusal.CLAIMS)
    try:
        seconds = float(value)
    except OverflowError:
        raise Refused(Refusal.CLAIMS) from None
    if not math.isfinite(seconds):
        raise Refused(Refusal.CLAIMS)
    return seconds
