"""What owners, auditors and administrators do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from leakcap.service.api.answers import ActsTold, GrantsTold, GrantTold, OneTimeTold, PeopleTold, PersonTold
from leakcap.service.api.bodies import AmendmentBody, CertificateBody, GrantBody, NewPersonBody, PauseBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.verbs import owning as verbs
from leakcap.service.api.verbs import people as people_verbs

__all__ = ["owner_routes"]


def owner_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["owners, auditors, administrators"])
    _datasets(routes, curator)
    _people(routes, curator)
    return routes


def _datasets(routes: APIRouter, curator: Curator) -> None:
    @routes.post("/datasets/{dataset}/pause", status_code=204)
    def pause(request: Request, dataset: str, given: PauseBody) -> Response:
        """Nobody is answered until the data set is resumed."""
        verbs.pause_dataset(curator, curator.who(request), dataset, given.reason)
        return Response(status_code=204)

    @routes.post("/datasets/{dataset}/resume", status_code=204)
    def resume(request: Request, dataset: str) -> Response:
        """Questions are answered again."""
        verbs.resume_dataset(curator, curator.who(request), dataset)
        return Response(status_code=204)

    @routes.post("/datasets/{dataset}/amend")
    def amend(request: Request, dataset: str, given: AmendmentBody) -> dict[str, Any]:
        """Another policy governs from here on; all that was spent counts against its caps."""
        return verbs.amend_policy(curator, curator.who(request), dataset, given)

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

    @routes.get("/datasets/{dataset}/grants", response_model=GrantsTold)
    def grants(request: Request, dataset: str) -> dict[str, Any]:
        """Who has which role in a data set."""
        return {"grants": people_verbs.list_grants(curator, curator.who(request), dataset)}


def _people(routes: APIRouter, curator: Curator) -> None:
    @routes.post("/grants", status_code=201, response_model=GrantTold)
    def give(request: Request, given: GrantBody) -> dict[str, Any]:
        """Give somebody a role."""
        return people_verbs.give_role(curator, curator.who(request), given)

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

    @routes.post("/people/{subject}/certificates", status_code=204)
    def register(request: Request, subject: str, given: CertificateBody) -> Response:
        """From here on this client's certificate is this person's."""
        people_verbs.register_certificate(curator, curator.who(request), subject, given.thumbprint)
        return Response(status_code=204)

    @routes.delete("/people/{subject}/certificates/{thumbprint}", status_code=204)
    def withdraw(request: Request, subject: str, thumbprint: str) -> Response:
        """A certificate lets nobody in any more."""
        people_verbs.withdraw_certificate(curator, curator.who(request), subject, thumbprint)
        return Response(status_code=204)

    @routes.get("/acts", response_model=ActsTold)
    def acts(request: Request, after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> dict[str, Any]:
        """The log of administrative acts, a thousand at a time, with the checked end of its chain."""
        return verbs.see_acts(curator, curator.who(request), after=after)
