"""Signing in at a provider from the console: who is verified gets in, and of those who try otherwise nobody.

The provider is scripted: it holds codes to the challenge and the address they were asked with, as RFC 7636
and RFC 6749 say, and can be told to answer anything.
"""

from __future__ import annotations

import base64
import hashlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from httpx2 import Response

from leakcap.errors import InvalidParameter
from leakcap.service.api.curator import Curator
from leakcap.service.configuration import load_configuration
from leakcap.service.identity import Bearer, OidcProvider, Providers, Unauthenticated, authenticate
from leakcap.service.identity.code_flow import BegunSignIn
from leakcap.service.identity.fetching import FetchFailed
from leakcap.service.running.checking import require_fit
from leakcap.service.running.providers import providers_of
from leakcap.service.store.tokens import SESSION
from service.direct import written
from service.issuers import Issuer, key_of, signed
from service.visiting import HOME, Browser, staffed, visitor

COOKIE = "leakcap_8422"
BEGUN = f"{COOKIE}-entering"
ISSUERS = {"uni": "https://id.example/uni", "evil": "https://evil.example"}
IDENTITY = "".join(
    f'[identity.{alias}]\nissuer = "{url}"\naudience = "curator"\nclient_id = "terminal"\n'
    f'console_client_id = "console-{alias}"\ntitle = "The {alias}"\nalgorithms = ["RS256"]\n'
    for alias, url in ISSUERS.items()
)


class Scripted(Issuer):
    """A provider with a page where people sign in, and codes."""

    def __init__(self, url: str, now: Callable[[], datetime]) -> None:
        super().__init__(url)
        self.now = now
        self.codes: dict[str, dict[str, str]] = {}
        self.redeemed: list[Mapping[str, str]] = []
        self.promises_iss = False
        self.access: dict[str, Any] = {}
        self.identity: dict[str, Any] = {}
        self.answers: dict[str, Any] = {}
        self.document: dict[str, Any] = {}

    def fetch(self, url: str) -> Mapping[str, Any]:
        found = dict(super().fetch(url))
        if "issuer" in found:
            found["authorization_endpoint"] = f"{self.url}/authorize"
            found["authorization_response_iss_parameter_supported"] = self.promises_iss
            found |= self.document
        return found

    def sign_in(self, address: str, sub: str) -> dict[str, str]:
        """What the provider sends the browser back with, once this person has signed in."""
        asked = dict(parse_qsl(urlsplit(address).query, strict_parsing=True))
        assert address.startswith(f"{self.url}/authorize?")
        assert asked["response_type"] == "code"
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = {**asked, "sub": sub}
        told = {"code": code, "state": asked["state"]}
        return {**told, "iss": self.url} if self.promises_iss else told

    def post(self, url: str, form: Mapping[str, str], account: tuple[str, str] | None) -> Mapping[str, Any]:
        assert url == f"{self.url}/token"
        self.redeemed.append({**form, "account": str(account)})
        asked = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (
            asked is None
            or challenge.decode().rstrip("=") != asked["code_challenge"]
            or form["redirect_uri"] != asked["redirect_uri"]
            or form.get("client_id", asked["client_id"]) != asked["client_id"]
        ):
            raise FetchFailed("status 400")
        access = self.token(self.now(), sub=asked["sub"], **self.access)
        told = {"aud": asked["client_id"], "nonce": asked["nonce"], "sub": asked["sub"], **self.identity}
        claims = {
            name: value for name, value in self.claims(self.now(), **told).items() if name != "client_id"
        }
        header = {"alg": "RS256", "typ": "JWT", "kid": self.names[-1]}
        identity = signed(header, claims, key_of(self.algorithm, self.names[-1]))
        return {"token_type": "Bearer", "access_token": access, "id_token": identity, **self.answers}


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = staffed(tmp_path, more=IDENTITY)
    found.store.people.add("uni:8f14e45f", by="local:root")
    found.store.grants.give("uni:8f14e45f", "analyst", "ward", by="local:root")
    yield found
    found.store.close()


