"""Who asks, as verified. The subject is what the ledger calls the analyst."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leakcap.errors import LeakcapError
from leakcap.service.store.scopes import TokenScope

__all__ = ["Principal", "Unauthenticated"]


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
