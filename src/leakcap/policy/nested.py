"""Keys within keys: a column whose keys depend on those of another, as districts on their regions.

    [columns.region]
    keys = ["Bavaria", "Hesse"]

    [columns.district]
    within = "region"
    keys = { Bavaria = ["Munich", "Neustadt"], Hesse = ["Kassel", "Neustadt"] }

The public list is one of **paths**: a name may stand under two parents, and the two are different districts.
Under a column that is nested itself the table of keys has a level for each, or names the parent alone where
no two of its keys share a name. Every key of a parent has one key within it or more. Groups by the parent
alone count its rows whose pair is not listed, too: the sums of the listed pairs may be smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from leakcap.policy.derived import Key

__all__ = ["DEEPEST", "KeyPath", "key_word", "nested_paths", "with_paths"]

KeyPath: TypeAlias = tuple[Key, ...]
DEEPEST = 10
"""So many columns may lie within each other."""


def key_word(key: Key) -> str:
    """A key as the head of a TOML table has it, which is always text.

    >>> key_word(True), key_word(7), key_word("north")
    ('true', '7', 'north')
    """
    return str(key).lower() if isinstance(key, bool) else str(key)


def with_paths(content: Mapping[str, object]) -> dict[str, object]:
    """What is given of a nested column, with its table of keys as `keys` and `paths`. Raises `ValueError`.

    >>> with_paths({"within": "region", "keys": {"north": ["a", "b"], "south": ["a"]}})
    {'within': 'region', 'keys': ('a', 'b'), 'paths': (('north', 'a'), ('north', 'b'), ('south', 'a'))}
    """
    keys, within = content.get("keys"), content.get("within")
    if within is None:
        if isinstance(keys, Mapping):
            raise ValueError("`keys` as a table go with `within`, the column whose keys head it")
        return dict(content)
    if content.get("paths") is not None:
        return {**content, "paths": _written_paths(keys, content["paths"])}
    if not isinstance(keys, Mapping) or not keys:
        raise ValueError(
            "`within` goes with `keys` as a table: for each key of that column a list of those within it"
        )
    paths = tuple(nested_paths(keys, ()))
    if len(set(map(len, paths))) > 1:
        raise ValueError("`keys` within another column's must have lists at one depth")
    return {**content, "keys": tuple(dict.fromkeys(path[-1] for path in paths)), "paths": paths}


def _written_paths(keys: object, paths: object) -> tuple[KeyPath, ...]:
    """The paths in a policy's own text, in which they stand beside their `keys`. Raises `ValueError`."""
    lines = [tuple(one) if isinstance(one, list | tuple) else () for one in _listed(paths)]
    lengths = set(map(len, lines))
    sound = all(isinstance(one, str | int) for path in lines for one in path)
    if (
        not sound
        or len(lengths) != 1
        or not 2 <= max(lengths) <= DEEPEST + 1
        or len({tuple(map(key_word, path)) for path in lines}) < len(lines)
        # True is 1 to Python, and is another key.
        or _typed(_listed(keys)) != list(dict.fromkeys(_typed([path[-1] for path in lines])))
    ):
        raise ValueError("`paths` follow from `within` and `keys`: leave them out")
    return tuple(lines)


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _typed(keys: list[Any]) -> list[tuple[type, Any]]:
    return [(type(one), one) for one in keys]


def nested_paths(keys: Mapping[object, object], above: KeyPath) -> Iterator[KeyPath]:
    """The paths to the keys in lists, none of which may be empty or name a key twice. Raises `ValueError`."""
    for head, inner in keys.items():
        path = (*above, str(head))
        named = " > ".join(map(str, path))
        if isinstance(inner, Mapping) and inner and len(path) < DEEPEST:
            yield from nested_paths(inner, path)
            continue
        if not isinstance(inner, list | tuple) or not inner:
            raise ValueError(f"`keys` must list one key or more within `{named}`")
        if not all(isinstance(one, str | int) for one in inner):
            raise ValueError(f"`keys` within `{named}` must be text, integers or true/false")
        if len({key_word(one) for one in inner}) < len(inner):
            raise ValueError(f"`keys` must not repeat a key within `{named}`")
        yield from ((*path, one) for one in inner)
