"""One's own personal access tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from leakcap.errors import InvalidParameter
from leakcap.service.api.bodies import NewTokenBody
from leakcap.service.api.verbs import datasets as dataset_verbs
from leakcap.service.api.verbs import identity as verbs
from leakcap.service.console.fields import body_of
from leakcap.service.console.reach import require_page
from leakcap.service.console.visiting import Sent, Visit, Visitor
from leakcap.service.store.scopes import TokenScope

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/tokens")
def tokens_page(visit: Visit) -> Response:
    """One's tokens, without their secrets."""
    require_page(visit.curator, visit.principal, "/tokens")
    return _page(visit)


@routes.post("/tokens")
def issue_form(sent: Sent) -> Response:
    """A new token; its secret is shown this once."""
    fields = sent.fields
    content: dict[str, object] = {
        "label": fields.text("label"),
        "days": _days(fields.text("days")),
        "scopes": fields.every("scope") or None,
        "datasets": fields.every("dataset") or None,
        "agent": fields.text("agent") == "yes",
    }
    made = verbs.issue_token(sent.curator, sent.principal, body_of(NewTokenBody, content))
    return _page(sent, secret=made.secret, status=201)


@routes.post("/tokens/{number}/revoke")
def revoke_form(sent: Sent, number: str) -> Response:
    """End a token at once."""
    verbs.revoke_token(sent.curator, sent.principal, number)
    return RedirectResponse("/tokens", 303)


def _days(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        raise InvalidParameter("`days` must be a whole number of days.")
    return int(text)


def _page(visit: Visitor, *, secret: str = "", status: int = 200) -> Response:
    content: dict[str, Any] = {
        "tokens": verbs.list_tokens(visit.curator, visit.principal),
        "scopes": [scope.value for scope in TokenScope],
        "datasets": [one["name"] for one in dataset_verbs.list_datasets(visit.curator, visit.principal)],
        "now": visit.curator.store.clock().isoformat(),
        "secret": secret,
    }
    return visit.page("tokens", content, status=status)
