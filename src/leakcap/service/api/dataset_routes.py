"""Data sets: what is public of them, budgets, previews, answers and statements."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, Response

from leakcap.service.api.answers import DatasetsTold, JobTold
from leakcap.service.api.bodies import AskBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_job
from leakcap.service.api.verbs import datasets as verbs
from leakcap.service.store.jobs import Job

__all__ = ["dataset_routes"]

Key = Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=128, pattern=r"^[!-~]+$")]
Prefer = Annotated[str, Header(max_length=200)]

_OBJECT = {"application/json": {"schema": {"type": "object"}}}
_RELEASED: dict[int | str, dict[str, Any]] = {
    200: {"description": "Answers, each as the ledger has it, and as a record", "content": _OBJECT},
    202: {"description": "A job: it waits, or works", "model": JobTold},
}


def dataset_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/datasets", tags=["data sets"])

    @routes.get("", response_model=DatasetsTold)
    def datasets(request: Request) -> dict[str, Any]:
        """The data sets in which one has a role."""
        return {"datasets": verbs.list_datasets(curator, curator.who(request))}

    @routes.get("/{dataset}")
    def described(request: Request, dataset: str) -> dict[str, Any]:
        """The public part of the policy."""
        return verbs.describe_dataset(curator, curator.who(request), dataset)

    @routes.get("/{dataset}/budget")
    def budget(request: Request, dataset: str) -> dict[str, Any]:
        """What all have spent and what is left, and one's own account and entries."""
        return verbs.see_budget(curator, curator.who(request), dataset)

    @routes.get("/{dataset}/statement")
    def statement(request: Request, dataset: str, everyone: bool = False) -> dict[str, Any]:
        """What was told so far: to oneself, or to all together."""
        return verbs.see_statement(curator, curator.who(request), dataset, everyone=everyone)

    @routes.post("/{dataset}/previews")
    def previews(request: Request, dataset: str, asked: AskBody) -> dict[str, Any]:
        """What questions would cost and tell; free."""
        return verbs.preview_questions(curator, curator.who(request), dataset, asked)

    @routes.post("/{dataset}/releases", response_model=None, responses=_RELEASED)
    def releases(
        request: Request, dataset: str, asked: AskBody, idempotency_key: Key, prefer: Prefer = ""
    ) -> Response:
        """Answers, paid for once for each idempotency key; or a job, where somebody has to approve.

        `Prefer: return=minimal` leaves out the records with their statements, `respond-async` makes a job.
        """
        with curator.admitting(request, dataset):  # until the engine is asked
            found = verbs.release_answers(
                curator,
                curator.who(request),
                dataset,
                asked,
                key=idempotency_key,
                later="respond-async" in prefer,
                minimal="return=minimal" in prefer,
            )
        if isinstance(found, Job):
            return JSONResponse(told_of_job(found, own=True), 202, {"location": f"/v1/jobs/{found.id}"})
        return JSONResponse(found)

    return routes
