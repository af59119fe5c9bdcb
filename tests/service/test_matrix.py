"""Every route of the curator times everybody who could come: let in as the table of actions says, or refused.

Which action a route takes is written here by hand. A route that is not written here fails the tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from starlette.types import ASGIApp

from leakcap.service.api.app import create_curator, openapi_of
from leakcap.service.api.curator import Curator
from leakcap.service.authorization import (
    ANYONE,
    CURATOR_WIDE,
    MATRIX,
    NEVER_BY_AGENTS,
    NEVER_BY_TOKENS,
    SCOPES,
    Action,
)
from leakcap.service.store import Role
from service.direct import POLICY, curator_in
from service.straight import request

KEY = {"idempotency-key": "k"}
ASKED = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.01}]}
WHY = {"reason": "a test"}
PUBLIC, OWN_JOB, CANCEL_OWN = "public", "own job", "cancel own job"


@dataclass(frozen=True)
class Route:
    """One route: what it takes, and of which data set; a body that changes nothing for long."""

    method: str
    path: str
    takes: Action | str
    dataset: str | None = None
    body: Mapping[str, Any] | None = None


ROUTES = (
    Route("GET", "/healthz", PUBLIC),
    Route("GET", "/readyz", PUBLIC),
    Route("GET", "/metrics", PUBLIC),
    Route("GET", "/v1", PUBLIC),
    Route("POST", "/v1/session", PUBLIC, body={"name": "ghost", "password": "x"}),
    Route("POST", "/v1/password", PUBLIC, body={"name": "ghost", "password": "x", "chosen": "y"}),
    Route("GET", "/v1/me", Action.SEE_ONESELF),
    Route("GET", "/v1/tokens", Action.SEE_TOKENS),
    Route("POST", "/v1/tokens", Action.ISSUE_TOKEN, body={"days": 1}),
    Route("DELETE", "/v1/tokens/{number}", Action.REVOKE_TOKEN),
    Route("GET", "/v1/datasets", Action.LIST_DATASETS),
    Route("GET", "/v1/datasets/{dataset}", Action.SEE_DATASET, "ward"),
    Route("GET", "/v1/datasets/{dataset}/budget", Action.SEE_BUDGET, "ward"),
    Route("GET", "/v1/datasets/{dataset}/statement", Action.SEE_OWN_STATEMENT, "ward"),
    Route("GET", "/v1/datasets/{dataset}/statement?everyone=true", Action.SEE_STATEMENT, "ward"),
    Route("POST", "/v1/datasets/{dataset}/previews", Action.PREVIEW, "ward", ASKED),
    Route("POST", "/v1/datasets/{dataset}/releases", Action.RELEASE, "ward", ASKED),
    Route("POST", "/v1/datasets/{dataset}/fits", Action.FIT, "ward", {"model": {}}),
    Route("POST", "/v1/datasets/{dataset}/tables", Action.RELEASE_TABLES, "ward", {"tables": [{}]}),
    Route("POST", "/v1/datasets/{dataset}/pause", Action.PAUSE, "ward", WHY),
    Route("POST", "/v1/datasets/{dataset}/resume", Action.RESUME, "ward", {}),
    Route("POST", "/v1/datasets/{dataset}/amend", Action.AMEND, "ward", {"policy": {}, **WHY}),
    Route("GET", "/v1/datasets/{dataset}/ledger", Action.SEE_LEDGER, "ward"),
    Route("GET", "/v1/datasets/{dataset}/ledger/verify", Action.VERIFY_LEDGER, "ward"),
    Route("GET", "/v1/datasets/{dataset}/ledger/anchor", Action.ANCHOR_LEDGER, "ward"),
    Route("GET", "/v1/datasets/{dataset}/ledger/certificate", Action.CERTIFY_LEDGER, "ward"),
    Route("GET", "/v1/datasets/{dataset}/grants", Action.SEE_GRANTS, "ward"),
    Route("GET", "/v1/jobs", Action.LIST_DATASETS),
    Route("GET", "/v1/jobs/{number}", OWN_JOB, "ward"),
    Route("GET", "/v1/jobs/{number}/events", OWN_JOB, "ward"),
    Route("GET", "/v1/jobs/{number}/answer", CANCEL_OWN, "ward"),
    Route("DELETE", "/v1/jobs/{number}", CANCEL_OWN, "ward"),
    Route("GET", "/v1/approvals", Action.LIST_DATASETS),
    Route("GET", "/v1/approvals/{number}/preview", Action.SEE_APPROVALS, "ward"),
    Route("POST", "/v1/approvals/{number}", Action.DECIDE, "ward", {"verdict": "approve"}),
    Route("POST", "/v1/grants", Action.GIVE_ROLE, "ward",
          {"subject": "local:gus", "role": "analyst", "dataset": "ward"}),
    Route("POST", "/v1/grants/take", Action.TAKE_ROLE, "ward",
          {"subject": "local:gus", "role": "auditor", "dataset": "ward"}),
    Route("GET", "/v1/people", Action.SEE_PEOPLE),
    Route("POST", "/v1/people", Action.ADD_PERSON, body={"subject": "local:gus"}),
    Route("POST", "/v1/people/{subject}/password", Action.SET_PASSWORD, body={}),
    Route("DELETE", "/v1/people/{subject}", Action.REMOVE_PERSON),
    Route("POST", "/v1/people/{subject}/certificates", Action.SET_CERTIFICATE,
          body={"thumbprint": "0" * 64}),
    Route("DELETE", "/v1/people/{subject}/certificates/{thumbprint}", Action.SET_CERTIFICATE),
    Route("GET", "/v1/requests", Action.SEE_REQUESTS),
    Route("POST", "/v1/requests/{number}", Action.CONFIRM, body={"verdict": "confirm"}),
    Route("DELETE", "/v1/requests/{number}", Action.WITHDRAW),
    Route("GET", "/v1/acts", Action.SEE_ACTS),
    Route("DELETE", "/v1/session", Action.SEE_ONESELF),  # last: the credential ends
)  # fmt: skip


@dataclass(frozen=True)
class Visitor:
    """Somebody who comes with a credential: their roles by data set, and what it is narrowed to."""

    name: str
    header: str
    known: bool = True
    roles: tuple[tuple[str, Role], ...] = ()
    scopes: frozenset[str] | None = None
    reaches: frozenset[str] | None = None
    token: bool = False
    agent: bool = False

    def on(self, dataset: str | None) -> frozenset[Role]:
        """The roles on a data set, or on the whole curator."""
        held = {role for place, role in self.roles if place == (dataset or "")}
        wide = {role for place, role in self.roles if place == "" and self.reaches is None}
        reached = self.reaches is None or dataset in self.reaches
        return frozenset(wide | (held if reached and dataset else set()))


def wanted(visitor: Visitor, route: Route, *, asker: str) -> int:
    """200 for let in, else the status of the refusal."""
    if route.takes is PUBLIC:
        return 200
    if not visitor.known:
        return 401
    if route.takes in (OWN_JOB, CANCEL_OWN):
        return _of_job(visitor, route, asker)
    seen = _may(visitor, Action.SEE_JOBS, "ward") == 200 or _own(visitor, asker)
    if route.path.startswith("/v1/approvals/") and not seen:
        return 404  # whoever may not see the job is not told that it is there
    assert isinstance(route.takes, Action)
    return _may(visitor, route.takes, route.dataset)


def _of_job(visitor: Visitor, route: Route, asker: str) -> int:
    if _own(visitor, asker):
        action = Action.SEE_OWN_JOBS if route.takes is OWN_JOB else Action.CANCEL_OWN_JOB
        return _may(visitor, action, "ward")
    seen = route.takes is OWN_JOB and _may(visitor, Action.SEE_JOBS, "ward") == 200
    return 200 if seen else 404


def _own(visitor: Visitor, asker: str) -> bool:
    return visitor.name.split()[0] == asker and Role.ANALYST in visitor.on("ward")


def _may(visitor: Visitor, action: Action, dataset: str | None) -> int:
    roles = visitor.on(None if action in CURATOR_WIDE else dataset)
    if action not in ANYONE and not roles & MATRIX[action]:
        unseen = dataset is not None and action not in CURATOR_WIDE and not roles - {Role.ADMIN}
        return 404 if unseen else 403
    if visitor.scopes is not None and SCOPES[action] not in visitor.scopes:
        return 403
    barred = (visitor.token and action in NEVER_BY_TOKENS) or (visitor.agent and action in NEVER_BY_AGENTS)
    return 403 if barred else 200


def visitors_of(curator: Curator) -> list[Visitor]:
    """One for each role, data set, scope and kind of credential."""
    store = curator.store

    def come(name: str, roles: Mapping[str, tuple[str, ...]], **more: Any) -> Visitor:
        subject, agent = f"local:{name.split()[0]}", bool(more.pop("agent", False))
        if store.people.find(subject) is None:
            store.people.add(subject, by="test", agent=agent)
        held = tuple((place, Role(role)) for place, named in roles.items() for role in named)
        for place, role in held:
            store.grants.give(subject, role, place, by="test")
        kind = "token" if more.pop("token", False) else "session"
        lifetime = more.pop("lifetime", timedelta(hours=1))
        issued = store.tokens.issue(subject, kind=kind, lifetime=lifetime, **more)
        return Visitor(
            name, f"Bearer {issued.secret}", True, held, issued.token.scopes, issued.token.datasets,
            kind == "token", agent,
        )  # fmt: skip

    here = ("owner", "analyst", "approver", "auditor")
    everything = {"ward": here, "stays": here, "": ("admin",)}
    found = [
        Visitor("nobody", "", False),
        Visitor("stranger", "Bearer lkc_" + "0" * 16 + "_" + "A" * 43, False),
    ]
    found += [come("eve", {}), come("admin", {"": ("admin",)}), come("analyst", {"ward": ("analyst",)})]
    found += [come(f"{role}", {"ward": (role,)}) for role in here if role != "analyst"]
    found += [come(f"{role}-elsewhere", {"stays": (role,)}) for role in here]
    found += [come(f"{role}-agent", {"ward": (role,)}, agent=True) for role in here]
    found += [come("all", everything), come("all by token", everything, token=True)]
    found += [
        come(f"all to {scope}", everything, token=True, scopes=[scope])
        for scope in ("read", "ask", "approve", "audit", "own")
    ]
    found += [come("all to nothing", everything, token=True, scopes=[])]
    found += [come(f"all in {name}", everything, token=True, datasets=[name]) for name in ("ward", "stays")]
    found += [come("all in none", everything, token=True, datasets=[])]
    found += _ended(curator, come)
    return found


def _ended(curator: Curator, come: Any) -> list[Visitor]:
    """Credentials that were good once."""
    store, own = curator.store, {"ward": ("analyst",)}
    revoked, removed = (come(name, own, token=True) for name in ("revoked", "removed"))
    expired = come("expired", own, token=True, lifetime=timedelta(microseconds=1))
    (token,) = store.tokens.list("local:revoked")
    store.tokens.revoke("local:revoked", token.id, by="test")
    store.people.remove("local:removed", by="test")
    return [replace(one, known=False) for one in (revoked, expired, removed)]


MORE = """
[data.stays]
policy = "stays.toml"
source = "ward.parquet"
ledger = "stays.db"
[limits]
requests_per_minute = 1000000
"""


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Curator]:
    folder = tmp_path_factory.mktemp("matrix")
    (folder / "stays.toml").write_text((POLICY % 10.0).replace('"ward"', '"stays"', 1))
    found = curator_in(folder, more=MORE)
    found.store.people.add("local:gus", by="test")
    yield found
    found.store.close()


@pytest.fixture(scope="module")
def visitors(curator: Curator) -> list[Visitor]:
    return visitors_of(curator)


@pytest.fixture(scope="module")
def jobs(curator: Curator, visitors: list[Visitor]) -> tuple[str, str]:
    """A job that is done and one that waits for ten approvals, both asked for by `analyst`."""
    queue, asker = curator.store.jobs, "local:analyst"
    done, _ = queue.create(asker, "ward", "release", ASKED, key="done")
    claimed = queue.claim("w")
    assert claimed is not None
    queue.finish(claimed, result=[1])
    waits, _ = queue.create(asker, "ward", "release", ASKED, key="waits", needed=10)
    return done.id, waits.id


def test_every_route_is_in_the_table(curator: Curator) -> None:
    paths = openapi_of(curator)["paths"]
    there = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert there == {(one.method, one.path.partition("?")[0]) for one in ROUTES}


def test_everybody_is_let_in_where_the_table_says_and_nowhere_else(
    curator: Curator, visitors: list[Visitor], jobs: tuple[str, str]
) -> None:
    assert asyncio.run(_wrong(create_curator(curator), visitors, ROUTES, jobs)) == []


def test_a_planted_hole_is_seen(
    curator: Curator, visitors: list[Visitor], jobs: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (auditor,) = (one for one in visitors if one.name == "auditor-agent")
    (budget,) = (one for one in ROUTES if one.takes is Action.SEE_GRANTS)
    planted = {**MATRIX, Action.SEE_GRANTS: MATRIX[Action.SEE_GRANTS] | {Role.AUDITOR}}
    app = create_curator(curator)
    monkeypatch.setattr("leakcap.service.authorization.MATRIX", planted)
    assert len(asyncio.run(_wrong(app, [auditor], [budget], jobs))) == 1


def test_nobody_is_answered_while_the_data_set_is_paused(curator: Curator, visitors: list[Visitor]) -> None:
    """Also whoever has all roles."""
    assert any(one.name == "all" for one in visitors)
    issued = curator.store.tokens.issue("local:all", lifetime=timedelta(hours=1))
    headers = {**KEY, "authorization": f"Bearer {issued.secret}"}
    curator.store.pauses.pause("ward", by="local:all", reason="a test")
    try:
        asked = request(create_curator(curator), "POST", "/v1/datasets/ward/releases", headers, ASKED)
        said = asyncio.run(asked)
    finally:
        curator.store.pauses.resume("ward", by="local:all")
    assert (said.status, said.told["type"]) == (409, "urn:leakcap:problem:state-conflict")


async def _wrong(
    app: ASGIApp, visitors: Sequence[Visitor], routes: Sequence[Route], jobs: tuple[str, str]
) -> list[str]:
    """Who is let in or refused otherwise than the table says."""

    async def come(visitor: Visitor) -> list[str]:
        told = [
            (await _told(app, visitor, one, jobs), wanted(visitor, one, asker="analyst")) for one in routes
        ]
        return [
            f"{visitor.name}: {route.method} {route.path}: {had}, not {expected}"
            for route, (had, expected) in zip(routes, told, strict=True)
            if had != expected
        ]

    return [line for lines in await asyncio.gather(*map(come, visitors)) for line in lines]


async def _told(app: ASGIApp, visitor: Visitor, route: Route, jobs: tuple[str, str]) -> int:
    """200 for whoever was let in, whatever came of it, else the status of the refusal."""
    done, waits = jobs
    number = waits if "approvals" in route.path else done if "jobs" in route.path else "0" * 16
    path = route.path.format(dataset="ward", number=number, subject="local:ghost", thumbprint="0" * 64)
    headers = {**KEY, **({"authorization": visitor.header} if visitor.header else {})}
    said = await request(app, route.method, path, headers, route.body)
    assert said.status < 500, f"{visitor.name}: {route.method} {path}: {said.content[:200]!r}"
    if said.status not in (401, 403, 404) or route.takes is PUBLIC:
        return 200
    refused = ("To ", "The token lacks", "There is no data set", "There is no such job")
    return said.status if said.status == 401 or said.told["detail"].startswith(refused) else 200
