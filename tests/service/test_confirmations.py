"""A second administrator's word: what waits for it, whose word counts, and what nobody can do alone."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from typer.testing import CliRunner

from leakcap.cli.main import app as command
from leakcap.errors import InvalidParameter, LedgerError
from leakcap.service.api.app import create_curator
from leakcap.service.api.curator import Curator
from leakcap.service.authorization import CURATOR_WIDE
from leakcap.service.engine.calling import EngineClient, EngineFailed
from leakcap.service.identity.oidc import OidcProvider
from leakcap.service.running.continuing import require_continued
from leakcap.service.store import Forbidden, NotFound, Role, StateConflict, Store
from leakcap.service.store.confirmed import AMEND, CERTIFICATE, ONE_TIME_PASSWORD, RESUME, ROLE
from leakcap.service.store.times import stored_time
from service.authorities import Authority
from service.conftest import Hands
from service.direct import PASSWORD, written
from service.straight import Said, request
from service.test_matrix import ROUTES
from service.visiting import Browser, staffed, visitor

NEW = "another horse battery"
RULE = "second_administrator = true\n"


@pytest.fixture
def staff(store: Store) -> Store:
    """Three administrators, root, rita and rolf, an owner and somebody without a role."""
    for name in ("rita", "rolf", "olga", "eve"):
        store.people.add(f"local:{name}", by="local:root")
    for name in ("rita", "rolf"):
        store.grants.give(f"local:{name}", "admin", by="local:root")
    store.grants.give("local:olga", "owner", "ward", by="local:root")
    return store


def asked(store: Store, by: str = "local:root", subject: str = "local:eve", role: str = "approver") -> str:
    """The number of a request for a role."""
    return store.confirmations.ask(ROLE, by=by, subject=subject, dataset="ward", body={"role": role}).id


def test_a_role_is_given_with_another_administrators_word_and_not_before(staff: Store) -> None:
    number = asked(staff)
    assert staff.grants.of("local:eve") == ()
    for who, why in (
        ("local:root", "what they asked for themselves"),
        ("local:eve", "about themselves"),
        ("local:olga", "Only an administrator"),
        ("local:nobody", "Only an administrator"),
        ("shell:root", "Only an administrator"),
    ):
        with pytest.raises(Forbidden, match=why):
            staff.confirmations.confirm(number, who)
    assert staff.grants.of("local:eve") == ()
    done = staff.confirmations.confirm(number, "local:rita")
    assert (done.state, done.confirmed) == ("done", ("local:rita",))
    (grant,) = staff.grants.of("local:eve")
    assert (grant.role, grant.dataset, grant.by) == (Role.APPROVER, "ward", "local:root")
    acts = [(one.by, one.act) for one in staff.acts.all()][-3:]
    assert acts == [
        ("local:root", "ask to give role"),
        ("local:rita", "confirm: give role"),
        ("local:root", "give role"),
    ]
    last = staff.acts.all()[-1].details
    assert (last["request"], last["confirmed"], last["role"]) == (number, "local:rita", "approver")
    staff.verify_acts()
    with pytest.raises(StateConflict, match="is done, and waits for nobody"):
        staff.confirmations.confirm(number, "local:rolf")


def test_a_planted_rule_that_lets_one_confirm_alone_is_seen(
    staff: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakcap.service.store.confirmations._require_other", lambda *_: None)
    number = asked(staff)
    assert staff.confirmations.confirm(number, "local:root").confirmed == ("local:root",)
    assert staff.grants.of("local:eve") != ()  # what the test above refuses


def test_what_the_terminal_asks_takes_two(staff: Store) -> None:
    """Whoever sat there may be any of the administrators."""
    number = asked(staff, by="shell:root")
    assert staff.confirmations.confirm(number, "local:root").state == "waits"
    with pytest.raises(Forbidden, match="You have confirmed this before"):
        staff.confirmations.confirm(number, "local:root")
    assert staff.grants.of("local:eve") == ()
    assert staff.confirmations.confirm(number, "local:rolf").state == "done"
    assert len(staff.grants.of("local:eve")) == 1


def test_no_person_can_be_called_like_the_terminal() -> None:
    with pytest.raises(InvalidParameter, match="not be `local` or `shell`"):
        OidcProvider("shell", "https://id.example", "curator", "terminal")


def test_a_word_counts_while_its_administrator_is_one(staff: Store) -> None:
    number = asked(staff, by="shell:root")
    staff.confirmations.confirm(number, "local:rita")
    staff.grants.take("local:rita", "admin", by="local:root")
    assert staff.confirmations.confirm(number, "local:rolf").state == "waits"
    assert staff.confirmations.confirm(number, "local:root").state == "done"


@pytest.mark.parametrize("gone", ["take", "remove"])
def test_a_request_of_who_could_no_longer_ask_is_never_done(staff: Store, gone: str) -> None:
    number = asked(staff, by="local:olga")
    if gone == "take":
        staff.grants.take("local:olga", "owner", "ward", by="local:root")
    else:
        staff.people.remove("local:olga", by="local:root")
    with pytest.raises(StateConflict, match="can no longer ask"):
        staff.confirmations.confirm(number, "local:rita")
    assert staff.grants.of("local:eve") == ()
    with pytest.raises(InvalidParameter, match="must say why"):
        staff.confirmations.refuse(number, "local:rita")
    assert staff.confirmations.refuse(number, "local:rita", "She left.").state == "refused"


def test_requests_end_by_time_by_refusal_and_by_who_asked(staff: Store, clock: Hands) -> None:
    late, mine = asked(staff), asked(staff, role="auditor")
    with pytest.raises(StateConflict, match="already waits"):
        asked(staff)
    with pytest.raises(Forbidden, match="Only an administrator"):
        staff.confirmations.refuse(late, "local:olga", "I want it.")
    assert staff.confirmations.refuse(mine, "local:root").state == "withdrawn"
    clock.pass_(days=6, hours=23)
    assert staff.confirmations.find(late).state == "waits"
    clock.pass_(hours=1)
    with pytest.raises(StateConflict, match="is expired"):
        staff.confirmations.confirm(late, "local:rita")
    assert {one.id: one.state for one in staff.confirmations.list()} == {late: "expired", mine: "withdrawn"}
    assert asked(staff)  # and may be asked anew
    with pytest.raises(NotFound):
        staff.confirmations.confirm("nonsense", "local:rita")


def test_nothing_waits_that_nobody_could_confirm(store: Store) -> None:
    """The first administrator alone: refused, with the way out, rather than left to wait."""
    store.people.add("local:eve", by="local:root")
    with pytest.raises(StateConflict, match=r"an administrator other than you.*second_administrator = false"):
        asked(store)
    store.people.add("local:bot", by="local:root", agent=True)
    store.grants.give("local:bot", "admin", by="local:root")
    with pytest.raises(StateConflict, match="there are not enough"):  # a program gives no word
        asked(store)
    store.people.add("local:rita", by="local:root")
    store.grants.give("local:rita", "admin", by="local:root")
    assert asked(store)
    with pytest.raises(StateConflict, match="not enough"):  # it is about the only other one
        asked(store, subject="local:rita")
    with pytest.raises(StateConflict, match="two administrators"):
        asked(store, by="shell:root", subject="local:rita")


def test_a_one_time_password_waits_too_and_no_hash_is_logged(staff: Store) -> None:
    staff.passwords.set("local:eve", PASSWORD, by="local:eve")
    session = staff.tokens.issue("local:eve", lifetime=timedelta(hours=1), kind="session").secret
    hashed = staff.passwords.hashed("local:eve", NEW)
    body = {"hash": hashed}
    number = staff.confirmations.ask(ONE_TIME_PASSWORD, by="local:root", subject="local:eve", body=body).id
    assert staff.passwords.verify("local:eve", PASSWORD)
    assert staff.tokens.find(session) is not None
    staff.confirmations.confirm(number, "local:rita")
    assert staff.passwords.verify("local:eve", NEW)
    assert staff.people.find("local:eve").one_time is not None  # type: ignore[union-attr]
    assert staff.tokens.find(session) is None
    assert "argon2" not in repr(staff.acts.all())


def asked_to_resume(store: Store, by: str = "local:olga") -> str:
    """The number of a request for the end of the pause of now."""
    if store.people.find(by) is None:
        store.people.add(by, by="local:root")
        store.grants.give(by, "owner", "ward", by="local:root")
    pause = store.pauses.of("ward")
    assert pause is not None
    body = {"paused": stored_time(pause.time), "reason": pause.reason}
    return store.confirmations.ask(RESUME, by=by, dataset="ward", body=body).id


def test_a_word_for_the_end_of_one_pause_ends_no_other(staff: Store, clock: Hands) -> None:
    staff.pauses.pause("ward", by="local:olga", reason="New labels.")
    number, unnamed = (
        asked_to_resume(staff),
        staff.confirmations.ask(RESUME, by="local:olga", dataset="ward").id,
    )
    clock.pass_(minutes=1)
    staff.pauses.resume("ward", by="local:olga")
    staff.pauses.pause("ward", by="local:olga", reason="An accident.")
    for one in (number, unnamed):
        with pytest.raises(StateConflict, match="has ended, and it was paused anew"):
            staff.confirmations.confirm(one, "local:rita")
    assert staff.pauses.of("ward").reason == "An accident."  # type: ignore[union-attr]
    assert staff.confirmations.confirm(asked_to_resume(staff), "local:rita").state == "done"
    assert staff.pauses.of("ward") is None


def test_the_end_of_a_pause_waits(staff: Store) -> None:
    staff.pauses.pause("ward", by="local:olga", reason="An accident.")
    number = asked_to_resume(staff)
    assert staff.pauses.of("ward") is not None
    again = asked_to_resume(staff, "local:otto")
    staff.confirmations.confirm(number, "local:rita")
    assert staff.pauses.of("ward") is None
    with pytest.raises(StateConflict, match="is not paused"):
        staff.confirmations.confirm(again, "local:rita")
    assert staff.confirmations.find(again).confirmed == ()  # nothing of a failed one is kept


def test_an_approver_whom_the_asker_made_does_not_decide(staff: Store) -> None:
    """Root asks, and made eve an approver; rita made rolf one."""
    staff.grants.give("local:eve", "approver", "ward", by="local:root")
    staff.grants.give("local:rolf", "approver", "ward", by="local:rita")
    job, _ = staff.jobs.create("local:root", "ward", "release", {}, key="k", needed=1)
    with pytest.raises(Forbidden, match="Whoever asked this made you an approver"):
        staff.decisions.decide(job.id, "local:eve", "approve")
    assert staff.jobs.find(job.id).state == "awaiting approval"
    assert staff.decisions.decide(job.id, "local:rolf", "approve").state == "queued"
    other, _ = staff.jobs.create("local:rita", "ward", "release", {}, key="k", needed=1)
    assert staff.decisions.decide(other.id, "local:eve", "approve").state == "queued"


def test_an_approval_of_one_whom_the_asker_made_one_anew_does_not_count(staff: Store) -> None:
    staff.grants.give("local:eve", "approver", "ward", by="local:rita")
    staff.grants.give("local:rolf", "approver", "ward", by="local:rita")
    job, _ = staff.jobs.create("local:root", "ward", "release", {}, key="k", needed=2)
    staff.decisions.decide(job.id, "local:eve", "approve")
    staff.grants.take("local:eve", "approver", "ward", by="local:root")
    staff.grants.give("local:eve", "approver", "ward", by="local:root")
    assert staff.decisions.decide(job.id, "local:rolf", "approve").state == "awaiting approval"


def test_the_log_tells_when_the_rule_comes_and_goes(store: Store) -> None:
    for asked_for in (False, True, True, False, True):
        store.confirmations.note_rule(asked_for, by="supervisor")
    told = [one.act for one in store.acts.all() if "second administrator" in one.act]
    assert told == [
        "ask for a second administrator",
        "no longer ask for a second administrator",
        "ask for a second administrator",
    ]


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = staffed(tmp_path)
    found.store.people.add("local:rita", by="test")
    found.store.passwords.set("local:rita", PASSWORD, by="test")
    found.store.grants.give("local:rita", Role.ADMIN, by="test")
    settings = found.configuration.model_copy(update={"second_administrator": True})
    yield replace(found, configuration=settings)
    found.store.close()


def said(curator: Curator, who: str, method: str, path: str, body: Any = None) -> Said:
    """What the interface says to somebody who has signed in."""
    issued = curator.store.tokens.issue(f"local:{who}", kind="session", lifetime=timedelta(hours=1))
    headers = {"authorization": f"Bearer {issued.secret}"}
    return asyncio.run(request(create_curator(curator), method, path, headers, body))


WAITS = {
    ("POST", "/v1/people/{subject}/password"),
    ("POST", "/v1/people/{subject}/certificates"),
}
WAITS_FOR_NOBODY = {
    ("GET", "/v1/people"): "nothing changes",
    ("POST", "/v1/people"): "without a role they may do nothing",
    ("DELETE", "/v1/people/{subject}"): "it takes power away",
    ("DELETE", "/v1/people/{subject}/certificates/{thumbprint}"): "it takes power away",
    ("POST", "/v1/requests/{number}"): "it is the word itself",
}


@pytest.mark.parametrize("planted", [False, True])
def test_each_act_on_the_whole_curator_waits_or_gives_no_power(curator: Curator, planted: bool) -> None:
    """Whoever adds an act to `CURATOR_WIDE` has to say here which of both it is."""
    wide = [one for one in ROUTES if one.takes in CURATOR_WIDE]
    assert {one.takes for one in wide} == CURATOR_WIDE
    assert {(one.method, one.path) for one in wide} == WAITS | set(WAITS_FOR_NOBODY)
    if planted:
        off = curator.configuration.model_copy(update={"second_administrator": False})
        curator = replace(curator, configuration=off)
    before = curator.store.verify_acts().rows
    for one in wide:
        if (one.method, one.path) in WAITS:
            said(curator, "root", one.method, one.path.replace("{subject}", "local:ada"), one.body)
    acts = [one.act for one in curator.store.acts.all(after=before)]
    assert len(acts) == len(WAITS)
    assert all(one.startswith("ask to ") for one in acts) != planted


def test_a_certificate_waits_and_its_end_does_not(curator: Curator) -> None:
    """An administrator's own, for somebody else, would let them in as that person."""
    place, thumbprint = "/v1/people/local:ada/certificates", "ab" * 32
    asked_for = said(curator, "root", "POST", place, {"thumbprint": thumbprint})
    assert (asked_for.status, asked_for.told["thumbprint"]) == (202, thumbprint)
    assert curator.store.certificates.holder(thumbprint) is None
    assert thumbprint in visitor(curator, "rita").get("/requests").text
    yes, number = {"verdict": "confirm"}, asked_for.told["id"]
    for who in ("root", "ada", "olga"):
        assert said(curator, who, "POST", f"/v1/requests/{number}", yes).status == 403
    assert said(curator, "rita", "POST", f"/v1/requests/{number}", yes).told["state"] == "done"
    assert curator.store.certificates.holder(thumbprint) == "local:ada"
    last = curator.store.acts.all()[-1]
    assert (last.act, last.by, last.details["confirmed"]) == (
        "register certificate", "local:root", "local:rita",
    )  # fmt: skip
    again = said(curator, "root", "POST", place, {"thumbprint": thumbprint})
    assert (again.status, "registered already" in again.told["detail"]) == (409, True)
    unknown = said(curator, "root", "POST", place.replace("ada", "nobody"), {"thumbprint": "cd" * 32})
    assert unknown.status == 404
    assert said(curator, "root", "DELETE", f"{place}/{thumbprint}").status == 204
    assert curator.store.certificates.holder(thumbprint) is None


