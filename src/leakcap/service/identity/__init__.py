"""Who asks: from what a request presents to a verified name."""

from __future__ import annotations

from leakcap.service.identity.authenticate import (
    Bearer,
    Credentials,
    SessionCookie,
    authenticate,
    sign_in,
)
from leakcap.service.identity.oidc import OidcProvider
from leakcap.service.identity.principal import Principal, Unauthenticated
from leakcap.service.identity.providers import Providers

__all__ = [
    "Bearer",
    "Credentials",
    "OidcProvider",
    "Principal",
    "Providers",
    "SessionCookie",
    "Unauthenticated",
    "authenticate",
    "sign_in",
]
