"""What a file says of a question about a group: a tree of cells and margins, what is known, what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from leakcap.disclosure.cells import CellMethod
from leakcap.disclosure.group_weighing import GroupRisk
from leakcap.disclosure.joint.trees import CountLaw, Tree, tree_channel
from leakcap.errors import InvalidInput
from leakcap.policy.validation import Strict, meant, read_checked, read_toml

__all__ = ["AskedGroup", "DescribedGroup", "asks_about_a_group", "read_group", "weigh_group"]

_MOST_CELLS, _MOST_LAWS, _MOST_DEEP = 64, 64, 16
Chance = Annotated[str, Field(max_length=20)]


class Others(Strict):
    """What the others may be: `chance` as text ("1/3"), and in each cell a number or the law of one."""

    chance: Chance = "1"
    cells: dict[str, Any]


class Added(Strict):
    """How many people come into which cells."""

    chance: Chance = "1"
    cells: dict[str, int] = Field(default_factory=dict)


class Secret(Strict):
    """One of the things that may be true; `belief` is how likely it is held beforehand, as text."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    belief: Chance | None = None
    adds: Annotated[list[Added], Field(max_length=_MOST_LAWS)] = Field(default_factory=list)


class DescribedGroup(Strict):
    """The second file of `leakcap disclosure`, where it has a `tree`."""

    title: str = ""
    assumed: bool
    keys: int | None = None
    tree: list[Any]
    others: Annotated[list[Others], Field(min_length=1, max_length=_MOST_LAWS)]
    secret: Annotated[list[Secret], Field(min_length=2, max_length=16)]


class AskedGroup(NamedTuple):
    """A question that was read, as `tree_channel` takes it."""

    described: DescribedGroup
    tree: Tree
    others: list[tuple[Fraction, dict[str, CountLaw]]]
    worlds: dict[str, list[tuple[Fraction, dict[str, int]]]]
    beliefs: tuple[Fraction, ...] | None


def asks_about_a_group(path: Path) -> bool:
    """Whether a file has a tree. Raises `InvalidInput` for what is no TOML."""
    return "tree" in read_toml(path, InvalidInput)


def read_group(path: Path) -> AskedGroup:
    """The question that a file describes. Raises `InvalidInput` for what is none."""
    described = read_checked(DescribedGroup, path, InvalidInput)
    tree = _tree(described.tree, path)
    names = _names(tree)
    if not (1 <= len(names) <= _MOST_CELLS and len(set(names)) == len(names)):
        raise InvalidInput(f"`tree` of `{path}` must name from 1 to {_MOST_CELLS} cells, each once.")
    secrets = [one.name for one in described.secret]
    if len(set(secrets)) < len(secrets):
        raise InvalidInput(f"Each `secret` of `{path}` must have another name.")
    laws = len(described.others) * sum(max(1, len(one.adds)) for one in described.secret)
    if laws > _MOST_LAWS:
        raise InvalidInput(
            f"`{path}` must leave at most {_MOST_LAWS} pairs of `others` and `adds`. Got {laws}."
        )
    others = [
        (_chance(one.chance, "others", path), _numbers(one.cells, names, path)) for one in described.others
    ]
    worlds = {one.name: _added(one, names, path) for one in described.secret}
    _add_up([chance for chance, _ in others], "`chance` of all `others`", path)
    return AskedGroup(described, tree, others, worlds, _beliefs(described, path))


def weigh_group(group: AskedGroup, method: CellMethod, keys: int | None = None) -> GroupRisk:
    """What the tree tells of the secrets; `keys` for a method with cell keys. Errors as of `tree_channel`."""
    channel = tree_channel(method, group.tree, group.others, group.worlds, keys=keys)
    people = max(sum(more.values()) for added in group.worlds.values() for _, more in added)
    return GroupRisk(group.described.title, people, channel, group.beliefs)