def test_a_certificate_that_was_registered_meanwhile_is_not_taken_over(staff: Store) -> None:
    body = {"thumbprint": "ab" * 32}
    number = staff.confirmations.ask(CERTIFICATE, by="local:root", subject="local:eve", body=body).id
    staff.certificates.register("local:olga", body["thumbprint"], by="local:root")
    with pytest.raises(StateConflict, match="registered already"):
        staff.confirmations.confirm(number, "local:rita")
    assert staff.certificates.holder(body["thumbprint"]) == "local:olga"
    assert staff.confirmations.find(number).state == "waits"
    assert staff.verify_acts()


def test_on_the_page_a_certificate_waits(curator: Curator) -> None:
    root = visitor(curator, "root")
    sent = {"form": root.token(), "subject": "local:ada", "thumbprint": "ab" * 32}
    answer = root.send("/people/certificates", sent)
    assert answer.headers["location"] == "/requests"
    assert "You asked for this: another administrator confirms it." in root.follow(answer).text
    assert curator.store.certificates.holder("ab" * 32) is None


def test_over_the_interface_the_acts_wait(curator: Curator) -> None:
    grant = {"subject": "local:eve", "role": "approver", "dataset": "ward"}
    role = said(curator, "root", "POST", "/v1/grants", grant)
    assert (role.status, role.told["state"], role.told["role"]) == (202, "waits", "approver")
    given = said(curator, "root", "POST", "/v1/people/local:ada/password", {})
    assert given.told["until"] is None
    assert curator.store.passwords.verify("local:ada", PASSWORD)
    assert not curator.store.passwords.verify("local:ada", given.told["password"])
    assert said(curator, "olga", "POST", "/v1/datasets/ward/pause", {"reason": "x"}).status == 204
    resumed = said(curator, "olga", "POST", "/v1/datasets/ward/resume", {})
    assert (resumed.status, resumed.told["act"]) == (202, "resume")
    pause = curator.store.pauses.of("ward")
    assert pause is not None
    assert (resumed.told["paused"], resumed.told["reason"]) == (stored_time(pause.time), "x")
    listed = said(curator, "rita", "GET", "/v1/requests")
    assert "argon2" not in listed.content.decode()
    assert len(listed.told["requests"]) == 3
    assert [one["act"] for one in said(curator, "olga", "GET", "/v1/requests").told["requests"]] == ["resume"]
    assert said(curator, "ada", "GET", "/v1/requests").told["requests"] == []
    yes = {"verdict": "confirm"}
    for one in listed.told["requests"]:
        assert said(curator, one["by"][6:], "POST", f"/v1/requests/{one['id']}", yes).status == 403
        assert said(curator, "rita", "POST", f"/v1/requests/{one['id']}", yes).told["state"] == "done"
    assert curator.store.passwords.verify("local:ada", given.told["password"])
    assert curator.store.pauses.of("ward") is None
    assert [one.role for one in curator.store.grants.of("local:eve")] == [Role.APPROVER]
    assert said(curator, "root", "POST", "/v1/grants", grant).status == 201  # they have it


