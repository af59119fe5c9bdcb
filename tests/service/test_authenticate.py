"""From what is presented to a principal: narrowed as its token is, or nobody, for whatever reason."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from leakcap.errors import InvalidParameter
from leakcap.service.identity import (
    Bearer,
    Credentials,
    OidcProvider,
    Principal,
    Providers,
    SessionCookie,
    Unauthenticated,
    authenticate,
    sign_in,
)
from leakcap.service.store import Store, TooManyAttempts
from leakcap.service.store.schema import ATTEMPTS
from leakcap.service.store.tokens import SESSION
from service.conftest import Hands
from service.issuers import Issuer

NONE = Providers()
DAY = timedelta(days=1)
RIGHT = "correct horse battery"
HERE, ELSEWHERE = "192.0.2.7", "198.51.100.9"


@pytest.fixture
def url(sqlite: str) -> str:
    """What the store itself does is tested on both kinds of database elsewhere."""
    return sqlite


@pytest.fixture
def alice(store: Store) -> str:
    store.people.add("local:alice", by="local:root")
    store.passwords.set("local:alice", RIGHT, by="local:root")
    return "local:alice"


def test_a_token_is_a_principal_narrowed_as_it_is(store: Store, alice: str, clock: Hands) -> None:
    made = store.tokens.issue(
        alice, lifetime=timedelta(days=1), scopes=["ask"], datasets=["ward"], agent=True
    )
    found = authenticate(Bearer(made.secret), store, NONE, clock.now)
    assert found == Principal(
        alice, "local", frozenset({"ask"}), frozenset({"ward"}), made.token.id, True, clock.now
    )


def test_a_session_is_the_whole_person(store: Store, alice: str, clock: Hands) -> None:
    session = sign_in("alice", RIGHT, HERE, store)
    for presented in (SessionCookie(session.secret), Bearer(session.secret)):
        assert authenticate(presented, store, NONE, clock.now) == Principal(
            alice, "local", since=clock.now, session=session.token.id
        )
    clock.pass_(hours=12)
    with pytest.raises(Unauthenticated):
        authenticate(SessionCookie(session.secret), store, NONE, clock.now)


def test_a_token_of_a_program_that_asks_for_itself_is_an_agents(store: Store, clock: Hands) -> None:
    store.people.add("local:robot", by="local:root", agent=True)
    made = store.tokens.issue("local:robot", lifetime=timedelta(days=1))
    assert authenticate(Bearer(made.secret), store, NONE, clock.now).agent


def test_a_token_is_no_cookie(store: Store, alice: str, clock: Hands) -> None:
    made = store.tokens.issue(alice, lifetime=timedelta(days=1))
    with pytest.raises(Unauthenticated):
        authenticate(SessionCookie(made.secret), store, NONE, clock.now)


def test_a_providers_token_is_no_cookie_and_none_without_a_provider(store: Store, clock: Hands) -> None:
    home = Issuer("https://id.example")
    trusted = Providers([OidcProvider("uni", home.url, "curator", "terminal", fetch=home.fetch)])
    text = home.token(clock.now)
    assert authenticate(Bearer(text), store, trusted, clock.now) == Principal("uni:8f14e45f", "uni")
    for presented, providers in ((SessionCookie(text), trusted), (Bearer(text), NONE)):
        with pytest.raises(Unauthenticated):
            authenticate(presented, store, providers, clock.now)


def test_a_providers_person_is_an_agent_where_they_are_known_as_one(store: Store, clock: Hands) -> None:
    home = Issuer("https://id.example")
    trusted = Providers([OidcProvider("uni", home.url, "curator", "terminal", fetch=home.fetch)])
    store.people.add("uni:8f14e45f", by="local:root", agent=True)
    assert authenticate(Bearer(home.token(clock.now)), store, trusted, clock.now).agent
    store.people.remove("uni:8f14e45f", by="local:root")
    with pytest.raises(Unauthenticated):
        authenticate(Bearer(home.token(clock.now)), store, trusted, clock.now)


def test_a_personal_token_rests_until_the_provider_vouches_again(store: Store, clock: Hands) -> None:
    """Whom the provider let go has no token after `token_days`; that of a local account lives on."""
    home = Issuer("https://id.example")
    (uni,) = made = [OidcProvider("uni", home.url, "curator", "terminal", fetch=home.fetch, token_days=7)]
    trusted, untrusted = Providers(made), Providers([replace(uni, alias="other")])
    for subject in ("uni:8f14e45f", "local:alice"):
        store.people.add(subject, by="local:root")
    kept, own = (store.tokens.issue(one, lifetime=300 * DAY) for one in ("uni:8f14e45f", "local:alice"))
    clock.pass_(days=7)
    assert authenticate(Bearer(kept.secret), store, trusted, clock.now).subject == "uni:8f14e45f"
    clock.pass_(seconds=1)
    with pytest.raises(Unauthenticated):
        authenticate(Bearer(kept.secret), store, trusted, clock.now)
    assert authenticate(Bearer(own.secret), store, trusted, clock.now).subject == "local:alice"
    # Asking with it does not vouch for anybody; a token of the provider's does, and so does signing in.
    ways: list[Callable[[], object]] = [
        lambda: authenticate(Bearer(home.token(clock.now)), store, trusted, clock.now),
        lambda: store.tokens.issue("uni:8f14e45f", lifetime=DAY, kind=SESSION, vouched=True),
    ]
    for vouch in ways:
        vouch()
        clock.pass_(days=7)
        assert authenticate(Bearer(kept.secret), store, trusted, clock.now).subject == "uni:8f14e45f"
        clock.pass_(seconds=1)
        with pytest.raises(Unauthenticated):
            authenticate(Bearer(kept.secret), store, trusted, clock.now)
    # Of a provider that is trusted no more thirty days are left.
    clock.pass_(days=22)
    assert authenticate(Bearer(kept.secret), store, untrusted, clock.now).subject == "uni:8f14e45f"
    clock.pass_(days=1)
    with pytest.raises(Unauthenticated):
        authenticate(Bearer(kept.secret), store, untrusted, clock.now)


@pytest.mark.parametrize("days", [0, 367, 1.5])
def test_days_that_are_none_are_refused(days: float) -> None:
    with pytest.raises(InvalidParameter, match="be 1 to 366 days"):
        OidcProvider("uni", "https://id.example", "curator", "terminal", token_days=days)  # type: ignore[arg-type]


def test_every_refusal_says_the_same_and_its_reason_is_logged_by_kind_alone(
    store: Store, alice: str, clock: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ended = store.tokens.issue(alice, lifetime=timedelta(seconds=1)).secret
    revoked = store.tokens.issue(alice, lifetime=timedelta(days=1))
    store.tokens.revoke(alice, revoked.token.id, by=alice)
    clock.pass_(seconds=1)
    unknown = "lkc_" + "0" * 16 + "_" + "0" * 43
    presented: list[Credentials | None] = [None]
    presented += [
        Bearer(text) for text in (ended, revoked.secret, unknown, "", "lkc_", "eyJ.e30.x", "\ud800", "ä")
    ]
    presented += [SessionCookie(text) for text in (ended, "", "x" * 9000)]
    said = set()
    for one in presented:
        with pytest.raises(Unauthenticated) as refused:
            authenticate(one, store, NONE, clock.now)
        said.add((str(refused.value), refused.value.__cause__, refused.value.__suppress_context__))
    for name in ("alice", "nobody", "Alice", "\u0430lice", "", "a" * 10_000):
        with pytest.raises(Unauthenticated) as refused:
            sign_in(name, "wrong horse battery", HERE, store)
        said.add((str(refused.value), refused.value.__cause__, refused.value.__suppress_context__))
    assert said == {("The credentials are not accepted. Sign in again.", None, True)}
    assert len(caplog.records) == len(presented) + 6
    for hidden in (ended[21:], revoked.secret[21:], "wrong horse", "alice", "nobody", unknown):
        assert hidden not in caplog.text
    assert {one.refusal for one in caplog.records} >= {  # type: ignore[attr-defined]
        "nothing presented",
        "malformed",
        "name or password",
        "unknown, ended or revoked token",
    }
    assert ended not in repr(Bearer(ended)) + repr(SessionCookie(ended))


@pytest.mark.parametrize("change", ["password", "removal"])
def test_what_changes_while_one_signs_in_counts(
    store: Store, alice: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old password is right when it is looked at, and no longer when the session is made."""

    def meanwhile(*_: object) -> None:
        if change == "password":
            store.passwords.set(alice, "another horse battery", by=alice)
        else:
            store.people.remove(alice, by="local:root")

    monkeypatch.setattr(store.attempts, "succeed", meanwhile)
    with pytest.raises(Unauthenticated):
        sign_in("alice", RIGHT, HERE, store)
    assert store.tokens.list(alice, kind="session") == ()


