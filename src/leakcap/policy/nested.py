"""Keys within keys: a column whose keys depend on those of another, as districts on their regions.

    [columns.region]
    keys = ["Bavaria", "Hesse"]

    [columns.district]
    within = "region"
    keys = { Bavaria = ["Munich", "Neustadt"], Hesse = ["Kassel", "Neustadt"] }

The public list is one of **paths**: a name may stand under two parents, and the two are different districts.
Under a column that is nested itself the table of keys has a level for each, or names the parent alone where
no two of its keys share a name. Every key of a parent has one key within it or more, so that groups by the
parent are the sums of those by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

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
        return dict(content)
    if not isinstance(keys, Mapping) or not keys:
        raise ValueError(
            "`within` goes with `keys` as a table: for each key of that column a list of those within it"
        )
    paths = tuple(nested_paths(keys, ()))
    if len(set(map(len, paths))) > 1:
        raise ValueError("`keys` within another column's must have lists at one depth")
    return {**content, "keys": tuple(dict.fromkeys(path[-1] for path in paths)), "paths": paths}


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
