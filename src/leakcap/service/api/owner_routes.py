"""What owners, auditors and administrators do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from leakcap.service.api.bodies import AmendmentBody, GrantBody, NewPersonBody, PauseBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_grant, told_of_person
from leakcap.service.authorization import Action
from leakcap.service.store.roles import Role

__all__ = ["owner_routes"]


def owner_routes(curator: Curator) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["owners, auditors, administrators"])
    store = curator.store

    @routes.post("/datasets/{dataset}/pause", status_code=204)
    def pause(request: Request, dataset: str, given: PauseBody) -> Response:
        """Nobody is answered until the data set is resumed."""
        principal = curator.who(request)
        curator.allow(principal, Action.PAUSE, dataset)
        store.pauses.pause(dataset, by=principal.subject, reason=given.reason)
        return Response(status_code=204)

    @routes.post("/datasets/{dataset}/resume", status_code=204)
    def resume(request: Request, dataset: str) -> Response:
        """Questions are answered again."""
        principal = curator.who(request)
        curator.allow(principal, Action.RESUME, dataset)
        store.pauses.resume(dataset, by=principal.subject)
        return Response(status_code=204)

    @routes.post("/datasets/{dataset}/amend")
    def amend(request: Request, dataset: str, given: AmendmentBody) -> dict[str, Any]:
        """Another policy governs from here on; all that was spent counts against its caps."""
        principal = curator.who(request)
        curator.allow(principal, Action.AMEND, dataset)
        return dict(curator.ask("amend", principal, dataset, given.model_dump()))

    @routes.get("/datasets/{dataset}/ledger")
    def ledger(request: Request, dataset: str) -> dict[str, Any]:
        """Who asked what, what it cost, and what is left."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_LEDGER, dataset)
        return dict(curator.ask("ledger", principal, dataset))

    @routes.get("/datasets/{dataset}/ledger/verify")
    def verify(
        request: Request, dataset: str, anchor: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None
    ) -> dict[str, Any]:
        """Walk the chain and compute each charge again; with an anchor that was kept elsewhere, find it."""
        principal = curator.who(request)
        curator.allow(principal, Action.VERIFY_LEDGER, dataset)
        return dict(curator.ask("verify", principal, dataset, {"anchor": anchor}))

    @routes.get("/datasets/{dataset}/ledger/anchor")
    def anchor(request: Request, dataset: str) -> dict[str, Any]:
        """The chain's end, to be kept where nobody who runs the curator can write."""
        principal = curator.who(request)
        curator.allow(principal, Action.ANCHOR_LEDGER, dataset)
        return dict(curator.ask("anchor", principal, dataset))

    @routes.get("/datasets/{dataset}/grants")
    def grants(request: Request, dataset: str) -> dict[str, Any]:
        """Who has which role in a data set."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_GRANTS, dataset)
        return {"grants": [told_of_grant(one) for one in store.grants.of_dataset(dataset)]}

    @routes.post("/grants", status_code=201)
    def give(request: Request, given: GrantBody) -> dict[str, Any]:
        """Give somebody a role."""
        principal = curator.who(request)
        _require_may(principal, Action.GIVE_ROLE, given)
        made = store.grants.give(given.subject, Role(given.role), given.dataset, by=principal.subject)
        return told_of_grant(made)

    @routes.post("/grants/take", status_code=204)
    def take(request: Request, given: GrantBody) -> Response:
        """Take a role away."""
        principal = curator.who(request)
        _require_may(principal, Action.TAKE_ROLE, given)
        store.grants.take(given.subject, Role(given.role), given.dataset, by=principal.subject)
        return Response(status_code=204)

    def _require_may(principal: Any, action: Action, given: GrantBody) -> None:
        """The role of an administrator is given and taken by administrators alone."""
        if Role(given.role) is Role.ADMIN:
            curator.allow(principal, Action.SEE_PEOPLE)
        curator.allow(principal, action, given.dataset or None)

    @routes.get("/people")
    def people(request: Request) -> dict[str, Any]:
        """Who is known."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_PEOPLE)
        return {"people": [told_of_person(one) for one in store.people.list()]}

    @routes.post("/people", status_code=201)
    def add(request: Request, given: NewPersonBody) -> dict[str, Any]:
        """Make somebody known; with a password where it is a local account."""
        principal = curator.who(request)
        curator.allow(principal, Action.ADD_PERSON)
        added = store.people.add(
            given.subject, by=principal.subject, display=given.display, agent=given.agent
        )
        if given.password is not None:
            store.passwords.set(given.subject, given.password, by=principal.subject)
        return told_of_person(added)

    @routes.delete("/people/{subject}", status_code=204)
    def remove(request: Request, subject: str) -> Response:
        """Take away a person's password, tokens and roles, for good."""
        principal = curator.who(request)
        curator.allow(principal, Action.REMOVE_PERSON)
        store.people.remove(subject, by=principal.subject)
        return Response(status_code=204)

    @routes.get("/acts")
    def acts(request: Request, after: Annotated[int, Query(ge=0)] = 0) -> dict[str, Any]:
        """The log of administrative acts, a thousand at a time, with the checked end of its chain."""
        principal = curator.who(request)
        curator.allow(principal, Action.SEE_ACTS)
        checked = store.verify_acts()
        return {
            "rows": checked.rows,
            "head": checked.head,
            "acts": [
                {
                    "seq": one.seq,
                    "time": one.time.isoformat(),
                    "by": one.by,
                    "act": one.act,
                    "subject": one.subject,
                    "dataset": one.dataset,
                    "details": dict(one.details),
                    "hash": one.hash,
                }
                for one in store.acts.all(after=after)
            ],
        }

    return routes
