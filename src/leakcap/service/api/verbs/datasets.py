"""Data sets: which there are for somebody, what is public of them, budgets, previews, answers, statements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from leakcap.errors import LeakcapError
from leakcap.service.api.bodies import AskBody
from leakcap.service.api.curator import Curator
from leakcap.service.authorization import Action, datasets_of, roles_on
from leakcap.service.identity.principal import Principal
from leakcap.service.requests import request_number
from leakcap.service.store.errors import NotFound
from leakcap.service.store.jobs import Job

__all__ = [
    "describe_dataset",
    "list_datasets",
    "preview_questions",
    "release_answers",
    "see_budget",
    "see_own_entry",
    "see_statement",
]


def list_datasets(curator: Curator, principal: Principal) -> list[dict[str, Any]]:
    """The data sets in which somebody has a role, each with the roles and whether it is paused."""
    curator.allow(principal, Action.LIST_DATASETS)
    grants = curator.grants(principal)
    paused = {one.dataset for one in curator.store.pauses.list()}
    data = curator.configuration.data
    return [
        {
            "name": name,
            "title": data[name].title,
            "roles": sorted(roles_on(principal, grants, name)),
            "paused": name in paused,
        }
        for name in datasets_of(principal, grants)
        if name in data
    ]


def describe_dataset(curator: Curator, principal: Principal, dataset: str) -> dict[str, Any]:
    """The public part of the policy, why the data set is paused, and which questions wait for approval."""
    curator.allow(principal, Action.SEE_DATASET, dataset)
    source, pause = curator.configuration.data[dataset], curator.store.pauses.of(dataset)
    return {
        **curator.ask("describe", principal, dataset),
        "title": source.title,
        "paused": None if pause is None else pause.reason,
        "approval": None if source.approval is None else source.approval.model_dump(),
    }


def see_budget(curator: Curator, principal: Principal, dataset: str) -> dict[str, Any]:
    """What all have spent and what is left, and one's own account and entries."""
    curator.allow(principal, Action.SEE_BUDGET, dataset)
    return dict(curator.ask("budget", principal, dataset))


def see_statement(
    curator: Curator, principal: Principal, dataset: str, *, everyone: bool = False
) -> dict[str, Any]:
    """What was told so far: to oneself, or with `everyone` to all together."""
    curator.allow(principal, Action.SEE_STATEMENT if everyone else Action.SEE_OWN_STATEMENT, dataset)
    return dict(curator.ask("statement", principal, dataset, {"everyone": everyone}))


def see_own_entry(curator: Curator, principal: Principal, dataset: str, number: int) -> dict[str, Any]:
    """An entry of one's own, with its answer as the ledger remembers it. Raises `NotFound` for any other."""
    curator.allow(principal, Action.SEE_OWN_STATEMENT, dataset)
    mine = curator.ask("budget", principal, dataset)["entries"]
    if number not in [one["id"] for one in mine]:
        raise NotFound("There is no such entry of yours.")
    return dict(curator.ask("entry", principal, dataset, {"entry": number}))


def preview_questions(curator: Curator, principal: Principal, dataset: str, asked: AskBody) -> dict[str, Any]:
    """What questions would cost and tell; free."""
    curator.allow(principal, Action.PREVIEW, dataset)
    return dict(curator.ask("preview", principal, dataset, asked.content))


def release_answers(
    curator: Curator,
    principal: Principal,
    dataset: str,
    asked: AskBody,
    *,
    key: str,
    later: bool = False,
    minimal: bool = False,
) -> Job | dict[str, Any]:
    """Answers, paid for once for each idempotency key; a job where somebody has to approve, if `later`, or
    where the data set answers by jobs. `minimal` ones have no records with statements, only what the ledger
    remembers."""
    curator.allow(principal, Action.RELEASE, dataset)
    curator.require_open(dataset)
    number = request_number(principal.subject, dataset, key)
    with _below_threshold(curator, principal, dataset, asked, key) as passing:
        if passing.needed or later or curator.configuration.data[dataset].answers == "as jobs":
            terms = passing.terms
            if curator.store.jobs.of_key(principal.subject, key) is None:
                # What cannot be planned takes nobody's turn.
                curator.ask("preview", principal, dataset, asked.content)
            if passing.needed:
                # What is approved of is the question under this policy: under another it may cost and tell
                # more.
                terms = {"policy": curator.ask("describe", principal, dataset)["fingerprint"]}
            job, new = curator.store.jobs.create(
                principal.subject,
                dataset,
                "release",
                asked.content,
                key=key,
                needed=passing.needed,
                terms=terms,
                place=passing.place,
                most=curator.most_jobs(passing.needed),
            )
            if passing.place is not None and not new:
                curator.store.thresholds.give_back(passing.place)  # the job has its own
            return job
        body = {**asked.content, **passing.terms, "minimal": minimal}
        return dict(curator.ask("release", principal, dataset, body, request=number))


@dataclass(frozen=True)
class _Passing:
    """How many people have to approve of a question. Where none has to, and there is a threshold, `most` is
    what it may cost, by currency: what was counted, at `place`, and nothing for what was known. It goes along
    with the question, because the data or the policy may be others when it is paid for."""

    needed: int
    most: Mapping[str, float] | None = None
    place: str | None = None

    @property
    def terms(self) -> dict[str, Any]:
        """The terms on which it passes."""
        return {} if self.most is None else {"most": dict(self.most)}


@contextmanager
def _below_threshold(
    curator: Curator, principal: Principal, dataset: str, asked: AskBody, key: str
) -> Iterator[_Passing]:
    """Whether this question has to be approved of; where not, its price is counted first, and given back
    where it was refused with nothing spent. Whatever else fails leaves it counted."""
    approval, store = curator.configuration.data[dataset].approval, curator.store
    if approval is None:
        yield _Passing(0)
        return
    waits = store.jobs.of_key(principal.subject, key)
    if not approval.limits or (waits is not None and waits.needed):
        # A job that has to be approved is not let off because time went by.
        yield _Passing(approval.approvers if waits is None else waits.needed)
        return
    number = request_number(principal.subject, dataset, key)
    told = curator.ask("unpaid", principal, dataset, asked.content, request=number)
    if told["epsilon"] == 0.0:
        yield _Passing(0, dict.fromkeys(approval.limits, 0.0))
        return
    prices = {name: math.inf if told[name] is None else told[name] for name in ("epsilon", "rho")}
    place = store.thresholds.hold(
        number,
        principal.subject,
        dataset,
        prices=prices,
        limits=approval.limits,
        groups=told["groups"],
        within=timedelta(days=approval.days),
    )
    try:
        if place is None:
            yield _Passing(approval.approvers)
        else:
            yield _Passing(0, {name: prices[name] for name in approval.limits}, place)
    except LeakcapError as error:
        if place is not None and not error.committed:
            store.thresholds.give_back(place)
        raise