def test_an_amendment_waits_and_is_made_of_the_policy_that_it_was_meant_for(curator: Curator) -> None:
    def policy() -> dict[str, Any]:
        return dict(curator.engine.call("describe", "ward", "local:olga")["policy"])

    def amendment(epsilon: float) -> Said:
        body = {"policy": {**before, "caps": {"epsilon": epsilon}}, "reason": "A longer study."}
        return said(curator, "olga", "POST", "/v1/datasets/ward/amend", body)

    before = policy()
    previewed = {"policy": {**before, "caps": {"epsilon": 30.0}}, "reason": "x", "preview": True}
    assert said(curator, "olga", "POST", "/v1/datasets/ward/amend", previewed).status == 200
    first, second = amendment(20.0), amendment(30.0)
    assert (first.status, second.status) == (202, 202)
    assert policy() == before
    yes = {"verdict": "confirm"}
    assert said(curator, "rita", "POST", f"/v1/requests/{first.told['id']}", yes).told["state"] == "done"
    assert policy()["caps"]["epsilon"] == 20.0
    refused = said(curator, "rita", "POST", f"/v1/requests/{second.told['id']}", yes)
    assert (refused.status, "was amended since" in refused.told["detail"]) == (409, True)
    assert policy()["caps"]["epsilon"] == 20.0
    bad = {"policy": {**before, "caps": {"epsilon": -1.0}}, "reason": "x"}
    assert said(curator, "olga", "POST", "/v1/datasets/ward/amend", bad).status == 422
    no = {"verdict": "refuse", "reason": "Enough."}
    assert said(curator, "rita", "POST", f"/v1/requests/{second.told['id']}", no).told["state"] == "refused"
    assert [one.act for one in curator.store.confirmations.list()] == [AMEND, AMEND]


