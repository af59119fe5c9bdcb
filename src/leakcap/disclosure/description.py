"""What a file says of an office's method: the steps that a count takes until it is published."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from leakcap.channel import Channel
from leakcap.disclosure.cell_key import CellKey
from leakcap.disclosure.cell_key_files import read_perturbation_table
from leakcap.disclosure.cells import CellMethod, FollowedBy, GivenMethod
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells, TopCoding
from leakcap.disclosure.whole.description import (
    ControlledRoundingStep,
    KAnonymityStep,
    RecordSwappingStep,
    SecondarySuppressionStep,
    WholeStep,
)
from leakcap.errors import InvalidInput
from leakcap.policy.validation import Strict, read_checked

__all__ = ["DescribedMethod", "read_method", "read_whole_method"]


class RandomRoundingStep(Strict):
    """At random to a multiple; `up` are the chances to go up, as text: "1/3"."""

    kind: Literal["random rounding"]
    base: int
    up: list[str] | None = None

    def method(self, _folder: Path) -> CellMethod:
        """The method."""
        if self.up is None:
            return RandomRounding(self.base)
        try:
            chances = tuple(Fraction(one) for one in self.up)
        except (ValueError, ZeroDivisionError):
            raise InvalidInput(
                '`up` of random rounding must hold fractions as text, such as "1/3".'
            ) from None
        return RandomRounding(self.base, chances)


class NearestRoundingStep(Strict):
    """To the nearest multiple."""

    kind: Literal["nearest rounding"]
    base: int

    def method(self, _folder: Path) -> CellMethod:
        """The method."""
        return NearestRounding(self.base)


class SuppressionStep(Strict):
    """Small counts are left out."""

    kind: Literal["suppression"]
    below: int
    zeros: bool = False

    def method(self, _folder: Path) -> CellMethod:
        """The method."""
        return SmallCells(below=self.below, zeros=self.zeros)


class TopCodingStep(Strict):
    """Large counts are cut off."""

    kind: Literal["top-coding"]
    top: int

    def method(self, _folder: Path) -> CellMethod:
        """The method."""
        return TopCoding(self.top)


class CellKeyStep(Strict):
    """A perturbation table in a file beside this one."""

    kind: Literal["cell key"]
    table: str
    cycle: int | None = None

    def method(self, folder: Path) -> CellMethod:
        """The method."""
        return CellKey(read_perturbation_table(folder / self.table, cycle=self.cycle))


class MatrixStep(Strict):
    """A matrix from the counts 0, 1, … to what is published, in a file beside this one."""

    kind: Literal["matrix"]
    file: str

    def method(self, folder: Path) -> CellMethod:
        """The method."""
        read = Channel.load(folder / self.file)
        counts = tuple(range(read.shape[0]))
        if tuple(map(str, read.inputs)) != tuple(map(str, counts)):
            raise InvalidInput(f"The rows of `{self.file}` must be the counts 0, 1, …, in this order.")
        return GivenMethod(read.relabelled(inputs=counts, outputs=[_shown(one) for one in read.outputs]))


MethodStep: TypeAlias = Annotated[
    RandomRoundingStep
    | NearestRoundingStep
    | SuppressionStep
    | TopCodingStep
    | CellKeyStep
    | MatrixStep
    | ControlledRoundingStep
    | SecondarySuppressionStep
    | KAnonymityStep
    | RecordSwappingStep,
    Field(discriminator="kind"),
]


class DescribedMethod(Strict):
    """The file of `leakcap disclosure`: a title, and one `[[method]]` for each step, the first step first."""

    title: str = ""
    method: Annotated[list[MethodStep], Field(min_length=1, max_length=8)]

    def made(self, folder: Path) -> CellMethod:
        """The method that they are together. Raises `LeakcapError` for what is none."""
        return reduce(FollowedBy, (step.method(folder) for step in self.method))


def read_method(path: Path) -> tuple[str, CellMethod]:
    """The title and the method that a file describes. Raises `InvalidInput` or `InvalidParameter`."""
    described = read_checked(DescribedMethod, path, InvalidInput)
    return described.title, described.made(path.parent)


def read_whole_method(path: Path) -> tuple[str, WholeStep] | None:
    """The title and the method for a whole table or file; None where a file describes steps for a count."""
    described = read_checked(DescribedMethod, path, InvalidInput)
    first = described.method[0]
    alone = len(described.method) == 1
    return (described.title, first) if alone and isinstance(first, WholeStep) else None


def _shown(output: object) -> int | str:
    text = str(output)
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 16 else text
