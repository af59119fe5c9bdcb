"""What every route needs: who asks, what they may, and the way to store and engine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from starlette.requests import Request

from leakcap.service.api.metrics import Metrics
from leakcap.service.api.rates import AtOnce
from leakcap.service.authorization import Action, require
from leakcap.service.configuration import Configuration, proxy_secret
from leakcap.service.engine.calling import EngineClient
from leakcap.service.identity.authenticate import (
    Bearer,
    Credentials,
    authenticate,
    certificate_holder,
    require_holder,
)
from leakcap.service.identity.principal import Principal
from leakcap.service.identity.providers import Providers
from leakcap.service.store.errors import StateConflict
from leakcap.service.store.grants import Grant
from leakcap.service.store.store import Store

__all__ = ["Curator"]


@dataclass(frozen=True)
class Curator:
    """One web worker's view: configuration, store, engine and providers."""

    configuration: Configuration
    store: Store
    engine: EngineClient
    providers: Providers
    metrics: Metrics = field(default_factory=Metrics)
    at_once: AtOnce = field(default_factory=AtOnce)
    streams: AtOnce = field(default_factory=lambda: AtOnce(what="jobs' streams of events are open"))

    def __post_init__(self) -> None:
        """Without the proxy's secret a worker does not begin."""
        if self.configuration.client_certificates is not None:
            assert self._proxy_secret

    def who(self, request: Request) -> Principal:
        """Who asks, by the header `Authorization`. Raises `Unauthenticated`."""
        return self.known(request, _bearer(request))

    def known(self, request: Request, credentials: Credentials | None) -> Principal:
        """Who presents these credentials, and a certificate of their own where certificates are asked for;
        noted for the log. Raises `Unauthenticated`."""
        holder = self.holder(request)
        principal = authenticate(credentials, self.store, self.providers, self.store.clock())
        require_holder(holder, principal.subject)
        request.state.who = principal.subject
        return principal

    def holder(self, request: Request) -> str | None:
        """Whose certificate the proxy verified; None where the owner asks for none. Raises
        `Unauthenticated`."""
        if self.configuration.client_certificates is None:
            return None
        return certificate_holder(request.headers.raw, self._proxy_secret, self.store)

    @cached_property
    def _proxy_secret(self) -> str:
        return proxy_secret(self.configuration)

    def admitting(self, request: Request, dataset: str) -> AbstractContextManager[None]:
        """Within, what lets this request in is looked up in one statement, and holds until the engine is
        asked."""
        credentials = _bearer(request)
        if credentials is None or dataset not in self.configuration.data:
            return nullcontext()
        return self.store.foreseeing(credentials.text, dataset)

    def grants(self, principal: Principal) -> tuple[Grant, ...]:
        """The roles of who asks."""
        return self.store.grants.of(principal.subject)

    def allow(self, principal: Principal, action: Action, dataset: str | None = None) -> None:
        """Raise `Forbidden` or `NotFound` unless this is allowed."""
        require(principal, self.grants(principal), action, dataset)
        if dataset is not None and dataset not in self.configuration.data:
            # Who has a role in a data set that is no longer served is told the same as who has none.
            require(principal, (), action, dataset)

    def ask(self, operation: str, principal: Principal, dataset: str, body: Any = None, **more: Any) -> Any:
        """What the engine says to this person."""
        self.store.forget_foreseen()
        with self.at_once.one(principal.subject):
            return self.engine.call(operation, dataset, principal.subject, body, **more)

    def most_jobs(self, needed: int) -> int:
        """How many jobs one person may have that wait for approval, where that is `needed`, or else that are
        queued or running."""
        limits = self.configuration.limits
        return limits.approvals_per_person if needed else limits.jobs_per_person

    def require_open(self, dataset: str) -> None:
        """Raise `StateConflict` where the owner paused the data set."""
        pause = self.store.pauses.of(dataset)
        if pause is not None:
            raise StateConflict(f"The data set `{dataset}` is paused: {pause.reason}. Ask again later.")


def _bearer(request: Request) -> Credentials | None:
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return Bearer(text.strip()) if scheme.lower() == "bearer" and text.strip() else None
