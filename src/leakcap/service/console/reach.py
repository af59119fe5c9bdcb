"""Which pages somebody may see: those of which the table of roles allows an action somewhere."""

from __future__ import annotations

from dataclasses import dataclass

from leakcap.service.api.curator import Curator
from leakcap.service.authorization import CURATOR_WIDE, Action, permitted, require
from leakcap.service.identity.principal import Principal
from leakcap.service.store.grants import Grant

__all__ = ["PAGES", "Page", "datasets_for", "pages_for", "require_page"]


@dataclass(frozen=True)
class Page:
    """A page of the navigation, and the actions of which one has to be allowed for it somewhere."""

    address: str
    title: str
    actions: tuple[Action, ...]


PAGES = (
    Page("/", "Data sets", (Action.LIST_DATASETS,)),
    Page("/answers", "My answers", (Action.SEE_OWN_STATEMENT,)),
    Page("/budgets", "Budgets", (Action.SEE_BUDGET,)),
    Page("/queue", "Queue", (Action.SEE_APPROVALS,)),
    Page("/jobs", "Jobs", (Action.SEE_OWN_JOBS, Action.SEE_JOBS)),
    Page("/people", "People", (Action.SEE_PEOPLE, Action.SEE_GRANTS)),
    Page("/requests", "Requests", (Action.CONFIRM, Action.GIVE_ROLE)),
    Page("/tokens", "Tokens", (Action.SEE_TOKENS,)),
    Page("/audit", "Audit", (Action.SEE_LEDGER, Action.SEE_ACTS)),
)
"""The console's pages, in the order of the navigation."""


def datasets_for(curator: Curator, principal: Principal, *actions: Action) -> tuple[str, ...]:
    """The data sets in which somebody may do one of these."""
    return _datasets(curator, principal, curator.grants(principal), actions)


def pages_for(curator: Curator, principal: Principal) -> tuple[Page, ...]:
    """The pages that somebody may see; that of requests only where they are asked for."""
    grants, two = curator.grants(principal), curator.configuration.second_administrator
    found = (page for page in PAGES if two or page.address != "/requests")
    return tuple(page for page in found if _reached(curator, principal, grants, page.actions))


def require_page(curator: Curator, principal: Principal, address: str) -> None:
    """Raise `Forbidden` for a page of which nothing may be seen."""
    (page,) = (one for one in PAGES if one.address == address)
    grants = curator.grants(principal)
    if not _reached(curator, principal, grants, page.actions):
        require(principal, grants, page.actions[0])


def _reached(
    curator: Curator, principal: Principal, grants: tuple[Grant, ...], actions: tuple[Action, ...]
) -> bool:
    everywhere = any(permitted(principal, grants, one) for one in actions)
    return everywhere or bool(_datasets(curator, principal, grants, actions))


def _datasets(
    curator: Curator, principal: Principal, grants: tuple[Grant, ...], actions: tuple[Action, ...]
) -> tuple[str, ...]:
    inside = [one for one in actions if one not in CURATOR_WIDE]
    return tuple(
        name
        for name in sorted(curator.configuration.data)
        if any(permitted(principal, grants, one, name) for one in inside)
    )
