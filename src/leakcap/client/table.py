"""A table that somebody else holds: what `PrivateTable` answers, asked of a curator."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from leakcap.cards import Shown
from leakcap.certificate import SCHEMA as CERTIFICATE_SCHEMA
from leakcap.client.http import CuratorHttp
from leakcap.client.jobs import AwaitingApproval, RemoteJob
from leakcap.client.reading import mapping, objects_in, read, text_in
from leakcap.errors import DataError, InvalidParameter, InvalidQuery
from leakcap.ledger import Balance
from leakcap.policy.document import Policy, load_policy
from leakcap.release.asking.accuracy import Preview, preview
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.table import Asking
from leakcap.release.conditions.declared import with_cases
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.planning.queries import Query, query_from
from leakcap.release.results.result import Release
from leakcap.release.sql.select import SelectStatement, StatementTerms, select_statement
from leakcap.release.table import dry_run
from leakcap.report.records import BudgetRecord, CapRecord
from leakcap.statement import Statement
from leakcap.statement.record import StatementRecord
from leakcap.statement.restated import restated
from leakcap.wire import answer_from, query_on_wire

__all__ = ["RemoteTable", "balances_in", "budget_in"]

_TERMS = ("epsilon", "rho", "error", "delta", "weights", "objective", "noise")


@dataclass(frozen=True)
class _Governing:
    """The public part of the policy, and the fingerprint of the whole of it, which the ledger is bound to."""

    policy: Policy
    fingerprint: str


class RemoteTable(Asking):
    """A data set of a curator, with the methods of `PrivateTable`: see `leakcap.connect`.

    Questions are planned and priced here, under the public part of the policy, and answered there; an answer
    comes as the ledger has it, and the same `Release` is made of it. `preview` and `dry_run` ask nobody.
    """

    def __init__(self, http: CuratorHttp, name: str, analyst: Callable[[], str]) -> None:
        self._http, self._name, self._who = http, name, analyst
        self._governing: _Governing | None = None

    def __repr__(self) -> str:
        return f"<RemoteTable {self._name!r} at {self._http.url}>"

    @property
    def name(self) -> str:
        """What the curator calls the data set."""
        return self._name

    @property
    def policy(self) -> Policy:
        """The public part of the policy: without the names and caps of other people."""
        return self._known().policy

    @property
    def analyst(self) -> str:
        """Who asks, as the curator has verified it."""
        return self._who()

    def described(self) -> dict[str, Any]:
        """What the curator says of the data set: ``title``, why it is ``paused``, which questions need an
        ``approval``."""
        found = self._described()
        return {name: found.get(name) for name in ("dataset", "title", "paused", "approval")}

    def release(
        self, queries: Sequence[Query], *, fresh: bool = False, request: str | None = None
    ) -> list[Release]:
        """Answer all of the queries, or none.

        What was answered before is repeated for free; `fresh` asks for new noise and pays again. Each call
        has an idempotency key of its own, or `request`, which is kept where an answer is lost and asked for
        again: nothing is paid twice. Where the curator answers by jobs, this waits for one, as long as the
        connection does. Raises what `PrivateTable.release` raises, `AwaitingApproval` where somebody has to
        approve first or a job took longer, and `NoAnswer` with the key where the curator cannot be reached.
        """
        return self._paid(queries, fresh, request, lambda releases: Shown(releases))

    def sql(
        self,
        text: str,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        error: float | Sequence[float] | None = None,
        delta: float | None = None,
        weights: Sequence[float] | None = None,
        objective: Objective = "shares by weight",
        noise: str = "laplace",
        fresh: bool = False,
        request: str | None = None,
    ) -> list[Release]:
        """What a SELECT statement asks for, as `PrivateTable.sql` answers it; `FROM` names the data set, as
        the curator or as the policy calls it."""
        terms = StatementTerms(epsilon, rho, error, delta, weights, objective, noise)
        asked = self.statement_asked(text, terms)

        def shown(releases: Sequence[Release]) -> list[Release]:
            now = self.statement_asked(text, terms)
            if now != asked:
                raise self._amended()
            return Shown(now.shown(releases, self.policy))

        return self._paid(asked.queries, fresh, request, shown)

    def statement_asked(self, text: str, terms: StatementTerms) -> SelectStatement:
        """What a SELECT statement would ask on these terms. Raises `InvalidQuery`."""
        return select_statement(text, self.policy, terms, (self._name,))

    def dry_run(self, queries: Query | Sequence[Query]) -> list[Release]:
        """The queries on a dummy table made from the policy alone. Asks nobody."""
        return dry_run([queries] if isinstance(queries, Query) else queries, self.policy)

    def preview(self, queries: Query | Sequence[Query], *, rows: int | None = None) -> list[Preview]:
        """The accuracy and the price of each query, from the policy alone."""
        return preview([queries] if isinstance(queries, Query) else queries, policy=self.policy, rows=rows)

    def budget(self) -> list[Balance]:
        """What all have spent and what is left, in each currency."""
        return balances_in(self._http.get(self._path("budget")))

    def accounts(self) -> BudgetRecord:
        """What all have spent, one's own account and those of one's groups, and one's own entries."""
        return budget_in(self._http.get(self._path("budget")))

    def certificate(self, delta: float = 1e-9) -> dict[str, Any]:
        """That everything released so far, by whomever, came to so much ε but for `delta`, and passed no cap:
        JSON for `leakcap-verify`, as `PrivateTable.certificate` gives it. It shows everybody's charges:
        owners and auditors alone may have it, and `NotAllowed` is raised for others. Raises
        `InvalidParameter`."""
        if not (isinstance(delta, int | float) and 0.0 < delta < 1.0):
            raise InvalidParameter(f"`delta` must be above 0 and below 1. Got {delta!r}.")
        found = self._http.get(self._path("ledger/certificate"), delta=repr(float(delta)))
        listed = objects_in(found, "certificates", "certificate")
        if len(listed) != 1 or listed[0].get("schema") != CERTIFICATE_SCHEMA:
            raise DataError("The curator's certificate is none, or of another version than this leakcap.")
        return listed[0]

    def statement(self, *, everyone: bool = False) -> Statement:
        """What was told so far: to oneself, or with a role for it to everyone together. Raises
        `InvalidQuery` where nothing was."""
        query: dict[str, str | int] = {"everyone": "true"} if everyone else {}
        found = self._http.get(self._path("statement"), **query)
        with read("statement"):
            return restated(StatementRecord.model_validate(found))

    def answers(self, asked: object, told: Mapping[str, Any]) -> list[Release]:
        """The answers to what a job asked."""
        self._known()  # that it cannot be asked for is no fault of the job's
        with read("job"):
            body = mapping(asked, "job")
            terms = StatementTerms(**{name: body[name] for name in _TERMS if body.get(name) is not None})
            statement = self.statement_asked(body["sql"], terms) if body.get("sql") else None
            queries = statement.queries if statement else [query_from(one) for one in body["queries"]]
        releases = self._releases(queries, told)
        return Shown(releases if statement is None else statement.shown(releases, self.policy))

    def _paid(
        self,
        queries: Sequence[Query],
        fresh: bool,
        request: str | None,
        shown: Callable[[Sequence[Release]], list[Release]],
    ) -> list[Release]:
        if not queries:
            raise InvalidQuery("`queries` of `release` must hold at least one query.")
        for query in queries:
            price_of(plan_query(query, self.policy))  # what may not be asked is not sent
        key = str(uuid.uuid4()) if request is None else _checked_key(request)
        body: dict[str, Any] = {"queries": [query_on_wire(query) for query in queries]}

        def answered(told: Mapping[str, Any]) -> list[Release]:
            return shown(self._releases(queries, told))

        status, told = self._http.pay(self._path("releases"), body | ({"fresh": True} if fresh else {}), key)
        if status == 202:
            job = RemoteJob(self._http, mapping(told, "job"), answered)
            if not job.needed and not job.ended:
                job.wait(self._http.seconds)
            if job.ended:  # now, or it was asked under this key before
                return job.result()
            raise AwaitingApproval.of(job, key)
        return answered(mapping(told, "answer"))

    def _releases(self, queries: Sequence[Query], told: Mapping[str, Any]) -> list[Release]:
        """The releases that answers are, read under the policy that they were given under."""
        if told.get("policy") != self._known().fingerprint:
            self._governing = None
            if told.get("policy") != self._known().fingerprint:
                raise self._amended()
        policy, found = self.policy, objects_in(told, "answers", "answer")
        with read("answer"):
            if len(found) != len(queries):
                raise DataError(f"It has {len(found)} answers to {len(queries)} queries.")
            plans = [plan_query(query, policy) for query in queries]
            return [answer_from(plan, price_of(plan), one) for plan, one in zip(plans, found, strict=True)]

    def _amended(self) -> DataError:
        return DataError(
            f"The policy of `{self._name}` was amended while this was asked, so that the answer cannot be "
            "read under it. Ask again: what was paid for is repeated for free."
        )

    def _known(self) -> _Governing:
        if self._governing is None:
            found = self._described()
            with read("policy"):
                policy = load_policy(mapping(found.get("policy"), "policy"))
                policy = with_cases(policy) if policy.has_cases else policy
            self._governing = _Governing(policy, text_in(found, "fingerprint", "policy", most=64))
        return self._governing

    def _described(self) -> dict[str, Any]:
        return mapping(self._http.get(f"/v1/datasets/{quote(self._name, safe='')}"), "data set")

    def _path(self, what: str) -> str:
        return f"/v1/datasets/{quote(self._name, safe='')}/{what}"


def balances_in(found: object) -> list[Balance]:
    """The accounts of everything, as the ledger has them."""
    with read("budget"):
        caps = [CapRecord.model_validate(one) for one in objects_in(found, "caps", "budget")]
        return [
            Balance(one.cap, one.unit, one.limit, float("inf") if one.spent is None else one.spent, one.left)
            for one in caps
        ]


def budget_in(found: object) -> BudgetRecord:
    """The budget as `leakcap budget` prints it."""
    with read("budget"):
        content = mapping(found, "budget")
        names = ("dataset", "caps", "accounts", "entries")
        return BudgetRecord.made(amendments=(), **{name: content[name] for name in names})


def _checked_key(request: object) -> str:
    text = request if isinstance(request, str) else ""
    if not (0 < len(text) <= 128 and all("!" <= c <= "~" for c in text)):
        raise InvalidParameter(
            "`request` of `release` must be 1 to 128 printable ASCII characters, no space."
        )
    return text
