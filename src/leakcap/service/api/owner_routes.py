"""What owners, auditors and administrators do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from leakcap.service.api.answers import (
    ActsTold,
    GrantsTold,
    GrantTold,
    OneTimeTold,
    PeopleTold,
    PersonTold,
    RequestsTold,
    RequestTold,
)
from leakcap.service.api.bodies import (
    AmendmentBody,
    CertificateBody,
    GrantBody,
    NewPersonBody,
    PauseBody,
    WordBody,
)
from leakcap.service.api.curator import Curator
from leakcap.service.api.verbs import confirmations as word_verbs
from leakcap.service.api.verbs import owning as verbs
from leakcap.service.api.verbs import people as people_verbs

__all__ = ["owner_routes"]

_WAITS: dict[int | str, dict[str, Any]] = {
    202: {"model": RequestTold, "description": "It waits for another administrator"}
}
_AMENDED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object", "additionalProperties": True}}}},
    **_WAITS,
}

_CERTIFIED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file of one certificate",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["schema", "certificates"],
                    "properties": {
                        "schema": {"const": "leakcap.certificates/1"},
                        "certificates": {"type": "array", "items": {"type": "object"}},
                    },
                }
            }
        },
    }
}


def owner_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["owners, auditors, administrators"])
    _datasets(routes, curator)
    _people(routes, curator)
    _confirmations(routes, curator)
    return routes


def _datasets(routes: APIRouter, curator: Curator) -> None:
    @routes.post("/datasets/{dataset}/pause", status_code=204)
    def pause(request: Request, dataset: str, given: PauseBody) -> Response:
        """Nobody is answered until the data set is resumed."""
        verbs.pause_dataset(curator, curator.who(request), dataset, given.reason)
        return Response(status_code=204)

    @routes.post("/datasets/{dataset}/resume", status_code=204, responses=_WAITS)
    def resume(request: Request, dataset: str) -> Response:
        """Questions are answered again, at once or once another administrator confirms it."""
        waits = verbs.resume_dataset(curator, curator.who(request), dataset)
        return Response(status_code=204) if waits is None else _waiting(waits)

    @routes.post("/datasets/{dataset}/amend", response_model=None, responses=_AMENDED)
    def amend(request: Request, dataset: str, given: AmendmentBody) -> Response:
        """Another policy governs, at once or once another administrator confirms it; all that was spent
        counts against its caps."""
        told = verbs.amend_policy(curator, curator.who(request), dataset, given)
        return _waiting(told) if _waits(told) else JSONResponse(told)

    @routes.get("/datasets/{dataset}/ledger")
    def ledger(request: Request, dataset: str) -> dict[str, Any]:
        """Who asked what, what it cost, and what is left."""
        return verbs.see_ledger(curator, curator.who(request), dataset)

    @routes.get("/datasets/{dataset}/ledger/verify")
    def verify(
        request: Request, dataset: str, anchor: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None
    ) -> dict[str, Any]:
        """Walk the chain and compute each charge again; with an anchor that was kept elsewhere, find it."""
        return verbs.verify_ledger(curator, curator.who(request), dataset, anchor)

    @routes.get("/datasets/{dataset}/ledger/anchor")
    def anchor(request: Request, dataset: str) -> dict[str, Any]:
        """The chain's end, to be kept where nobody who runs the curator can write."""
        return verbs.take_anchor(curator, curator.who(request), dataset)

    @routes.get("/datasets/{dataset}/ledger/certificate", response_class=Response, responses=_CERTIFIED)
    def certificate(
        request: Request, dataset: str, delta: Annotated[float, Query(gt=0.0, lt=1.0)] = 1e-9
    ) -> Response:
        """What all answers told together, but with this probability, and that no cap was passed: the file
        that `leakcap-verify` proves without the ledger. It shows all charges, and who paid by pseudonym."""
        text = verbs.certify_ledger(curator, curator.who(request), dataset, delta)
        return Response(text, media_type="application/json")

    @routes.get("/datasets/{dataset}/grants", response_model=GrantsTold)
    def grants(request: Request, dataset: str) -> dict[str, Any]:
        """Who has which role in a data set."""
        return {"grants": people_verbs.list_grants(curator, curator.who(request), dataset)}


