"""A query file: which table under which policy and ledger, what is asked, and how ε is shared.

    policy = "policy.toml"
    data = "visits.parquet"
    tables = { people = "people.parquet" }
    ledger = "visits.db"
    budget = { epsilon = 1.0, for = "least total error" }
    consistent = ["stays", "wards"]
    cover = "cut"
    margins = { stays = "all", wards = [["ward"], []] }
    pivots = { stays = { across = ["sex"] } }
    publication = { title = "Stays", period = "March 2024", version = "1.0", contact = "stats@example.org" }

    [[query]]
    name = "stays"
    statistic = "count"
    weight = 2

    [[workload]]
    name = "pairs"
    columns = ["sex", "age", "ward"]
    ways = 2
    rho = 0.02

Each query has its own `epsilon`, or `rho`, or an `error` that it must stay within; or the file has a
`budget`, and each query a `weight` or an `error`. The answers of the queries that `consistent` names are made
to add up; it may be a list of such lists. `cover` names a query of `rows_cut`, by whose answer the intervals
of others are made to hold the table's figure. `margins` names queries whose answers get margins after their
cells: all, or those that keep the columns that are listed, of which `[]` is the total.
`pivots` lays answers out with the keys of some columns `across` and `down`; columns that are not named go the
other way. Each `workload` asks for tables that share one budget, its own (`leakcap.tables`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leakcap.errors import InvalidQuery
from leakcap.ledger import Edition
from leakcap.policy.document import Policy, load_policy
from leakcap.policy.validation import read_checked
from leakcap.release.asking.budget import divided, within_error
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.owner import OwnerAnswers
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.engine.locations import is_database
from leakcap.release.planning.queries import Query, locations, query_from
from leakcap.release.results.publication import Publication
from leakcap.release.statistics.base import require

__all__ = ["QueryFile", "load_queries"]


class _Budget(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    epsilon: float | None = None
    rho: float | None = None
    delta: float | None = None
    objective: Objective = Field(default="shares by weight", alias="for")


class _Ways(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    across: list[str] = Field(default_factory=list)
    down: list[str] = Field(default_factory=list)


class _Contents(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    policy: str
    data: str
    table: str | None = None
    tables: dict[str, str] = Field(default_factory=dict)
    ledger: str
    report: str | None = None
    budget: _Budget | None = None
    consistent: list[str] | list[list[str]] = Field(default_factory=list)
    annex: OwnerAnswers = OwnerAnswers()
    cover: str | None = None
    margins: dict[str, Literal["all"] | list[list[str]]] = Field(default_factory=dict)
    pivots: dict[str, _Ways] = Field(default_factory=dict)
    publication: Publication | None = None
    workload: list[dict[str, Any]] = Field(default_factory=list)
    query: list[dict[str, Any]] = Field(min_length=1)


class _OfCurator(_Contents):
    """A file that asks a curator, who has policy, data and ledger."""

    policy: str = ""
    data: str = ""
    ledger: str = ""


_AT_HAND = ("policy", "data", "table", "tables", "ledger", "workload", "publication")


@dataclass(frozen=True)
class QueryFile:
    """A query file with its paths resolved: relative ones start at the file's own folder.

    `data` is a path, or the URL of a server; `tables` are those that the policy joins. `consistent` are the
    queries, by name, whose answers are made to add up: group by group. `annex` is what the owner says for
    `leakcap annex`, which no release reads.
    `cover` is the query of `rows_cut` by which the intervals of others hold the table's figure. `margins` are
    the queries that get margins, each with the columns that each of its margins keeps; None: all margins.
    `pivots` are the queries whose answers are laid out, each with the columns that go `across` and `down`.
    `workloads` are the fields of each question for tables that share one budget, as they were given.
    """

    policy: Path
    data: Path | str = field(repr=False)
    table: str | None
    ledger: str = field(repr=False)
    report: Path | None
    queries: tuple[Query, ...]
    tables: Mapping[str, Path | str] = field(default_factory=dict, repr=False)
    consistent: tuple[tuple[str, ...], ...] = ()
    publication: Publication | None = None
    annex: OwnerAnswers = field(default_factory=OwnerAnswers)
    cover: str | None = None
    margins: Mapping[str, tuple[tuple[str, ...], ...] | None] = field(default_factory=dict)
    pivots: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    workloads: tuple[Mapping[str, Any], ...] = ()

    @property
    def edition(self) -> Edition | None:
        """What the answers are published as."""
        return None if self.publication is None else self.publication.edition


def load_queries(path: str | Path, policy: Policy | None = None) -> QueryFile:
    """Read a query file. Raises `InvalidQuery`, one line per broken rule.

    Where queries share a budget it is divided here, for which the policy is read too. With a `policy` the
    file asks a curator's data set, which it is that of: it names no policy, data or ledger of its own.
    """
    path = Path(path)
    contents = read_checked(_Contents if policy is None else _OfCurator, path, InvalidQuery)
    if policy is not None:
        _refuse_at_hand(contents, path)
    folder = path.resolve().parent
    queries = _queries(contents, path, folder / contents.policy if policy is None else policy)
    names = [query.name for query in queries]
    for name in names:
        require(names.count(name) == 1, "name", name, f"be unique in `{path}`")
    data, ledger = locations(folder, contents.data, contents.ledger) if policy is None else (Path(), "")
    return QueryFile(
        policy=folder / contents.policy,
        data=data,
        table=contents.table,
        ledger=ledger,
        report=None if contents.report is None else _inside(folder, contents.report, path),
        queries=tuple(queries),
        tables={name: _place(folder, data, other) for name, other in contents.tables.items()},
        consistent=_alike(contents.consistent, names, path),
        publication=contents.publication,
        annex=contents.annex,
        cover=_cover(contents.cover, queries, path),
        margins=_margins(contents, names, path),
        pivots=_pivots(contents.pivots, names, path),
        workloads=tuple(contents.workload),
    )


def _refuse_at_hand(contents: _Contents, path: Path) -> None:
    for name in _AT_HAND:
        if name in contents.model_fields_set:
            raise InvalidQuery(
                f"`{name}` of `{path}` must be left out where a curator is asked, who has policy, data and "
                "ledger, and answers queries alone."
            )


def _alike(
    given: list[str] | list[list[str]], names: Sequence[str], path: Path
) -> tuple[tuple[str, ...], ...]:
    """The groups of queries that have to agree; each query is in one at most."""
    groups = [tuple(group) for group in given if isinstance(group, list)]
    groups = groups or ([tuple(map(str, given))] if given else [])
    named = [name for group in groups for name in group]
    for name in named:
        require(name in names, "consistent", name, f"be the name of a query in `{path}`")
        require(named.count(name) == 1, "consistent", name, "be named once")
    for group in groups:
        require(len(group) > 1, "consistent", ", ".join(group), "stand beside another query")
    return tuple(groups)


def _margins(
    contents: _Contents, names: Sequence[str], path: Path
) -> dict[str, tuple[tuple[str, ...], ...] | None]:
    """For each query that gets margins the columns that each of them keeps."""
    agree = {name for group in _alike(contents.consistent, names, path) for name in group}
    for name in contents.margins:
        require(name in names, "margins", name, f"be the name of a query in `{path}`")
        require(
            name not in agree, "margins", name, "be left out: `consistent` has it, and would change its cells"
        )
        require(contents.cover is None, "margins", name, "be left out: `cover` would change its cells")
    return {
        name: None if kept == "all" else tuple(tuple(one) for one in kept)
        for name, kept in contents.margins.items()
    }


def _pivots(given: Mapping[str, _Ways], names: Sequence[str], path: Path) -> dict[str, dict[str, list[str]]]:
    """For each query that is laid out the columns that go each way."""
    for name in given:
        require(name in names, "pivots", name, f"be the name of a query in `{path}`")
    return {name: ways.model_dump() for name, ways in given.items()}


def _cover(given: str | None, queries: Sequence[Query], path: Path) -> str | None:
    """The name of the `rows_cut` query that widens the intervals of the others."""
    if given is not None:
        kinds = {query.name: query.statistic for query in queries}
        require(
            kinds.get(given) == "rows_cut", "cover", given, f"be the name of a `rows_cut` query in `{path}`"
        )
    return given


def _inside(folder: Path, report: str, path: Path) -> Path:
    """Whoever writes a query file says what is asked, and not which files elsewhere are written over."""
    place = folder / report
    inside = "\0" not in report and Path(os.path.realpath(place)).is_relative_to(os.path.realpath(folder))
    if not inside:
        raise InvalidQuery(
            f"`report` of `{path}` must stay in the folder of that file. Got {report!r}. Another place "
            "can be named on the command line, with `--report`."
        )
    return place


def _place(folder: Path, data: Path | str, other: str) -> Path | str:
    """Beside a server's or a DuckDB file's table the name of one there, else a file."""
    stored = isinstance(data, str) or is_database(data)
    return other if stored else folder / other


def _queries(contents: _Contents, path: Path, policy: Path | Policy) -> Sequence[Query]:
    entries = list(enumerate(contents.query, start=1))
    budget = contents.budget
    if budget is None:
        return [_priced(entry, f"{path}: query {index}", policy) for index, entry in entries]
    templates = []
    for index, entry in entries:
        owner = f"{path}: query {index}"
        _refuse(
            entry,
            ("epsilon", "rho", "delta"),
            owner,
            "The file has a `budget`: give a `weight` or an `error`.",
        )
        content = {name: value for name, value in entry.items() if name not in ("weight", "error")}
        query_from({**content, "epsilon": 1.0}, owner=owner)
        templates.append(QueryTemplate(content, weight=entry.get("weight"), error=entry.get("error")))
    known = load_policy(policy)
    return divided(
        templates,
        known,
        epsilon=budget.epsilon,
        rho=budget.rho,
        delta=budget.delta,
        objective=budget.objective,
    )


def _priced(entry: Mapping[str, Any], owner: str, policy: Path | Policy) -> Query:
    """A query with a price of its own: ε, ρ, or an error that it must stay within."""
    _refuse(entry, ("weight",), owner, "It shares a `budget` of the file.")
    if "error" not in entry:
        return query_from(entry, owner=owner)
    priced = ("epsilon", "rho", "delta", "error")
    content = {name: value for name, value in entry.items() if name not in priced}
    query_from({**content, "epsilon": 1.0}, owner=owner)
    template = QueryTemplate(content, error=entry["error"])
    return within_error(
        template,
        load_policy(policy),
        epsilon=entry.get("epsilon"),
        delta=entry.get("delta"),
        rho=entry.get("rho"),
    )


def _refuse(entry: Mapping[str, Any], fields: Sequence[str], owner: str, remedy: str) -> None:
    for name in fields:
        if name in entry:
            raise InvalidQuery(f"`{name}` of `{owner}` must be left out. {remedy}")
