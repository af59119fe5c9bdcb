"""The OpenID providers that a configuration names."""

from __future__ import annotations

from pathlib import Path

from leakcap.service.configuration import Configuration
from leakcap.service.identity.oidc import OidcProvider
from leakcap.service.identity.providers import Providers

__all__ = ["providers_of"]


def providers_of(configuration: Configuration) -> Providers:
    """Each under its alias; nothing is fetched before a first token comes."""
    return Providers(
        OidcProvider(
            alias,
            issuer=one.issuer,
            audience=one.audience,
            client_id=one.client_id,
            algorithms=tuple(one.algorithms),
            console_client_id=one.console_client_id,
            token_days=one.token_days,
            console_secret=Path(one.console_secret).read_text().strip() if one.console_secret else "",
        )
        for alias, one in configuration.identity.items()
    )