class Faulty:
    """An engine that fails at an amendment: after it was made, or before."""

    def __init__(self, curator: Curator, kind: str, *, made: bool) -> None:
        self._engine, self._kind, self._made, self.gone = curator.engine, kind, made, False

    def call(self, operation: str, *given: Any, **more: Any) -> Any:
        preview = operation == "amend" and given[2]["preview"]
        if self.gone and operation != "amend":
            raise EngineFailed("unreachable")
        if operation != "amend" or preview:
            return self._engine.call(operation, *given, **more)
        if self._made:
            self._engine.call(operation, *given, **more)
        if self._kind == "refused":
            raise LedgerError("The ledger is locked.")
        raise EngineFailed(self._kind)


def faulty(curator: Curator, kind: str, *, made: bool) -> tuple[Curator, Faulty, str]:
    """The curator with that engine, and the number of an amendment that waits there."""
    engine = Faulty(curator, kind, made=made)
    found = replace(curator, engine=cast(EngineClient, engine))
    before = curator.engine.call("describe", "ward", "local:olga")["policy"]
    body = {"policy": {**before, "caps": {"epsilon": 20.0}}, "reason": "A longer study.", "preview": False}
    told = said(found, "olga", "POST", "/v1/datasets/ward/amend", body)
    assert told.status == 202
    return found, engine, told.told["id"]


