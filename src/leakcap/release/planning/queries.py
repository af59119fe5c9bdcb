"""The analyst's queries, and where a file's data and ledger are."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from leakcap.errors import InvalidQuery
from leakcap.policy.validation import OF_QUERY, complaints, meant
from leakcap.release.query import QueryFields
from leakcap.release.statistics import statistic_of, statistics
from leakcap.release.statistics.base import require as _require

__all__ = ["NOISES", "Query", "locations", "plain_lists", "query_fields", "query_from"]

NOISES = ("laplace", "gaussian", "best")

# What every query may say; the other fields belong to statistics that name them.
_COMMON = frozenset(
    {"name", "statistic", "epsilon", "rho", "noise", "where", "by", "cut", "delta", "join", "slot"}
)
_EDGES = "at least two finite numbers in rising order"
_BINNED = "They go with a histogram or quantiles."
_REMEDIES = {"column": "Use `where` or `by`.", "bins": _BINNED, "edges": _BINNED}


@dataclass(frozen=True, kw_only=True)
class Query(QueryFields):
    """One statistic, and the ε that the analyst offers for it. Raises `InvalidQuery` where fields do not fit.

    >>> Query(name="malignant", statistic="count", where="diagnosis = 'malignant'", epsilon=0.1).by
    ()
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        named = isinstance(self.name, str) and bool(self.name.strip()) and self.name.isprintable()
        if not named:
            raise InvalidQuery(f"`name` of a query must be printable text. Got {str(self.name)[:40]!r}.")
        _check_types(self)
        known = isinstance(self.statistic, str) and self.statistic in statistics()
        if not known:
            close = meant(str(self.statistic)[:40], statistics())
            remedy = close if close.startswith("Did") else ""
            _require(False, "statistic", self.name, f"be one of {', '.join(statistics())}", remedy)
        _check_price(self)
        _require(len(set(self.by)) == len(self.by), "by", self.name, "not repeat a column")
        _require(len(set(self.join)) == len(self.join), "join", self.name, "not repeat a table")
        small = self.delta is None or (type(self.delta) is float and 0.0 < self.delta < 0.5)
        _require(small, "delta", self.name, "be a number above 0 and below 0.5")
        _check_fields(self)
        _check_bins(self)
        self._spell_edges()
        statistic_of(self).check(self)

    def _spell_edges(self) -> None:
        """One question has one text: the edge 10 is 10.0, as it is from a file or from `PrivateTable`."""
        cut = tuple((name, tuple(map(_double, edges))) for name, edges in self.cut)
        object.__setattr__(self, "cut", cut)
        if self.edges is not None:
            object.__setattr__(self, "edges", tuple(map(_double, self.edges)))


def _check_price(query: Query) -> None:
    """ε or ρ, one of them, and a known law of noise."""
    both = query.epsilon is not None and query.rho is not None
    _require(not both, "rho", query.name, "be left out beside `epsilon`: one of them is the price")
    for name in ("epsilon", "rho"):
        price = getattr(query, name)
        if price is None and (name == "rho" or query.rho is not None):
            continue
        number = isinstance(price, int | float) and not isinstance(price, bool)
        # Compared, not converted: an integer of a thousand digits is no float.
        positive = number and 0.0 < price <= sys.float_info.max
        got = f"Got {price!r}."[:60] if number else ""
        _require(positive, name, query.name, "be a positive finite number", got)
    _require(query.noise in NOISES, "noise", query.name, f"be one of {', '.join(NOISES)}")


def _check_fields(query: Query) -> None:
    """What belongs to other statistics must be left out."""
    statistic = statistic_of(query)
    for field in fields(query):
        allowed = field.name in _COMMON | statistic.fields or getattr(query, field.name) == field.default
        rule = f"be left out of a {statistic.label}"
        _require(allowed, field.name, query.name, rule, _REMEDIES.get(field.name, ""))


def _check_types(query: Query) -> None:
    for field in ("column", "where", "over", "when", "formula", "slot", "design_weight"):
        value = getattr(query, field)
        _require(value is None or isinstance(value, str), field, query.name, "be text")
    listed = isinstance(query.by, tuple) and all(isinstance(name, str) for name in query.by)
    _require(listed, "by", query.name, "be a tuple of column names")
    tables = isinstance(query.join, tuple) and all(isinstance(name, str) for name in query.join)
    _require(tables, "join", query.name, "be a tuple of names of tables")
    for field in ("bins", "top", "up_to"):
        value = getattr(query, field)
        _require(value is None or type(value) is int, field, query.name, "be a whole number")
    pairs = isinstance(query.cut, tuple) and all(
        isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) for one in query.cut
    )
    _require(pairs, "cut", query.name, "name columns, each with its edges")
    several = query.columns
    named = several is None or (isinstance(several, tuple) and all(isinstance(one, str) for one in several))
    _require(named, "columns", query.name, "be a tuple of column names")
    once = several is None or len(set(several)) == len(several)
    _require(once, "columns", query.name, "not repeat a column")


