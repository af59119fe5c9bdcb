"""Personal access tokens: for scripts, notebooks and agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from leakcap.client.http import CuratorHttp
from leakcap.client.reading import mapping, objects_in, text_in

__all__ = ["IssuedToken", "Tokens", "issued_in"]


@dataclass(frozen=True)
class IssuedToken:
    """A new token. `secret` is told this once, and no representation shows it."""

    id: str
    expires: str
    secret: str = field(repr=False)


class Tokens:
    """One's own tokens. Iterating tells of each, without its secret."""

    def __init__(self, http: CuratorHttp) -> None:
        self._http = http

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(objects_in(self._http.get("/v1/tokens"), "tokens", "list of tokens"))

    def __repr__(self) -> str:
        return f"<Tokens at {self._http.url}>"

    def issue(
        self,
        label: str = "",
        *,
        days: int = 30,
        scopes: Sequence[str] | None = None,
        datasets: Sequence[str] | None = None,
        agent: bool = False,
    ) -> IssuedToken:
        """A new token, good for so many days; `scopes` (``read``, ``ask``, …) and `datasets` narrow it."""
        body: dict[str, Any] = {"label": label, "days": days, "agent": agent}
        body |= {} if scopes is None else {"scopes": list(scopes)}
        body |= {} if datasets is None else {"datasets": list(datasets)}
        return issued_in(mapping(self._http.post("/v1/tokens", body), "token"))

    def revoke(self, number: str) -> None:
        """End a token at once."""
        self._http.delete(f"/v1/tokens/{quote(number, safe='')}")


def issued_in(found: Mapping[str, Any]) -> IssuedToken:
    """The token that an answer tells."""
    return IssuedToken(*(text_in(found, name, "token") for name in ("id", "expires", "token")))