def wrong(store: Store, name: str = "alice", address: str | None = ELSEWHERE) -> str:
    """What happens to a wrong password."""
    try:
        sign_in(name, "wrong horse battery", address, store)
    except (Unauthenticated, TooManyAttempts) as error:
        return type(error).__name__
    return "let in"


def test_failures_slow_down_by_name_and_by_address(store: Store, alice: str, clock: Hands) -> None:
    assert [wrong(store, address=f"198.51.100.{n}") for n in range(6)] == ["Unauthenticated"] * 5 + [
        "TooManyAttempts"
    ]
    clock.pass_(seconds=1)
    assert wrong(store) == "Unauthenticated"
    with pytest.raises(TooManyAttempts, match=r"Try again in 2 seconds\.") as waiting:
        sign_in("alice", RIGHT, ELSEWHERE, store)
    assert waiting.value.seconds == 2
    names = [wrong(store, f"name{n}", "203.0.113.5") for n in range(22)]
    assert names == ["Unauthenticated"] * 20 + ["TooManyAttempts"] * 2


def test_an_unknown_name_is_counted_as_a_known_one(store: Store, alice: str) -> None:
    known = [wrong(store, "alice", f"198.51.100.{n}") for n in range(8)]
    unknown = [wrong(store, "nobody", f"203.0.113.{n}") for n in range(8)]
    assert known == unknown
    assert "TooManyAttempts" in known