@pytest.fixture
def providers(curator: Curator) -> dict[str, Scripted]:
    """The two providers; the curator reads them."""
    found = {alias: Scripted(url, curator.store.clock) for alias, url in ISSUERS.items()}
    made = Providers(
        replace(one, fetch=found[one.alias].fetch, post=found[one.alias].post) for one in curator.providers
    )
    object.__setattr__(curator, "providers", made)
    return found


def begun(browser: Browser, alias: str = "uni", to: str = "") -> str:
    """The provider's address, to which this browser was sent."""
    answer = browser.get(f"/sign-in/{alias}" + (f"?{urlencode({'to': to})}" if to else ""))
    assert answer.status_code == 303, answer.text[-500:]
    return str(answer.headers["location"])


def back(browser: Browser, told: Mapping[str, str] | str, alias: str = "uni") -> Response:
    """Back from the provider: a navigation that another site began."""
    query = told if isinstance(told, str) else urlencode(told)
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    return browser.get(f"/sign-in/{alias}/callback?{query}", **headers)


def refused(answer: Response, browser: Browser) -> None:
    """Nobody was signed in, in the same words for every reason."""
    assert answer.status_code == 401
    assert "Signing in did not succeed. Nobody was signed in." in answer.text
    assert f"{COOKIE}=" not in answer.headers.get("set-cookie", "").replace(BEGUN, "")
    assert browser.get("/tokens").status_code == 303


def test_whom_the_provider_verifies_is_signed_in(curator: Curator, providers: dict[str, Scripted]) -> None:
    browser = Browser(curator)
    assert 'href="/sign-in/uni?to=/queue"' in browser.get("/sign-in?to=/queue").text
    address = begun(browser, to="/answers")
    asked = {name: value[0] for name, value in parse_qs(urlsplit(address).query).items()}
    assert asked["redirect_uri"] == f"{HOME}/sign-in/uni/callback"
    assert (asked["client_id"], asked["audience"], asked["scope"]) == ("console-uni", "curator", "openid")
    kept = browser.web.cookies[BEGUN]
    secret, alias, moment, _ = kept.split(":")
    verifier = BegunSignIn(secret, alias, int(moment), "/answers").verifier
    assert 43 <= len(verifier) <= 128
    assert verifier not in address
    assert secret not in address
    answer = back(browser, providers["uni"].sign_in(address, "8f14e45f"))
    assert answer.status_code == 200
    assert 'content="0; url=/answers"' in answer.text
    assert browser.get("/answers").status_code == 200
    assert "uni:8f14e45f" in browser.get("/").text
    assert providers["uni"].redeemed[0]["code_verifier"] == verifier
    assert BEGUN not in browser.web.cookies


def test_the_cookies_are_those_of_the_console(curator: Curator, providers: dict[str, Scripted]) -> None:
    public = {"public": "https://curator.example.org", "behind_proxy": True}
    far = replace(curator, configuration=curator.configuration.model_copy(update=public))
    browser = Browser(far, "https://curator.example.org")
    answer = browser.get("/sign-in/uni", host="curator.example.org")
    name, _, rest = answer.headers["set-cookie"].partition("=")
    flags = {part.strip().lower() for part in rest.split(";")[1:]}
    assert name == "__Host-leakcap-entering"
    assert {"httponly", "secure", "path=/", "samesite=lax", "max-age=600"} <= flags
    answer = back(browser, providers["uni"].sign_in(answer.headers["location"], "8f14e45f"))
    kept = [one for one in answer.headers.get_list("set-cookie") if one.startswith("__Host-leakcap=")]
    assert "samesite=strict" in kept[0].lower()
    assert "secure" in kept[0].lower()