def became(curator: Curator, number: str) -> tuple[str, list[str], float]:
    """The request's state, what the log tells of its end, and the cap that governs."""
    acts = [one.act for one in curator.store.acts.all() if one.act.endswith(AMEND)]
    policy = curator.engine.call("describe", "ward", "local:olga")["policy"]
    return curator.store.confirmations.find(number).state, acts[2:], policy["caps"]["epsilon"]


@pytest.mark.parametrize("kind", ["time", "ended", "internal", "refused"])
def test_an_amendment_that_was_made_is_said_to_be_whatever_the_engine_said(
    curator: Curator, kind: str
) -> None:
    found, _, number = faulty(curator, kind, made=True)
    told = said(found, "rita", "POST", f"/v1/requests/{number}", {"verdict": "confirm"})
    assert (told.status, told.told["state"]) == (200, "done")
    assert became(curator, number) == ("done", ["amend the policy"], 20.0)


@pytest.mark.parametrize("kind", ["time", "ended", "internal", "unreachable", "refused"])
def test_one_that_was_not_is_said_to_have_failed_once_that_is_known(curator: Curator, kind: str) -> None:
    found, _, number = faulty(curator, kind, made=False)
    cap = became(curator, number)[2]
    assert said(found, "rita", "POST", f"/v1/requests/{number}", {"verdict": "confirm"}).status >= 400
    if kind == "time":  # the engine may still be at it
        assert became(curator, number) == ("begun", [], cap)
        assert said(found, "rita", "GET", "/v1/requests").told["requests"][0]["state"] == "begun"
        later = curator.store.clock() + timedelta(minutes=10)
        object.__setattr__(curator.store, "clock", lambda: later)
        assert said(found, "rita", "GET", "/v1/requests").told["requests"][0]["state"] == "failed"
    assert became(curator, number) == ("failed", ["failed to amend the policy"], cap)


