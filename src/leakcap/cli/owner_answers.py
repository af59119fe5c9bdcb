"""What the owner answers to `leakcap init`: by options, or to questions at the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING

import typer

from leakcap.errors import InvalidParameter, InvalidPolicy
from leakcap.plain import plain

if TYPE_CHECKING:
    from leakcap.owner import KeysWithin, PublicAnswers

__all__ = ["asked", "ends_of", "keys_of", "keys_within", "named"]

_MOMENT = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?"
_MOMENTS = re.compile(f"({_MOMENT}):({_MOMENT})")
_DECIMAL_COMMAS = re.compile(r"[+-]?\d+(,\d+)?:[+-]?\d+(,\d+)?")


def named(given: Sequence[str] | None, option: str, like: str, *, plain_name: bool = False) -> dict[str, str]:
    """What is said of each name. A column may have = in its name: then the last one parts them.

    >>> named(["a=b=0:120"], "--bounds", "age=0:120")
    {'a=b': '0:120'}
    >>> named(["people=run=3/people.csv"], "--joined", "people=people.csv", plain_name=True)
    {'people': 'run=3/people.csv'}
    """
    pairs = {}
    for one in given or ():
        name, sign, text = one.partition("=") if plain_name else one.rpartition("=")
        if not sign or not name or not text:
            raise InvalidParameter(f"`{option}` must be NAME=…, as in {like}. Got {one!r}.")
        pairs[name] = text
    return pairs


def ends_of(text: str, name: str) -> tuple[float, float] | tuple[date, date]:
    """Two numbers, two dates, or two dates with a time, with a colon between.

    >>> ends_of("0:120", "age"), ends_of("2024-01-01:2024-12-31", "day")
    ((0.0, 120.0), (datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)))
    """
    moments = _MOMENTS.fullmatch(text.strip())
    low, _, high = text.partition(":")
    try:
        return (float(low), float(high)) if moments is None else (_moment(moments[1]), _moment(moments[2]))
    except ValueError:
        pass
    raise InvalidParameter(
        f"`bounds` of `{name}` must be two numbers or two dates, as in 0:120 or 2024-01-01:2024-12-31. "
        f"Got {text!r}."
    )


def _moment(text: str) -> date:
    return date.fromisoformat(text) if len(text) == len("2024-02-29") else datetime.fromisoformat(text)


def keys_of(text: str) -> tuple[str, ...]:
    """Keys with commas between.

    >>> keys_of("F, M")
    ('F', 'M')
    """
    return tuple(one.strip() for one in text.split(","))


def keys_within(text: str, name: str, column: str) -> KeysWithin:
    """Keys with those that they lie within: lists with a semicolon between, each with the way to it.

    >>> keys_within("North > Ashby, Newton; South > Newton", "district", "region").paths
    (('North', 'Ashby'), ('North', 'Newton'), ('South', 'Newton'))
    """
    from leakcap.owner import KeysWithin

    paths: dict[tuple[str, ...], None] = {}
    for part in text.split(";"):
        *heads, last = (one.strip() for one in part.split(">"))
        if not heads or not all(heads) or not last:
            raise InvalidParameter(
                f"`keys` of `{name}`, which lie within those of `{column}`, must name these, as in "
                f"North>Ashby,Newton;South>Newton. Got {part.strip()!r}."
            )
        paths |= dict.fromkeys((*heads, one) for one in keys_of(last))
    depths = set(map(len, paths))
    if len(depths) > 1:
        raise InvalidParameter(
            f"`keys` of `{name}` must have as many > each. Got {min(depths) - 1} and {max(depths) - 1}."
        )
    return KeysWithin(column, tuple(paths))


def asked(columns: dict[str, str], given: PublicAnswers) -> PublicAnswers:
    """The answers of somebody at the terminal; an empty one leaves a TODO.

    An answer that no policy may hold is refused, and its question asked again. All of it is on standard
    error, because the draft may go to standard output.
    """
    from dataclasses import replace

    from leakcap.owner.draft import draft

    answers = given

    def ask(text: str, with_: Callable[[str], PublicAnswers]) -> None:
        nonlocal answers
        while told := str(
            typer.prompt(plain(text, keep=""), default="", show_default=False, err=True)
        ).strip():
            try:
                new = with_(told)
                draft(columns, new)
            except (InvalidParameter, InvalidPolicy) as error:
                _tell(str(error))
                continue
            answers = new
            return

    # What is refused from here on is an answer, and no option. `max_rows` may wait for the id.
    draft(columns, replace(given, max_rows=None))
    _tell("Answer by what is public, not by what the table says. Leave empty what you do not know.")
    if answers.id is None:
        ask(f"Which column names a person ({', '.join(columns)})?", lambda told: replace(answers, id=told))
    draft(columns, answers)
    if answers.max_rows is None and answers.id is not None:
        ask(
            "How many rows of one person count at most?",
            lambda told: replace(answers, max_rows=_whole(told)),
        )
    if answers.people is None:
        ask(
            "How many people are there, if that is published?",
            lambda told: replace(answers, people=_whole(told)),
        )
    if answers.epsilon is None:
        ask(
            "Which ε may all releases together have at most (1)?",
            lambda told: replace(answers, epsilon=_real(told)),
        )
    for name in columns:
        if name != answers.id and not any(
            name in one for one in (answers.bounds, answers.keys, answers.within)
        ):
            question = (
                f"{name}: its bounds (0:120 or 2024-01-01:2024-12-31), or its keys (F,M{_nested(answers)})?"
            )
            ask(question, partial(_of_column, answers, name))
    return answers


def _of_column(answers: PublicAnswers, name: str, told: str) -> PublicAnswers:
    """Bounds have one colon or are dates; with a comma they are keys, unless it is a decimal one.

    A column with keys before the colon, and > behind it, is the one within whose keys they lie.
    """
    from dataclasses import replace

    outer, colon, inner = told.partition(":")
    if colon and outer.strip() in {*answers.keys, *answers.within} and ">" in inner:
        nested = keys_within(inner, name, outer.strip())
        return replace(answers, within={**answers.within, name: nested})
    if ":" in told and ("," not in told or _DECIMAL_COMMAS.fullmatch(told)):
        return replace(answers, bounds={**answers.bounds, name: ends_of(told, name)})
    return replace(answers, keys={**answers.keys, name: keys_of(told)})


def _nested(answers: PublicAnswers) -> str:
    """An example of keys within those of a column that has some."""
    known = next(iter(answers.keys.items()), None)
    return "" if known is None else f", or within another's: {known[0]}: {known[1][0]}>a,b;…"


def _tell(text: str) -> None:
    typer.echo(plain(text), err=True)


def _whole(text: str) -> int:
    if not (text.isdecimal() and len(text) <= 18 and int(text) > 0):
        raise InvalidParameter(f"The answer must be a whole number above 0. Got {text!r}.")
    return int(text)


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    raise InvalidParameter(f"The answer must be a number, as in 0.5. Got {text!r}.")
