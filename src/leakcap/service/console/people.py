"""People and roles: administrators see all of them, owners the roles in their data sets."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from leakcap.service.api.bodies import CertificateBody, GrantBody, NewPersonBody
from leakcap.service.api.verbs import people as verbs
from leakcap.service.authorization import Action, permitted
from leakcap.service.configuration import LOCAL
from leakcap.service.console.fields import Fields, body_of
from leakcap.service.console.reach import datasets_for, require_page
from leakcap.service.console.visiting import Sent, Visit, Visitor
from leakcap.service.store.passwords import drawn_password
from leakcap.service.store.roles import Role

__all__ = ["routes"]

routes = APIRouter()


@routes.get("/people")
def people_page(visit: Visit) -> Response:
    """Who is known, and who has which role."""
    require_page(visit.curator, visit.principal, "/people")
    return _page(visit)


@routes.post("/people")
def add_form(sent: Sent) -> Response:
    """Make somebody known; a local account's one-time password is drawn here and shown this once."""
    fields = sent.fields
    provider = fields.text("provider") or LOCAL
    password = drawn_password() if provider == LOCAL else None
    content: dict[str, object] = {
        "subject": f"{provider}:{fields.text('name')}",
        "display": fields.text("display"),
        "agent": fields.text("agent") == "yes",
        "password": password,
    }
    added = verbs.add_person(sent.curator, sent.principal, body_of(NewPersonBody, content))
    return _page(sent, {"added": added, "password": password or ""}, status=201)


@routes.post("/people/password")
def password_form(sent: Sent) -> Response:
    """A one-time password for somebody who forgot theirs, shown this once."""
    given = verbs.give_password(sent.curator, sent.principal, sent.fields.text("subject"))
    return _page(sent, {"given": given, "password": given["password"]}, status=201)


@routes.post("/people/remove")
def remove_form(sent: Sent) -> Response:
    """Take away a person's password, tokens and roles, for good."""
    verbs.remove_person(sent.curator, sent.principal, sent.fields.text("subject"))
    return RedirectResponse("/people", 303)


@routes.post("/people/certificates")
def register_form(sent: Sent) -> Response:
    """From here on this client's certificate is this person's; as openssl prints its thumbprint, too."""
    text = sent.fields.text("thumbprint").rpartition("=")[2].replace(":", "").lower()
    given = body_of(CertificateBody, {"thumbprint": text})
    subject = sent.fields.text("subject")
    waits = verbs.register_certificate(sent.curator, sent.principal, subject, given.thumbprint)
    return RedirectResponse("/people" if waits is None else "/requests", 303)


@routes.post("/people/certificates/withdraw")
def withdraw_form(sent: Sent) -> Response:
    """A certificate lets nobody in any more."""
    fields = sent.fields
    verbs.withdraw_certificate(
        sent.curator, sent.principal, fields.text("subject"), fields.text("thumbprint")
    )
    return RedirectResponse("/people", 303)


@routes.post("/grants")
def give_form(sent: Sent) -> Response:
    """Give somebody a role."""
    told = verbs.give_role(sent.curator, sent.principal, _grant(sent.fields))
    return RedirectResponse("/requests" if "needed" in told else "/people", 303)


@routes.post("/grants/take")
def take_form(sent: Sent) -> Response:
    """Take a role away."""
    verbs.take_role(sent.curator, sent.principal, _grant(sent.fields))
    return RedirectResponse("/people", 303)


def _grant(fields: Fields) -> GrantBody:
    names = ("subject", "role", "dataset")
    return body_of(GrantBody, {name: fields.text(name) for name in names})


def _page(visit: Visitor, found: dict[str, Any] | None = None, *, status: int = 200) -> Response:
    curator, principal = visit.curator, visit.principal
    admin = permitted(principal, curator.grants(principal), Action.SEE_PEOPLE)
    names = datasets_for(curator, principal, Action.SEE_GRANTS)
    configuration = curator.configuration
    providers = [LOCAL] if configuration.local_accounts else []
    content: dict[str, Any] = {
        "admin": admin,
        "people": verbs.list_people(curator, principal) if admin else [],
        "administrators": verbs.list_administrators(curator, principal) if admin else [],
        "granted": [(name, verbs.list_grants(curator, principal, name)) for name in names],
        "roles": [role.value for role in Role if role is not Role.ADMIN],
        "providers": [*providers, *sorted(configuration.identity)],
        "certified": configuration.client_certificates is not None,
        "added": None,
        "given": None,
        "password": "",
        **(found or {}),
    }
    return visit.page("people", content, status=status)
