"""All ways in which people can be the ones behind records: which pairs occur in some, and how often.

People who can be behind the same records are one kind, records that the same people can be behind another:
`people[i]` and `records[j]` are how many there are, `pairs` which go together. Where one side has more, the
rest of it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

from leakcap.numeric.logspace import Floats

__all__ = ["Contradiction", "chances", "parts", "possible_pairs"]

Pair = tuple[int, int]
State = tuple[int, ...]
Move = tuple[State, State, tuple[int, ...], int]
"""From what is left to what is left after, by what is taken, in so many ways."""
_MOST_STEPS, _MOST_KINDS = 300_000, 40_000


class Contradiction(ValueError):
    """No way at all: `few` of one side must be behind more of the other."""


def possible_pairs(
    people: Sequence[int], records: Sequence[int], pairs: set[Pair]
) -> tuple[set[Pair], set[int]]:
    """The pairs that occur in some way, and the kinds of people who may be left out.

    The smaller side is wholly used. A pair occurs if a maximum flow uses it, or can be turned so that it
    does, along a cycle of what is left of it. Raises `Contradiction` where there is no way.

    >>> found, absent = possible_pairs([1, 1], [1, 1], {(0, 0), (0, 1), (1, 1)})
    >>> sorted(found), absent
    ([(0, 0), (1, 1)], set())
    """
    left = sum(people) - sum(records)
    count, kinds = len(people) + (left < 0), len(records) + (left > 0)
    own = [*people, -left] if left < 0 else list(people)
    theirs = [*records, left] if left > 0 else list(records)
    joined = set(pairs)
    if left > 0:
        joined |= {(i, kinds - 1) for i in range(len(people))}
    if left < 0:
        joined |= {(count - 1, j) for j in range(len(records))}
    source, sink = count + kinds, count + kinds + 1
    edges = [(source, i, own[i]) for i in range(count)]
    edges += [(i, count + j, min(own[i], theirs[j])) for i, j in joined]
    edges += [(count + j, sink, theirs[j]) for j in range(kinds)]
    starts, ends, most = (np.array(one, dtype=np.int32) for one in zip(*edges, strict=True))
    graph = csr_array((most, (starts, ends)), shape=(sink + 1, sink + 1))
    flow = maximum_flow(graph, source, sink)
    if flow.flow_value < sum(own):
        raise Contradiction
    used = flow.flow.tocsr()
    back = {(i, j): int(used[i, count + j]) for i, j in joined}
    rest = [(i, count + j) for i, j in joined if back[i, j] < min(own[i], theirs[j])]
    rest += [(count + j, i) for (i, j), amount in back.items() if amount > 0]
    at = np.array(rest or [(0, 0)], dtype=np.int32)
    turned = csr_array((np.ones(len(at)), (at[:, 0], at[:, 1])), shape=(count + kinds, count + kinds))
    _, places = connected_components(turned, directed=True, connection="strong")
    found = {(i, j) for i, j in joined if back[i, j] > 0 or places[i] == places[count + j]}
    absent = {i for i, j in found if j == len(records)}
    return {(i, j) for i, j in found if i < len(people) and j < len(records)}, absent


def parts(people: int, records: int, pairs: set[Pair]) -> list[tuple[list[int], list[int]]]:
    """Kinds that hang together: their people and their records."""
    at = np.array(sorted(pairs) or np.zeros((0, 2)), dtype=np.int32).reshape(-1, 2)
    size = people + records
    graph = csr_array((np.ones(len(at)), (at[:, 0], people + at[:, 1])), shape=(size, size))
    number, places = connected_components(graph, directed=False)
    found: list[tuple[list[int], list[int]]] = [([], []) for _ in range(number)]
    for node, place in enumerate(places.tolist()):
        found[place][node >= people].append(node - people if node >= people else node)
    return found


def chances(people: Sequence[int], records: Sequence[int], pairs: set[Pair]) -> Floats | None:
    """How likely one person of each kind is behind a record of each kind, all ways being equally likely.

    Exact but for the last rounding; None where there are too many ways to add up, or none. Kind by kind of
    the side that is wholly used: a state is how many of the other side are left, of those that can still be
    used.

    >>> chances([1, 1], [1, 1], {(0, 0), (0, 1), (1, 0), (1, 1)}).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    turned = {(j, i) for i, j in pairs}
    if sum(people) < sum(records):
        seen = _expected(people, records, pairs)
    else:
        found = _expected(records, people, turned)
        seen = None if found is None else {(i, j): mean for (j, i), mean in found.items()}
    if seen is None:
        return None
    own = np.zeros((len(people), len(records)))
    for (i, j), mean in seen.items():
        own[i, j] = float(mean / people[i])
    return own