def test_addresses_of_one_customer_are_one(store: Store, alice: str) -> None:
    told = [wrong(store, f"name{n}", f"2001:db8:1:2::{n:x}") for n in range(1, 23)]
    assert told == ["Unauthenticated"] * 20 + ["TooManyAttempts"] * 2
    assert wrong(store, "name99", "2001:db8:1:3::1") == "Unauthenticated"


def test_a_guesser_does_not_keep_out_whose_account_it_is(store: Store, alice: str, clock: Hands) -> None:
    """From where she signed in before, at once; from elsewhere within a quarter of an hour."""
    sign_in("alice", RIGHT, HERE, store)
    for n in range(200):
        clock.pass_(seconds=30)
        wrong(store, address=f"198.51.100.{n}")
    assert sign_in("alice", RIGHT, HERE, store).token.subject == alice
    with pytest.raises(TooManyAttempts) as waiting:
        sign_in("alice", RIGHT, "203.0.113.5", store)
    assert 0 < waiting.value.seconds <= 900
    clock.pass_(seconds=900)
    assert sign_in("alice", RIGHT, "203.0.113.5", store).token.subject == alice


def test_guesses_are_few_however_many_addresses_take_part(store: Store, alice: str, clock: Hands) -> None:
    """A day of guesses, each from a fresh address and as soon as it may be: five, ten, then four an hour."""
    tried, ends = 0, clock.now + timedelta(days=1)
    while clock.now < ends:
        address = f"10.{tried // 250}.{tried % 250}.1"
        try:
            sign_in("alice", "wrong horse battery", address, store)
        except Unauthenticated:
            tried += 1
        except TooManyAttempts as error:
            clock.pass_(seconds=error.seconds)
    assert 90 <= tried <= 5 + 10 + 96


def test_one_account_of_ones_own_does_not_clear_an_address(store: Store, alice: str, clock: Hands) -> None:
    """Between guesses at others' names, one signs in to one's own account: the address stays counted."""
    store.people.add("local:mallory", by="local:root")
    store.passwords.set("local:mallory", RIGHT, by="local:root")
    tried = 0
    for n in range(60):
        tried += wrong(store, f"name{n}", ELSEWHERE) == "Unauthenticated"
        try:
            sign_in("mallory", RIGHT, ELSEWHERE, store)
        except TooManyAttempts:
            clock.pass_(seconds=1)
    assert tried < 40


def test_failures_of_ones_own_are_forgotten_when_one_signs_in(store: Store, alice: str) -> None:
    for _ in range(10):
        for _ in range(4):
            assert wrong(store, address=HERE) == "Unauthenticated"
        sign_in("alice", RIGHT, HERE, store)


def test_what_was_counted_is_forgotten_after_a_day(store: Store, alice: str, clock: Hands) -> None:
    for n in range(30):
        wrong(store, f"name{n}", f"198.51.100.{n}")
    clock.pass_(days=1, minutes=16)
    for _ in range(5):
        assert wrong(store) == "Unauthenticated"
    with store._database.reading() as connection:
        keys = {row.key for row in connection.execute(ATTEMPTS.select())}
    assert keys == {"name:alice", f"address:{ELSEWHERE}", f"both:{ELSEWHERE} alice"}


def test_without_an_address_the_name_is_counted(store: Store, alice: str) -> None:
    assert [wrong(store, address=None) for _ in range(6)][-1] == "TooManyAttempts"
