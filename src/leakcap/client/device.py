"""Signing in at an OpenID provider from a terminal: a code, shown here and typed in a browser (RFC 8628)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from leakcap.client.address import on_this_machine, require_secure
from leakcap.client.errors import NoAnswer, NotSignedIn
from leakcap.client.http import httpx_module
from leakcap.client.reading import json_of, mapping, text_in
from leakcap.errors import DataError
from leakcap.plain import plain

if TYPE_CHECKING:
    import httpx

__all__ = ["DeviceCode", "GivenToken", "device_token"]

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_LARGEST = 256 * 1024
_SECONDS = 15.0
_LONGEST = 1800.0
_SLOWER = 5.0
_PROVIDER = "answer of the provider"


@dataclass(frozen=True)
class DeviceCode:
    """What somebody types in a browser, and where."""

    code: str
    address: str


@dataclass(frozen=True)
class GivenToken:
    """An access token, and for how many seconds it is good; None where the provider does not say."""

    token: str = field(repr=False)
    seconds: float | None


def device_token(
    provider: Mapping[str, Any],
    show: Callable[[DeviceCode], None],
    *,
    near: bool = False,
    transport: httpx.BaseTransport | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> GivenToken:
    """The access token of whoever types the code that is shown, within its time.

    `provider` is what the curator says of it; `near` whether the curator is on this machine, where a provider
    may be, too. Raises `NotSignedIn` where the code is refused or runs out, `DataError` for answers that are
    none, and `NoAnswer` where the provider cannot be reached.
    """
    begin = _endpoint(provider, "device_authorization_endpoint", near)
    end = _endpoint(provider, "token_endpoint", near)
    known = httpx_module()
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    with known.Client(
        follow_redirects=False, trust_env=not near, timeout=_SECONDS, transport=transport, headers=headers
    ) as client:
        client_id = text_in(provider, "client_id", _PROVIDER)
        asked = {
            "client_id": client_id,
            "scope": "openid",
            "audience": text_in(provider, "audience", _PROVIDER),
        }
        status, told = _posted(client, known, begin, asked)
        if status != 200:
            raise NotSignedIn(f"The provider gives no code to terminals: {_why(told)}.")
        device = text_in(told, "device_code", _PROVIDER, most=4000)
        address = text_in(told, "verification_uri", _PROVIDER, most=500)
        require_secure(address, "verification_uri", "the provider")
        show(DeviceCode(text_in(told, "user_code", _PROVIDER, most=80), address))
        interval, deadline = _number(told, "interval", 5.0), clock() + _number(told, "expires_in", 600.0)
        asked = {"grant_type": _GRANT, "device_code": device, "client_id": client_id}
        while clock() + interval < deadline:
            sleep(interval)
            status, told = _posted(client, known, end, asked)
            if status == 200:
                seconds = told.get("expires_in")
                lasting = float(seconds) if isinstance(seconds, int) and 0 < seconds < 10**9 else None
                return GivenToken(text_in(told, "access_token", _PROVIDER, most=8192), lasting)
            why = told.get("error")
            if why == "slow_down":
                interval += _SLOWER
            elif why != "authorization_pending":
                raise NotSignedIn(f"The provider does not let you in: {_why(told)}. Sign in again.")
    raise NotSignedIn("Nobody typed the code in its time. Sign in again.")


def _endpoint(provider: Mapping[str, Any], name: str, near: bool) -> str:
    """An address of the provider's, to which a code may go: not one of this machine's, unless all is here."""
    if not isinstance(provider.get(name), str):
        raise NotSignedIn(
            "This provider does not sign in terminals with a code, or the curator could not ask it. Use a "
            "personal access token: LEAKCAP_TOKEN."
        )
    url = text_in(provider, name, _PROVIDER, most=500)
    host = require_secure(url, name, "the provider").hostname or ""
    if on_this_machine(host) and not near:
        raise DataError(f"`{name}` of the provider leads to this machine, where it is not.")
    return url


def _posted(client: Any, known: Any, url: str, form: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    try:
        with client.stream("POST", url, data=dict(form)) as answer:
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise DataError("The provider's answer is compressed, which was not asked for.")
            body = b""
            for part in answer.iter_raw():
                body += part
                if len(body) > _LARGEST:
                    raise DataError("The provider's answer is too long.")
            return answer.status_code, mapping(json_of(body), _PROVIDER)
    except known.HTTPError as error:
        raise NoAnswer(f"No answer from the provider: {type(error).__name__}.") from None


def _number(told: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = told.get(name, otherwise)
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= _LONGEST
    return float(value) if fine else otherwise


def _why(told: Mapping[str, Any]) -> str:
    said = told.get("error_description") or told.get("error")
    return plain(said)[:200].rstrip(".") if isinstance(said, str) else "no reason is given"
