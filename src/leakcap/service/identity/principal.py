"""Who asks, as verified. The subject is what the ledger calls the analyst."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from leakcap.errors import LeakcapError
from leakcap.service.store.scopes import TokenScope
from leakcap.service.store.subjects import LOCAL

__all__ = ["Principal", "Unauthenticated"]

_ASKED_AGAIN = timedelta(hours=1)


class Unauthenticated(LeakcapError):
    """Whoever asks is nobody that may. One sentence for every reason, so that none is told apart."""

    def __init__(self) -> None:
        super().__init__("The credentials are not accepted. Sign in again.")


@dataclass(frozen=True)
class Principal:
    """A verified subject, and what the credential it came with is narrowed to.

    `scopes` and `datasets` are None where nothing is narrowed; `token` is the number of the personal access
    token, None where the person signed in; `session` that of the session, None for a token and for an access
    token of a provider. `agent` says that a program asks for itself. `since` is when the session or the token
    was made, None for an access token of a provider.
    """

    subject: str
    provider: str
    scopes: frozenset[TokenScope] | None = None
    datasets: frozenset[str] | None = None
    token: str | None = None
    agent: bool = False
    since: datetime | None = None
    session: str | None = None

    def known_lately(self, now: datetime) -> bool:
        """Whether the provider, where they signed in at one, said within the hour that it knows them."""
        asked = None if self.provider == LOCAL or self.session is None else self.since
        return asked is None or now - asked < _ASKED_AGAIN
