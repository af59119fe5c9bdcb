"""Requests to one curator: certificates checked, no redirect followed, sizes and times bounded.

A request that pays for nothing, or has an idempotency key, is sent again where its answer was lost, a few
times and ever later, always with the same key: nothing is paid twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakcap.client.address import on_this_machine, server_address
from leakcap.client.certificates import known_certificate, with_certificate
from leakcap.client.errors import NoAnswer, NotSignedIn
from leakcap.client.reading import error_in, json_of
from leakcap.credentials import shown_url
from leakcap.errors import DataError, InvalidParameter, LeakcapError

if TYPE_CHECKING:
    import httpx

__all__ = ["CuratorHttp", "httpx_module"]

_LARGEST = 256 * 2**20
"""The longest answer in bytes: the longest message of an engine."""
_PAUSES = (0.2, 0.6, 1.8)
"""Seconds between attempts."""
_LONGEST_PAUSE = 10.0
_CONNECTING = 10.0
_AGAIN = frozenset({"engine-ended", "engine-unreachable"})
_CHUNKED = frozenset({502, 503, 504})


def httpx_module() -> Any:
    """httpx, or one line that says how to get it. Raises `InvalidParameter`."""
    try:
        import httpx
    except ImportError:
        raise InvalidParameter(
            "To ask a curator takes httpx. Install it: pip install 'leakcap[client]'."
        ) from None
    return httpx


class CuratorHttp:
    """One curator's address, and a token that no representation shows; `seconds` is how long an answer may
    take, or a job be waited for, `certificate` a file with that of one's own and its key, where the curator
    asks for it. `transport` and `pause` are for tests."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        seconds: float = 120.0,
        certificate: str | Path | None = None,
        transport: httpx.BaseTransport | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = server_address(url)
        if token is not None:
            _require_token(token)
        fine = isinstance(seconds, int | float) and 0.0 < seconds <= 3600.0
        if not fine:
            raise InvalidParameter("`seconds` of `connect` must be above 0 and at most 3,600.")
        known = httpx_module()
        headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "leakcap"}
        host = known.URL(self.url).host
        # Around this machine no proxy leads; elsewhere an office's may be the only way out.
        trusting = not on_this_machine(host)
        shown = certificate if certificate is not None else known_certificate(self.url)
        verify: Any = True
        if shown is not None:
            verify = with_certificate(known.create_ssl_context(trust_env=trusting), shown)
        self.seconds, self._token, self._pause = float(seconds), token, pause
        self._client = known.Client(
            base_url=self.url,
            headers=headers,
            follow_redirects=False,
            verify=verify,
            trust_env=trusting,
            timeout=known.Timeout(seconds, connect=min(_CONNECTING, seconds)),
            transport=transport,
        )
        self._failed = known.HTTPError

    def __repr__(self) -> str:
        return f"<CuratorHttp {self.url}>"

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def get(self, path: str, **query: str | int) -> Any:
        """What stands at an address."""
        return self._asked("GET", path, query=query)[1]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What is answered to something that costs nothing to say twice, or that says so."""
        return self._asked("POST", path, body=body, once=True)[1]

    def delete(self, path: str) -> Any:
        """What is answered when something is taken away."""
        return self._asked("DELETE", path, once=True)[1]

    def pay(self, path: str, body: Mapping[str, Any], request: str) -> tuple[int, Any]:
        """Status and answer of what is paid for, under this idempotency key. Raises `NoAnswer` with the key
        where the answer was lost each time."""
        return self._asked("POST", path, body=body, request=request)

    def _asked(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | int] | None = None,
        request: str = "",
        once: bool = False,
    ) -> tuple[int, Any]:
        headers = {} if self._token is None else {"authorization": f"Bearer {self._token}"}
        if request:
            headers["idempotency-key"] = request
        told = "it could not be reached"
        for pause in (*((0.0,) if once else (0.0, *_PAUSES)),):
            if pause:
                self._pause(pause)
            try:
                status, found, wait = self._sent(method, path, body, query, headers)
            except self._failed as error:
                told = f"it could not be reached ({type(error).__name__})"
                continue
            if status in _CHUNKED and not once and _lost(found):
                told = f"it answers with status {status}"
                continue
            if status == 429 and not once and wait is not None and wait <= _LONGEST_PAUSE:
                self._pause(wait)
                told = "it takes no more requests for now"
                continue
            try:
                return status, self._fine(status, found, request)
            except NotSignedIn as error:
                if path in ("/v1/session", "/v1/password"):
                    raise
                raise error.saying(f"{error} Sign in: leakcap login {self.url}") from None
        raise _no_answer(self.url, told, request)

    def _fine(self, status: int, found: Any, request: str) -> Any:
        if 200 <= status < 300:
            return found
        if 300 <= status < 400:
            raise DataError(f"{self.url} leads elsewhere (status {status}), which is not followed.")
        error: LeakcapError = error_in(status, found)
        if status in (500, 504):
            raise _no_answer(self.url, str(error).rstrip("."), request)
        raise error

    def _sent(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str | int] | None,
        headers: Mapping[str, str],
    ) -> tuple[int, Any, float | None]:
        """Status, JSON, and after how many seconds one may ask again."""
        give_up = time.monotonic() + self.seconds
        with self._client.stream(method, path, json=body, params=query or None, headers=headers) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise DataError("The curator's answer is compressed, which was not asked for.")
            parts, size = [], 0
            for part in answer.iter_raw():
                parts.append(part)
                size += len(part)
                if size > _LARGEST:
                    raise DataError(f"The curator's answer is longer than {_LARGEST // 2**20} MiB.")
                if time.monotonic() > give_up:
                    raise self._failed("too slow")
            wait = answer.headers.get("retry-after", "")
            seconds = float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 6 else None
            text = b"".join(parts)
            sort = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
            if sort in ("application/json", "application/problem+json"):
                return answer.status_code, json_of(text), seconds
            if 200 <= answer.status_code < 300 and answer.status_code != 204:
                raise DataError(f"What answers at {self.url} is no curator: it does not speak JSON.")
            return answer.status_code, None, seconds


def _lost(found: Any) -> bool:
    """Whether nobody with a say in it answered: a proxy did, or the engine is being started."""
    kind = found.get("type") if isinstance(found, dict) else None
    return not isinstance(kind, str) or kind.rpartition(":")[2] in _AGAIN


def _no_answer(url: str, told: str, request: str) -> NoAnswer:
    paid = ""
    if request:
        paid = (
            " Whether it was paid for, only the curator knows: ask again with "
            f'request="{request}", and it is paid for once.'
        )
    return NoAnswer(f"No answer from {shown_url(url)}: {told}.{paid}", request=request)


def _require_token(token: object) -> None:
    text = token if isinstance(token, str) else ""
    if not (0 < len(text) <= 8192 and text.isascii() and all("!" <= c <= "~" for c in text)):
        raise InvalidParameter("`token` of `connect` must be printable ASCII without spaces.")
