"""Asking: a form or SQL, its preview, and the answer, which is paid for once for each preview.

A preview draws the idempotency key under which its question may be asked, and seals both with the policy's
digest. Who sends it twice, by a second click, a reload or the back button, gets the same answer and pays
nothing more; who changes the question, or asks after the policy was amended, previews again.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from leakcap.errors import InvalidQuery, LeakcapError
from leakcap.keyed import same_text
from leakcap.policy import load_policy
from leakcap.release.statistics import statistics
from leakcap.report.records.previews import PreviewRecord
from leakcap.service.api.bodies import AskBody
from leakcap.service.api.verbs import datasets as verbs
from leakcap.service.authorization import Action, permitted
from leakcap.service.console.answering import answer_content, downloaded
from leakcap.service.console.fields import Fields, body_of
from leakcap.service.console.session import digest_of, seal
from leakcap.service.console.suggestions import sql_words
from leakcap.service.console.visiting import Sent, Visit, Visitor
from leakcap.service.store.jobs import Job
from leakcap.web.releasing.asking import FIELDS, asked_query
from leakcap.web.releasing.questions import columns, condition, offered
from leakcap.wire import as_problem, query_on_wire

__all__ = ["routes"]

routes = APIRouter()
_TERMS = ("epsilon", "rho", "error")


@routes.get("/datasets/{dataset}/ask")
def ask_page(visit: Visit, dataset: str) -> Response:
    """The form, empty."""
    visit.curator.allow(visit.principal, Action.PREVIEW, dataset)
    return _page(visit, dataset)


@routes.post("/datasets/{dataset}/previews")
def preview_form(sent: Sent, dataset: str) -> Response:
    """What the question would cost and tell; free."""
    sent.curator.allow(sent.principal, Action.PREVIEW, dataset)
    try:
        asked = _asked(sent.fields)
        told = verbs.preview_questions(sent.curator, sent.principal, dataset, asked)
    except LeakcapError as error:
        problem = as_problem(error)
        return _page(sent, dataset, problem=str(problem["detail"]), status=int(problem["status"]))
    return _page(sent, dataset, {"preview": _record(told), "promise": _promise(sent, dataset, asked, told)})


@routes.post("/datasets/{dataset}/releases")
def release_form(sent: Sent, dataset: str) -> Response:
    """The answer to a question that was previewed; as a file where `as` says so."""
    fields = sent.fields
    sent.curator.allow(sent.principal, Action.RELEASE, dataset)
    policy = verbs.describe_dataset(sent.curator, sent.principal, dataset)["policy"]
    key, text = fields.get("key", ""), fields.get("asked", "")
    if not same_text(fields.get("seal", ""), seal(sent.session, dataset, key, text, digest_of(policy))):
        raise InvalidQuery(
            "This is not what was previewed in this session, or the policy changed since. Nothing was spent. "
            "Preview it again."
        )
    asked = body_of(AskBody, json.loads(text))
    found = verbs.release_answers(sent.curator, sent.principal, dataset, asked, key=key)
    if isinstance(found, Job):
        return RedirectResponse(f"/jobs/{found.id}", 303)
    if fields.get("as"):
        return downloaded(found, fields["as"])
    again = {name: fields[name] for name in ("key", "asked", "seal")}
    where = f"/datasets/{dataset}/releases"
    return sent.page("answer", {**answer_content(found), "dataset": dataset, "again": again, "where": where})


def _promise(sent: Visitor, dataset: str, asked: AskBody, told: Mapping[str, Any]) -> dict[str, str]:
    """What the button that pays sends along."""
    key, text = f"console-{secrets.token_urlsafe(24)}", json.dumps(asked.content, sort_keys=True)
    sealed = seal(sent.session, dataset, key, text, digest_of(told["policy"]))
    return {"key": key, "asked": text, "seal": sealed}


def _asked(fields: Fields) -> AskBody:
    """The question of either form. Raises `LeakcapError`."""
    if fields.get("how") != "sql":
        return body_of(AskBody, {"queries": [query_on_wire(asked_query(fields))]})
    content: dict[str, object] = {"sql": fields.get("sql", "").strip()}
    for name in _TERMS:
        if text := fields.text(f"sql_{name}"):
            content[name] = _number(text, name)
    return body_of(AskBody, content)


def _number(text: str, name: str) -> float:
    try:
        return float(text[:32])
    except ValueError:
        raise InvalidQuery(f"`{name}` must be a number.") from None


def _record(told: Mapping[str, Any]) -> PreviewRecord:
    return PreviewRecord.model_validate_json(json.dumps(told))


def _page(
    visit: Visitor,
    dataset: str,
    found: Mapping[str, Any] | None = None,
    *,
    problem: str = "",
    status: int = 200,
) -> Response:
    told = verbs.describe_dataset(visit.curator, visit.principal, dataset)
    policy = load_policy(told["policy"])
    fields = visit.fields
    content: dict[str, Any] = {
        "dataset": dataset,
        "title": told["title"],
        "paused": told["paused"],
        "policy": policy,
        "fields": {name: fields.get(name, "") for name in FIELDS},
        "sql": {name: fields.get(name, "") for name in ("sql", "sql_epsilon", "sql_rho", "sql_error")},
        "how": "sql" if fields.get("how") == "sql" else "fields",
        "questions": offered(),
        "uses": {name: statistic.fields for name, statistic in statistics().items()},
        "columns": columns(policy),
        "example": condition(policy),
        "words": sql_words(policy),
        "may_ask": permitted(visit.principal, visit.curator.grants(visit.principal), Action.RELEASE, dataset),
        "preview": None,
        "promise": {},
        "problem": problem,
        **(found or {}),
    }
    answer = visit.page("ask", content, status=status)
    # The back button comes here again; nothing stands here but the question and what is public.
    answer.headers["cache-control"] = "private, no-cache"
    return answer
