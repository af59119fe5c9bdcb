"""Models and tables over HTTP: each is a job."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from leakcap.service.api.answers import JobTold
from leakcap.service.api.bodies import FitBody, TablesBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.dataset_routes import Key
from leakcap.service.api.told import told_of_job
from leakcap.service.api.verbs.works import work_asked

__all__ = ["work_routes"]


def work_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1/datasets", tags=["data sets"])

    def made(request: Request, dataset: str, kind: str, body: dict[str, Any], key: str) -> Response:
        job = work_asked(curator, curator.who(request), dataset, kind, body, key=key)
        return JSONResponse(told_of_job(job, own=True), 202, {"location": f"/v1/jobs/{job.id}"})

    @routes.post("/{dataset}/fits", status_code=202, response_model=JobTold)
    def fits(request: Request, dataset: str, asked: FitBody, idempotency_key: Key) -> Response:
        """A model whose fit is a private release; a job."""
        return made(request, dataset, "fit", asked.model_dump(), idempotency_key)

    @routes.post("/{dataset}/tables", status_code=202, response_model=JobTold)
    def tables(request: Request, dataset: str, asked: TablesBody, idempotency_key: Key) -> Response:
        """Tables that share one charge; a job. Files of rows are made of its record, for free."""
        return made(request, dataset, "tables", asked.content, idempotency_key)

    return routes
