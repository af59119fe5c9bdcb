"""Data sets: what is public of them, budgets, previews, answers and statements."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, Response

from leakcap.service.api.bodies import AskBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_job
from leakcap.service.authorization import Action, datasets_of, roles_on
from leakcap.service.requests import request_number

__all__ = ["dataset_routes"]

Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=128, pattern=r"^[!-~]+$")]
Prefer = Annotated[str, Header(max_length=200)]


def dataset_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/datasets", tags=["data sets"])
    store, configuration = curator.store, curator.configuration

    @routes.get("")
    def datasets(request: Request) -> dict[str, Any]:
        """The data sets in which one has a role."""
        principal = curator.who(request)
        curator.allow(principal, Action.LIST_DATASETS)
        grants = curator.grants(principal)
        paused = {one.dataset for one in store.pauses.list()}
        return {
            "datasets": [
                {
                    "name": name,
                    "title": configuration.data[name].title,
                    "roles": sorted(roles_on(principal, grants, name)),
                    "paused": name in paused,
                }
                for name in datasets_of(principal, grants)
                if name in configuration.data
            ]
        }

    @routes.get("/{dataset}")
    def described(request: Request, dataset: str) -> dict[str, Any]:
        """The public part of the policy."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_DATASET, dataset)
        pause, approval = store.pauses.of(dataset), configuration.data[dataset].approval
        return {
            **curator.ask("describe", principal, dataset),
            "title": configuration.data[dataset].title,
            "paused": None if pause is None else pause.reason,
            "approval": None if approval is None else approval.model_dump(),
        }

    @routes.get("/{dataset}/budget")
    def budget(request: Request, dataset: str) -> dict[str, Any]:
        """What all have spent and what is left, and one's own account and entries."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_BUDGET, dataset)
        return dict(curator.ask("budget", principal, dataset))

    @routes.get("/{dataset}/statement")
    def statement(request: Request, dataset: str, everyone: bool = False) -> dict[str, Any]:
        """What was told so far: to oneself, or to all together."""
        principal = curator.who(request)
        action = Action.SEE_STATEMENT if everyone else Action.SEE_OWN_STATEMENT
        curator.allow(principal, action, dataset)
        return dict(curator.ask("statement", principal, dataset, {"everyone": everyone}))

    @routes.post("/{dataset}/previews")
    def previews(request: Request, dataset: str, asked: AskBody) -> dict[str, Any]:
        """What questions would cost and tell; free."""
        principal = curator.who(request)
        curator.allow(principal, Action.PREVIEW, dataset)
        return dict(curator.ask("preview", principal, dataset, asked.content))

    @routes.post("/{dataset}/releases", responses={202: {"description": "A job: it waits, or works"}})
    def releases(
        request: Request, dataset: str, asked: AskBody, idempotency_key: Key, prefer: Prefer = ""
    ) -> Response:
        """Answers, paid for once for each idempotency key; or a job, where somebody has to approve."""
        principal = curator.who(request)
        curator.allow(principal, Action.RELEASE, dataset)
        curator.require_open(dataset)
        needed = _approvals(principal, dataset, asked)
        if needed or "respond-async" in prefer:
            job, _ = store.jobs.create(
                principal.subject, dataset, "release", asked.content, key=idempotency_key, needed=needed
            )
            return JSONResponse(told_of_job(job, own=True), 202, {"location": f"/v1/jobs/{job.id}"})
        number = request_number(principal.subject, dataset, idempotency_key)
        return JSONResponse(curator.ask("release", principal, dataset, asked.content, request=number))

    def _approvals(principal: Any, dataset: str, asked: AskBody) -> int:
        """How many people have to approve of this question, by its price."""
        approval = configuration.data[dataset].approval
        if approval is None:
            return 0
        if approval.above_epsilon is None and approval.above_rho is None:
            return approval.approvers
        priced = curator.ask("preview", principal, dataset, asked.content)
        prices = [one["price"] for one in priced["statistics"]]
        for name, most in (("epsilon", approval.above_epsilon), ("rho", approval.above_rho)):
            amounts = [one.get(name) for one in prices]
            if most is not None and (None in amounts or sum(amounts) > most):
                return approval.approvers
        return 0

    return routes