def _confirmations(routes: APIRouter, curator: Curator) -> None:
    @routes.get("/requests", response_model=RequestsTold)
    def requests(request: Request) -> dict[str, Any]:
        """What waits for another administrator, or waited; to others than administrators their own."""
        return {"requests": word_verbs.list_requests(curator, curator.who(request))}

    @routes.post("/requests/{number}", response_model=RequestTold)
    def word(request: Request, number: str, given: WordBody) -> dict[str, Any]:
        """Confirm what another one asked, or refuse it."""
        return word_verbs.decide_on_request(curator, curator.who(request), number, given)

    @routes.delete("/requests/{number}", response_model=RequestTold)
    def withdraw(request: Request, number: str) -> dict[str, Any]:
        """Withdraw what one asked for oneself."""
        return word_verbs.withdraw_request(curator, curator.who(request), number)


def _waits(told: dict[str, Any]) -> bool:
    return "needed" in told and "confirmed" in told


def _waiting(told: dict[str, Any]) -> Response:
    return JSONResponse(told, 202, {"location": "/v1/requests"})


def _people(routes: APIRouter, curator: Curator) -> None:
    @routes.post("/grants", status_code=201, response_model=GrantTold, responses=_WAITS)
    def give(request: Request, given: GrantBody) -> Any:
        """Give somebody a role, at once or once another administrator confirms it."""
        told = people_verbs.give_role(curator, curator.who(request), given)
        return _waiting(told) if _waits(told) else told

    @routes.post("/grants/take", status_code=204)
    def take(request: Request, given: GrantBody) -> Response:
        """Take a role away."""
        people_verbs.take_role(curator, curator.who(request), given)
        return Response(status_code=204)

    @routes.get("/people", response_model=PeopleTold)
    def people(request: Request) -> dict[str, Any]:
        """Who is known."""
        return {"people": people_verbs.list_people(curator, curator.who(request))}

    @routes.post("/people", status_code=201, response_model=PersonTold)
    def add(request: Request, given: NewPersonBody) -> dict[str, Any]:
        """Make somebody known; with a one-time password where it is a local account."""
        return people_verbs.add_person(curator, curator.who(request), given)

    @routes.post("/people/{subject}/password", status_code=201, response_model=OneTimeTold)
    def password(request: Request, subject: str) -> dict[str, Any]:
        """A one-time password for somebody who forgot theirs; their sessions and tokens end."""
        return people_verbs.give_password(curator, curator.who(request), subject)

    @routes.delete("/people/{subject}", status_code=204)
    def remove(request: Request, subject: str) -> Response:
        """Take away a person's password, tokens and roles, for good."""
        people_verbs.remove_person(curator, curator.who(request), subject)
        return Response(status_code=204)

    @routes.post("/people/{subject}/certificates", status_code=204, responses=_WAITS)
    def register(request: Request, subject: str, given: CertificateBody) -> Response:
        """From here on, or once another administrator confirms it, this client's certificate is this
        person's."""
        waits = people_verbs.register_certificate(curator, curator.who(request), subject, given.thumbprint)
        return Response(status_code=204) if waits is None else _waiting(waits)

    @routes.delete("/people/{subject}/certificates/{thumbprint}", status_code=204)
    def withdraw(request: Request, subject: str, thumbprint: str) -> Response:
        """A certificate lets nobody in any more."""
        people_verbs.withdraw_certificate(curator, curator.who(request), subject, thumbprint)
        return Response(status_code=204)

    @routes.get("/acts", response_model=ActsTold)
    def acts(request: Request, after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> dict[str, Any]:
        """The log of administrative acts, a thousand at a time, with the checked end of its chain."""
        return verbs.see_acts(curator, curator.who(request), after=after)
