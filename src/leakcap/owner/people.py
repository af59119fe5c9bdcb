"""Whether people are who the policy says: rows with an id, one id each, as many as promised."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from leakcap.owner.asking import OwnerTable, as_read, is_null, not_null, rows_that
from leakcap.owner.columns import missing_column
from leakcap.owner.finding import DataFault, listed
from leakcap.plain import counted
from leakcap.policy.document import Policy
from leakcap.release.columns.typed import column

__all__ = ["check_keys_of", "check_people", "check_row_key"]

_TEXTS = {"VARCHAR", "TEXT", "ENUM", "OBJECT"}


def check_people(table: OwnerTable, policy: Policy) -> Iterator[DataFault]:
    """Missing ids, ids spelt in two ways, more rows than a person may have, and another number of people."""
    name = policy.id_column
    if name is None:
        (rows,) = table.row(exp.Count(this=exp.Star()))
        yield from _number(policy, rows, "rows", policy.dataset)
        return
    lacking = missing_column(table, name, "an id", name)
    if lacking is not None:
        yield lacking
        return
    yield from _without(table, name, name)
    most = policy.rows_per_unit
    people, over, beyond, largest = _rows_of_each(table, name, most)
    if over:
        whose = "1 person has" if over == 1 else f"{over:,} people have"
        left = f"{counted(beyond, 'row')} beyond that {'is' if beyond == 1 else 'are'} not used"
        if most == 1:
            yield DataFault(
                name,
                "problem",
                f"the policy promises one row a person, and {whose} more (one has {largest:,}); {left}. "
                "Remove what is there twice, or give `unit` the `max_rows` that you want to count.",
            )
        else:
            yield DataFault(
                name,
                "note",
                f"{whose} more than the {most:,} rows of `unit.max_rows` (one has {largest:,}); in an answer "
                f"about all rows {left}.",
            )
    yield from _spelt_twice(table, name, people)
    yield from _number(policy, people, "people", name)


def check_row_key(table: OwnerTable, policy: Policy) -> Iterator[DataFault]:
    """Rows without the key that tells those of a person apart, and rows that share theirs."""
    name, person = policy.row_key, policy.id_column
    if name is None or person is None:
        return
    lacking = missing_column(table, name, "an id", name)
    if lacking is not None:
        yield lacking
    elif missing_column(table, person, "an id", person) is None:
        yield from _not_their_own(table, name, person)


def _not_their_own(table: OwnerTable, name: str, person: str) -> Iterator[DataFault]:
    unit, key, rows = as_read(person, "id"), as_read(name, "id"), column("rows")
    keyless = exp.And(this=not_null(unit.copy()), expression=is_null(key.copy()))
    (without,) = table.row(rows_that(keyless))
    several = exp.If(this=exp.GT(this=rows, expression=exp.Literal.number(1)), true=rows.copy())
    added = exp.Sum(this=exp.Case(ifs=[several]))
    none = exp.Literal.number(0)
    (alike,) = table.per_value(unit, exp.Coalesce(this=added, expressions=[none]), also=[key])
    told = []
    if without:
        told.append(f"{counted(without, 'row')} {'has' if without == 1 else 'have'} no key")
    if alike:
        told.append(f"{counted(alike, 'row')} have a key that another row of the same person has")
    if told:
        yield DataFault(
            name,
            "note",
            f"{listed(told)}. Which of these rows are used may differ from answer to answer. Give each row "
            "of a person a key of its own.",
        )


def check_keys_of(table: OwnerTable, name: str, kind: str, place: str) -> Iterator[DataFault]:
    """Of a table to join with: its rows have a key, and each key one row."""
    lacking = missing_column(table, name, "an id" if kind == "id" else kind, place)
    if lacking is not None:
        yield lacking
        return
    yield from _without(table, name, place, kind)
    _, over, beyond, _ = _rows_of_each(table, name, 1, kind)
    if over:
        keys = "1 key has" if over == 1 else f"{over:,} keys have"
        yield DataFault(
            place,
            "note",
            f"{keys} several rows; the one that sorts first is used, and {beyond:,} are not. Keep one each.",
        )


def _without(table: OwnerTable, name: str, place: str, kind: str = "id") -> Iterator[DataFault]:
    rows, none = table.row(exp.Count(this=exp.Star()), rows_that(is_null(as_read(name, kind))))
    if none:
        several = none > 1
        if kind == "id":
            nobody = "they belong to nobody and are" if several else "it belongs to nobody and is"
            told = f"no id: {nobody} in no answer. Give each row an id."
        else:
            told = f"no key: {'they are' if several else 'it is'} joined with nothing. Give each row a key."
        text = f"{none:,} of {counted(rows, 'row')} {'have' if several else 'has'} {told}"
        yield DataFault(place, "problem", text)


def _rows_of_each(table: OwnerTable, name: str, most: int, kind: str = "id") -> list[int]:
    """How many ids there are, how many have more than `most` rows, how many are beyond, the most of one."""
    rows, limit = column("rows"), exp.Literal.number(most)
    over = exp.GT(this=rows, expression=limit)
    beyond = exp.Case(
        ifs=[exp.If(this=over.copy(), true=exp.Sub(this=rows.copy(), expression=limit.copy()))],
        default=exp.Literal.number(0),
    )
    none = exp.Literal.number(0)
    return table.per_value(
        as_read(name, kind),
        exp.Count(this=exp.Star()),
        rows_that(over),
        exp.Coalesce(this=exp.Sum(this=beyond), expressions=[none]),
        exp.Coalesce(this=exp.Max(this=rows.copy()), expressions=[none.copy()]),
    )


def _spelt_twice(table: OwnerTable, name: str, people: int) -> Iterator[DataFault]:
    """Texts that differ in case or outer spaces alone are two ids: two people's weight."""
    if table.types[name].partition("(")[0] not in _TEXTS:
        return
    folded = exp.Lower(this=exp.Trim(this=as_read(name, "text")))
    (fewer,) = table.per_value(folded, exp.Count(this=exp.Star()))
    if fewer < people:
        yield DataFault(
            name,
            "problem",
            f"{people - fewer:,} of {people:,} ids differ from another in case or spaces alone. Whoever has "
            "both counts as two people and is protected as one: spell each id in one way.",
        )


def _number(policy: Policy, found: int, what: str, place: str) -> Iterator[DataFault]:
    if policy.rows is not None and found != policy.rows:
        yield DataFault(
            place,
            "problem",
            f"the policy says {policy.rows:,} {what} (`rows`), and there are {found:,}. Correct the one that "
            "is wrong, or choose add-remove-one neighbours if the number is not public.",
        )
    elif policy.max_rows is not None and found > policy.max_rows:
        yield DataFault(
            place,
            "problem",
            f"the policy says {policy.max_rows:,} {what} at most (`max_rows`), and there are {found:,}. "
            "Give a public bound that holds.",
        )
    elif not found:
        yield DataFault(place, "problem", f"there are no {what}. Is it the right file?")
