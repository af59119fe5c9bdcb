"""What is assumed, who is hidden from whom, and what is not protected: in plain words, from the policy."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from leakcap.release import Column, Policy
from leakcap.report.words.publication import CAPS, cap_name

__all__ = [
    "assumed",
    "assumptions",
    "caps_in_words",
    "derived",
    "elsewhere",
    "neighbours",
    "not_counted",
    "not_protected",
    "policy_rows",
    "protects",
    "unit",
    "used",
]


def unit(policy: Policy) -> str:
    """One privacy unit, as a person says it."""
    if policy.id_column is None:
        return "one row"
    return f"one {policy.id_column}, all {'its rows in all tables' if policy.tables else 'its rows'} together"


def protects(policy: Policy, *, exact_totals: bool = False) -> str:
    """Who is hidden, and what is not; where totals are exact nobody's being counted in them is."""
    if exact_totals:
        told = protects(policy).replace(
            "Protected:", "Protected, between tables that agree in the exact totals:"
        )
        told = told.replace(", and whether it is in the table at all.", ".")
        one = "one row" if policy.id_column is None else f"one {policy.id_column}"
        return f"{told} Not hidden: whether {one} is counted in an exact total, and in which."
    person = policy.id_column
    tables = "all tables say" if policy.tables else "the table says"
    says = "everything in one row" if person is None else f"everything {tables} about one {person}"
    if policy.neighbours == "add-remove-one":
        return f"Protected: {says}, and whether it is in the table at all."
    known = f"there are {policy.rows:,} rows"
    if person is not None:
        known = f"it is in the table, and that there are {policy.rows:,}"
    return f"Protected: {says}. Not hidden: that {known}."


def used(policy: Policy) -> str:
    """How many rows and groups of one unit an answer uses; empty where a unit is a row."""
    if policy.id_column is None:
        return ""
    person, rows, groups = policy.id_column, policy.rows_per_unit, policy.groups_per_unit
    most = f"at most {rows:,} row{'s' * (rows > 1)} of one {person}"
    met = ", with at most one row of each joined table" if policy.tables else ""
    few = f", in at most {groups:,} group{'s' * (groups > 1)} where groups are asked for" * (groups < rows)
    key = policy.row_key
    others = "another answer may use others" if key is None else "of the same rows each answer uses the same"
    by = "" if key is None else f" of {key}"
    return (
        f"An answer uses {most}{met}{few}, chosen by a keyed hash{by}; {others}. A count "
        f"of people without groups counts each {person} once, however many rows it has."
    )


def not_counted(policy: Policy) -> str:
    """Which rows an answer leaves out, whether or not there are such: from the policy alone."""
    person, rows, columns = policy.id_column, policy.rows_per_unit, policy.columns.values()
    left = []
    if person is not None:
        left += [f"rows without {person}", f"rows beyond {rows:,} of one {person}"]
    if policy.caps_column is not None:
        left.append(
            f"{'rows' if person is None else 'people'} whose own cap, in `{policy.caps_column}`, has no room "
            "left, is missing or lies below every level"
        )
    if any(column.moments is not None for column in columns):
        left.append("where dates are cut down to periods or parts, those outside the policy's bounds")
    if any(column.keys for column in columns):
        left.append("in groups, rows whose key is not letter for letter one of the policy's")
    if any(column.within for column in columns):
        left.append("in groups by a column and one within it, rows whose keys are not listed together")
    if any(column.bounds is not None and column.fill is None for column in columns):
        left.append("where values of a column are used, missing ones")
    return f"Not counted, without a word of how many: {'; '.join(left)}." if left else ""


def neighbours(policy: Policy) -> str:
    """Which tables are neighbours."""
    one = "one row" if policy.id_column is None else f"the rows of one {policy.id_column}"
    whose = f"{one} in all tables" if policy.tables and policy.id_column is not None else one
    if policy.neighbours == "replace-one":
        return (
            f"Two tables are neighbours when they differ only in the contents of {whose} (replace-one). "
            "Every promise is about telling such tables apart."
        )
    return (
        f"Two tables are neighbours when one of them lacks {whose} that the other has (add-remove-one). "
        "Every promise is about telling such tables apart; two possible contents of one person's data "
        "are two steps apart."
    )


