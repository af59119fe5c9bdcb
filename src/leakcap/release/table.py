"""The table that only answers in private."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from leakcap.cards import Shown
from leakcap.errors import (
    BudgetExceeded,
    DataError,
    InvalidPolicy,
    InvalidQuery,
    require,
)
from leakcap.ledger import (
    Balance,
    Charge,
    DataVersion,
    Edition,
    Entry,
    Ledger,
    Paid,
    Request,
    unpaid_places,
)
from leakcap.ledger.chain import require_text
from leakcap.ledger.details import EPSILON_CONTENTS, EVENT_CONTENTS
from leakcap.ledger.paying import Payment, pay_alone, paying
from leakcap.numeric import short_down
from leakcap.policy.document import Policy, load_policy
from leakcap.release.asking.accuracy import Preview, preview
from leakcap.release.asking.beside import Beside
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.table import Asking
from leakcap.release.conditions.declared import with_cases
from leakcap.release.dummy import UNITS, dummy_engine
from leakcap.release.engine import Engine, attach, is_database, is_server
from leakcap.release.engine.base import in_one_state
from leakcap.release.engine.beforehand import Identity, called_together, check_schema, together, wrong_number
from leakcap.release.engine.portable import portable, portable_tables
from leakcap.release.opening import opened_for, require_begun
from leakcap.release.plan import Plan
from leakcap.release.planning.adding import require_within
from leakcap.release.planning.plan import plan_query, text_of, used_columns
from leakcap.release.planning.price import Price, price_of
from leakcap.release.planning.queries import Query
from leakcap.release.planning.scan import Drawn, Scan, WrittenStatements, scans_of
from leakcap.release.planning.statements import units_statement
from leakcap.release.results.exposure import exposure_so_far
from leakcap.release.results.recorded import from_ledger, recorded_of, release_of
from leakcap.release.results.result import Release
from leakcap.release.sql.select import StatementTerms, select_statement
from leakcap.sampling import ByteSource, system_bytes
from leakcap.statement import Statement, statement_of

__all__ = ["PrivateTable", "dry_run", "open_ledger"]

_log = logging.getLogger(__name__)
T = TypeVar("T")


class PrivateTable(Asking):
    """A table behind a policy and a ledger.

    `data` is a path to Parquet or CSV, a DuckDB file with its `table`, or a pandas, Polars or Arrow table;
    `tables` are those that the policy declares for joins, stored ones by name, others like `data`;
    `policy` a path, a mapping or a `Policy`; `ledger` a URL, a path of an SQLite file, or a `Ledger`.

    Every answer is planned, priced, checked against every cap and committed to the ledger, in this order,
    before any statistic of the data is computed and any noise drawn. A failure after the commit costs budget,
    never privacy. The same query at the same price about the same table is answered once: after that the
    ledger repeats its answer for free, unless fresh noise is asked for. `version` is a public name for the
    state of a table that is no file (or is better known by it); it must not be read off the data. `same_as`
    is the number of a version that the ledger knows: the owner's word that the table is the one of then,
    which is recorded with the answers, and with them what the data is called (its file's name).
    `edition` is the title, reference period and version that answers are published as, and recorded with.
    A table can be pickled, and every process that has it spends from the same ledger. `asked` are queries
    that are held to the policy, to the columns of the data and, where the ledger would be a new one, to its
    caps before it is opened, so that none begins where there is nothing to spend; with `fresh` as answers
    that are all paid for, as `release(queries, fresh=True)` does.

    >>> import pyarrow
    >>> ages = pyarrow.table({"age": [31.0, 45.0, 72.0]})
    >>> policy = {"dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}}
    >>> ward = PrivateTable(ages, policy=policy, ledger="sqlite://")
    >>> release = ward.count(where="age >= 65", epsilon=0.5)
    >>> isinstance(release.value, int), release.noise_scale, ward.budget()[0].left
    (True, 2.0, 0.5)
    """

    def __init__(
        self,
        data: object,
        *,
        policy: Policy | str | Path | Mapping[str, Any],
        ledger: Ledger | str | Path,
        table: str | None = None,
        tables: Mapping[str, object] | None = None,
        analyst: str = "",
        version: str | None = None,
        same_as: int | None = None,
        edition: Edition | None = None,
        source: ByteSource = system_bytes,
        asked: Sequence[Query] = (),
        beside: Sequence[Charge] = (),
        fresh: bool = False,
    ) -> None:
        known = load_policy(policy)
        self._policy = with_cases(known) if known.has_cases else known
        self._fingerprint = self._policy.fingerprint()
        others = dict(tables or {})
        if not others.keys() <= self._policy.tables.keys():
            raise DataError(f"`tables` has one that the policy does not declare: {', '.join(others)}.")
        if version is not None and same_as is not None:
            raise InvalidQuery("`version` and `same_as` both name the table's state. Leave one out.")
        self._given = (data, table, others, version)
        self._identities = _identities(data, table, others, version)
        self._written = WrittenStatements()
        self._engine: Engine = attach(data, table=table, tables=others, wanted=_wanted(self.policy))
        self._tables = () if table is None else (table.rpartition(".")[2],)
        self._analyst, self._edition = analyst, edition
        self._named = _named(self._identities, others)
        self._state, self._same_as = None, None
        plans = self._fitting(asked) if asked else []
        place = ledger if isinstance(ledger, Ledger) else str(ledger)
        if same_as is not None:
            require_begun(place, same_as)
        self.ledger = opened_for(
            place,
            self.policy,
            lambda: (*map(self._charge, plans, map(price_of, plans)), *beside),
            fresh=fresh,
        )
        self._own_ledger = self.ledger is not ledger
        try:
            if same_as is not None:
                self._state, self._same_as = _state_of(self.ledger, same_as, edition)
        except BaseException:
            self.close()
            raise
        self._source = source
        given = (data, policy, *others.values())
        self._files = [one for one in given if isinstance(one, str | Path)]

    def __getstate__(self) -> dict[str, Any]:
        """For a pickle: where data and ledger are, a data frame itself, policy and analyst.

        No password, and nothing secret of the ledger. Raises `DataError`, `LedgerError` or `InvalidParameter`
        for what another process could not open, or should not: see `docs/security.md`.
        """
        data, table, others, version = self._given
        rule = "be the system's in a table that is pickled: a copy would draw the same noise"
        require(self._source is system_bytes, "source", "PrivateTable", rule, type(self._source).__name__)
        return {
            "given": (portable(data), table, portable_tables(data, others), version),
            "policy": self._policy,
            "fingerprint": self._fingerprint,
            "ledger": self.ledger,
            "analyst": self._analyst,
            "edition": self._edition,
            "state": (self._state, self._same_as),
            "identities": [one if one.of_object else None for one in self._identities],
            "files": [one if is_server(str(one)) else Path(one).absolute() for one in self._files],
        }

    def __setstate__(self, told: Mapping[str, Any]) -> None:
        """Open data and ledger again. The ledger has to be there, with all that it had."""
        data, table, tables, version = told["given"]
        # What comes out of a pickle was opened for this table. One in memory was not: no pickle holds it, and
        # a shallow copy has that of its original.
        own = told["ledger"].url != "sqlite://"
        try:
            PrivateTable.__init__(
                self,
                data,
                policy=told["policy"],
                ledger=told["ledger"],
                table=table,
                tables=tables,
                analyst=told["analyst"],
                edition=told["edition"],
                version=version,
            )
        except BaseException:
            if own:
                told["ledger"].close()
            raise
        self._own_ledger = own
        self._fingerprint, self._files = told["fingerprint"], told["files"]
        self._state, self._same_as = told["state"]
        pairs = zip(told["identities"], self._identities, strict=True)
        self._identities = [fresh if before is None else before for before, fresh in pairs]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the ledger that it opened itself, or that came out of a pickle with it; one that was
        given stays open.

        An SQLite file that nobody closes has its last spends in the log beside it, and whoever copies the
        file alone copies less than was spent.
        """
        if self._own_ledger:
            self.ledger.close()

    @property
    def policy(self) -> Policy:
        """The policy that the table was opened under; it stays the same."""
        return self._policy

    @property
    def engine(self) -> Engine:
        """What runs statements over the table, for code that pays the ledger itself, as the models do.

        It returns exact totals: nothing of it may be shown that was not paid for and made noisy.
        """
        return self._engine

    @property
    def files(self) -> list[str | Path]:
        """What it was opened from, which nothing may be written over: paths and URLs, its ledger's last."""
        return [*self._files, self.ledger.url]

    @property
    def analyst(self) -> str:
        """Who asks."""
        return self._analyst

    def asked_by(self, analyst: str) -> Self:
        """The same table, asked by somebody else: whoever answers for many people opens it once.

        It shares data, engine and ledger with this one, which stays the owner of what it opened.
        """
        require_text(analyst, "analyst", "asked_by")
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._analyst, other._own_ledger = analyst, False
        return other

    @property
    def edition(self) -> Edition | None:
        """What the answers are published as."""
        return self._edition

    @property
    def named(self) -> str:
        """What the data is called, as it is recorded with every answer: its file without the folder, a stored
        table; empty for a data frame."""
        return self._named

    @property
    def same_as(self) -> DataVersion | None:
        """The version that the table is said to be; None where nothing is said."""
        return self._same_as

    def state(self) -> str:
        """The name of the table's present state, under which the ledger remembers answers about it."""
        return self._state or together([one.now() for one in self._identities])

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
    ) -> list[Release]:
        """What a SELECT statement asks for, a release for each aggregate; they share ε, or `rho`, equally or
        by weights, or cost what keeps an `error`, one for all or one for each.

        `FROM` names the policy's data set, or the `table` that was given. What is supported: `docs/sql.md`.
        """
        terms = StatementTerms(epsilon, rho, error, delta, weights, objective, noise)
        asked = select_statement(text, self.policy, terms, self._tables)
        return Shown(asked.shown(self.release(asked.queries, fresh=fresh), self.policy))

    def dry_run(self, queries: Query | Sequence[Query]) -> list[Release]:
        """The queries on a dummy table made from the policy alone. Touches neither data nor ledger."""
        return dry_run([queries] if isinstance(queries, Query) else queries, self.policy)

    def preview(self, queries: Query | Sequence[Query], *, rows: int | None = None) -> list[Preview]:
        """The accuracy and the price of each query, as `leakcap.release.preview` has them for this policy.
        Touches neither data nor ledger.
        """
        return preview([queries] if isinstance(queries, Query) else queries, policy=self.policy, rows=rows)

    def budget(self) -> list[Balance]:
        """What was spent and what is left, in each currency."""
        return self.ledger.balances()

    def certificate(self, delta: float = 1e-9) -> dict[str, Any]:
        """That everything released so far, by whomever, came to so much ε but for δ, and passed no cap: JSON
        for `leakcap-verify`. See `LedgerReader.certificate`."""
        return self.ledger.certificate(delta)

    def statement(self) -> Statement:
        """What everything in the ledger lets an attacker do. Raises `InvalidQuery` where it is empty."""
        entries = self.ledger.entries()
        if not entries:
            raise InvalidQuery("Nothing was released yet: there is nothing to state.")
        return statement_of(exposure_so_far(entries, self.policy))

    def release(
        self, queries: Sequence[Query], *, fresh: bool = False, request: Request | None = None
    ) -> list[Release]:
        """Answer all of the queries, or none.

        What was answered before is repeated for free; `fresh` draws new noise and pays again. Raises
        `InvalidQuery`, `DataError` or `BudgetExceeded` with nothing spent; or a `DataError` that says that
        the spend stays, when the engine fails after the commit.

        Asked again with the same `request`, they are answered as they were, `fresh` ones too, and cost
        nothing: see `docs/ledger.md`. Raises `RequestReused` where its key stands for something else.
        """
        return Shown(one for one, _ in self.release_recorded(queries, fresh=fresh, request=request))

    def release_recorded(
        self,
        queries: Sequence[Query],
        *,
        fresh: bool = False,
        request: Request | None = None,
        most: Mapping[str, float] | None = None,
    ) -> list[tuple[Release, int]]:
        """Answer all of the queries, or none: each with the number of its entry in the ledger. Raises as
        `release` does, and `InvalidQuery` with nothing spent where what has to be paid for costs more than
        `most`, an amount for each of the currencies `epsilon` and `rho` that it names."""
        return pay_alone(self.releasing(queries, fresh=fresh, request=request, most=most))

    def releasing(
        self,
        queries: Sequence[Query],
        *,
        fresh: bool = False,
        request: Request | None = None,
        most: Mapping[str, float] | None = None,
    ) -> Payment[list[tuple[Release, int]]]:
        """`release_recorded` in stages, for whoever answers many together: see `pay_together`."""
        if not queries:
            raise InvalidQuery("`queries` of `release` must hold at least one query.")
        found, paid = yield from self._releasing(queries, (), fresh, request, most)
        return [(one, each.answer.entry) for one, each in zip(found, paid, strict=True)]

    def unpaid(
        self, queries: Sequence[Query], *, fresh: bool = False, request: Request | None = None
    ) -> list[Price]:
        """The prices of those queries that `release` would pay for just now: of none whose answer is known.
        Spends nothing; raises as `release` does but for `BudgetExceeded`."""
        plans = self._fitting(queries)
        prices = [price_of(plan) for plan in plans]
        charges = [self._charge(plan, price) for plan, price in zip(plans, prices, strict=True)]
        places = unpaid_places(self.ledger, charges, data=self.state(), fresh=fresh, request=request)
        return [prices[place] for place in places]

    def release_with(
        self,
        queries: Sequence[Query],
        beside: Sequence[Beside[T]],
        *,
        fresh: bool = False,
        request: Request | None = None,
    ) -> tuple[list[Release], list[Paid[T]]]:
        """Answer all of the queries and what is asked beside them, in one commit, or none. Raises as
        `release` does."""
        found, paid = pay_alone(self._releasing(queries, beside, fresh, request))
        return found, paid[len(found) :]

    def _releasing(
        self,
        queries: Sequence[Query],
        beside: Sequence[Beside[T]],
        fresh: bool,
        request: Request | None,
        most: Mapping[str, float] | None = None,
    ) -> Payment[tuple[list[Release], list[Paid[Any]]]]:
        """The answers to the queries, and what was paid for them and, after that, for what was asked beside
        them."""
        if self.policy.fingerprint() != self._fingerprint:
            raise InvalidPolicy(
                "The policy was changed after the table was opened under it. Open the table anew."
            )
        plans = self._fitting(queries)
        for query in queries:
            _log.info("asked: %a, epsilon %r", query.name, query.epsilon)
        prices = [price_of(plan) for plan in plans]
        charges = [self._charge(plan, price) for plan, price in zip(plans, prices, strict=True)]
        data, steps = self.state(), list(zip(plans, prices, strict=True))
        everything = [*charges, *(one.charge for one in beside)]

        def prepare(
            places: Sequence[int], paid_before: bool
        ) -> Callable[[Sequence[Entry]], list[tuple[Any, Any]]]:
            own = [i for i in places if i < len(steps)]
            if most is not None and not paid_before:
                require_within([prices[i] for i in own], most)
            others = [beside[i - len(steps)].prepare(paid=paid_before) for i in places[len(own) :]]
            mine = [charges[i] for i in own if not paid_before]
            answered = self._prepare([steps[i] for i in own], mine) if own else None

            def read(entries: Sequence[Entry]) -> tuple[list[tuple[Any, Any]], list[Any]]:
                first = answered(entries[: len(own)]) if answered is not None else []
                return first, [one() for one in others]

            def compute(entries: Sequence[Entry]) -> list[tuple[Any, Any]]:
                first, rest = in_one_state(self._engine, lambda: read(entries))
                besides = (beside[i - len(steps)] for i in places[len(own) :])
                return [*first, *(one.finished(told) for one, told in zip(besides, rest, strict=True))]

            return compute

        try:
            paid = yield from paying(
                self.ledger,
                everything,
                prepare,
                data=data,
                analyst=self._analyst,
                fresh=fresh,
                request=request,
            )
        except BudgetExceeded as error:
            raise error.saying(f"{error}{self._asked_before(everything, data)}") from None
        found = Shown(
            from_ledger(*step, one.answer) if one.computed is None else one.computed
            for step, one in zip(steps, paid[: len(steps)], strict=True)
        )
        return found, paid

    def _fitting(self, queries: Sequence[Query]) -> list[Plan]:
        """The plans, of which each can be answered with the columns that the data has."""
        plans = [plan_query(query, self.policy) for query in queries]
        columns = self._engine.columns()
        for plan in plans:
            check_schema(columns, used_columns(plan), plan.policy, tables=plan.query.join)
        return plans

    def _prepare(
        self, steps: Sequence[tuple[Plan, Price]], charges: Sequence[Charge]
    ) -> Callable[[Sequence[Entry]], list[tuple[Release, Any]]]:
        """Whatever may still be refused; then what reads the table and draws noise, once it is paid.
        `charges` are those that have not been."""
        plans = [plan for plan, _ in steps]
        # Written out before the commit, so that nothing after it can fail because of the query.
        least = min(self.policy.caps.each_person or (), default=None)
        scans = self._scans(plans, [least] * len(steps))
        if self.policy.neighbours == "replace-one":
            # A refusal should not wait for the count; the commit asks again, and for good.
            if charges:
                self.ledger.check(charges)
            self.check_units()

        def compute(entries: Sequence[Entry]) -> list[tuple[Release, Any]]:
            people = [entry.people_from for entry in entries]
            again = any(one != least for one in people)
            chosen = self._scans(plans, people) if again else scans
            drawn: dict[int, Drawn] = {}
            for scan in chosen:
                drawn |= scan.draw(self._engine, self._source)
            releases = [
                replace(release_of(*step, drawn[place].noisy, drawn[place].codes), people_from=people[place])
                for place, step in enumerate(steps)
            ]
            return [(release, recorded_of(release)) for release in releases]

        return compute

    def _scans(self, plans: Sequence[Plan], people: Sequence[float | None]) -> list[Scan]:
        """The statements, each over the people whose own caps it may count."""
        chosen = [replace(plan, people_from=one) for plan, one in zip(plans, people, strict=True)]
        return scans_of(chosen, self._engine, self.ledger.seed, self._written)

    def check_units(self) -> None:
        """Under replace-one the number of units is public by definition, so that to compare it tells nothing:
        every neighbouring table gives the same answer. Under add/remove-one it is never looked at.
        """
        ((counted,),) = self._engine.run(self._engine.write(units_statement(self.policy))).rows()
        if counted != self.policy.rows:
            raise DataError(wrong_number(self.policy))

    def _asked_before(self, charges: Sequence[Charge], data: str) -> str:
        """What to do where only the table's state keeps answers from being repeated for free."""
        version = self.ledger.version_asked(charges, data=data)
        if version is None:
            return ""
        known = self.ledger.data_version(version)
        return (
            f" The ledger has answers to these queries about {known.line}, and takes this "
            "one for another: a file that was written, moved or copied since, or a data frame. If it is the "
            f"same table, say so, and they are repeated for free: `--same-as {version}`, in Python "
            f"`same_as={version}`."
        )

    def _charge(self, plan: Plan, price: Price) -> Charge:
        details: dict[str, str | float | int] = {
            "mechanism": price.mechanism,
            "neighbours": price.relation,
            "unit": price.unit,
            "cells": price.cells,
            EPSILON_CONTENTS: price.epsilon_contents,
            "nats_lower": short_down(price.nats_person.lower),
            **({EVENT_CONTENTS: price.event_contents} if price.event_contents else {}),
            **{f"noise_scale_{role}": scale for role, scale in price.noise_scales.items()},
        }
        own = self.policy.caps_column is not None
        return Charge(
            plan.query.name,
            text_of(plan),
            price.spend,
            self._analyst,
            details,
            plan.asked,
            counts_by_cap=own,
            slot=plan.query.slot or "",
            edition=self._edition,
            source=self._named,
            same_as=None if self._same_as is None else self._same_as.number,
        )


def dry_run(queries: Sequence[Query], policy: Policy, *, seed: int = 0) -> list[Release]:
    """The queries answered on a dummy table; raises what the real release would raise from a full budget.

    >>> from leakcap.policy import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"age": {"bounds": [0.0, 120.0]}}})
    >>> release, = dry_run([Query(name="n", statistic="count", epsilon=1.0)], policy)
    >>> 900 < release.value < 1100
    True
    """
    small = policy if policy.rows is None else policy.model_copy(update={"rows": min(policy.rows, UNITS)})
    table = PrivateTable(dummy_engine(small, seed=seed), policy=small, ledger="sqlite://")
    return table.release(queries)


def _wanted(policy: Policy) -> dict[str, set[str]]:
    """The columns that a policy can have read, of the data and of each table."""
    named = (policy.id_column, policy.row_key, policy.caps_column)
    own = {*policy.columns, *(one for one in named if one is not None)}
    return {"": own, **{name: {*one.columns, one.key_column} for name, one in policy.tables.items()}}


def _identities(
    data: object, table: str | None, others: Mapping[str, object], version: str | None
) -> list[Identity]:
    """What names the state of each table; a version that is given names that of all."""
    found = [Identity(data, table=table, version=version)]
    if version is not None:
        return found
    database = isinstance(data, str | Path) and is_database(data)
    for name in sorted(others):
        other = others[name]
        stored = database and isinstance(other, str)
        found.append(Identity(data, table=str(other)) if stored else Identity(other))
    return found


def _named(identities: Sequence[Identity], others: Mapping[str, object]) -> str:
    """What data and tables are called; a version that was given speaks of all of them."""
    named = {"": identities[0].called}
    named |= {name: one.called for name, one in zip(sorted(others), identities[1:], strict=False)}
    return called_together(named)


def _state_of(ledger: Ledger, version: int, edition: Edition | None) -> tuple[str, DataVersion]:
    """The state that the owner says the table is in, and what is known of it; it is that of the same
    reference period."""
    state, found = ledger.state_of(version), ledger.data_version(version)
    known, period = found.periods, "" if edition is None else edition.period
    if known and period not in known:
        says, name = f"for {period}", f"Name the version of {period}"
        if not period:
            says, name = "for none", "Say for which period you ask, in `publication` (in Python `edition`)"
        called = f" ({', '.join(found.sources)})" if found.sources else ""
        raise InvalidQuery(
            f"Version {version} of the table{called} was published for {', '.join(known)}, and this "
            f"publication is {says}. Nothing was spent. {name}, or leave out `--same-as` (in Python "
            "`same_as`)."
        )
    return state, found


def open_ledger(ledger: Ledger | str | Path, policy: Policy) -> Ledger:
    """The ledger of a policy: a URL, the path of an SQLite file, or one that is open already."""
    return opened_for(ledger if isinstance(ledger, Ledger) else str(ledger), policy)
