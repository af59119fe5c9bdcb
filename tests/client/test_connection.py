"""A curator asked from Python: keys kept, errors as they are, nothing believed that has not its shape."""

from __future__ import annotations

import copy
import itertools
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import leakcap as lc
from client.in_process import HOME, InProcess, connected, curator_in, token_of
from leakcap.client import (
    AwaitingApproval,
    Connection,
    NoAnswer,
    NotAllowed,
    NotSignedIn,
    NotThere,
    TryLater,
)
from leakcap.errors import BudgetExceeded, DataError, InvalidParameter, InvalidQuery, LeakcapError
from leakcap.release import Query
from leakcap.service.api.curator import Curator
from leakcap.service.running.jobs import work
from service.direct import POLICY

COUNT = Query(name="n", statistic="count", epsilon=0.5)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pauses between attempts are counted, not slept through."""
    monkeypatch.setattr("leakcap.client.http._PAUSES", (0.0, 0.0, 0.0))


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path)
    yield found
    found.store.close()


def spent(curator: Curator) -> float:
    return float(curator.engine.call("budget", "ward", "")["caps"][0]["spent"])


def keys(transport: InProcess) -> list[str]:
    """The idempotency keys that were sent."""
    return [one.headers["idempotency-key"] for one in transport.requests if "idempotency-key" in one.headers]


def losing(times: int, path: str = "/releases") -> Callable[[httpx.Request, httpx.Response], httpx.Response]:
    """An answer that is lost on its way, so many times."""
    left = [times]

    def lose(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if request.url.path.endswith(path) and left[0]:
            left[0] -= 1
            raise httpx.ReadError("the line is dead")
        return answer

    return lose


def test_an_answer_that_is_lost_is_asked_for_again_under_its_key(curator: Curator) -> None:
    connection, transport = connected(curator)
    transport.after = losing(2)
    (release,) = connection["ward"].release([COUNT], fresh=True)
    assert len(keys(transport)) == 3
    assert len(set(keys(transport))) == 1
    assert spent(curator) == 0.5
    kept = curator.engine.call("ledger", "ward", "")["entries"]
    assert len(kept) == 1
    connection["ward"].release([COUNT], fresh=True)
    assert spent(curator) == 1.0  # the planted other key: what each attempt would have paid without the first
    assert release.price.epsilon == 0.5


def test_attempts_end_and_the_error_has_the_key(curator: Curator) -> None:
    connection, transport = connected(curator)
    transport.after = losing(99)
    with pytest.raises(NoAnswer, match="paid for once") as found:
        connection["ward"].release([COUNT], fresh=True)
    assert len(keys(transport)) == 4
    assert found.value.request == keys(transport)[0]
    assert spent(curator) == 0.5
    transport.after = losing(0)
    connection["ward"].release([COUNT], fresh=True, request=found.value.request)
    assert spent(curator) == 0.5


def test_other_posts_are_not_repeated(curator: Curator) -> None:
    """A token that was issued and lost would be there twice."""
    connection, transport = connected(curator)
    transport.after = losing(1, "/tokens")
    with pytest.raises(NoAnswer):
        connection.tokens.issue("script")
    assert len([one for one in transport.requests if one.method == "POST"]) == 1


@pytest.mark.parametrize(
    ("status", "kind"), [(503, "engine-ended"), (503, "engine-unreachable"), (502, None), (504, None)]
)
def test_a_curator_that_is_being_started_is_waited_for(
    curator: Curator, status: int, kind: str | None
) -> None:
    connection, transport = connected(curator)
    turns = itertools.count()
    problem = {"type": f"urn:leakcap:problem:{kind}", "detail": "x"} if kind else {"detail": "a proxy"}

    def starting(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(status, json=problem) if next(turns) < 2 else None

    transport.before = starting
    assert connection.me()["subject"] == "local:ada"


def test_errors_come_back_with_their_fields(curator: Curator) -> None:
    ward = connected(curator)[0]["ward"]
    with pytest.raises(BudgetExceeded, match="would be exceeded: 10 left of 10, 50 asked") as budget:
        ward.count(epsilon=50.0)
    assert (budget.value.passed[0].left, budget.value.committed) == (10.0, False)
    with pytest.raises(InvalidQuery, match="Line 1, column 8"):
        ward.sql("SELECT age FROM ward", epsilon=1.0)
    with pytest.raises(InvalidQuery, match="Nothing was released yet"):
        ward.statement()


def test_who_is_refused(curator: Curator) -> None:
    connection, _ = connected(curator)
    for name in ("none", "ward2"):
        with pytest.raises(NotThere, match=name):
            connection[name].count(epsilon=1.0)
    with pytest.raises(NotThere):
        connection["../ward"]
    with pytest.raises(NotThere):
        connection.jobs["../me"]
    with pytest.raises(NotAllowed, match="sign in"):
        connection.tokens.issue("script")
    other = Connection(HOME, "lkc_0123456789abcdef_" + "A" * 43, transport=InProcess(curator))
    with pytest.raises(NotSignedIn, match=r"leakcap login http://127\.0\.0\.1:8422"):
        other.me()
    with pytest.raises(NotSignedIn):
        other["ward"].count(epsilon=1.0)
    assert spent(curator) == 0.0


def test_more_queries_than_a_curator_takes(curator: Curator) -> None:
    asked = [Query(name=f"n{i}", statistic="count", epsilon=1e-6) for i in range(1001)]
    with pytest.raises(InvalidQuery, match="queries"):
        connected(curator)[0]["ward"].release(asked)
    assert spent(curator) == 0.0


def test_what_the_policy_refuses_is_not_sent(curator: Curator) -> None:
    connection, transport = connected(curator)
    with pytest.raises(InvalidQuery):
        connection["ward"].count(where="height > 5", epsilon=1.0)
    assert keys(transport) == []


def test_nothing_shows_the_token(curator: Curator) -> None:
    token = token_of(curator, "ada")
    connection = Connection(HOME, token, transport=InProcess(curator))
    ward = connection["ward"]
    shown = (connection, ward, ward._http, connection.jobs, connection.tokens)
    assert not any(token in f"{one!r}{one}" for one in shown)
    with pytest.raises(LeakcapError) as error:
        ward.count(epsilon=99.0)
    assert token not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://curator.example.org",
        "http://127.0.0.1.example.org",
        "ftp://127.0.0.1",
        "https://ann:pw@curator.example.org",
        "https://curator.example.org/v1?x=1",
        "https://",
        "curator.example.org",
        "https://exa mple.org",
        "https://example.org\\@evil.example",
        "https://example.org:99999",
    ],
)
def test_no_token_goes_to_an_open_address(url: str) -> None:
    with pytest.raises(InvalidParameter, match="`url` of a curator") as found:
        lc.connect(url, token="lkc_secret")
    assert "pw" not in str(found.value)


def test_without_httpx_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'leakcap\[client\]'"):
        lc.connect(HOME, token="lkc_x")


def test_a_redirect_is_not_followed(curator: Curator) -> None:
    connection, transport = connected(curator)
    away = {"location": "https://evil.example/v1/me"}
    transport.before = lambda request: httpx.Response(307, headers=away)
    with pytest.raises(DataError, match="leads elsewhere"):
        connection.me()
    assert {one.url.host for one in transport.requests} == {"127.0.0.1"}


def test_certificates_are_checked_and_no_proxy_leads_around_this_machine() -> None:
    connection = lc.connect("https://curator.example.org", token="lkc_x")
    pool = connection._http._client._transport._pool
    assert pool._ssl_context.check_hostname
    assert pool._ssl_context.verify_mode.name == "CERT_REQUIRED"
    assert connection._http._client.trust_env
    assert not lc.connect(HOME, token="lkc_x")._http._client.trust_env


def test_what_is_too_large_compressed_or_no_json_is_refused(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, transport = connected(curator)
    answers: dict[str, httpx.Response] = {
        "compressed": httpx.Response(200, headers={"content-encoding": "br"}, content=b""),
        "does not speak JSON": httpx.Response(200, html="<h1>Log in</h1>"),
        "cannot be read": httpx.Response(200, headers={"content-type": "application/json"}, content=b"["),
        "is no curator": httpx.Response(400, html="<h1>Bad</h1>"),
        "longer than": httpx.Response(200, json={"x": "y" * 3000}),
    }
    monkeypatch.setattr("leakcap.client.http._LARGEST", 2000)
    for said, answer in answers.items():
        transport.before = lambda request: answer  # noqa: B023
        with pytest.raises(DataError, match=said):
            connection.me()
    deep = b"[" * 1500
    transport.before = lambda request: httpx.Response(
        200, headers={"content-type": "application/json"}, content=deep
    )
    with pytest.raises(DataError):
        connection.me()


def test_too_many_requests_are_waited_for_where_that_is_short(curator: Curator) -> None:
    connection, transport = connected(curator)
    turns = itertools.count()
    told = {"type": "urn:leakcap:problem:too-many-requests", "detail": "Wait a moment."}
    after = {"retry-after": "0"}

    def busy(request: httpx.Request) -> httpx.Response | None:
        return httpx.Response(429, json=told, headers=after) if next(turns) < 1 else None

    transport.before = busy
    assert connection.me()["subject"] == "local:ada"
    transport.before = lambda request: httpx.Response(429, json=told, headers={"retry-after": "900"})
    with pytest.raises(TryLater, match="Wait a moment"):
        connection.me()


def values(found: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values of a document."""
    yield at
    inner = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    for name, one in inner:
        yield from values(one, (*at, name))