def assumed(policy: Policy) -> list[str]:
    """What the numbers rest on."""
    return [
        "The attacker may know every other record, and has unlimited computing power; the numbers hold all "
        "the same.",
        "If several people's records depend on each other, what is learned about what they share is bounded "
        "by the lines about a family and about all records, not by the line about one person.",
        "Values outside the policy's bounds are clamped and missing ones left out (or filled with a public "
        "value), so a statistic describes the clamped table; how many were is not reported.",
        "The bounds, keys and number of rows in the policy must be public facts. If they were read off the "
        "data, they leaked before the first query.",
        "The losses are added up within this ledger. The same people in another table under another ledger "
        "are not counted.",
        "The randomness of the operating system must be good, and nobody but the owner reads the data, the "
        "memory of the process or its temporary files.",
    ]


def not_protected(policy: Policy) -> list[str]:
    """What nobody may expect from the numbers."""
    texts = [
        "Facts about people in general. That smoking causes cancer is learned with or without any one smoker "
        "in the table.",
        "What people share whose records depend on each other, beyond the lines about several people.",
        "How long the program runs, that a query was asked at all, and its words: they are not hidden.",
        "The policy's own text: columns, bounds, keys and caps are open to whoever sees the report.",
        "An analyst's name is not checked: caps on an analyst bound what was told under one name.",
    ]
    if policy.caps_column is not None:
        texts.append(
            "From which cap of people's own on an answer counts them is public, and so are the levels."
        )
    if policy.neighbours == "replace-one":
        texts.append("Whether a person is in the table is not hidden, only what the table says of them.")
        texts.append("The number of people in the table is public and exact.")
    elif policy.units is not None:
        texts.append(f"That at most {policy.units:,} people are in the table is public.")
    return texts


def elsewhere(policy: Policy) -> str:
    """What the losses of a ledger leave out."""
    return assumed(policy)[4]


def assumptions(policy: Policy) -> list[str]:
    """What the numbers rest on, and what they do not promise."""
    return [*assumed(policy), *not_protected(policy)]


def caps_in_words(policy: Policy, names: Collection[str] = CAPS.keys()) -> list[str]:
    """The caps on everything, of those with these names, each as its name and its number."""
    level = "nats" if policy.caps.alpha is None else f"nats at level {policy.caps.alpha:.12g}"
    return [
        f"{cap_name(name, level if name == 'nats_level' else 'nats')} {cap:.12g}"
        for name, cap in policy.caps.limits.items()
        if cap is not None and name in names
    ]


def policy_rows(policy: Policy) -> Sequence[tuple[str, str]]:
    """The policy's columns, each with what is publicly known of it."""
    rows = []
    for name, column in policy.columns.items():
        if not column.stored:
            rows.append((name, derived(column)))
        elif column.moments is not None:
            there = f", by the clocks of {column.zone}" if column.zone else ""
            rows.append((name, f"from {column.moments[0]} to {column.moments[1]}{there}"))
        elif column.bounds is not None:
            low, high = column.bounds
            rows.append((name, f"from {low:g} to {high:g}{_filled(column)}"))
        elif column.unknown:
            rows.append(
                (name, "a number whose range is not public: it can be counted, and bounds looked for")
            )
        else:
            rows.append((name, _keys(column)))
    return rows


def _keys(column: Column) -> str:
    if column.keys is None:
        return "keys that are not public: a group appears where enough people are in it"
    keys = [str(key) for key in column.keys]
    more = "" if len(keys) <= 12 else f" and {len(keys) - 12:,} more"
    within = "" if column.within is None else f"keys within those of {column.within}: "
    return f"{within}one of {', '.join(keys[:12])}{more}"


def _filled(column: Column) -> str:
    return "" if column.fill is None else f"; missing counts as {column.fill:g}"


def derived(column: Column) -> str:
    """What a derived column is made of.

    >>> derived(Column.model_validate({"from": "admitted", "truncate": "month"}))
    'the month of admitted'
    """
    if column.compute is not None:
        left, right = (one if isinstance(one, str) else f"{one:.17g}" for one in column.operands)
        low, high = column.bounds or (0.0, 0.0)
        return f"{left} {column.compute} {right}, from {low:g} to {high:g}{_filled(column)}"
    if column.case is not None:
        return f"{column.case}: {_keys(column)}"
    named = " and ".join(column.sources)
    if column.compare is not None:
        left, right = column.sources
        return f"whether {left} {column.compare} {right}"
    if column.cuts is not None:
        return f"the band of {named}: {', '.join(map(str, column.keys or ()))}"
    if column.truncate is not None or column.part is not None:
        return f"the {column.truncate or column.part} of {named}"
    if not column.operations:
        return f"{named}, {_keys(column)}"
    what = named if column.prefix is None else f"the first {column.prefix} characters of {named}"
    return what if column.groups is None else f"the group of {what}: {', '.join(column.groups)}"
