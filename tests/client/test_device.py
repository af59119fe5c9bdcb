"""Signing in with a code: a provider that answers as RFC 8628 has it, and some that do not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

import leakcap.client
import leakcap.client.device
from client.in_process import HOME, InProcess, curator_in, token_of
from command_line import leakcap as run
from leakcap.client import Connection, NoAnswer, NotSignedIn
from leakcap.client.credentials import kept_token
from leakcap.client.device import DeviceCode, device_token
from leakcap.errors import LeakcapError

ISSUER = "https://id.example.org"
PROVIDER = {
    "alias": "office",
    "issuer": ISSUER,
    "client_id": "leakcap-cli",
    "audience": "https://curator.example.org",
    "device_authorization_endpoint": f"{ISSUER}/device",
    "token_endpoint": f"{ISSUER}/token",
}
BEGUN = {
    "device_code": "dev-secret",
    "user_code": "WDJB-MJHT",
    "verification_uri": f"{ISSUER}/activate",
    "expires_in": 600,
    "interval": 3,
}
PENDING = (400, {"error": "authorization_pending"})
SLOWER = (400, {"error": "slow_down"})


class Provider:
    """What the provider answers, in turn; the time passes with each wait."""

    def __init__(self, *turns: tuple[int, Any], begun: Any = BEGUN) -> None:
        self._turns, self._begun = iter(turns), begun
        self.forms: list[dict[str, list[str]]] = []
        self.waits: list[float] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.host == "id.example.org"
        self.forms.append(parse_qs(request.content.decode()))
        if request.url.path == "/device":
            return _told(200, self._begun)
        return _told(*next(self._turns, PENDING))

    def sign_in(self, shown: Callable[[DeviceCode], None] = lambda code: None, **more: Any) -> Any:
        return device_token(
            {**PROVIDER, **more},
            shown,
            transport=httpx.MockTransport(self),
            sleep=self.waits.append,
            clock=lambda: sum(self.waits),
        )


def _told(status: int, content: Any) -> httpx.Response:
    text = httpx.Response(status, json=content).content
    headers = {"content-type": "application/json"}
    return httpx.Response(status, headers=headers, stream=httpx.ByteStream(text))


def test_the_code_is_shown_and_the_token_is_waited_for() -> None:
    shown: list[DeviceCode] = []
    provider = Provider(PENDING, SLOWER, PENDING, (200, {"access_token": "at", "expires_in": 300}))
    given = provider.sign_in(shown.append)
    assert (given.token, given.seconds) == ("at", 300.0)
    assert "at" not in repr(given).partition("seconds")[0].partition("(")[2]
    assert shown == [DeviceCode("WDJB-MJHT", f"{ISSUER}/activate")]
    assert provider.waits == [3.0, 3.0, 8.0, 8.0]  # RFC 8628, 3.5: five seconds more, from then on
    assert provider.forms[0]["audience"] == ["https://curator.example.org"]
    assert provider.forms[1]["grant_type"] == ["urn:ietf:params:oauth:grant-type:device_code"]
    assert provider.forms[1]["device_code"] == ["dev-secret"]


def test_a_refusal_and_a_code_that_ran_out() -> None:
    denied = {"error": "access_denied", "error_description": "You said no\x1b[2J."}
    with pytest.raises(NotSignedIn, match=r"You said no\\x1b\[2J\. Sign in again") as found:
        Provider((400, denied)).sign_in()
    assert "\x1b" not in str(found.value)
    patient = Provider()
    with pytest.raises(NotSignedIn, match="Nobody typed the code"):
        patient.sign_in()
    assert 590 < sum(patient.waits) < 600


BROKEN: list[Any] = [
    [],
    {},
    {**BEGUN, "user_code": 5},
    {**BEGUN, "verification_uri": "http://evil.example/x"},
    {**BEGUN, "verification_uri": "https://evil.example/\x1b[2J"},
    {**BEGUN, "device_code": "x" * 10_000},
]


@pytest.mark.parametrize("begun", BROKEN)
def test_answers_that_are_none(begun: Any) -> None:
    shown: list[DeviceCode] = []
    with pytest.raises(LeakcapError) as found:
        Provider(begun=begun).sign_in(shown.append)
    assert shown == []
    assert "\x1b" not in str(found.value)
    with pytest.raises(LeakcapError):
        Provider((200, {"access_token": ["x"]})).sign_in()


@pytest.mark.parametrize(
    "endpoint", ["http://id.example.org/device", "https://127.0.0.1/device", "http://localhost:1/x", 7, None]
)
def test_no_code_is_asked_for_in_the_open_nor_of_this_machine(endpoint: Any) -> None:
    provider = Provider()
    with pytest.raises(LeakcapError):
        provider.sign_in(device_authorization_endpoint=endpoint)
    assert provider.forms == []


def test_a_provider_that_cannot_be_reached() -> None:
    def dead(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    with pytest.raises(NoAnswer, match="ConnectError"):
        device_token(PROVIDER, lambda code: None, transport=httpx.MockTransport(dead))


@pytest.fixture
def curator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, InProcess]]:
    """A curator without accounts of its own, whose provider is the one above; a token that it takes."""
    found = curator_in(tmp_path)
    transport = InProcess(found)
    about = {"name": "c", "api": "v1", "local_accounts": False, "providers": [PROVIDER]}
    transport.before = lambda one: httpx.Response(200, json=about) if one.url.path == "/v1" else None
    monkeypatch.setattr(leakcap.client, "connect", lambda url: Connection(url, transport=transport))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    yield token_of(found, "ada"), transport
    found.store.close()


def test_login_shows_address_and_code(
    curator: tuple[str, InProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    token, _ = curator
    provider = Provider(PENDING, (200, {"access_token": token, "expires_in": 300}))
    with_it = functools.partial(
        device_token, transport=httpx.MockTransport(provider), sleep=provider.waits.append
    )
    monkeypatch.setattr(leakcap.client.device, "device_token", with_it)
    done = run("login", HOME)
    assert done.stderr == ""
    assert f"Open {ISSUER}/activate and type the code WDJB-MJHT" in done.stdout
    assert "Signed in as local:ada until" in done.stdout
    assert token not in done.stdout
    assert kept_token(HOME) == token
    told = run("login", HOME, "--provider", "other")
    assert (told.returncode, told.stderr.count("\n")) == (2, 1)
    assert "It has office" in told.stderr
