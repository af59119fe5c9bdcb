"""What a file says of a method for a whole table or file of records, and the owner's file that it is for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

from leakcap.disclosure.cells import CellMethod
from leakcap.disclosure.published_files import published_count, published_lines
from leakcap.disclosure.whole.controlled_rounding import ControlledRounding
from leakcap.disclosure.whole.generalising import KAnonymous
from leakcap.disclosure.whole.method import Table, WholeMethod
from leakcap.disclosure.whole.secondary import SecondarySuppression
from leakcap.disclosure.whole.swapping import RecordSwapping
from leakcap.disclosure.whole.weighing import (
    ExchangeRisk,
    WholeRisk,
    weigh_exchanges,
    weigh_secrets,
    weigh_table,
)
from leakcap.errors import InvalidInput
from leakcap.policy.validation import Strict, meant

__all__ = [
    "ControlledRoundingStep",
    "KAnonymityStep",
    "RecordSwappingStep",
    "SecondarySuppressionStep",
    "Weighed",
    "WholeStep",
]

_MOST_LINES, _MOST_COUNT = 10_000, 10**6
Weighed: TypeAlias = Sequence[WholeRisk] | Sequence[ExchangeRisk]


class WholeStep(Strict):
    """A method that looks at all counts at once: the only `[[method]]` of its file."""

    kind: str

    def method(self, _folder: Path) -> CellMethod:
        """Raises `InvalidInput`: it is no method for one count."""
        raise InvalidInput(
            f"`{self.kind}` looks at all counts at once. Make it the only [[method]] and give the counts: "
            "leakcap disclosure method.toml counts.csv"
        )

    @abstractmethod
    def weighed(self, path: Path) -> Weighed:
        """What the method tells of the people in a file, the worst first. Raises `InvalidInput`."""

    @property
    def asked(self) -> str:
        """What is told, and to whom."""
        return "Of which cell somebody is in, to whoever knows all others and that the person is counted."


class ControlledRoundingStep(WholeStep):
    """Cells and margins of a two-way table to multiples, and sums stay sums."""

    kind: Literal["controlled rounding"]
    base: int

    def weighed(self, path: Path) -> Weighed:
        """What is told of each cell."""
        return _table(ControlledRounding(self.base), path)


class SecondarySuppressionStep(WholeStep):
    """Small counts of a two-way table are left out, and others that they would follow from."""

    kind: Literal["secondary suppression"]
    below: int
    protect: int = 1

    def weighed(self, path: Path) -> Weighed:
        """What is told of each cell."""
        return _table(SecondarySuppression(self.below, self.protect), path)


class KAnonymityStep(WholeStep):
    """A file told by classes of k people or more."""

    kind: Literal["k-anonymity"]
    k: int
    secret: str

    @property
    def asked(self) -> str:
        """What is told, and to whom."""
        return f"Of somebody's `{self.secret}`, to whoever knows all others and the person's other values."

    def weighed(self, path: Path) -> Weighed:
        """What is told of each kind of people."""
        names, lines, counts = _read(path)
        place = _column(self.secret, names, path)
        secrets = list(dict.fromkeys(line[place] for line in lines))
        people, words = dict[tuple[int, ...], int](), dict[tuple[int, ...], str]()
        for number, (line, count) in enumerate(zip(lines, counts, strict=True), start=2):
            public = [one for at, one in enumerate(line) if at != place]
            if not public or not all(one.removeprefix("-").isdecimal() and len(one) < 16 for one in public):
                raise InvalidInput(
                    f"Line {number} of `{path}` must have whole numbers beside `{self.secret}`: boxes of "
                    "values need an order. Number the categories."
                )
            person = (*map(int, public), secrets.index(line[place]))
            people[person] = count
            words[person] = ", ".join(line)
        return weigh_secrets(KAnonymous(self.k), people, words, range(len(secrets)))


class RecordSwappingStep(WholeStep):
    """A value is exchanged among records of one stratum."""

    kind: Literal["record swapping"]
    rate: str
    stratum: list[str]
    swapped: str

    @property
    def asked(self) -> str:
        """What is told, and to whom."""
        return (
            f"Of which of two people of a stratum has which `{self.swapped}`, to whoever knows all else. How "
            "many have which is published as it is: whoever knows all others of a stratum knows the last."
        )

    def weighed(self, path: Path) -> Weighed:
        """What is told in each stratum."""
        try:
            rate = Fraction(self.rate)
        except (ValueError, ZeroDivisionError):
            raise InvalidInput(
                '`rate` of record swapping must be a fraction as text, such as "1/20".'
            ) from None
        names, lines, counts = _read(path)
        swapped = _column(self.swapped, names, path)
        within = [_column(name, names, path) for name in self.stratum]
        if swapped in within:
            raise InvalidInput(f"`{self.swapped}` is swapped within strata, and cannot be one of `stratum`.")
        kept = [at for at in range(len(names)) if at not in (swapped, *within)]
        if sum(counts) > _MOST_LINES:
            raise InvalidInput(f"A file that is swapped may have at most {_MOST_LINES:,} people.")
        records = [
            (
                ", ".join(line[at] for at in within) or "all",
                tuple(line[at] for at in kept),
                line[swapped],
            )
            for line, count in zip(lines, counts, strict=True)
            for _ in range(count)
        ]
        return weigh_exchanges(RecordSwapping(rate), records)


def _table(method: WholeMethod[Table], path: Path) -> list[WholeRisk]:
    names, lines, counts = _read(path)
    if len(names) != 2:
        raise InvalidInput(
            f"`{path}` must have two columns and the counts, for a two-way table. Got {len(names)}."
        )
    rows, columns = (list(dict.fromkeys(line[at] for line in lines)) for at in (0, 1))
    held = dict(zip(map(tuple, lines), counts, strict=True))
    if len(held) < len(rows) * len(columns):
        raise InvalidInput(
            f"`{path}` must have a line for each pair of `{names[0]}` and `{names[1]}`: 0 where nobody is."
        )
    table = tuple(tuple(held[row, column] for column in columns) for row in rows)
    return weigh_table(method, table, rows, columns)


def _read(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """Names of the columns before the last, their values line by line, and the counts."""
    head, lines = published_lines(path)
    if len(lines) > _MOST_LINES:
        raise InvalidInput(f"`{path}` must have at most {_MOST_LINES:,} lines. Weigh a part of it.")
    counts, seen = [], set[tuple[str, ...]]()
    for number, line in enumerate(lines, start=2):
        count = published_count(line[-1], number, path)
        if isinstance(count, str) or count > _MOST_COUNT:
            raise InvalidInput(f"Line {number} of `{path}` must end with a count from 0 to {_MOST_COUNT:,}.")
        if tuple(line[:-1]) in seen:
            raise InvalidInput(f"Line {number} of `{path}` has the same values as another line.")
        seen.add(tuple(line[:-1]))
        counts.append(count)
    if not any(counts):
        raise InvalidInput(f"`{path}` has nobody in it: there is nothing to weigh.")
    return head[:-1], [line[:-1] for line in lines], counts


def _column(name: str, names: Sequence[str], path: Path) -> int:
    if name not in names:
        raise InvalidInput(f"`{name}` is no column of `{path}`. {meant(name, names)}")
    return list(names).index(name)
