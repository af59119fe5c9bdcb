"""People and their roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakcap.service.api.bodies import GrantBody, NewPersonBody
from leakcap.service.api.curator import Curator
from leakcap.service.api.told import told_of_grant, told_of_person, told_of_request
from leakcap.service.authorization import Action
from leakcap.service.identity.principal import Principal
from leakcap.service.store.confirmed import CERTIFICATE, ONE_TIME_PASSWORD, ROLE
from leakcap.service.store.errors import Forbidden
from leakcap.service.store.passwords import drawn_password
from leakcap.service.store.roles import EVERYWHERE, Role

__all__ = [
    "add_person",
    "ask_for_word",
    "give_password",
    "give_role",
    "list_administrators",
    "list_grants",
    "list_people",
    "register_certificate",
    "remove_person",
    "take_role",
    "withdraw_certificate",
]


def list_people(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """Who is known."""
    curator.allow(principal, Action.SEE_PEOPLE)
    certificates = curator.store.certificates.by_subject()
    return [told_of_person(one, certificates.get(one.subject, ())) for one in curator.store.people.list()]


def add_person(curator: Curator, principal: Principal, given: NewPersonBody) -> dict[str, Any]:
    """Make somebody known; with a one-time password where it is a local account."""
    curator.allow(principal, Action.ADD_PERSON)
    by, people = principal.subject, curator.store.people
    added = people.add(given.subject, by=by, display=given.display, agent=given.agent)
    if given.password is not None:
        curator.store.passwords.give_one_time(given.subject, given.password, by=by)
    return told_of_person(added)


def give_password(curator: Curator, principal: Principal, subject: str) -> dict[str, Any]:
    """A one-time password for somebody who forgot theirs, drawn here and told this once. Their sessions and
    tokens end. Raises `Forbidden` for oneself, who changes it with the old one."""
    curator.allow(principal, Action.SET_PASSWORD)
    if subject == principal.subject:
        raise Forbidden("Nobody gives a one-time password to themselves. Change your own with the old one.")
    password = drawn_password()
    if curator.configuration.second_administrator:
        hashed = curator.store.passwords.hashed(subject, password)
        waits = ask_for_word(curator, principal, ONE_TIME_PASSWORD, subject=subject, body={"hash": hashed})
        return {"subject": subject, "password": password, "until": None, "request": waits}
    until = curator.store.passwords.give_one_time(subject, password, by=principal.subject)
    return {"subject": subject, "password": password, "until": until.isoformat(), "request": None}


def remove_person(curator: Curator, principal: Principal, subject: str) -> None:
    """Take away a person's password, tokens and roles, for good."""
    curator.allow(principal, Action.REMOVE_PERSON)
    curator.store.people.remove(subject, by=principal.subject)


def register_certificate(
    curator: Curator, principal: Principal, subject: str, thumbprint: str
) -> dict[str, Any] | None:
    """From here on this certificate is this person's; where the curator asks for a second administrator, the
    request for it."""
    curator.allow(principal, Action.SET_CERTIFICATE)
    book = curator.store.certificates
    if not curator.configuration.second_administrator:
        book.register(subject, thumbprint, by=principal.subject)
        return None
    book.require_may_wait(subject, thumbprint)
    return ask_for_word(curator, principal, CERTIFICATE, subject=subject, body={"thumbprint": thumbprint})


def withdraw_certificate(curator: Curator, principal: Principal, subject: str, thumbprint: str) -> None:
    """It lets nobody in any more, at once: that waits for nobody."""
    curator.allow(principal, Action.SET_CERTIFICATE)
    curator.store.certificates.withdraw(subject, thumbprint, by=principal.subject)


def list_grants(curator: Curator, principal: Principal, dataset: str) -> list[dict[str, Any]]:
    """Who has which role in a data set."""
    curator.allow(principal, Action.SEE_GRANTS, dataset)
    return [told_of_grant(one) for one in curator.store.grants.of_dataset(dataset)]


def list_administrators(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """Who has a role in the whole curator."""
    curator.allow(principal, Action.SEE_PEOPLE)
    return [told_of_grant(one) for one in curator.store.grants.of_dataset(EVERYWHERE)]


def give_role(curator: Curator, principal: Principal, given: GrantBody) -> dict[str, Any]:
    """Give somebody a role; where the curator asks for a second administrator, the request for it."""
    _require_may(curator, principal, Action.GIVE_ROLE, given)
    by, grants = principal.subject, curator.store.grants
    if not curator.configuration.second_administrator:
        return told_of_grant(grants.give(given.subject, Role(given.role), given.dataset, by=by))
    held = grants.require_may_wait(given.subject, given.role, given.dataset, by=by)
    if held is not None:
        return told_of_grant(held)
    body = {"role": given.role}
    return ask_for_word(curator, principal, ROLE, subject=given.subject, dataset=given.dataset, body=body)


def take_role(curator: Curator, principal: Principal, given: GrantBody) -> None:
    """Take a role away."""
    _require_may(curator, principal, Action.TAKE_ROLE, given)
    curator.store.grants.take(given.subject, Role(given.role), given.dataset, by=principal.subject)


def ask_for_word(
    curator: Curator,
    principal: Principal,
    act: str,
    *,
    subject: str = "",
    dataset: str = "",
    body: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A request that waits for another administrator; what it is about was allowed to who asks."""
    book = curator.store.confirmations
    return told_of_request(book.ask(act, by=principal.subject, subject=subject, dataset=dataset, body=body))


def _require_may(curator: Curator, principal: Principal, action: Action, given: GrantBody) -> None:
    """The role of an administrator is given and taken by administrators alone."""
    if Role(given.role) is Role.ADMIN:
        curator.allow(principal, Action.SEE_PEOPLE)
    curator.allow(principal, action, given.dataset or None)
