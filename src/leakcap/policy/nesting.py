"""The paths of keys within keys, as a policy has them; `nested.py` says how they are written."""

from __future__ import annotations

from collections.abc import Mapping

from leakcap.policy.declared import Column
from leakcap.policy.nested import DEEPEST, KeyPath, key_word
from leakcap.policy.validation import meant

__all__ = ["outer_columns", "paths_of_keys"]


def paths_of_keys(name: str, columns: Mapping[str, Column]) -> tuple[tuple[str, ...], tuple[KeyPath, ...]]:
    """The columns that a nested one lies within, the outermost first, and the whole path of each of its keys.

    Raises `ValueError`, naming the column, where these are not columns with public keys, or do not lie in one
    line, or the keys are not those of the parents.
    """
    outer = outer_columns(name, columns)
    parent, given = columns[outer[-1]], columns[name].paths or ()
    if len(outer) > 1:
        _, parents = paths_of_keys(outer[-1], columns)
    else:
        parents = tuple((key,) for key in parent.keys or ())
    short = len(given[0]) == 2 if given else True
    if given and len(given[0]) not in (2, 1 + len(outer)):
        raise ValueError(
            f"`keys` of `columns.{name}` must have a level for each of "
            f"{', '.join(f'`{one}`' for one in outer)}"
        )
    words: dict[tuple[str, ...], list[KeyPath]] = {}
    for path in parents:
        words.setdefault(tuple(map(key_word, path[-1:] if short else path)), []).append(path)
    found: dict[KeyPath, None] = {}
    met = set()
    for path in given:
        head = tuple(map(key_word, path[:-1]))
        named = " > ".join(head)
        meant_ = words.get(head)
        if meant_ is None:
            known = meant(named, (" > ".join(one) for one in words))
            raise ValueError(f"`keys` of `columns.{name}` name `{named}`, no key of `{outer[-1]}`. {known}")
        if len(meant_) > 1:
            raise ValueError(
                f"`keys` of `columns.{name}` name `{named}`, which `{outer[-1]}` has more than once: write "
                f"a level for each of {', '.join(f'`{one}`' for one in outer)}"
            )
        met.add(head)
        found[(*meant_[0], path[-1])] = None
    missing = next((head for head in words if head not in met), None)
    if missing is not None:
        raise ValueError(
            f"`keys` of `columns.{name}` must list one key or more within `{' > '.join(missing)}` of "
            f"`{outer[-1]}`: where there is but one, its own name will do"
        )
    rank = {path: place for place, path in enumerate(parents)}
    # In the order of the parents, whatever the order of the table, so that it is one however it is written.
    return outer, tuple(sorted(found, key=lambda path: rank[path[:-1]]))


def outer_columns(name: str, columns: Mapping[str, Column]) -> tuple[str, ...]:
    """The columns that a column lies within, the outermost first. Raises `ValueError`."""
    found: list[str] = []
    inner, at = name, columns[name].within
    while at is not None:
        known = columns.get(at)
        if known is None:
            raise ValueError(f"`columns.{inner}` is within `{at}`, which is no column. {meant(at, columns)}")
        if at == name or at in found or len(found) >= DEEPEST:
            raise ValueError(f"`columns.{name}` lies within itself, or within more than {DEEPEST} columns")
        if known.keys is None or known.private is not None:
            raise ValueError(f"`columns.{inner}` is within `{at}`, which has no public `keys`")
        if len({key_word(key) for key in known.keys}) < len(
            known.keys
        ):  # pragma: no cover - keys of one kind
            raise ValueError(f"`columns.{at}` has two keys that are written alike")
        found.insert(0, at)
        inner, at = at, known.within
    return tuple(found)
