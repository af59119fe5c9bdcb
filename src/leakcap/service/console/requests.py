"""What waits for another administrator, where the curator asks for one."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from leakcap.errors import LeakcapError
from leakcap.service.api.bodies import WordBody
from leakcap.service.api.verbs import confirmations as verbs
from leakcap.service.authorization import Action, permitted
from leakcap.service.console.fields import body_of
from leakcap.service.console.reach import require_page
from leakcap.service.console.visiting import Sent, Visit, Visitor

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/requests")
def requests_page(visit: Visit) -> Response:
    """What waits, and what became of the rest."""
    require_page(visit.curator, visit.principal, "/requests")
    return _page(visit)


@routes.post("/requests/{number}")
def word_form(sent: Sent, number: str) -> Response:
    """Confirm, refuse or withdraw."""
    try:
        if sent.fields.text("verdict") == "withdraw":
            verbs.withdraw_request(sent.curator, sent.principal, number)
        else:
            content: dict[str, object] = {name: sent.fields.text(name) for name in ("verdict", "reason")}
            verbs.decide_on_request(sent.curator, sent.principal, number, body_of(WordBody, content))
    except LeakcapError as error:
        return _page(sent, problem=str(error))
    return RedirectResponse("/requests", 303)


def _page(visit: Visitor, *, problem: str = "") -> Response:
    listed = verbs.list_requests(visit.curator, visit.principal)
    content = {
        "waiting": [one for one in listed if one["state"] == "waits"],
        "ended": [one for one in listed if one["state"] != "waits"],
        "may_confirm": permitted(visit.principal, visit.curator.grants(visit.principal), Action.CONFIRM),
        "problem": problem,
    }
    return visit.page("requests", content, status=409 if problem else 200)
