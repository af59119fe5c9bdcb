"""What is printed of a question about a group: what a tree of published margins tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.report.records.base import Record
from leakcap.statement.record import Part, Unbounded

if TYPE_CHECKING:
    from leakcap.disclosure.group_description import AskedGroup
    from leakcap.disclosure.group_weighing import GroupRisk

__all__ = ["AddedRecord", "DisclosureGroupRecord", "OthersRecord", "SecretRecord"]

Chance = Annotated[float, Field(ge=0.0, le=1.0)]
Chances = tuple[Chance, Chance]
Exact = Annotated[str, Field(description="a fraction")]


class OthersRecord(Part):
    """What the others may be: in each cell so many people, with these chances."""

    chance: Exact
    cells: dict[str, dict[str, Exact]]


class AddedRecord(Part):
    """How many people come into which cells."""

    chance: Exact
    cells: dict[str, Annotated[int, Field(ge=0)]]


class SecretRecord(Part):
    """One of the things that may be true, and the beliefs in it that something published can leave behind."""

    name: str
    belief: Exact
    before: Annotated[Chances, Field(description="the belief as a number")]
    adds: tuple[AddedRecord, ...]
    least: Annotated[Chance, Field(description="belief after what speaks most against it; rounded down")]
    most: Annotated[Chance, Field(description="belief after what speaks most for it; rounded up")]


class DisclosureGroupRecord(Record):
    """What cells and margins of a tree, published by a method, tell about which of several secrets is true.

    All numbers of people are public assumptions: real counts have no record. `guess` and `sure` are for
    secrets that are equally likely beforehand; `believed` for their beliefs, where these were given.
    """

    commands: ClassVar = ("disclosure",)

    schema_: Literal["leakcap/disclosure-group/1"] = Field(alias="schema")
    file: str
    title: str
    method: str
    keys: Annotated[int | None, Field(description="different keys; null where there are no cell keys")]
    published: Annotated[tuple[tuple[str, ...], ...], Field(min_length=1)]
    others: Annotated[tuple[OthersRecord, ...], Field(min_length=1)]
    secrets: Annotated[tuple[SecretRecord, ...], Field(min_length=2)]
    outcomes: Annotated[int, Field(description="different things that can be published")]
    even: Annotated[Chances, Field(description="how often a blind guess is right, all secrets alike")]
    guess: Annotated[Chances, Field(description="how often the best guess is right, all secrets alike")]
    sure: Annotated[Chances, Field(description="how often one secret alone is left possible")]
    believed: Annotated[
        tuple[Chances, Chances] | None,
        Field(description="the best guess by the beliefs: before and after; null where none were given"),
    ] = None
    capacity: Annotated[tuple[Unbounded, Unbounded], Field(description="nats")]
    epsilon: Annotated[tuple[Unbounded, Unbounded], Field(description="nats; null for no bound")]

    @classmethod
    def of(
        cls, group: AskedGroup, risk: GroupRisk, *, method: str, keys: int | None = None, file: str = ""
    ) -> Self:
        """A question that was weighed."""
        described = group.described
        even = f"1/{len(group.worlds)}"
        found = risk.figures()
        return cls.made(
            file=file,
            title=described.title,
            method=method,
            keys=keys,
            published=tuple(_published(group.tree)),
            others=tuple(
                OthersRecord(
                    chance=str(chance),
                    cells={
                        name: {str(count): str(share) for count, share in law.items()}
                        for name, law in laws.items()
                    },
                )
                for chance, laws in group.others
            ),
            secrets=tuple(
                SecretRecord(
                    name=name,
                    belief=str(group.beliefs[place]) if group.beliefs is not None else even,
                    adds=tuple(AddedRecord(chance=str(chance), cells=more) for chance, more in added),
                    before=found.told[name][0],
                    least=found.told[name][1][0],
                    most=found.told[name][1][1],
                )
                for place, (name, added) in enumerate(group.worlds.items())
            ),
            outcomes=risk.channel.shape[1],
            even=found.even,
            guess=found.guess,
            sure=found.sure,
            believed=None if group.beliefs is None else (found.blind, found.believed),
            capacity=(risk.capacity.lower, risk.capacity.upper),
            epsilon=(risk.epsilon.lower, risk.epsilon.upper),
        )


def _published(tree: object) -> list[tuple[str, ...]]:
    """The cells of each number that is published, in its order: each margin after what it holds."""
    if isinstance(tree, str):
        return [(tree,)]
    assert isinstance(tree, list | tuple)
    parts = [_published(part) for part in tree]
    return [*(one for part in parts for one in part), tuple(name for part in parts for name in part[-1])]
