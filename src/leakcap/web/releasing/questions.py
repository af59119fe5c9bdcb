"""What the form offers: statistics in plain words, and a condition that fits the policy at hand."""

from __future__ import annotations

from collections.abc import Mapping

from leakcap.plain import counted
from leakcap.policy.declared import Column
from leakcap.release import Policy
from leakcap.release.conditions.condition import named
from leakcap.release.statistics import statistics

__all__ = ["QUESTIONS", "columns", "condition", "offered"]

QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "How many": {
        "count": "how many there are",
        "distinct": "how many different people",
        "histogram": "how many in each bin, or of each key",
        "contingency": "how many of each combination of columns",
        "cumulative": "how many below each edge",
        "top": "the keys that most have",
        "rows_cut": "how many rows of people are left out",
        "rows_per_person": "how many rows most people have at most",
    },
    "How much": {
        "sum": "a column added up",
        "mean": "the average of a column",
        "formula_sum": "a formula of your own, added up",
        "ratio": "a share, or one sum over another",
        "weighted_total": "a survey's total, by design weights",
        "weighted_mean": "a survey's average, by design weights",
        "weighted_ratio": "a survey's sum over another, by design weights",
    },
    "How they are spread": {
        "median": "half are below it",
        "quantiles": "any shares are below them",
        "interquartile_range": "the middle half lies within",
        "variance": "squared distances from the mean",
        "standard_deviation": "the usual distance from the mean",
    },
    "How columns go together": {
        "covariance": "whether they rise together",
        "correlation": "the same from −1 to 1",
    },
    "What range a column has": {"bounds": "for a policy that does not know it"},
}
"""Statistics by what they are for; one that is not named here is offered at the end."""


def offered() -> dict[str, dict[str, str]]:
    """Every statistic there is, in groups, with what it says in plain words.

    >>> offered()["How much"]["mean"]
    'the average of a column'
    """
    known = {name for group in QUESTIONS.values() for name in group}
    more = {name: kind.label for name, kind in statistics().items() if name not in known}
    groups = {
        title: {name: words for name, words in group.items() if name in statistics()}
        for title, group in QUESTIONS.items()
    }
    return groups | ({"More": more} if more else {})


def columns(policy: Policy) -> dict[str, str]:
    """The policy's columns, each with what is publicly known of it, in a word or two."""
    return {name: _about(policy, name) for name in policy.columns}


def _about(policy: Policy, name: str) -> str:
    column = policy.columns[name]
    if column.moments is not None:
        return f"{column.moments[0]} to {column.moments[1]}"
    if column.bounds is not None:
        return f"{column.bounds[0]:g} to {column.bounds[1]:g}"
    if column.keys is None or column.private:
        return "range unknown" if column.unknown else "private keys"
    if column.within is not None:
        return f"{counted(len(column.paths or ()), 'key')} within {column.within}"
    return counted(len(column.keys), "key")


def condition(policy: Policy) -> str:
    """A condition that this policy understands, for an example; nothing where no column has bounds or keys.

    >>> print(condition(Policy.model_validate({
    ...     "dataset": "d", "neighbours": "add-remove-one", "unit": "row", "caps": {"epsilon": 1.0},
    ...     "columns": {"Stay (days)": {"bounds": [0.0, 60.0]}, "ward": {"keys": ["A", "B"]}}})))
    "Stay (days)" > 30 AND ward = 'A'
    """
    ranges = [(name, one.bounds) for name, one in policy.columns.items() if one.bounds is not None]
    keys = [(name, _first(one)) for name, one in policy.columns.items() if one.keys and not one.private]
    parts = [f"{named(name)} > {(low + high) / 2:g}" for name, (low, high) in ranges[:1]]
    parts += [f"{named(name)} = {_literal(key)}" for name, key in keys[:1]]
    return " AND ".join(parts)


def _first(column: Column) -> object:
    """The first key, of decimals as a number."""
    key = (column.keys or (0,))[0]
    return key if column.places is None else float(key)


def _literal(key: object) -> str:
    return "'" + key.replace("'", "''") + "'" if isinstance(key, str) else str(key).upper()
