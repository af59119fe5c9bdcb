"""Channels on databases: their inputs are tuples with one entry a record.

- `StrongAdversary()`: all other records known, any distribution: MI-DP itself (Cuff & Yu 2016, definition 2).
- `StrongAdversary(records=(i,))`: personal budgets (§6.1). `StrongAdversary(size=k)`: groups of k records.
- `AllPriors()`: free-lunch privacy (§6.2). `GivenPrior(prior)`: adversarial privacy (§6.4).
- `BayesianAdversary(prior)`, `BayesianNeighbours(prior)`: in `bayesian` (§6.3).

The conditional information is linear in the distribution of what is known (at order α, e^{(α−1)D} is), so its
supremum sits at one known context: MI-DP is the largest Shannon capacity of the channels from one record, the
others held still, and at order α the largest level-α capacity.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import AllPriors, AllPriorsJoint, Centre, Neighbours, StrongAdversary
from leakcap.bound import Bound
from leakcap.capacities.verb import solve, solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.progress import tracked

__all__ = [
    "KnownRecords",
    "hamming_neighbours",
    "over_beliefs",
    "personal_capacities",
    "record_codes",
    "restricted",
    "strong_adversary",
]

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class KnownRecords:
    """Where a capacity over databases is attained: the unknown records, what the others are, and a belief.

    `belief` is over `databases`, the inputs that agree with what is known.
    """

    unknown: tuple[int, ...]
    context: tuple[Hashable, ...]
    databases: tuple[Hashable, ...]
    belief: object


def record_codes(channel: Channel) -> Codes:
    """The records of every input as integers, of shape (databases, records); errors are `InvalidChannel`.

    >>> record_codes(Channel([[1.0], [1.0]], inputs=[("a", 0), ("b", 0)])).tolist()
    [[0, 0], [1, 0]]
    """
    lengths = {len(x) if isinstance(x, tuple) else 0 for x in channel.inputs}
    if len(lengths) != 1 or 0 in lengths:
        raise InvalidChannel(
            "inputs of a channel on databases must be tuples of one length, one entry a record. "
            "Got other labels. Label them with `Channel.relabelled`."
        )
    columns = zip(*(x for x in channel.inputs if isinstance(x, tuple)), strict=True)
    return np.array([_coded(column) for column in columns], dtype=np.intp).T


def hamming_neighbours(channel: Channel, distance: int = 1) -> Neighbours:
    """Databases that differ in at least one and at most `distance` records, as an adversary.

    >>> hamming_neighbours(Channel([[1.0]] * 4, inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])).pairs
    ((0, 1), (0, 2), (1, 3), (2, 3))
    """
    codes = record_codes(channel)
    pairs: list[tuple[int, int]] = []
    for x, code in enumerate(codes):
        apart = (codes[x + 1 :] != code).sum(axis=1)
        pairs += [(x, x + 1 + int(other)) for other in np.flatnonzero(apart <= distance)]
    return Neighbours(tuple(pairs))


@solver.register
def strong_adversary(adversary: StrongAdversary, channel: Channel, divergence: Divergence) -> Bound:
    """sup over groups of unknown records and contexts of the capacity of what remains.

    The witness is a `KnownRecords`.

    A Rényi order asks the information over all beliefs: the level-α capacity of one record, which is MI-DP at
    α = 1 and ε at α = ∞; with `centre=Centre.SIBSON` Sibson's capacity, the radius. Hockey-stick and total
    variation compare two databases that agree in what is known: δ of (ε, δ)-DP.

    >>> from leakcap.capacities import capacity
    >>> both = Channel([[1, 0], [0, 1], [0, 1], [1, 0]], inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> round(capacity(both, Renyi(1.0), StrongAdversary()).upper, 8)
    0.69314718
    """
    codes = record_codes(channel)
    allowed = _allowed(adversary, codes.shape[1])
    inner = over_beliefs(adversary.centre) if isinstance(divergence, Renyi) else Neighbours()
    solved: dict[bytes, Bound] = {}
    best, where, upper = None, None, 0.0
    for unknown in combinations(allowed, adversary.size):
        for members in tracked(_contexts(codes, unknown), f"databases, records {unknown} unknown"):
            part = restricted(channel, members)
            key = part.matrix.tobytes()
            if key not in solved:
                solved[key] = solve(inner, Channel(part.matrix), divergence)
            bound = solved[key]
            upper = max(upper, bound.upper)
            if best is None or bound.lower > best.lower:
                best, where = (
                    bound,
                    KnownRecords(unknown, _context(part.inputs[0], unknown), part.inputs, bound.witness),
                )
    if best is None:
        raise InvalidParameter(
            "`records` of `StrongAdversary` must leave at least `size` records. Name more."
        )
    method = f"largest of {len(solved)} channels from {adversary.size} unknown record(s): {best.method}"
    return Bound(best.lower, upper, method, "Cuff & Yu 2016, definition 2", best.unit, where)


def over_beliefs(centre: Centre) -> AllPriors | AllPriorsJoint:
    """All beliefs, with the law of the output that the centre asks for.

    >>> over_beliefs(Centre.MARGINAL)
    AllPriorsJoint()
    """
    return AllPriorsJoint() if centre is Centre.MARGINAL else AllPriors()


def personal_capacities(channel: Channel, divergence: Divergence | None = None) -> tuple[Bound, ...]:
    """For each record i, sup I(X_i; Y | X^{−i}): the personal MI-DP budgets that a channel keeps.

    Source: Cuff & Yu 2016, equation 56.

    >>> first = Channel([[1, 0], [1, 0], [0, 1], [0, 1]], inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> [round(bound.upper, 9) for bound in personal_capacities(first)]
    [0.693147181, 0.0]
    """
    ruler = Renyi(1.0) if divergence is None else divergence
    count = record_codes(channel).shape[1]
    return tuple(strong_adversary(StrongAdversary(records=(i,)), channel, ruler) for i in range(count))


def restricted(channel: Channel, members: NDArray[np.intp]) -> Channel:
    """The channel from these inputs alone.

    >>> restricted(Channel([[1.0], [1.0]]), np.array([1])).inputs
    (1,)
    """
    return Channel(
        channel.matrix[members], inputs=[channel.inputs[x] for x in members], outputs=channel.outputs
    )


def _allowed(adversary: StrongAdversary, count: int) -> tuple[int, ...]:
    records = tuple(range(count)) if adversary.records is None else tuple(sorted(set(adversary.records)))
    if not records or records[0] < 0 or records[-1] >= count or len(records) < adversary.size:
        raise InvalidParameter(
            f"`records` of `StrongAdversary` must be {adversary.size} "
            f"or more of 0 to {count - 1}. Got {records}."
        )
    return records


def _contexts(codes: Codes, unknown: tuple[int, ...]) -> Iterator[NDArray[np.intp]]:
    """The databases that agree in all records but the unknown ones, context by context."""
    _, context = np.unique(np.delete(codes, unknown, axis=1), axis=0, return_inverse=True)
    context = context.ravel()
    order = np.argsort(context, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(context[order])) + 1)


def _context(database: Hashable, unknown: tuple[int, ...]) -> tuple[Hashable, ...]:
    records = database if isinstance(database, tuple) else ()
    return tuple(value for i, value in enumerate(records) if i not in unknown)


def _coded(column: tuple[Hashable, ...]) -> list[int]:
    place = {value: code for code, value in enumerate(dict.fromkeys(column))}
    return [place[value] for value in column]
