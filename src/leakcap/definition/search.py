"""`convert` and `route`: the strongest way through the implication graph, explained."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any, TypeVar

from leakcap.definition.base import Definition, Relation
from leakcap.definition.catalogue import edges
from leakcap.definition.graph import FACTS, Implication, target_fields
from leakcap.definition.keywords import check_ranges
from leakcap.definition.refusals import counterexample, refusal
from leakcap.definition.steps import Route, Step
from leakcap.errors import InvalidParameter, NoRoute
from leakcap.numeric.search import maximise

__all__ = ["convert", "route"]

T = TypeVar("T", bound=Definition)

Path = tuple[Implication, ...]

_MOST_STEPS = 3
_SAME = 1e-12
_GRID = 40
# Where a free order of an intermediate guarantee is looked for: ln(α−1) and ln ε.
_SEARCHED: Mapping[str, tuple[float, float, Callable[[float], float]]] = {
    "alpha": (math.log(1e-6), math.log(1e7), lambda v: 1.0 + math.exp(v)),
    "epsilon": (math.log(1e-8), math.log(600.0), math.exp),
}


def convert(source: Definition, target: type[T], **free: Any) -> T:
    """The strongest guarantee of kind `target` that follows from `source`, under the same neighbourhood.

    Free parameters are keywords: fields of the target (`alpha`, `epsilon`, `delta`, `records`, …) and
    facts (`values`, the number of values of the record). Under add/remove-one the secret is whether one
    record is there, so `values` is 2. Errors: `NoRoute` where it does not follow, naming a
    counter-example and what can be asked instead; `InvalidParameter` for unknown or missing keywords.

    >>> from leakcap.definition import MIDP, PureDP
    >>> round(convert(PureDP(1.0), MIDP).nats, 11)
    0.12330156148
    """
    return route(source, target, **free).target


def route(source: Definition, target: type[T], **free: Any) -> Route[T]:
    """The steps behind `convert`, with citations and the values between.

    >>> from leakcap.definition import ApproxDP, DeltaDP, MIDP
    >>> print(route(ApproxDP(0.0, 0.1), MIDP, values=2).target)
    MIDP(nats=0.0693147...)
    """
    _check_kinds(source, target)
    check_ranges(target, free)
    given = dict(free)
    if source.neighbours is not None and source.neighbours.relation is Relation.ADD_REMOVE_ONE:
        _presence_has_two_values(given)
        given["values"] = 2
    same = _same(source, target, free)
    if same is not None:
        return Route(source, same, ())
    paths = _paths(type(source), target, len(edges()))
    _check_keywords(paths, source, target, free)
    candidates = [] if counterexample(source, target) else _best_per_path(paths, source, target, given)
    if not candidates:
        _explain(paths, source, target, given)
    best = _choose(candidates, frozenset(given))
    carried = tuple(
        Step(
            s.edge,
            replace(s.source, neighbours=source.neighbours),
            replace(s.target, neighbours=source.neighbours),
        )
        for s in best
    )
    result = carried[-1].target
    assert isinstance(result, target)
    return Route(source, result, carried)


def _check_kinds(source: object, target: object) -> None:
    if not isinstance(source, Definition):
        raise InvalidParameter(
            f"`source` of `convert` must be a guarantee such as PureDP(1.0). Got {source!r}."
        )
    if not (isinstance(target, type) and issubclass(target, Definition)):
        raise InvalidParameter(f"`target` of `convert` must be a definition such as MIDP. Got {target!r}.")


def _presence_has_two_values(given: Mapping[str, Any]) -> None:
    if given.get("values", 2) != 2:
        raise InvalidParameter(
            f"`values` of `convert` must be 2 under add/remove-one. Got {given['values']!r}. There the "
            "secret is whether a record is there; use `to_replace_one` first for the value of a record."
        )


def _same(source: Definition, target: type[T], free: Mapping[str, Any]) -> T | None:
    """The source itself, when it is what is asked for."""
    if not isinstance(source, target):
        return None
    asked = {name: value for name, value in free.items() if name not in FACTS}
    return source if all(getattr(source, name, math.nan) == value for name, value in asked.items()) else None


@lru_cache(maxsize=1 << 10)
def _paths(start: type[Definition], target: type[Definition], known: int) -> tuple[Path, ...]:
    """Those of the graph as it is: edges are only added, so that `known`, how many there are, tells which."""
    return tuple(_simple_paths(start, target))


def _simple_paths(start: type[Definition], target: type[Definition]) -> Iterator[Path]:
    """Simple paths of edges that are not superseded, shortest first.

    Where a tight edge leads straight to a guarantee about pairs, no detour can be stronger.
    """
    outgoing: dict[type[Definition], list[Implication]] = {}
    for edge in edges():
        if not edge.loose:
            outgoing.setdefault(edge.source, []).append(edge)
    level: list[Path] = [(edge,) for edge in outgoing.get(start, [])]
    straight = {(e.source, e.target, e.required) for e in edges() if e.tight and e.target.of_a_pair}

    def detour(path: Path, last: Implication) -> bool:
        return any((e.source, last.target, last.required) in straight for e in path)

    for _ in range(_MOST_STEPS):
        yield from (path for path in level if path[-1].target is target)
        level = [
            (*path, edge)
            for path in level
            if path[-1].target is not target
            for edge in outgoing.get(path[-1].target, [])
            if edge.target not in {start, *(e.target for e in path)} and not detour(path, edge)
        ]


Trail = tuple[Step, ...]


def _best_per_path(
    paths: Sequence[Path],
    source: Definition,
    target: type[Definition],
    given: Mapping[str, Any],
) -> list[Trail]:
    found: list[Trail] = []
    for path in paths:
        if len(path) > 1 and (not _determined(target, given) or (found and _settled(found, target, given))):
            break
        trail = _walk_best(path, source, given)
        if trail is not None and _honours(trail[-1].target, given):
            found.append(trail)
    return found


def _determined(target: type[Definition], given: Mapping[str, Any]) -> bool:
    """Whether all of the target's numbers but one were asked for: only then do several steps make sense."""
    return sum(not f.kw_only and f.name not in given for f in fields(target)) <= 1


