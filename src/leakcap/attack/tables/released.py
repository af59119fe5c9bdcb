"""A published file of coarse values and secrets, and a register of people with their public values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leakcap.attack.tables.generalised import can_stand_for
from leakcap.disclosure.published_files import published_lines
from leakcap.errors import InvalidInput
from leakcap.policy.validation import meant

__all__ = ["ReleasedFile", "boxes_of_people", "read_released"]

_MOST_LINES, _MOST_PAIRS = 100_000, 20_000_000


class ReleasedFile(NamedTuple):
    """For each record its public values as published, and its secret; and the public values of people."""

    shown: Sequence[tuple[str, ...]]
    secrets: Sequence[str]
    people: Sequence[tuple[str, ...]]
    secret: str = "secret"


def read_released(published: str | Path, register: str | Path, secret: str | None = None) -> ReleasedFile:
    """A published file and a register: CSV, a line for each record and for each person.

    Columns of the same name are the public values; `secret` is a column that the published file alone
    has, and need not be named where there is one. Columns of the register alone are names, and are not read.
    What a published value can stand for: `can_stand_for`. Raises `InvalidInput`.
    """
    head, lines = published_lines(published)
    known, people = published_lines(register)
    for path, names, rows in ((published, head, lines), (register, known, people)):
        if len(set(names)) < len(names) or "" in names:
            raise InvalidInput(f"`{path}` must have another name for each column.")
        if len(rows) > _MOST_LINES:
            raise InvalidInput(f"`{path}` must have at most {_MOST_LINES:,} lines. Take a part of it.")
    own = [name for name in head if name not in known]
    if secret is not None and secret not in own:
        where = "no column of" if secret not in head else "in the register too, and no secret of"
        raise InvalidInput(f"`{secret}` is {where} `{published}`. {meant(secret, own or head)}")
    if secret is None and len(own) != 1:
        listed = ", ".join(f"`{name}`" for name in own) or "none"
        raise InvalidInput(
            f"`{published}` must have one column that `{register}` does not have, or `--secret` must name "
            f"which is meant. It has {listed}."
        )
    secret = own[0] if secret is None else secret
    public = [name for name in head if name in known]
    if not public:
        raise InvalidInput(f"`{published}` and `{register}` must have a column of the same name.")
    at, there = [head.index(name) for name in public], [known.index(name) for name in public]
    return ReleasedFile(
        [tuple(row[place] for place in at) for row in lines],
        [row[head.index(secret)] for row in lines],
        [tuple(row[place] for place in there) for row in people],
        secret,
    )


def boxes_of_people(files: ReleasedFile, boxes: Sequence[tuple[str, ...]]) -> list[tuple[int, ...]]:
    """For each person the numbers of the boxes that can be theirs. Raises `InvalidInput` for too many."""
    different = list(dict.fromkeys(files.people))
    if len(different) * len(boxes) > _MOST_PAIRS:
        raise InvalidInput(
            f"The files must have at most {_MOST_PAIRS:,} pairs of different records and people. Got "
            f"{len(different) * len(boxes):,}: take a part of them."
        )
    fits = np.ones((len(different), len(boxes)), dtype=bool)
    for column, own in enumerate(zip(*different, strict=True)):
        values = {value: place for place, value in enumerate(dict.fromkeys(own))}
        shown = {word: place for place, word in enumerate(dict.fromkeys(box[column] for box in boxes))}
        table = np.array(
            [[test(value) for value in values] for test in map(can_stand_for, shown)], dtype=bool
        )
        rows = table[[shown[box[column]] for box in boxes]]
        fits &= rows[:, [values[value] for value in own]].T
    found = {person: tuple(np.flatnonzero(row).tolist()) for person, row in zip(different, fits, strict=True)}
    return [found[person] for person in files.people]