def test_what_an_engine_did_that_could_not_be_asked_then_is_told_at_the_next_look(curator: Curator) -> None:
    """Also where another amendment has come after it."""
    found, engine, number = faulty(curator, "ended", made=True)
    engine.call = _dying(engine)  # type: ignore[method-assign]
    assert said(found, "rita", "POST", f"/v1/requests/{number}", {"verdict": "confirm"}).status >= 500
    assert became(curator, number) == ("begun", [], 20.0)
    engine.gone = False
    policy = curator.engine.call("describe", "ward", "local:olga")["policy"]
    third = {"policy": {**policy, "caps": {"epsilon": 25.0}}, "reason": "Another.", "preview": False}
    curator.engine.call("amend", "ward", "local:olga", third)
    assert said(found, "olga", "GET", "/v1/requests").told["requests"][0]["state"] == "done"
    assert became(curator, number) == ("done", ["amend the policy"], 25.0)


def _dying(engine: Faulty) -> Any:
    """After the amendment nothing is answered any more."""
    call = engine.call

    def called(operation: str, *given: Any, **more: Any) -> Any:
        try:
            return call(operation, *given, **more)
        except EngineFailed:
            engine.gone = True
            raise

    return called


def test_in_the_console_one_asks_and_another_confirms(curator: Curator) -> None:
    root, rita = visitor(curator, "root"), visitor(curator, "rita")
    form, asking = root.form(root.get("/people"), "/grants"), {"role": "admin", "dataset": ""}
    page = root.follow(root.send("/grants", {**form, **asking, "subject": "local:eve"}))
    assert "You asked for this: another administrator confirms it." in page.text
    (waits,) = curator.store.confirmations.list()
    own = {"form": root.token(), "verdict": "confirm"}
    refused = root.send(f"/requests/{waits.id}", own)
    assert (refused.status_code, "what they asked for themselves" in refused.text) == (409, True)
    theirs = {**rita.form(rita.get("/requests"), f"/requests/{waits.id}"), "verdict": "confirm"}
    assert "done" in rita.follow(rita.send(f"/requests/{waits.id}", theirs)).text
    assert [one.role for one in curator.store.grants.of("local:eve")] == [Role.ADMIN]
    assert 'href="/requests"' in root.get("/").text
    off = replace(
        curator, configuration=curator.configuration.model_copy(update={"second_administrator": False})
    )
    assert 'href="/requests"' not in Browser(off).sign_in("root").get("/").text