def _check_bins(query: Query) -> None:
    _require(query.bins is None or query.edges is None, "bins", query.name, "not be given beside `edges`")
    if query.edges is not None:
        _require(_rising(query.edges), "edges", query.name, f"be {_EDGES}")
    names = [name for name, _ in query.cut]
    for name, edges in query.cut:
        _require(_rising(edges), "cut", query.name, f"have for `{name}` {_EDGES}")
        rule = f"name columns of `by` or `columns`, each once; `{name}` is none"
        split = name in (*query.by, *(query.columns or ())) and names.count(name) == 1
        _require(split, "cut", query.name, rule)


def _rising(edges: object) -> bool:
    """Whether these are the edges of bins."""
    if not isinstance(edges, tuple) or not all(type(edge) in (int, float) for edge in edges):
        return False
    finite = all(abs(edge) <= sys.float_info.max for edge in edges)
    return len(edges) >= 2 and finite and all(a < b for a, b in itertools.pairwise(edges))


def _double(edge: float) -> float:
    """The double that it is; a whole number that is none stays as it is."""
    return float(edge) if float(edge) == edge else edge


_QUERY: TypeAdapter[Query] = TypeAdapter(Query)


def query_fields(statistic: str, column: str | None = None, **fields: Any) -> dict[str, Any]:
    """What a query of a statistic says beside its rows and its price, in Python's own lists and doubles.

    It is called by its statistic and its column until it has another name; what is None is left out.

    >>> query_fields("sum", "stay", bins=None)
    {'name': 'sum of stay', 'statistic': 'sum', 'column': 'stay'}
    """
    given = {name: plain_lists(value) for name, value in fields.items() if value is not None}
    default = statistic if column is None else f"{statistic} of {column}"
    return {"name": default, "statistic": statistic, "column": column, **given}


def plain_lists(value: Any) -> Any:
    """A list of what is no text, and of a mapping each of its own; numbers that are not Python's own, NumPy's
    say, are doubles in it.

    What is not a list of the right things is left as it is: the query refuses it.

    >>> plain_lists((Decimal("0.5"), 3, "a")), plain_lists({"age": (0, 65)}), plain_lists("ab")
    ([0.5, 3, 'a'], {'age': [0, 65]}, 'ab')
    """
    if isinstance(value, Mapping):
        return {name: plain_lists(own) for name, own in value.items()}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return value
    return [
        float(one) if isinstance(one, Real | Decimal) and not isinstance(one, int) else one for one in value
    ]


def query_from(fields: Mapping[str, Any], *, owner: str = "query", **price: float | None) -> Query:
    """A query from a mapping, at the `price` where one is given beside it. Raises `InvalidQuery`.

    `by` may be one name, lists stand for tuples; `cut` is a mapping from columns to edges.

    >>> query_from({"name": "n", "statistic": "count", "by": "ward", "epsilon": 1.0}).by
    ('ward',)
    """
    content = {**fields, **{name: one for name, one in price.items() if one is not None}}
    for field in ("by", "join"):
        if isinstance(content.get(field), str):
            content[field] = (content[field],)
        if content.get(field, ()) is None:
            del content[field]
    if "cut" in content and not isinstance(content["cut"], tuple):
        content["cut"] = _pairs(content["cut"], str(content.get("name", "")) or owner)
    for field in ("by", "join", "edges", "quantiles", "columns", "range"):
        if isinstance(content.get(field), list):
            content[field] = tuple(content[field])
    try:
        return _QUERY.validate_python(content)
    except ValidationError as error:
        raise InvalidQuery(complaints(error, _owner(content, owner))) from None


def _pairs(cut: object, owner: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """By name, so that one question has one text. Raises `InvalidQuery`."""
    named = isinstance(cut, Mapping) and all(isinstance(name, str) for name in cut)
    _require(named, "cut", owner, "name columns, each with its edges")
    assert isinstance(cut, Mapping)
    pairs = [(name, tuple(edges) if isinstance(edges, list) else edges) for name, edges in cut.items()]
    for name, edges in pairs:
        _require(_rising(edges), "cut", owner, f"have for `{name}` {_EDGES}")
    return tuple(sorted(pairs))


def _owner(content: Mapping[str, Any], owner: str) -> str:
    name = content.get("name")
    return f"{OF_QUERY}{name}" if isinstance(name, str) and name else owner


def locations(folder: Path, data: str, ledger: str) -> tuple[Path | str, str]:
    """Data and ledger as a file in `folder` names them: relative paths start there, URLs stay.

    >>> locations(Path("/srv"), "visits.parquet", "postgresql://host/ledger")
    (PosixPath('/srv/visits.parquet'), 'postgresql://host/ledger')
    """
    return (data if _is_server(data) else folder / data), _ledger_url(ledger, folder)


def _is_server(data: str) -> bool:
    """A URL, or a local Spark: what does not start at the query file's folder."""
    return "://" in data or data == "local" or data.startswith("local[")


def _ledger_url(text: str, folder: Path) -> str:
    """A plain path, or an SQLite URL of a relative path, starts at the folder; others stay as they are."""
    plain = (
        text
        if "://" not in text
        else text.removeprefix("sqlite:///")
        if text.startswith("sqlite:///")
        else None
    )
    if plain is None or re.match(r"^:memory:|^file:|^$", plain):
        return text
    return f"sqlite:///{folder / plain}"