def test_whatever_name_the_request_has_the_browser_comes_back_to_one_address(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    """A `Host` of the machine's own, or what a proxy says, is no part of it."""
    for headers in ({"host": "localhost"}, {"x-forwarded-host": "evil.example"}):
        location = Browser(curator).get("/sign-in/uni", **headers).headers["location"]
        assert parse_qs(urlsplit(location).query)["redirect_uri"] == [f"{HOME}/sign-in/uni/callback"]


def test_a_code_of_another_browser_signs_nobody_in(curator: Curator, providers: dict[str, Scripted]) -> None:
    """Login CSRF: the attacker's own code and state, opened by somebody else."""
    attacker, victim = Browser(curator), Browser(curator)
    told = providers["uni"].sign_in(begun(attacker), "8f14e45f")
    refused(back(victim, told), victim)
    # Also where the victim has begun to sign in, and where the state is theirs and the code is not.
    mine = providers["uni"].sign_in(begun(victim), "8f14e45f")
    refused(back(victim, told), victim)
    assert providers["uni"].redeemed == []
    begun(victim)
    mine = providers["uni"].sign_in(begun(victim), "8f14e45f")
    refused(back(victim, {**mine, "code": told["code"]}), victim)


class Later:
    """The curator's clock, and the provider's, moved by hand."""

    def __init__(self, curator: Curator, uni: Scripted) -> None:
        self._begun, self._after = curator.store.clock(), timedelta(0)
        object.__setattr__(curator.store, "clock", self)
        curator.store.tokens._clock = uni.now = self

    def __call__(self) -> datetime:
        return self._begun + self._after

    def pass_(self, **time: float) -> None:
        self._after += timedelta(**time)


def asked_again(browser: Browser, path: str) -> str:
    """The provider's address, to which a page leads after an hour."""
    answer = browser.get(path)
    assert answer.status_code == 303, answer.text[:200]
    assert answer.headers["location"] == f"/sign-in/uni?{urlencode({'to': path, 'again': 'yes'})}"
    return str(browser.follow(answer).headers["location"])


def test_the_provider_is_asked_again_after_an_hour_and_shows_nothing(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    browser, later = Browser(curator), Later(curator, providers["uni"])
    first = begun(browser)
    assert "prompt" not in parse_qs(urlsplit(first).query)
    back(browser, providers["uni"].sign_in(first, "8f14e45f"))
    later.pass_(minutes=59)
    assert browser.get("/tokens").status_code == 200
    later.pass_(minutes=1)
    scripted = {"sec-fetch-dest": "empty", "sec-fetch-mode": "cors"}
    assert browser.get("/jobs", **scripted).status_code == 200  # a script that looks at a job goes on
    address = asked_again(browser, "/tokens")
    assert parse_qs(urlsplit(address).query)["prompt"] == ["none"]
    answer = back(browser, providers["uni"].sign_in(address, "8f14e45f"))
    assert 'content="0; url=/tokens"' in answer.text
    for minutes in (0, 59):
        later.pass_(minutes=minutes)
        assert browser.get("/tokens").status_code == 200


def test_whom_the_provider_let_go_sees_no_page_after_an_hour_and_has_no_session_after_two(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    browser, later = Browser(curator), Later(curator, providers["uni"])
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    form, session = browser.token(), browser.web.cookies[COOKIE]
    later.pass_(hours=1)
    for path in ("/", "/datasets/ward/ask", "/answers"):
        state = parse_qs(urlsplit(asked_again(browser, path)).query)["state"][0]
        answer = back(browser, {"error": "login_required", "state": state})
        assert answer.status_code == 401
        assert "You are no longer signed in at your provider." in answer.text
        assert f'href="/sign-in/uni?to={path}"' in answer.text
        assert f"{COOKIE}=" not in answer.headers.get("set-cookie", "").replace(BEGUN, "")
    later.pass_(minutes=59)
    assert curator.store.tokens.find(session) is not None  # forms that were open go on until then
    later.pass_(minutes=1)
    assert curator.store.tokens.find(session) is None
    assert browser.send("/tokens", {"form": form, "label": "kept", "days": "366"}).status_code == 401


def test_a_planted_console_that_never_asks_again_is_seen(
    curator: Curator, providers: dict[str, Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, later = Browser(curator), Later(curator, providers["uni"])
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    monkeypatch.setattr("leakcap.service.identity.principal._ASKED_AGAIN", timedelta(hours=12))
    later.pass_(minutes=90)
    assert browser.get("/tokens").status_code == 200  # what the test above would find
    fields = {"form": browser.token(), "label": "kept", "days": "366"}
    assert browser.send("/tokens", fields).status_code == 201  # and what the one of tokens would
    # One that takes whoever comes back for the person whom it asked about.
    monkeypatch.undo()
    monkeypatch.setattr("leakcap.service.store.tokens.TokenBook.goes_on", lambda *_: True)
    curator.store.people.add("uni:another", by="local:root")
    address = asked_again(browser, "/tokens")
    assert back(browser, providers["uni"].sign_in(address, "another")).status_code == 200


@pytest.mark.parametrize("other", ["another", "a-stranger"])
def test_another_person_who_comes_back_is_not_signed_in_and_the_session_ends(
    curator: Curator, providers: dict[str, Scripted], other: str
) -> None:
    """Somebody else has signed in at the provider since, in the same browser."""
    curator.store.people.add("uni:another", by="local:root")
    browser, later = Browser(curator), Later(curator, providers["uni"])
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    session = browser.web.cookies[COOKIE]
    later.pass_(hours=1)
    address = asked_again(browser, "/tokens")
    assert "8f14e45f" not in browser.web.cookies[BEGUN]
    answer = back(browser, providers["uni"].sign_in(address, other))
    assert answer.status_code == 403
    assert "does not know the person who was signed in here" in answer.text
    assert other not in answer.text
    assert curator.store.tokens.find(session) is None
    assert COOKIE not in browser.web.cookies
    assert curator.store.tokens.list(f"uni:{other}", kind=SESSION) == ()
    assert browser.get("/tokens").headers["location"] == "/sign-in?to=%2Ftokens"
    # Whoever begins anew, and is asked for nobody in particular, is signed in.
    assert back(browser, providers["uni"].sign_in(begun(browser), "another")).status_code == 200


def test_what_is_kept_for_the_way_back_cannot_be_made_to_ask_for_nobody(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    """The session's number is part of the state: without it the answer is of another sign-in."""
    browser, later = Browser(curator), Later(curator, providers["uni"])
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    later.pass_(hours=1)
    told = providers["uni"].sign_in(asked_again(browser, "/tokens"), "8f14e45f")
    kept = browser.web.cookies[BEGUN]
    browser.web.cookies.clear()
    browser.web.cookies.set(BEGUN, kept.rpartition(":")[0])
    refused(back(browser, told), browser)


def test_whoever_signed_out_while_the_provider_was_asked_stays_out(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    browser, later = Browser(curator), Later(curator, providers["uni"])
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    later.pass_(hours=1)
    told = providers["uni"].sign_in(asked_again(browser, "/tokens"), "8f14e45f")
    curator.store.tokens.end(browser.web.cookies[COOKIE])
    assert back(browser, told).status_code == 403


def test_a_token_takes_a_providers_word_of_within_the_hour(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    """A form that was open goes on for two hours, and makes nothing that outlasts the provider's word."""
    browser, later = Browser(curator), Later(curator, providers["uni"])
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    fields = {"form": browser.token(), "label": "kept", "days": "366"}
    later.pass_(minutes=59)
    assert browser.send("/tokens", fields).status_code == 201
    later.pass_(minutes=1)
    answer = browser.send("/tokens", fields)
    assert (answer.status_code, "No token was made." in answer.text) == (403, True)
    assert len(curator.store.tokens.list("uni:8f14e45f")) == 1
    back(browser, providers["uni"].sign_in(asked_again(browser, "/tokens"), "8f14e45f"))
    assert browser.send("/tokens", {**fields, "form": browser.token()}).status_code == 201


def test_a_local_account_makes_tokens_at_any_hour(curator: Curator, providers: dict[str, Scripted]) -> None:
    browser, later = visitor(curator, "ada"), Later(curator, providers["uni"])
    later.pass_(hours=11)
    fields = {"form": browser.token(), "label": "kept", "days": "3"}
    assert browser.send("/tokens", fields).status_code == 201


def test_nobody_else_is_sent_to_a_provider(curator: Curator, providers: dict[str, Scripted]) -> None:
    browser, later = visitor(curator, "ada"), Later(curator, providers["uni"])
    later.pass_(hours=11)
    assert browser.get("/tokens").status_code == 200
    # A provider that is asked again and answers otherwise than it may signs nobody in.
    other = Browser(curator)
    assert "again" not in begun(other)
    for told in ({"error": "login_required"}, {"error": "login_required", "state": "x"}):
        assert "Signing in did not succeed." in back(Browser(curator), told).text


def test_no_other_site_begins_it(curator: Curator, providers: dict[str, Scripted]) -> None:
    browser = Browser(curator)
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    answer = browser.get("/sign-in/uni", **headers)
    assert answer.headers["location"] == "/sign-in"
    assert BEGUN not in browser.web.cookies


def test_a_session_that_was_there_is_not_taken_over(curator: Curator, providers: dict[str, Scripted]) -> None:
    """Session fixation: what an attacker had the browser keep is not what is signed in."""
    attacker, victim = visitor(curator, "ada"), Browser(curator)
    planted = attacker.web.cookies[COOKIE]
    for known in (planted, "lkc_0000000000000000_" + "a" * 43):
        victim.web.cookies.clear()
        victim.web.cookies.set(COOKIE, known)
        answer = back(victim, providers["uni"].sign_in(begun(victim), "8f14e45f"))
        made = next(one for one in answer.headers.get_list("set-cookie") if one.startswith(f"{COOKIE}="))
        assert known not in made
    assert "local:ada" in attacker.get("/").text
    assert "uni:8f14e45f" not in attacker.get("/").text


def test_an_answer_is_taken_once_and_soon(curator: Curator, providers: dict[str, Scripted]) -> None:
    browser, clock = Browser(curator), curator.store.clock
    told = providers["uni"].sign_in(begun(browser), "8f14e45f")
    kept = dict(browser.web.cookies)
    assert back(browser, told).status_code == 200
    thief = Browser(curator)
    refused(back(thief, told), thief)  # the address alone, from a history or a log
    thief.web.cookies.update(kept)
    refused(back(thief, told), thief)  # with the cookie of then: the code was redeemed
    late = Browser(curator)
    told = providers["uni"].sign_in(begun(late), "8f14e45f")
    object.__setattr__(curator.store, "clock", lambda: clock() + timedelta(seconds=601))
    providers["uni"].now = curator.store.clock
    refused(back(late, told), late)
    object.__setattr__(curator.store, "clock", lambda: clock() - timedelta(seconds=601))
    refused(back(late, told), late)


def test_what_one_provider_answers_is_not_believed_of_another(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    """Mix-up (RFC 9207): a code of one provider, brought to the other's address, and the other way round."""
    for began, brought in (("evil", "uni"), ("uni", "evil")):
        browser = Browser(curator)
        told = providers[began].sign_in(begun(browser, began), "8f14e45f")
        refused(back(browser, told, brought), browser)
        assert providers[brought].redeemed == []  # no code of the one reaches the other
    # One that signs for the other: its token names itself, whatever subject it gives.
    browser = Browser(curator)
    providers["evil"].access = providers["evil"].identity = {"iss": ISSUERS["uni"]}
    refused(back(browser, providers["evil"].sign_in(begun(browser, "evil"), "8f14e45f"), "evil"), browser)


def test_a_provider_that_says_who_it_is_has_to(curator: Curator, providers: dict[str, Scripted]) -> None:
    uni = providers["uni"]
    browser = Browser(curator)
    refused(back(browser, {**uni.sign_in(begun(browser), "8f14e45f"), "iss": ISSUERS["evil"]}), browser)
    uni.promises_iss = True
    for one in curator.providers:
        object.__setattr__(one, "_keys", replace(one).__dict__["_keys"])
    told = uni.sign_in(begun(browser), "8f14e45f")
    refused(back(browser, {name: value for name, value in told.items() if name != "iss"}), browser)
    assert back(browser, uni.sign_in(begun(browser), "8f14e45f")).status_code == 200


FORGED: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "nonce of another sign-in": ({}, {"nonce": "another"}, {}),
    "no nonce": ({}, {"nonce": None}, {}),
    "ID token of the terminal": ({}, {"aud": "terminal"}, {}),
    "ID token of two": ({}, {"aud": ["console-uni", "another"]}, {}),
    "ID token that another asked for": ({}, {"azp": "another"}, {}),
    "ID token of another issuer": ({}, {"iss": ISSUERS["evil"]}, {}),
    "ID token of somebody else": ({}, {"sub": "somebody"}, {}),
    "ID token that has ended": ({}, {"exp": 1}, {}),
    "ID token beside another access token": ({}, {"at_hash": "another"}, {}),
    "access token for another audience": ({"aud": "another"}, {}, {}),
    "access token for the client": ({"aud": "console-uni"}, {}, {}),
    "access token of somebody else": ({"iss": ISSUERS["evil"]}, {}, {}),
    "access token that has ended": ({"exp": 1}, {}, {}),
    "no access token": ({}, {}, {"access_token": None}),
    "no ID token": ({}, {}, {"id_token": None}),
    "opaque access token": ({}, {}, {"access_token": "a" * 40}),
    "rubbish": ({}, {}, {"access_token": [], "id_token": {}}),
}


def test_tokens_are_verified_as_those_of_v1(curator: Curator, providers: dict[str, Scripted]) -> None:
    """Each is wrong in one way; without it the same sign-in succeeds."""
    browser, uni = Browser(curator), providers["uni"]
    for number, what in enumerate(FORGED):
        uni.access, uni.identity, uni.answers = FORGED[what]
        refused(back(browser, uni.sign_in(begun(browser), "8f14e45f")), browser)
        assert len(uni.redeemed) == number + 1, what
    uni.access, uni.identity, uni.answers = {}, {}, {}
    assert back(browser, uni.sign_in(begun(browser), "8f14e45f")).status_code == 200


def test_an_id_token_is_no_access_token(curator: Curator, providers: dict[str, Scripted]) -> None:
    """What the console is given opens nothing under `/v1`."""
    uni = providers["uni"]
    kept: dict[str, Any] = {}

    def post(url: str, form: Mapping[str, str], account: tuple[str, str] | None) -> Mapping[str, Any]:
        kept.update(uni.post(url, form, account))
        return kept

    object.__setattr__(curator, "providers", Providers(replace(one, post=post) for one in curator.providers))
    browser = Browser(curator)
    assert back(browser, uni.sign_in(begun(browser), "8f14e45f")).status_code == 200
    asked = (curator.store, curator.providers, curator.store.clock())
    assert authenticate(Bearer(kept["access_token"]), *asked).subject == "uni:8f14e45f"
    with pytest.raises(Unauthenticated):
        authenticate(Bearer(kept["id_token"]), *asked)


CHANGED: tuple[Callable[[Mapping[str, str]], str], ...] = (
    lambda told: urlencode(told) + "&state=" + told["state"],
    lambda told: urlencode(told) + "&code=another",
    lambda told: urlencode({**told, "error": "access_denied"}),
    lambda told: urlencode({**told, "code": ""}),
    lambda told: urlencode({**told, "code": "x" * 5000}),
    lambda told: urlencode({**told, "state": told["state"][:-1]}),
    lambda told: urlencode({**told, "state": ""}),
    lambda told: urlencode({"code": told["code"]}),
    lambda told: urlencode({"state": told["state"]}),
    lambda told: "",
    lambda told: "%ff%00",
)


def test_an_answer_has_one_reading(curator: Curator, providers: dict[str, Scripted]) -> None:
    browser = Browser(curator)
    for change in CHANGED:
        told = providers["uni"].sign_in(begun(browser), "8f14e45f")
        refused(back(browser, change(told)), browser)
        assert providers["uni"].redeemed == []


def test_it_leads_nowhere_else(curator: Curator, providers: dict[str, Scripted]) -> None:
    """Neither by the address that begins it, nor by a cookie that somebody changed."""
    for to in ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:x", '/"><script>'):
        browser = Browser(curator)
        answer = back(browser, providers["uni"].sign_in(begun(browser, to=to), "8f14e45f"))
        expected = '0; url=/"' if not to.startswith('/"') else "0; url=/&#34;&gt;&lt;script&gt;"
        assert expected in answer.text
        browser = Browser(curator)
        told = providers["uni"].sign_in(begun(browser), "8f14e45f")
        kept = browser.web.cookies[BEGUN].rsplit(":", 1)[0]
        browser.web.cookies.clear()
        browser.web.cookies.set(BEGUN, f"{kept}:https%3A%2F%2Fevil.example")
        refused(back(browser, told), browser)


def test_who_is_verified_and_unknown_is_told_their_name(
    curator: Curator, providers: dict[str, Scripted], caplog: pytest.LogCaptureFixture
) -> None:
    browser = Browser(curator)
    answer = back(browser, providers["uni"].sign_in(begun(browser), "a-stranger"))
    assert answer.status_code == 403
    assert "uni:a-stranger" in answer.text
    assert browser.get("/tokens").status_code == 303
    # Somebody who was removed is told what everybody is told, and the log says the kind alone.
    curator.store.people.remove("uni:8f14e45f", by="local:root")
    with caplog.at_level(logging.INFO):
        refused(back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f")), browser)
    told = " ".join(one.getMessage() for one in caplog.records if one.name.startswith("leakcap"))
    assert "removed person" in told
    assert "8f14e45f" not in told
    assert "code-" not in told


def test_a_session_ends_with_the_provider_and_with_the_person(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    browser = Browser(curator)
    back(browser, providers["uni"].sign_in(begun(browser), "8f14e45f"))
    assert browser.get("/tokens").status_code == 200
    fewer = replace(curator, providers=Providers(o for o in curator.providers if o.alias != "uni"))
    other = Browser(fewer)
    other.web.cookies.update(dict(browser.web.cookies))
    assert other.get("/tokens").status_code == 303
    (session,) = curator.store.tokens.list("uni:8f14e45f", kind=SESSION)
    assert session.expires - session.created == timedelta(hours=2)
    curator.store.people.remove("uni:8f14e45f", by="local:root")
    assert browser.get("/tokens").status_code == 303


def test_the_provider_is_asked_thirty_times_a_minute_by_one_address(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    """What comes back in earnest is what anybody can make for themselves: a cookie, and its state."""
    browser = Browser(curator)
    told = {**providers["uni"].sign_in(begun(browser), "8f14e45f"), "code": "guessed"}
    kept = dict(browser.web.cookies)
    for _ in range(40):
        browser.web.cookies.update(kept)
        last = back(browser, told)
    assert last.status_code == 429
    assert len(providers["uni"].redeemed) == 30


def test_what_any_page_can_send_here_shuts_nobody_out(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    """Without a cookie, with another's state, or late: the provider is not asked, and it does not count."""
    other = Browser(curator)
    honest = providers["uni"].sign_in(begun(other), "8f14e45f")
    for told in ({"code": "x", "state": "y"}, honest, "code=x&code=y"):
        for _ in range(20):
            refused(back(Browser(curator), told), Browser(curator))
    mistaken = Browser(curator)
    providers["uni"].sign_in(begun(mistaken), "8f14e45f")
    kept = dict(mistaken.web.cookies)
    for _ in range(20):
        mistaken.web.cookies.update(kept)
        refused(back(mistaken, honest), mistaken)
    assert providers["uni"].redeemed == []
    assert back(other, honest).status_code == 200


def test_a_provider_that_is_not_there_is_said_to_be(curator: Curator, providers: dict[str, Scripted]) -> None:
    providers["uni"].fails = True
    assert Browser(curator).get("/sign-in/uni").status_code == 503
    assert Browser(curator).get("/sign-in/nobody").status_code == 404
    assert Browser(curator).get("/sign-in/nobody/callback?state=x").status_code == 404
    for address in ("http://id.example/a", "https://127.0.0.1/a", "file:///etc/passwd", None):
        providers["evil"].document = {"authorization_endpoint": address}
        for one in curator.providers:
            object.__setattr__(one, "_keys", replace(one).__dict__["_keys"])
        assert Browser(curator).get("/sign-in/evil").status_code == 503


def test_only_providers_with_a_client_of_the_console_are_offered(tmp_path: Path) -> None:
    plain = IDENTITY.replace('console_client_id = "console-evil"\n', "")
    curator = staffed(tmp_path, more=plain)
    page = Browser(curator).get("/sign-in").text
    assert "Sign in with The uni" in page
    assert "The evil" not in page
    assert Browser(curator).get("/sign-in/evil").status_code == 404
    curator.store.close()


def test_a_client_with_a_secret_shows_it_to_the_provider_alone(
    curator: Curator, providers: dict[str, Scripted]
) -> None:
    with_secret = Providers(replace(one, console_secret="s:e/cret") for one in curator.providers)
    object.__setattr__(curator, "providers", with_secret)
    browser = Browser(curator)
    address = begun(browser)
    assert "cret" not in address
    assert back(browser, providers["uni"].sign_in(address, "8f14e45f")).status_code == 200
    assert providers["uni"].redeemed[0]["account"] == str(("console-uni", "s%3Ae%2Fcret"))
    assert "cret" not in repr(list(with_secret))


def test_a_secret_is_a_file_that_nobody_else_reads(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    with_secret = IDENTITY.replace(
        'console_client_id = "console-uni"\n',
        'console_client_id = "console-uni"\nconsole_secret = "secret"\n',
    )
    file = written(tmp_path, more=with_secret)
    with pytest.raises(InvalidParameter, match="must be a file"):
        require_fit(load_configuration(file), file)
    secret.write_text("hidden\n")
    secret.chmod(0o644)
    with pytest.raises(InvalidParameter, match="a client's secret"):
        require_fit(load_configuration(file), file)
    secret.chmod(0o600)
    require_fit(load_configuration(file), file)
    assert [one.console_secret for one in providers_of(load_configuration(file))] == ["hidden", ""]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('console_client_id = "console-uni"', 'console_client_id = "curator"'), "an ID token"),
        (('console_client_id = "console-uni"', 'console_secret = "secret"'), "give its `console_client_id`"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    file = written(tmp_path, more=IDENTITY.replace(*change))
    with pytest.raises(InvalidParameter, match=said):
        load_configuration(file)
    with pytest.raises(InvalidParameter, match="audience"):
        OidcProvider("uni", "https://id.example", "curator", "terminal", console_client_id="curator")
