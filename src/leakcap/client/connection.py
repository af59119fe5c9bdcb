"""The way to a curator: who asks, the data sets, tokens and jobs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from leakcap.client.credentials import known_token
from leakcap.client.errors import NotThere
from leakcap.client.http import CuratorHttp
from leakcap.client.jobs import Jobs
from leakcap.client.reading import mapping, objects_in, text_in
from leakcap.client.table import RemoteTable
from leakcap.client.tokens import IssuedToken, Tokens, issued_in
from leakcap.plain import plain

if TYPE_CHECKING:
    import httpx

    from leakcap.report.records import BudgetRecord

__all__ = ["Connection", "connect"]

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def connect(
    url: str,
    token: str | None = None,
    *,
    certificate: str | Path | None = None,
    seconds: float = 120.0,
) -> Connection:
    """A connection to the curator at this address, under a token.

    Without `token`: that of `LEAKCAP_TOKEN` where `LEAKCAP_SERVER` names this address, else the one that
    `leakcap login` kept. `certificate` is a PEM file with a certificate of one's own and its key, where the
    curator asks for it; without it, that of `LEAKCAP_CERTIFICATE`, for the address in `LEAKCAP_SERVER`.
    `seconds` is how long an answer may take. Raises `InvalidParameter` for an address
    that is not https (http on this machine alone); nothing is asked before the first question.

    >>> with connect("https://curator.example.org", token="lkc_0123") as curator:
    ...     curator
    <Connection to https://curator.example.org>
    """
    return Connection(url, token, certificate=certificate, seconds=seconds)


class Connection:
    """A curator, asked under one token, which no representation shows.

    ``curator["ward"]`` is a table; `me`, `datasets`, `budget`, `tokens` and `jobs` say the rest. `transport`
    is for tests.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        certificate: str | Path | None = None,
        seconds: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        found = known_token(url) if token is None else token
        self._http = CuratorHttp(url, found, seconds=seconds, certificate=certificate, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection to {self._http.url}>"

    @property
    def url(self) -> str:
        """Where the curator is."""
        return self._http.url

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def about(self) -> dict[str, Any]:
        """What the curator is, and how to sign in there."""
        return mapping(self._http.get("/v1"), "answer")

    def me(self) -> dict[str, Any]:
        """Who asks, as the curator has verified it, with the roles by data set. Raises `NotSignedIn`."""
        return mapping(self._http.get("/v1/me"), "answer")

    def sign_in(self, name: str, password: str) -> IssuedToken:
        """A session of a local account, for twelve hours. Raises `NotSignedIn`, `TryLater` after too many
        attempts, and `PasswordNotChosen` for a password that somebody else gave."""
        found = mapping(self._http.post("/v1/session", {"name": name, "password": password}), "token")
        return issued_in(found)

    def change_password(
        self, name: str, password: str, chosen: str, *, end_tokens: bool = False
    ) -> IssuedToken:
        """A session under another password of a local account. All its other sessions end, and with
        `end_tokens` its tokens. Raises what `sign_in` raises, and `InvalidParameter` for a weak one."""
        body = {"name": name, "password": password, "chosen": chosen, "end_tokens": end_tokens}
        return issued_in(mapping(self._http.post("/v1/password", body), "token"))

    def sign_out(self) -> None:
        """End the session that this connection's token is of."""
        self._http.delete("/v1/session")

    def datasets(self) -> list[dict[str, Any]]:
        """The data sets in which one has a role: ``name``, ``title``, ``roles``, ``paused``."""
        found = objects_in(self._http.get("/v1/datasets"), "datasets", "list of data sets")
        return [_listed_dataset(one) for one in found]

    def __getitem__(self, name: str) -> RemoteTable:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise NotThere(f"There is no data set {str(name)[:80]!r}.")
        return RemoteTable(self._http, name, lambda: self._subject)

    def budget(self, name: str) -> BudgetRecord:
        """What all have spent of a data set's caps, with one's own account and entries."""
        return self[name].accounts()

    @property
    def tokens(self) -> Tokens:
        """One's own tokens: listed, issued, revoked."""
        return Tokens(self._http)

    @property
    def jobs(self) -> Jobs:
        """One's own jobs, and those that one may see."""
        return Jobs(self._http, self._answers)

    @cached_property
    def _subject(self) -> str:
        return text_in(self.me(), "subject", "answer", most=300)

    def _answers(self, job: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
        """How the answers of a job are read."""
        return lambda told: self[str(job.get("dataset"))].answers(job.get("asked"), told)


def _listed_dataset(found: Mapping[str, Any]) -> dict[str, Any]:
    roles = found.get("roles")
    return {
        "name": text_in(found, "name", "list of data sets", most=64),
        "title": text_in(found, "title", "list of data sets"),
        "roles": [plain(str(one))[:40] for one in roles] if isinstance(roles, list) else [],
        "paused": found.get("paused") is True,
    }
