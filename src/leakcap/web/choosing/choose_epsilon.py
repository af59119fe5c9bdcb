"""The form of the page that chooses an ε: what is needed, as its sliders and a query string say it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from leakcap.choosing import Need
from leakcap.release import Policy
from leakcap.web.reading import Slider, chosen, plain_number

__all__ = [
    "COUNTS",
    "GROUPS",
    "NEEDS",
    "NEIGHBOURS",
    "PEOPLE",
    "QUERIES",
    "ROWS",
    "SLIDERS",
    "need_address",
    "need_query",
    "needed",
    "of_policy",
]

NEEDS: Mapping[str, str] = {
    "accuracy": "An accuracy",
    "guess": "A guess that fails",
    "bits": "Few bits told",
    "family": "A family protected",
}

SLIDERS: Mapping[str, Slider] = {
    "accuracy": Slider("error", "A count is off by at most ±", 1, 10000, 30, log=True, whole=True),
    "guess": Slider("right", "A coin-flip guess is right at most", 50.1, 99.9, 55, unit="%"),
    "bits": Slider("bits", "Told about one person, at most", 0.0001, 10, 0.1, log=True, unit="bits"),
    "family": Slider("shared", "A guess about what they share is right at most", 50.1, 99.9, 75, unit="%"),
}
QUERIES = Slider(
    "queries", "Queries on these people", 1, 1000, 1, log=True, whole=True, help="each costs its own ε"
)
PEOPLE = Slider("people", "People in the family", 2, 20, 5, whole=True, help="whose records move together")
ROWS = Slider(
    "rows", "Rows of one person", 1, 10**6, 1, log=True, whole=True, help="that are used (max_rows)"
)
GROUPS = Slider(
    "groups", "Groups of one person", 1, 1000, 1, log=True, whole=True, help="that count (max_groups)"
)
COUNTS: Mapping[str, str] = {
    "all": "One count of rows",
    "by": "Counts of rows in groups",
    "people": "Counts of people in groups",
}
"""What is counted."""
NEIGHBOURS: Mapping[str, str] = {
    "replace-one": "one person's data replaced",
    "add-remove-one": "one person more or less",
}
"""Which tables are neighbours."""


def needed(query: Mapping[str, str]) -> Need:
    """What a query string needs.

    >>> needed({"need": "guess", "right": "55"}).amount, needed({}).kind
    (55.0, 'accuracy')
    """
    kind = chosen(query, "need", list(NEEDS))
    return Need(
        kind,
        SLIDERS[kind].read(query),
        queries=int(QUERIES.read(query)),
        people=int(PEOPLE.read(query)),
        rows=int(ROWS.read(query)),
        groups=int(GROUPS.read(query)),
        counts=chosen(query, "counts", list(COUNTS)),
        neighbours=chosen(query, "neighbours", list(NEIGHBOURS)),
    )


def of_policy(policy: Policy) -> dict[str, str]:
    """What a policy says of its people, as a query string would: where the page starts."""
    rows, groups = policy.rows_per_unit, policy.groups_per_unit
    return {"rows": str(rows), "groups": str(min(groups, rows)), "neighbours": policy.neighbours}


def need_query(need: Need) -> dict[str, str]:
    """A need as a query string says it."""
    return {
        "need": need.kind,
        SLIDERS[need.kind].name: plain_number(need.amount),
        "queries": str(need.queries),
        "people": str(need.people),
        "rows": str(need.rows),
        "groups": str(need.groups),
        "counts": need.counts,
        "neighbours": need.neighbours,
    }


def need_address(shown: Need, **other: str) -> str:
    """Where the page shows a need, but for what is given; another kind of need starts afresh."""
    query = need_query(shown)
    given = {name: value for name, value in query.items() if name != SLIDERS[shown.kind].name}
    return "/choose?" + urlencode((given if "need" in other else query) | other)