def _tree(given: object, path: Path, deep: int = 0) -> Tree:
    if isinstance(given, str) and given.strip():
        return given
    if not (isinstance(given, list) and given and deep < _MOST_DEEP):
        raise InvalidInput(
            f'`tree` of `{path}` must nest names of cells, as in [["Ashby", "Newton"], "Kirton"]: each '
            f"bracket is a margin, at most {_MOST_DEEP} in each other."
        )
    return [_tree(one, path, deep + 1) for one in given]


def _names(tree: Tree) -> list[str]:
    return [tree] if isinstance(tree, str) else [name for part in tree for name in _names(part)]


def _numbers(cells: Mapping[str, object], names: list[str], path: Path) -> dict[str, CountLaw]:
    """For each cell of the tree the law of the others' number."""
    _known(cells, names, "others", path)
    missing = [name for name in names if name not in cells]
    if missing:
        raise InvalidInput(
            f"`others` of `{path}` must say how many are in `{missing[0]}`: 0 where nobody is."
        )
    return {name: _law(cells[name], name, path) for name in names}


def _law(given: object, name: str, path: Path) -> CountLaw:
    if isinstance(given, int) and not isinstance(given, bool):
        return {_people(str(given), name, path): Fraction(1)}
    if not (isinstance(given, dict) and given):
        raise InvalidInput(
            f"`{name}` of `others` in `{path}` must be a number of people, or chances of several: "
            '{ 2 = "1/3", 3 = "2/3" }.'
        )
    law = {_people(count, name, path): _chance(chance, name, path) for count, chance in given.items()}
    if len(law) < len(given):
        raise InvalidInput(f"`{name}` of `others` in `{path}` must have each number of people once.")
    _add_up(list(law.values()), f"The chances of `{name}` in `others`", path)
    return law


def _people(text: str, name: str, path: Path) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise InvalidInput(f"`{name}` of `others` in `{path}` must have numbers of people from 0.")
    return int(text)


def _added(secret: Secret, names: list[str], path: Path) -> list[tuple[Fraction, dict[str, int]]]:
    """What a secret adds to which cells; nobody where it says nothing."""
    found = []
    for one in secret.adds or [Added()]:
        _known(one.cells, names, f"adds` of `{secret.name}", path)
        if min(one.cells.values(), default=0) < 0:
            raise InvalidInput(f"`adds` of `{secret.name}` in `{path}` must be numbers of people from 0.")
        found.append((_chance(one.chance, f"adds` of `{secret.name}", path), dict(one.cells)))
    _add_up([chance for chance, _ in found], f"`chance` of all `adds` of `{secret.name}`", path)
    return found


def _beliefs(described: DescribedGroup, path: Path) -> tuple[Fraction, ...] | None:
    given = [one.belief for one in described.secret]
    if all(one is None for one in given):
        return None
    if any(one is None for one in given):
        raise InvalidInput(f"Every `secret` of `{path}` must have a `belief`, or none.")
    beliefs = [_chance(str(one), "belief", path) for one in given]
    _add_up(beliefs, "`belief` of all secrets", path)
    return tuple(beliefs)


def _known(cells: Mapping[str, object], names: list[str], where: str, path: Path) -> None:
    for name in cells:
        if name not in names:
            raise InvalidInput(
                f"`{name}` in `{where}` of `{path}` is no cell of `tree`. {meant(name, names)}"
            )


def _chance(text: object, where: str, path: Path) -> Fraction:
    try:
        found = (
            Fraction(text) if isinstance(text, str) and len(text) <= 20 and "e" not in text.lower() else None
        )
    except (ValueError, ZeroDivisionError):
        found = None
    if found is None or not 0 <= found <= 1:
        raise InvalidInput(
            f'A chance in `{where}` of `{path}` must be a fraction from 0 to 1 as text, such as "1/3".'
        )
    return found


def _add_up(chances: list[Fraction], what: str, path: Path) -> None:
    total = sum(chances, Fraction(0))
    if total != 1:
        raise InvalidInput(f"{what} in `{path}` must add up to one. Got {total}.")