def test_at_the_terminal(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(RULE + file.read_text())

    def commanded(*words: str) -> str:
        told = CliRunner().invoke(command, ["curator", words[0], str(file), *words[1:]])
        if told.exception is not None and not isinstance(told.exception, SystemExit):
            raise told.exception
        return told.output

    with pytest.raises(StateConflict, match="two administrators"):
        commanded("add", "ng", "--role", "approver:ward")
    from leakcap.service.configuration import load_configuration

    configuration = load_configuration(file)
    with Store.open(configuration.store) as store:
        for name in ("root", "rita"):
            store.people.add(f"local:{name}", by="setup")
            store.grants.give(f"local:{name}", Role.ADMIN, by="setup")
        told = commanded("grant", "ng", "--role", "approver:ward")
        assert "local:ng has approver:ward once two administrators confirm it, within seven days" in told
        assert store.grants.of("local:ng") == ()
        said = commanded("password", "ng")
        assert "not good before two administrators confirm it" in said
        drawn = said.split()[-1]
        assert not store.passwords.verify("local:ng", drawn)
        one = Authority().issued("ng")
        shown = tmp_path / "ng.pem"
        shown.write_bytes(one.certificate.public_bytes(Encoding.PEM))
        told = commanded("certificate", "ng", str(shown))
        assert f"{one.thumbprint} is a certificate of local:ng once two administrators confirm it" in told
        assert store.certificates.holder(one.thumbprint) is None
        numbers = [one.id for one in store.confirmations.list()]
        assert {one.needed for one in store.confirmations.list()} == {2}
        for number in numbers:
            store.confirmations.confirm(number, "local:root")
            assert store.confirmations.confirm(number, "local:rita").state == "done"
        assert [one.role for one in store.grants.of("local:ng")] == [Role.APPROVER]
        assert store.passwords.verify("local:ng", drawn)
        assert store.certificates.holder(one.thumbprint) == "local:ng"
        assert "is withdrawn from local:ng" in commanded("certificate", "ng", str(shown), "--withdraw")
        assert store.certificates.holder(one.thumbprint) is None
        require_continued(configuration, store)
        # Once, before the first command wrote anything: the file's rule is the one that was told before.
        told_of = [one.act for one in store.acts.all() if one.act == "ask for a second administrator"]
        assert len(told_of) == 1


def test_a_copy_of_the_file_without_the_rule_leaves_a_trace(tmp_path: Path) -> None:
    """Whoever sits at the terminal switches it off, uses that, and the curator never saw it."""
    file = written(tmp_path)
    copy = file.with_name("copy.toml")
    copy.write_text(file.read_text())
    file.write_text(RULE + file.read_text())
    from leakcap.service.configuration import load_configuration

    configuration = load_configuration(file)
    with Store.open(configuration.store) as store:
        require_continued(configuration, store)
        store.people.add("local:ng", by="setup")
        before = store.verify_acts().rows

        def commanded(*words: str) -> None:
            told = CliRunner().invoke(command, ["curator", words[0], str(copy), *words[1:]])
            assert told.exception is None, told.exception

        commanded("people")
        assert store.verify_acts().rows == before
        commanded("grant", "ng", "--role", "approver:ward")
        require_continued(configuration, store)
        commanded("take", "ng", "--role", "approver:ward")
        told = [one.act for one in store.acts.all(after=before)]
        assert told == [
            "no longer ask for a second administrator",
            "give role",
            "ask for a second administrator",
            "no longer ask for a second administrator",
            "take role",
        ]
        by = [one.by for one in store.acts.all(after=before)]
        assert (by[0].partition(":")[0], by[2]) == ("shell", "supervisor")


def test_a_web_worker_tells_the_rule_that_it_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file may have changed since the supervisor read it, and a worker begins again by itself."""
    from leakcap.service.configuration import load_configuration
    from leakcap.service.running import process

    class Served:
        def __init__(self, config: object) -> None:
            assert config is not None

        async def serve(self, sockets: object) -> None:
            """Nobody comes."""

    monkeypatch.setattr("uvicorn.Server", Served)
    monkeypatch.setattr("gc.freeze", lambda: None)
    file = written(tmp_path)
    file.write_text(RULE + file.read_text())
    with socket.socket() as listener:
        for _ in range(2):
            process._web(load_configuration(file), tmp_path, listener)
    with Store.open(load_configuration(file).store) as store:
        told = [(one.by, one.act) for one in store.acts.all() if "second administrator" in one.act]
    assert told == [("web worker", "ask for a second administrator")]
