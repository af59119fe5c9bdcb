"""Changing a password, and one-time passwords: what they open and end, and what is written down."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from starlette.testclient import TestClient

from leakcap.errors import InvalidParameter
from leakcap.service.api.app import create_curator
from leakcap.service.api.bodies import NewTokenBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.verbs.identity import issue_token
from leakcap.service.identity import Principal, Providers, Unauthenticated
from leakcap.service.identity.authenticate import SessionCookie, authenticate, choose_password, sign_in
from leakcap.service.store import OneTimePassword, StateConflict, Store, TooManyAttempts
from service.conftest import Hands
from service.direct import PASSWORD
from service.visiting import HOME, Browser, staffed, visitor

OLD, NEW, GIVEN = "correct horse battery", "another horse battery", "a horse for one time"
HERE = "192.0.2.1"


@pytest.fixture
def url(sqlite: str) -> str:
    return sqlite


@pytest.fixture
def alice(store: Store) -> str:
    store.people.add("local:alice", by="local:root")
    store.passwords.set("local:alice", OLD, by="local:root")
    return "local:alice"


def held(store: Store, subject: str) -> dict[str, str]:
    """A session and a token."""
    return {
        kind: store.tokens.issue(subject, lifetime=timedelta(hours=1), kind=kind).secret
        for kind in ("session", "token")
    }


@pytest.mark.parametrize("end_tokens", [False, True])
def test_a_change_ends_all_other_sessions_and_tokens_where_asked(
    store: Store, alice: str, end_tokens: bool
) -> None:
    before = held(store, alice)
    issued = choose_password("alice", OLD, NEW, HERE, store, end_tokens=end_tokens)
    assert store.tokens.find(before["session"]) is None
    assert (store.tokens.find(before["token"]) is None) == end_tokens
    assert store.tokens.find(issued.secret) is not None
    with pytest.raises(Unauthenticated):
        sign_in("alice", OLD, HERE, store)
    assert sign_in("alice", NEW, HERE, store)
    act = store.acts.all()[-1]
    assert (act.act, act.by, act.subject) == ("change password", alice, alice)
    assert dict(act.details) == {"tokens too": end_tokens, "ended": 1 + end_tokens}
    assert store.verify_acts()


def test_it_takes_the_old_one_and_guessing_is_as_slow_as_at_signing_in(
    store: Store, alice: str, clock: Hands
) -> None:
    """Guesses at either count for both: five are free, and then also the right one waits."""
    for n in range(5):
        with pytest.raises(Unauthenticated):
            choose_password("alice", f"a guess, number {n}", NEW, HERE, store)
    with pytest.raises(TooManyAttempts, match="in 1 second"):
        choose_password("alice", OLD, NEW, HERE, store)
    with pytest.raises(TooManyAttempts, match="in 1 second"):
        sign_in("alice", OLD, HERE, store)
    assert store.passwords.verify(alice, OLD)
    clock.pass_(seconds=1)
    assert choose_password("alice", OLD, NEW, HERE, store)


def test_weak_ones_and_the_same_one_are_refused_and_nothing_changes(store: Store, alice: str) -> None:
    before = held(store, alice)
    for chosen in ("short", "x" * 12, "my name is alice!", OLD):
        with pytest.raises(InvalidParameter) as refused:
            choose_password("alice", OLD, chosen, HERE, store)
        assert chosen not in str(refused.value)
    assert all(store.tokens.find(one) for one in before.values())
    # A wrong old password is told of whatever the new one is worth.
    with pytest.raises(Unauthenticated):
        choose_password("alice", "wrong horse battery", "short", HERE, store)


def test_of_two_changes_at_once_one_counts(store: Store, alice: str) -> None:
    verified = store.passwords.verified(alice, OLD)
    assert verified is not None
    store.passwords.change(alice, verified, NEW)
    with pytest.raises(StateConflict, match="changed meanwhile"):
        store.passwords.change(alice, verified, "a third horse battery")
    assert store.passwords.verify(alice, NEW)


def test_a_one_time_password_lets_in_nobody_but_who_chooses_another(store: Store, alice: str) -> None:
    before = held(store, alice)
    store.passwords.give_one_time(alice, GIVEN, by="local:root")
    assert [store.tokens.find(one) for one in before.values()] == [None, None]
    assert store.people.list()[0].one_time is not None
    for _ in range(2):
        with pytest.raises(OneTimePassword):
            sign_in("alice", GIVEN, HERE, store)
    assert [one for one in store.tokens.list(alice, kind="session") if one.revoked is None] == []
    with pytest.raises(InvalidParameter, match="must be another one"):
        choose_password("alice", GIVEN, GIVEN, HERE, store)
    assert choose_password("alice", GIVEN, NEW, HERE, store)
    assert sign_in("alice", NEW, HERE, store)
    assert store.people.list()[0].one_time is None
    with pytest.raises(Unauthenticated):  # it was good once
        choose_password("alice", GIVEN, "a third horse battery", HERE, store)


def test_a_planted_sign_in_that_does_not_ask_is_seen(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.passwords.give_one_time(alice, GIVEN, by="local:root")
    monkeypatch.setattr("leakcap.service.store.tokens._require_unchanged", lambda *_: None)
    assert sign_in("alice", GIVEN, HERE, store)  # what the test above would find


def test_it_ends_after_seven_days_like_a_wrong_one(store: Store, alice: str, clock: Hands) -> None:
    until = store.passwords.give_one_time(alice, GIVEN, by="local:root")
    assert until - clock() == timedelta(days=7)
    clock.pass_(days=6, hours=23)
    with pytest.raises(OneTimePassword):
        sign_in("alice", GIVEN, HERE, store)
    clock.pass_(hours=1)
    for attempt in (sign_in, lambda *given: choose_password(*given[:2], NEW, *given[2:])):
        with pytest.raises(Unauthenticated):
            attempt("alice", GIVEN, HERE, store)


def test_no_password_and_no_hash_stands_in_the_log(store: Store, alice: str, tmp_path: Path) -> None:
    store.passwords.give_one_time(alice, GIVEN, by="local:root")
    choose_password("alice", GIVEN, NEW, HERE, store)
    told = repr(store.acts.all())
    assert "give one-time password" in told
    assert not any(word in told for word in (OLD, NEW, GIVEN, "argon2"))


def outrun(store: Store, alice: str, ended: str) -> tuple[Principal, Curator]:
    """Who asked for a token with a session that has been ended before the token is made."""
    session = sign_in("alice", OLD, HERE, store)
    principal = authenticate(SessionCookie(session.secret), store, Providers(()), store.clock())
    if ended == "one-time":
        store.passwords.give_one_time(alice, GIVEN, by="local:root")
    elif ended == "change":
        choose_password("alice", OLD, NEW, HERE, store, end_tokens=True)
    elif ended == "revoked":
        store.tokens.revoke(alice, session.token.id, by=alice)
    elif ended == "forgotten":
        assert store.tokens.forget(store.clock() + timedelta(days=2)) == 1
    return principal, cast(Curator, SimpleNamespace(store=store, allow=lambda *_: None))


@pytest.mark.parametrize("ended", ["one-time", "change", "revoked", "forgotten", "expired"])
def test_no_token_is_made_of_a_session_that_ended_meanwhile(
    store: Store, alice: str, clock: Hands, ended: str
) -> None:
    """It would outlive the password by which its maker came in."""
    principal, curator = outrun(store, alice, ended)
    if ended == "expired":
        clock.pass_(hours=12)
    with pytest.raises(Unauthenticated):
        issue_token(curator, principal, NewTokenBody(label="kept", days=366))
    assert store.tokens.list(alice) == ()


def test_a_session_that_goes_on_makes_a_token_and_anothers_does_not(store: Store, alice: str) -> None:
    principal, curator = outrun(store, alice, "")
    assert store.tokens.find(issue_token(curator, principal, NewTokenBody(label="mine", days=1)).secret)
    store.people.add("local:bob", by="local:root")
    for session in (
        store.tokens.issue("local:bob", lifetime=timedelta(hours=1), kind="session"),
        store.tokens.issue(alice, lifetime=timedelta(hours=1)),
    ):
        with pytest.raises(StateConflict, match="signed out meanwhile"):
            store.tokens.issue(alice, lifetime=timedelta(hours=1), session=session.token.id)


def test_a_planted_maker_of_tokens_that_does_not_ask_is_seen(
    store: Store, alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakcap.service.store.tokens._require_live", lambda *_: None)
    principal, curator = outrun(store, alice, "one-time")
    made = issue_token(curator, principal, NewTokenBody(label="kept", days=366))
    assert store.tokens.find(made.secret) is not None  # what the test above refuses


def test_what_was_used_or_refused_since_the_backup_is_over_in_what_is_put_back(
    store: Store, alice: str, clock: Hands
) -> None:
    """A store that is put back knows nothing of what was done after the backup."""
    for name in ("rita", "eve"):
        store.people.add(f"local:{name}", by="local:root")
    store.grants.give("local:rita", "admin", by="local:root")
    store.passwords.give_one_time(alice, GIVEN, by="local:root")
    role = {"role": "approver"}
    number = store.confirmations.ask(
        "give role", by="local:root", subject="local:eve", dataset="ward", body=role
    ).id
    made = clock()
    clock.pass_(hours=1)
    store.note_restored(made, by="shell:op")
    for attempt in (sign_in, lambda *given: choose_password(*given[:2], NEW, *given[2:])):
        with pytest.raises(Unauthenticated):
            attempt("alice", GIVEN, HERE, store)
    with pytest.raises(StateConflict, match="is expired"):
        store.confirmations.confirm(number, "local:rita")
    assert store.grants.of("local:eve") == ()
    details = store.acts.all()[-1].details
    assert (details["one-time passwords"], details["requests"]) == (1, 1)
    # A password that its person chose, and what is asked anew, are good.
    store.passwords.set(alice, OLD, by=alice)
    assert sign_in("alice", OLD, HERE, store)
    assert store.confirmations.ask(
        "give role", by="local:root", subject="local:eve", dataset="ward", body=role
    )


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = staffed(tmp_path)
    yield found
    found.store.close()


def test_over_the_interface(curator: Curator) -> None:
    web = TestClient(create_curator(curator), base_url=HOME)
    root = curator.store.tokens.issue("local:root", lifetime=timedelta(hours=1), kind="session").secret
    token = curator.store.tokens.issue("local:root", lifetime=timedelta(hours=1)).secret
    given = web.post("/v1/people/local:ada/password", json={}, headers={"authorization": f"Bearer {root}"})
    assert given.status_code == 201
    assert given.json()["subject"] == "local:ada"
    first = {"name": "ada", "password": given.json()["password"]}
    refused = web.post("/v1/session", json=first)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:leakcap:problem:one-time-password")
    made = web.post("/v1/password", json={**first, "chosen": NEW})
    assert made.status_code == 201
    me = web.get("/v1/me", headers={"authorization": f"Bearer {made.json()['token']}"})
    assert me.json()["subject"] == "local:ada"
    assert web.post("/v1/session", json={"name": "ada", "password": NEW}).status_code == 201
    # Not to oneself, not by a token, not without the role.
    own, by_token = "/v1/people/local:root/password", "/v1/people/local:ada/password"
    assert web.post(own, json={}, headers={"authorization": f"Bearer {root}"}).status_code == 403
    assert web.post(by_token, json={}, headers={"authorization": f"Bearer {token}"}).status_code == 403
    olga = curator.store.tokens.issue("local:olga", lifetime=timedelta(hours=1), kind="session").secret
    assert web.post(by_token, json={}, headers={"authorization": f"Bearer {olga}"}).status_code == 403
    assert web.post("/v1/session", json={"name": "ada", "password": NEW}).status_code == 201
    gone = curator.configuration.model_copy(update={"local_accounts": False})
    far = Curator(gone, curator.store, curator.engine, curator.providers)
    shut = TestClient(create_curator(far), base_url=HOME)
    changed = {"name": "ada", "password": NEW, "chosen": OLD}
    assert shut.post("/v1/password", json=changed).status_code == 401


def test_whoever_an_administrator_added_chooses_at_the_first_sign_in(curator: Curator) -> None:
    root = visitor(curator, "root")
    form = root.form(root.get("/people"), "/people")
    page = root.send("/people", {**form, "name": "zoe", "provider": "local"}).text
    drawn = page.partition('<code class="secret">')[2].partition("<")[0]
    zoe = Browser(curator)
    asked = zoe.send("/sign-in", {"name": "zoe", "password": drawn})
    assert asked.status_code == 403
    assert "Choose your password" in asked.text
    assert drawn not in asked.text
    assert "set-cookie" not in asked.headers
    assert zoe.get("/tokens").status_code == 303
    fields = {**zoe.form(asked, "/password"), "password": drawn, "chosen": NEW, "again": "something else"}
    refused = zoe.send("/password", fields)
    assert (refused.status_code, "typed in two ways" in refused.text) == (422, True)
    assert NEW not in refused.text
    answer = zoe.send("/password", {**fields, "again": NEW})
    assert answer.status_code == 200
    assert zoe.get("/tokens").status_code == 200


def test_in_the_console_this_browser_goes_on_and_the_others_do_not(curator: Curator) -> None:
    here, there = visitor(curator, "ada"), visitor(curator, "ada")
    here.send("/tokens", {"form": here.token(), "label": "nightly", "days": "30"})
    page = here.get("/password")
    fields = {**here.form(page, "/password"), "chosen": NEW, "again": NEW}
    assert fields["name"] == "ada"
    wrong = here.send("/password", {**fields, "password": "wrong"})
    assert (wrong.status_code, "Name or old password is wrong." in wrong.text) == (401, True)
    assert there.get("/tokens").status_code == 200
    answer = here.send("/password", {**fields, "password": PASSWORD})
    assert "A token of yours goes on" in answer.text
    assert here.get("/tokens").status_code == 200
    assert there.get("/tokens").status_code == 303
    assert [one.revoked for one in curator.store.tokens.list("local:ada")] == [None]


def test_an_administrator_gives_one_on_the_page_and_it_is_shown_once(curator: Curator) -> None:
    root, ada = visitor(curator, "root"), visitor(curator, "ada")
    form = root.form(root.get("/people"), "/people/password")
    answer = root.send("/people/password", {**form, "subject": "local:ada"})
    drawn = answer.text.partition('<code class="secret">')[2].partition("<")[0]
    assert curator.store.passwords.verify("local:ada", drawn)
    assert drawn not in root.get("/people").text
    assert "one-time password" in root.get("/people").text
    assert ada.get("/tokens").status_code == 303
    assert root.send("/people/password", {**form, "subject": "local:root"}).status_code == 403