def _settled(found: list[Trail], target: type[Definition], given: Mapping[str, Any]) -> bool:
    """A single tight edge that used every fact that matters cannot be beaten."""
    best = _choose(found, frozenset(given))
    matters = {name for name in given if not (target.of_a_pair and name in FACTS)}
    return len(best) == 1 and best[0].edge.tight and matters <= set(best[0].edge.keywords)


def _honours(result: Definition, given: Mapping[str, Any]) -> bool:
    names = target_fields(type(result))
    return all(getattr(result, name) == value for name, value in given.items() if name in names)


def _walk_best(path: Path, source: Definition, given: Mapping[str, Any]) -> Trail | None:
    """Follow a path, choosing the one free order of an intermediate guarantee to its advantage."""
    loose = [
        (i, name)
        for i, e in enumerate(path)
        for name in e.required
        if i < len(path) - 1 and name not in FACTS
    ]
    missing = [name for e in path for name in e.required if name in FACTS and name not in given]
    if missing or len(loose) > 1 or any(name not in _SEARCHED for _, name in loose):
        return None
    if not loose:
        return _walk(path, source, given, None, 0.0)
    where = loose[0]
    low, high, scale = _SEARCHED[where[1]]

    def strength(v: float) -> float:
        trail = _walk(path, source, given, where, scale(v))
        return -_key(trail[-1].target, frozenset(given))[0] if trail is not None else -math.inf

    grid = [low + (high - low) * i / _GRID for i in range(_GRID + 1)]
    best = max(range(_GRID + 1), key=lambda i: strength(grid[i]))
    peak = maximise(strength, grid[max(best - 1, 0)], grid[min(best + 1, _GRID)], steps=40)
    choice = max((grid[best], peak), key=strength)
    return _walk(path, source, given, where, scale(choice))


def _walk(
    path: Path,
    source: Definition,
    given: Mapping[str, Any],
    where: tuple[int, str] | None,
    value: float,
) -> Trail | None:
    steps, current = [], replace(source, neighbours=None)
    for i, edge in enumerate(path):
        last = i == len(path) - 1
        known = given if last else {name: v for name, v in given.items() if name in FACTS}
        if where is not None and where[0] == i:
            known = {**known, where[1]: value}
        if any(name not in known for name in edge.required):
            return None
        reached = edge(current, **{name: v for name, v in known.items() if name in edge.keywords})
        if reached is None:
            return None
        steps.append(Step(edge, current, reached))
        current = reached
    return tuple(steps)


def _key(result: Definition, given: frozenset[str]) -> tuple[float, ...]:
    """The numbers that are left to compare once what was asked for is fixed; smaller is stronger."""
    free = [f.name for f in fields(result) if not f.kw_only and f.name not in given]
    return tuple(float(getattr(result, name)) for name in free) or (result.threshold,)


def _choose(candidates: list[Trail], given: frozenset[str]) -> Trail:
    """The strongest; among equals the shortest, and a tight one first."""
    keys = [_key(trail[-1].target, given) for trail in candidates]
    least = min(keys)

    def as_strong(key: tuple[float, ...]) -> bool:
        return all(a == b or a <= b * (1.0 + _SAME) for a, b in zip(key, least, strict=True))

    equals = [trail for trail, key in zip(candidates, keys, strict=True) if as_strong(key)]
    return min(equals, key=lambda t: (len(t), not given <= set(t[-1].edge.keywords), not t[-1].edge.tight))


def _check_keywords(
    paths: Sequence[Path],
    source: Definition,
    target: type[Definition],
    free: Mapping[str, Any],
) -> None:
    """Refuse a keyword that no way from source to target takes."""
    fitting = _fitting(paths)
    known = fitting | set(FACTS) if paths else set(FACTS)
    unknown = sorted(name for name in free if name not in known)
    if unknown:
        raise InvalidParameter(
            f"`{unknown[0]}` is not a parameter of the conversion from `{type(source).__name__}` to "
            f"`{target.__name__}`. Those that fit: {', '.join(sorted(fitting)) or 'none'}."
        )


def _fitting(paths: Sequence[Path]) -> set[str]:
    facts = {name for path in paths for edge in path for name in edge.keywords if name in FACTS}
    return facts | {name for path in paths for name in path[-1].keywords}


def _explain(
    paths: Sequence[Path],
    source: Definition,
    target: type[Definition],
    given: Mapping[str, Any],
) -> None:
    """Raise the error that says why nothing was found."""
    needed = sorted({name for path in paths for name in path[-1].required if name not in given})
    ready = any(name in given for path in paths for name in path[-1].required)
    if needed and not ready and not counterexample(source, target):
        raise InvalidParameter(
            f"the conversion from `{type(source).__name__}` to `{target.__name__}` needs "
            f"{' or '.join(f'`{n}=`' for n in needed)}. Those that fit: {', '.join(sorted(_fitting(paths)))}."
        )
    hint = "".join(f" It may with `{n}=`, {FACTS[n]}." for n in needed if n in FACTS)
    raise NoRoute(refusal(source, target) + hint)
