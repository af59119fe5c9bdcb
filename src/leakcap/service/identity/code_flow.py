"""Signing in at an OpenID provider from the console: the authorization code with PKCE, state and nonce.

    flow.address(begun)                     where the browser is sent
    flow.subject(answer, begun, now)        whom the provider verified, from what the browser brings back

Everything that ties what comes back to what was begun is made of one secret, `BegunSignIn.secret`, which the
browser keeps and nobody else learns: the state that the provider returns, the nonce within the ID token, and
the verifier of the code (RFC 7636). The provider's alias, the time and where to go on are made part of the
state, so that none can be exchanged for another one. What is believed in the end is the access token, as
under `/v1`; the ID token has to be of this sign-in and to name the same person, so that nobody is two
analysts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import quote, urlencode

from leakcap.keyed import keyed_digest, same_text
from leakcap.service.identity.fetching import FetchFailed
from leakcap.service.identity.oidc import OidcProvider
from leakcap.service.identity.refusals import Refusal, Refused
from leakcap.service.identity.unverified import base64_text

__all__ = ["BegunSignIn", "CodeFlow"]

_LONGEST = 600.0
_MOST = 4096


@dataclass(frozen=True)
class BegunSignIn:
    """What a browser keeps of a sign-in that it began: a secret, the provider, when, and where to go on; with
    the number of a `session` the provider is asked whether it still knows the person of that one.

    >>> begun = BegunSignIn("s", "uni", 0, "/queue")
    >>> len({begun.state, begun.nonce, begun.verifier, BegunSignIn("s", "other", 0, "/queue").state})
    4
    """

    secret: str = field(repr=False)
    alias: str
    since: int
    to: str
    session: str = ""

    @property
    def state(self) -> str:
        """What the provider returns untouched."""
        return self._made("state", self.alias, str(self.since), self.to, self.session)

    @property
    def nonce(self) -> str:
        """What the ID token has to repeat."""
        return self._made("nonce")

    @property
    def verifier(self) -> str:
        """What proves that the code is redeemed by whoever began."""
        return self._made("verifier")

    def _made(self, *told: str) -> str:
        return base64_text(keyed_digest(self.secret.encode(), *told))


@dataclass(frozen=True)
class CodeFlow:
    """Signing in at one provider; `redirect` is the one address to which it sends browsers back."""

    provider: OidcProvider
    redirect: str

    def address(self, begun: BegunSignIn, *, silent: bool = False) -> str:
        """The provider's page for this sign-in; with `silent` it shows none, and says at once whether it
        still knows the person (`prompt=none`). Raises `FetchFailed` where the provider cannot be asked."""
        provider = self.provider
        found = provider.endpoint("authorization_endpoint")
        asked = {
            "response_type": "code",
            "client_id": provider.console_client_id,
            "redirect_uri": self.redirect,
            "scope": "openid",
            "audience": provider.audience,
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": base64_text(hashlib.sha256(begun.verifier.encode()).digest()),
            "code_challenge_method": "S256",
            **({"prompt": "none"} if silent else {}),
        }
        return f"{found}{'&' if '?' in found else '?'}{urlencode(asked)}"

    def subject(self, answer: Iterable[tuple[str, str]], begun: BegunSignIn, now: datetime) -> str:
        """The verified `sub` of who comes back with these parameters. Raises `Refused`."""
        code = self._checked(tuple(answer), begun, now)
        provider = self.provider
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "code_verifier": begun.verifier,
        }
        client, secret = provider.console_client_id, provider.console_secret
        if not secret:
            form["client_id"] = client
        try:
            account = (quote(client, ""), quote(secret, "")) if secret else None
            told = provider.post(provider.endpoint("token_endpoint"), form, account)
        except FetchFailed:
            raise Refused(Refusal.CODE) from None
        access, identity = told.get("access_token"), told.get("id_token")
        if not isinstance(access, str) or not isinstance(identity, str):
            raise Refused(Refusal.CODE)
        sub = provider.verify(access, now)
        if provider.verify_identity(identity, now, nonce=begun.nonce, access_token=access) != sub:
            raise Refused(Refusal.SUBJECT)
        return sub

    def answers(self, answer: Sequence[tuple[str, str]], begun: BegunSignIn, now: datetime) -> bool:
        """Whether these parameters come back to what was begun, in time; nobody is asked."""
        given = dict(answer)
        own = len(given) == len(answer) and same_text(given.get("state"), begun.state)
        return own and begun.alias == self.provider.alias and 0 <= now.timestamp() - begun.since <= _LONGEST

    def _checked(self, answer: tuple[tuple[str, str], ...], begun: BegunSignIn, now: datetime) -> str:
        """The code, if this is the answer to what was begun; nothing is asked of anybody before."""
        given = dict(answer)
        if not self.answers(answer, begun, now):
            raise Refused(Refusal.STATE)
        promised = self.provider.described().get("authorization_response_iss_parameter_supported") is True
        if ("iss" in given or promised) and given.get("iss") != self.provider.issuer:
            raise Refused(Refusal.ISSUER)
        code = given.get("code", "")
        if "error" in given or not 0 < len(code) <= _MOST:
            raise Refused(Refusal.CODE)
        return code
