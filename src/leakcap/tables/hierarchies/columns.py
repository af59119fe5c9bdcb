"""A tree from a policy: each level a column that groups the keys of the next, by `groups` or `prefix`."""

from __future__ import annotations

from collections.abc import Sequence

from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.tables.hierarchies.tree import Hierarchy

__all__ = ["check_leaves", "hierarchy_of_columns"]


def hierarchy_of_columns(levels: Sequence[str], policy: Policy, name: str) -> Hierarchy:
    """The tree whose leaves are the keys of the last column. Raises `InvalidQuery`.

    >>> from leakcap.policy.document import load_policy
    >>> policy = load_policy({"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    ...     "columns": {"town": {"keys": ["a", "b", "c"]},
    ...                 "region": {"from": "town", "groups": {"north": ["a", "b"], "south": ["c"]}}}})
    >>> hierarchy_of_columns(["region", "town"], policy, "land").labels[1:]
    (('north', 'south'), ('a', 'b', 'c'))
    """
    owner = f"`levels` of hierarchy `{name}`"
    if not levels:
        raise InvalidQuery(f"{owner} must name one column or more.")
    for level in levels:
        known = policy.columns.get(level)
        if known is None or known.keys is None or known.private is not None:
            raise InvalidQuery(f"{owner} must be columns of the policy with public `keys`. Got `{level}`.")
    last = levels[-1]
    leaves = tuple(policy.columns[last].keys or ())
    return Hierarchy.of(
        levels,
        [[*(_label(level, last, leaf, policy, owner) for level in levels[:-1]), leaf] for leaf in leaves],
        f"levels of hierarchy {name}",
    )


def _label(level: str, last: str, leaf: Key, policy: Policy, owner: str) -> Key:
    """The key of a column for one leaf, by the columns between the two."""
    if level == last:
        return leaf
    known = policy.columns[level]
    only = known.operations and set(known.operations) <= {"groups", "prefix"}
    if not only or len(known.sources) != 1:
        raise InvalidQuery(
            f"{owner} must follow from `{last}` by `groups` or `prefix` in the policy, so that each key "
            f"stands "
            f"under one other. `{level}` does not: write the tree to a file, and name it in `tree`."
        )
    below = _label(known.sources[0], last, leaf, policy, owner)
    part: Key = below[: known.prefix] if known.prefix is not None and isinstance(below, str) else below
    if known.groups is None:
        found: Key | None = part
    else:
        found = next((group for group, members in known.groups.items() if part in members), None)
    if found is None or found not in (known.keys or ()):
        raise InvalidQuery(
            f"{owner} must have a place for each key of `{last}`: all leaves are at one depth. {leaf!r} "
            f"is in no "
            f"group of `{level}`."
        )
    return found


def check_leaves(hierarchy: Hierarchy, keys: Sequence[Key], name: str) -> Hierarchy:
    """The tree with the policy's own keys for leaves; a CSV file has all of them as text.

    Raises `InvalidQuery` where a leaf is no key, or a key has no place in the tree: else rows would be left
    out in silence, or a level would count none.
    """
    column = hierarchy.levels[-1]
    known = {key if isinstance(key, str) else str(key): key for key in keys}
    leaves = [leaf if isinstance(leaf, str) else str(leaf) for leaf in hierarchy.labels[-1]]
    strange = next((leaf for leaf in leaves if leaf not in known), None)
    if strange is not None:
        raise InvalidQuery(
            f"The leaves of hierarchy `{name}` must be the keys of `{column}` in the policy. {strange!r} "
            f"is none."
        )
    missing = set(known).difference(leaves)
    if missing:
        raise InvalidQuery(
            f"The leaves of hierarchy `{name}` must be the keys of `{column}` in the policy. "
            f"{min(missing)!r} has "
            "no place in the tree."
        )
    own = [known[leaf] for leaf in leaves]
    if list(map(type, own)) == list(map(type, hierarchy.labels[-1])):
        return hierarchy
    # In the order that they have as keys, so that the tree is the same from whichever file it comes.
    paths = hierarchy.paths(len(hierarchy.levels) - 1)
    return Hierarchy.of(hierarchy.levels, [(*path[:-1], key) for path, key in zip(paths, own, strict=True)])