def changed(found: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a place."""
    if not place:
        return value
    whole = copy.deepcopy(found)
    inside = whole
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value
    return whole


STRANGE: list[Any] = [
    None,
    True,
    -1,
    10**400,
    1e308,
    "",
    "../../etc/passwd",
    "\x1b[2J",
    [],
    {},
    [[]],
    {"x": 1},
]


def test_no_answer_of_a_hostile_curator_is_more_than_an_error(curator: Curator, tmp_path: Path) -> None:
    """Each value of each answer in turn replaced: what comes of it is a value or one error of leakcap's."""
    connection, transport = connected(curator)
    ward = connection["ward"]
    ward.count(by="ward", epsilon=0.5)
    calls: dict[str, Callable[[], Any]] = {
        "/releases": lambda: str(ward.count(by="ward", epsilon=0.5)),
        "/budget": lambda: (ward.budget(), ward.accounts()),
        "/statement": lambda: ward.statement().record(),
        "/datasets/ward": lambda: str(connection["ward"].count(by="ward", epsilon=0.5)),
        "/datasets": lambda: connection.datasets(),
        "/me": lambda: connection["ward"].analyst,
        "/jobs": lambda: [(one.id, one.state, one.told) for one in connection.jobs],
    }
    chance, tried, refused = random.Random(5), 0, list[str]()
    before = {path.name for path in tmp_path.iterdir()}
    for path, call in calls.items():
        genuine: list[bytes] = []
        transport.after = lambda request, answer: _noted(request, answer, path, genuine)  # noqa: B023
        call()
        document = json.loads(genuine[0])
        for place in chance.sample(
            sorted(values(document), key=repr), k=min(25, len(list(values(document))))
        ):
            text = json.dumps(changed(document, place, chance.choice(STRANGE)))
            transport.after = lambda request, answer: _swapped(request, answer, path, text)  # noqa: B023
            tried += 1
            try:
                call()
            except LeakcapError as error:
                refused.append(str(error))
    assert tried > 50
    assert len(refused) > tried / 3
    assert not any("\x1b" in told or len(told) > 3000 for told in refused)
    assert {path.name for path in tmp_path.iterdir()} == before


def _noted(request: httpx.Request, answer: httpx.Response, path: str, into: list[bytes]) -> httpx.Response:
    if request.url.path.endswith(path):
        into.append(answer.content)
    return answer


def _swapped(request: httpx.Request, answer: httpx.Response, path: str, text: str) -> httpx.Response:
    if not request.url.path.endswith(path):
        return answer
    return httpx.Response(answer.status_code, headers={"content-type": "application/json"}, content=text)


PROBLEMS: list[Any] = [
    {"type": "urn:leakcap:problem:budget-exceeded", "detail": "x"},
    {"type": "urn:leakcap:problem:budget-exceeded", "detail": "x", "passed": [{"cap": 1, "left": "a"}]},
    {"type": "urn:leakcap:problem:budget-exceeded", "passed": 5},
    {
        "type": "urn:leakcap:problem:budget-exceeded",
        "passed": [{"cap": "x", "limit": "\x1b", "left": 1, "asked": 1}],
    },
    {"type": "urn:leakcap:problem:require", "detail": ["x"]},
    {"type": "urn:leakcap:problem:../x", "detail": "\x1b]0;mine\x07"},
    {"type": 7},
    [],
    None,
]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("status", [400, 401, 409, 422, 500, 599])
def test_problems_that_are_none_are_still_one_error(curator: Curator, problem: Any, status: int) -> None:
    connection, transport = connected(curator)
    transport.before = lambda request: httpx.Response(status, json=problem)
    with pytest.raises(LeakcapError) as found:
        connection.me()
    assert "\x1b" not in str(found.value)


def amend(curator: Curator, epsilon: float) -> None:
    """The owner lets another cap govern."""
    import tomllib

    policy = tomllib.loads(POLICY % epsilon)
    curator.engine.call("amend", "ward", "local:olga", {"policy": policy, "reason": "more room"})


def test_an_amended_policy_is_fetched_again(curator: Curator) -> None:
    connection, transport = connected(curator)
    ward = connection["ward"]
    ward.count(epsilon=0.5)
    amend(curator, 20.0)
    assert ward.policy.caps.epsilon == 10.0
    assert ward.count(by="ward", epsilon=0.5).price.epsilon == 0.5
    assert ward.policy.caps.epsilon == 20.0
    described = [one for one in transport.requests if one.url.path == "/v1/datasets/ward"]
    assert len(described) == 2


def test_an_answer_under_another_policy_is_not_misread(curator: Curator) -> None:
    """The planted answer names a policy that nobody can show."""
    connection, transport = connected(curator)

    def other(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if not request.url.path.endswith("/releases"):
            return answer
        return httpx.Response(200, json={**answer.json(), "policy": "0" * 64})

    transport.after = other
    with pytest.raises(DataError, match="was amended"):
        connection["ward"].count(epsilon=0.5)


APPROVED = "approval = { above_epsilon = 1.0, approvers = 1 }\n"


def test_a_question_that_needs_approval_is_a_job(tmp_path: Path) -> None:
    curator = curator_in(tmp_path, more=APPROVED)
    curator.store.people.add("local:ann", by="test")
    curator.store.grants.give("local:ann", "approver", "ward", by="test")
    connection, _ = connected(curator)
    ward = connection["ward"]
    text = "SELECT ward, COUNT(*) AS n FROM ward GROUP BY ward ORDER BY n DESC LIMIT 1"
    assert ward.count(epsilon=1.0).price.epsilon == 1.0
    with pytest.raises(AwaitingApproval, match=r"nothing was spent.*One person has to approve") as found:
        ward.sql(text, epsilon=2.0)
    job, key = found.value.job, found.value.request
    assert job is not None
    assert job.state == "awaiting approval"
    assert job.wait(0.0).state == "awaiting approval"
    with pytest.raises(LeakcapError, match="awaiting approval"):
        job.result()
    assert spent(curator) == 1.0
    curator.store.decisions.decide(job.id, "local:ann", "approve", "")
    turns = iter([True, False])
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(turns))
    (release,) = job.result()
    assert len(release.rows) == 1
    assert "ordered by n" in release.arranged
    assert spent(curator) == 3.0
    (again,) = ward.sql(text, epsilon=2.0, request=key)
    assert again.to_dict() == {**release.to_dict(), "repeated": again.repeated}
    listed = next(iter(connection.jobs))
    assert (listed.id, listed.ended) == (job.id, True)
    assert len(listed.result()[0].rows) == 3
    assert spent(curator) == 3.0
    curator.store.close()


def test_a_job_that_nobody_approves_is_waited_for(tmp_path: Path) -> None:
    """As if it were answered at once, and paid for once."""
    curator = curator_in(tmp_path, more='answers = "as jobs"\n')
    connection, transport = connected(curator)

    def worked(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if request.method == "POST":
            turns = iter([True, False])
            work(curator.store, curator.engine, curator.configuration, going=lambda: next(turns))
        return answer

    transport.after = worked
    ward = connection["ward"]
    release = ward.count(by="ward", epsilon=0.5)
    assert (len(release.rows), spent(curator)) == (3, 0.5)
    with pytest.raises(BudgetExceeded):
        ward.count(epsilon=99.0)
    assert any("/v1/jobs/" in one.url.path for one in transport.requests)
    curator.store.close()


def test_a_job_that_takes_longer_than_the_connection_waits_is_named(tmp_path: Path) -> None:
    """The planted mistake is a client that says that nothing was spent: the job may be at work."""
    curator = curator_in(tmp_path, more='answers = "as jobs"\n')
    connection, _ = connected(curator, seconds=0.3)
    with pytest.raises(AwaitingApproval, match=r"no answer yet: job \w+ \(queued\).*paid for once") as found:
        connection["ward"].count(epsilon=0.5)
    turns = iter([True, False])
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(turns))
    assert found.value.job is not None
    (release,) = found.value.job.result()
    query = Query(name="count", statistic="count", epsilon=0.5)
    (again,) = connection["ward"].release([query], request=found.value.request)
    assert release.rows[0].value == again.rows[0].value
    assert spent(curator) == 0.5
    curator.store.close()


def test_a_refused_job_says_why(tmp_path: Path) -> None:
    curator = curator_in(tmp_path, more=APPROVED)
    curator.store.people.add("local:ann", by="test")
    curator.store.grants.give("local:ann", "approver", "ward", by="test")
    connection, _ = connected(curator)
    with pytest.raises(AwaitingApproval) as found:
        connection["ward"].count(epsilon=2.0)
    assert found.value.job is not None
    curator.store.decisions.decide(found.value.job.id, "local:ann", "refuse", "ask for less")
    with pytest.raises(LeakcapError, match=r"is refused: it has no answer\. ask for less"):
        found.value.job.wait(1.0).result()
    curator.store.close()
