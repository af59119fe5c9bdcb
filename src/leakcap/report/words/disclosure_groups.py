"""A question about a group in words: what is published, what is known, and how sure somebody may become."""

from __future__ import annotations

import math

from leakcap.plain import counted
from leakcap.report.records.disclosure_groups import DisclosureGroupRecord, OthersRecord, SecretRecord
from leakcap.statement.wording import at_most, percent

__all__ = [
    "GROUP_HEADS",
    "group_assumptions",
    "group_conclusions",
    "group_figures",
    "group_rows",
    "published_words",
]

GROUP_HEADS = ("secret", "adds", "before", "after: from", "to")
_LISTED = 12


def group_rows(record: DisclosureGroupRecord) -> list[tuple[str, ...]]:
    """A line for each secret: what it adds, the belief in it before, and after whatever is published."""
    return [
        (
            one.name,
            _adds(one),
            percent(one.before[1]),
            f"{math.floor(one.least * 10_000) / 100:.2f} %",
            percent(one.most),
        )
        for one in record.secrets
    ]


def _adds(secret: SecretRecord) -> str:
    """What a secret adds to the cells.

    >>> _adds(SecretRecord.model_construct(adds=()))
    'nobody'
    """
    parts = []
    for one in secret.adds:
        people = ", ".join(f"{name} {count:,}" for name, count in one.cells.items() if count) or "nobody"
        parts.append(people if len(secret.adds) == 1 else f"{people} ({one.chance})")
    return " or ".join(parts) or "nobody"


def group_figures(record: DisclosureGroupRecord) -> list[tuple[str, str]]:
    """What was found, with its name."""
    found = [
        (f"guess, from {percent(record.even[1])}", percent(record.guess[1])),
        ("one secret alone is left", percent(record.sure[1])),
    ]
    if record.believed is not None:
        before, after = record.believed
        found.append((f"guess by the beliefs, from {percent(before[1])}", percent(after[1])))
    capacity, epsilon = record.capacity[1], record.epsilon[1]
    return [
        *found,
        ("nats", at_most(math.inf if capacity is None else capacity)),
        ("ε", at_most(math.inf if epsilon is None else epsilon)),
    ]


def group_conclusions(record: DisclosureGroupRecord) -> list[str]:
    """What follows for the board, in sentences."""
    choices = len(record.secrets)
    if record.guess[0] <= record.even[1]:
        return ["All that is published tells nothing about which of these is true."]
    told = [
        f"{counted(len(record.published), 'number')} are published. Whoever sees all of them guesses which "
        f"of {choices} secrets is true with {percent(record.guess[1])} at most, where all are equally likely "
        f"beforehand; without them, with {percent(record.even[1])}."
    ]
    if record.sure[1]:
        told.append(f"In {percent(record.sure[1])} of cases at most, only one of them is left possible.")
    if record.epsilon[0] is None:
        told.append("Something that is published under one secret never is under another: there is no ε.")
    return told


def published_words(record: DisclosureGroupRecord) -> tuple[str, ...]:
    """Each number that is published."""
    words = (" + ".join(cells) for cells in record.published)
    return tuple(f"{one} (margin)" if "+" in one else one for one in words)


def group_assumptions(record: DisclosureGroupRecord) -> tuple[str, ...]:
    """What the numbers take for granted."""
    chance = (
        f"Record keys are secret, independent and uniform, {record.keys:,} of them; a margin's key is the "
        "sum of those of its cells."
        if record.keys
        else "Each published number has a chance of its own."
    )
    shown = [_others(one, len(record.others) > 1) for one in record.others[:_LISTED]]
    left = len(record.others) - len(shown)
    more = [f"{counted(left, 'further case')} of the others."] if left else []
    return (
        "Somebody knows how the method works, but not its random numbers, and of the others what is said "
        "here.",
        *shown,
        *more,
        chance,
        "Chances are those of the best guess: no other way of guessing does better.",
    )


def _others(one: OthersRecord, several: bool) -> str:
    """What is known of the others.

    >>> _others(OthersRecord(chance="1/3", cells={"a": {"2": "1"}, "b": {"0": "1/2", "1": "1/2"}}), True)
    'With a chance of 1/3, the others are: a 2; b 0 (1/2), 1 (1/2).'
    """
    cells = []
    for name, law in one.cells.items():
        numbers = [count if len(law) == 1 else f"{count} ({share})" for count, share in law.items()]
        cells.append(f"{name} {', '.join(numbers)}")
    begin = f"With a chance of {one.chance}, the others are: " if several else "The others are: "
    return f"{begin}{'; '.join(cells)}."
