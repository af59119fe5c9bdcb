"""The OpenID providers that a curator trusts, found by the issuer that a token names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from leakcap.errors import require
from leakcap.service.identity.oidc import OidcProvider
from leakcap.service.identity.refusals import Refusal, Refused
from leakcap.service.identity.unverified import unverified_issuer

__all__ = ["Providers"]


class Providers:
    """Providers with different aliases and issuers; none at all refuses every provider's token."""

    def __init__(self, providers: Iterable[OidcProvider] = ()) -> None:
        self._providers = tuple(providers)
        for name in ("alias", "issuer"):
            values = [getattr(one, name) for one in self._providers]
            require(len(set(values)) == len(values), name, "Providers", "be another one for each", values)

    def __iter__(self) -> Iterator[OidcProvider]:
        return iter(self._providers)

    def verify(self, text: str, now: datetime) -> tuple[str, str]:
        """The alias and the verified `sub` of an access token. Raises `Refused`.

        What the token says of its issuer chooses whose keys it is held against, and is verified with it.
        """
        issuer = unverified_issuer(text)
        for provider in self._providers:
            if provider.issuer == issuer:
                return provider.alias, provider.verify(text, now)
        raise Refused(Refusal.ISSUER)