def _expected(used: Sequence[int], left: Sequence[int], pairs: set[Pair]) -> dict[Pair, Fraction] | None:
    """The mean number of each kind of `left` that go to each kind of `used`, which is wholly used."""
    if len(used) * len(left) > _MOST_KINDS:
        return None
    order = _order(len(used), pairs)
    whole: list[list[int]] = [[] for _ in used]
    for j, i in sorted(pairs):
        whole[j].append(i)
    partners = [whole[j] for j in order]
    last = {i: step for step, own in enumerate(partners) for i in own}
    steps: list[tuple[dict[State, int], list[Move]]] = []
    work = 0
    states: dict[State, int] = {tuple(left): 1}
    for step, j in enumerate(order):
        done = [i for i in partners[step] if last[i] == step]
        after: dict[State, int] = {}
        moves: list[Move] = []
        for state, ways in states.items():
            for taken in _taken(used[j], [state[i] for i in partners[step]]):
                work += 1
                if work > _MOST_STEPS:
                    return None
                new, weight = _moved(state, partners[step], taken)
                if sum(used) == sum(left) and any(new[i] for i in done):
                    continue
                for i in done:
                    new[i] = 0
                after[tuple(new)] = after.get(tuple(new), 0) + ways * weight
                moves.append((state, tuple(new), taken, weight))
        steps.append((states, moves))
        states = after
    total = sum(states.values())
    if not total:
        return None
    behind = dict.fromkeys(states, 1)
    sums: dict[Pair, int] = {}
    for j, own, (before, moves) in reversed(list(zip(order, partners, steps, strict=True))):
        earlier: dict[State, int] = {}
        for state, reached, taken, weight in moves:
            ways = weight * behind.get(reached, 0)
            earlier[state] = earlier.get(state, 0) + ways
            for i, many in zip(own, taken, strict=True):
                sums[j, i] = sums.get((j, i), 0) + many * ways * before[state]
        behind = earlier
    return {pair: Fraction(value, total) for pair, value in sums.items()}


def _moved(state: State, own: Sequence[int], taken: Sequence[int]) -> tuple[list[int], int]:
    """What is left, and in how many ways these can be taken."""
    rest, weight = list(state), 1
    for i, many in zip(own, taken, strict=True):
        weight *= math.comb(rest[i], many)
        rest[i] -= many
    return rest, weight


def _taken(number: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All ways to take a number from several, at most so many of each."""
    if not most:
        if not number:
            yield ()
        return
    rest = sum(most[1:])
    for one in range(max(0, number - rest), min(number, most[0]) + 1):
        for others in _taken(number - one, most[1:]):
            yield (one, *others)


def _order(size: int, pairs: set[Pair]) -> list[int]:
    """An order in which kinds that share partners follow each other."""
    partners: list[set[int]] = [set() for _ in range(size)]
    for j, i in pairs:
        partners[j].add(i)
    open_, done, order = set(range(size)), set[int](), list[int]()
    while open_:
        best = min(open_, key=lambda j: (len(partners[j] - done), j))
        open_.remove(best)
        order.append(best)
        done |= partners[best]
    return order
