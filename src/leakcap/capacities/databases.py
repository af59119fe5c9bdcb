"""Channels on databases: their inputs are tuples with one entry a record.

- `StrongAdversary()`: all other records known, any distribution: MI-DP itself (Cuff & Yu 2016, definition 2).
- `StrongAdversary(records=(i,))`: personal budgets (§6.1). `StrongAdversary(size=k)`: groups of k records.
- `AllPriors()`: free-lunch privacy (§6.2). `GivenPrior(prior)`: adversarial privacy (§6.4).
- `BayesianAdversary(prior)`, `BayesianNeighbours(prior)`: Bayesian differential privacy (§6.3).

The conditional information is linear in the distribution of what is known, so its supremum sits at one
known context: MI-DP is the largest Shannon capacity of the channels from one record, the others held still.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations, product

import numpy as np
from numpy.typing import NDArray

from leakcap.adversary import AllPriors, BayesianAdversary, BayesianNeighbours, Neighbours, StrongAdversary
from leakcap.bound import Bound
from leakcap.capacities.diameter import diameter
from leakcap.capacities.verb import solve
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.numeric.logspace import Floats
from leakcap.progress import tracked

__all__ = ["Known", "hamming_neighbours", "personal_capacities", "record_codes", "strong_adversary"]

_SUBSETS = 1 << 16
"""Pairs of a record and a known subset that are tried; 13 records have 53,248 of them."""

_CHOICES = 1 << 12
"""Channels with one database for each value of a record that are solved."""

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Known:
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


@solve.register
def strong_adversary(adversary: StrongAdversary, channel: Channel, divergence: Divergence) -> Bound:
    """sup over groups of unknown records and contexts of the capacity of what remains; witness: `Known`.

    A Rényi order asks the information (the radius, over all beliefs); hockey-stick and total variation
    compare two databases that agree in what is known: δ of (ε, δ)-DP.

    >>> from leakcap.capacities import capacity
    >>> both = Channel([[1, 0], [0, 1], [0, 1], [1, 0]], inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> round(capacity(both, Renyi(1.0), StrongAdversary()).upper, 8)
    0.69314718
    """
    codes = record_codes(channel)
    allowed = _allowed(adversary, codes.shape[1])
    inner = AllPriors() if isinstance(divergence, Renyi) else Neighbours()
    solved: dict[bytes, Bound] = {}
    best, where, upper = None, None, 0.0
    for unknown in combinations(allowed, adversary.size):
        for members in tracked(_contexts(codes, unknown), f"databases, records {unknown} unknown"):
            part = _part(channel, members)
            key = part.matrix.tobytes()
            if key not in solved:
                solved[key] = solve(inner, part, divergence)
            bound = solved[key]
            upper = max(upper, bound.upper)
            if best is None or bound.lower > best.lower:
                best, where = (
                    bound,
                    Known(unknown, _context(part.inputs[0], unknown), part.inputs, bound.witness),
                )
    if best is None:
        raise InvalidParameter(
            "`records` of `StrongAdversary` must leave at least `size` records. Name more."
        )
    method = f"largest of {len(solved)} channels from {adversary.size} unknown record(s): {best.method}"
    return Bound(best.lower, upper, method, "Cuff & Yu 2016, definition 2", best.unit, where)


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


@solve.register
def bayesian_adversary(adversary: BayesianAdversary, channel: Channel, divergence: Divergence) -> Bound:
    """max over records i and known subsets S of I(X_i; Y | X_S).

    The witness is (i, S), or `Known` where the belief is free.
    """
    if not (isinstance(divergence, Renyi) and divergence.alpha == 1.0):
        raise InvalidParameter(
            "`divergence` of a `BayesianAdversary` must be "
            f"`Renyi(1)`, the mutual information. Got {divergence!r}. "
            "Compare two values of a record with `BayesianNeighbours(prior)`."
        )
    if adversary.prior is None:
        return _any_belief(channel, divergence)
    prior = as_prior(adversary.prior, channel.shape[0])
    best, where = 0.0, (0, frozenset[int]())
    for record, known in tracked(_record_and_known(channel), "records and known subsets"):
        total = 0.0
        for mass, belief, rows in _conditionals(channel, prior, record, known):
            total += mass * float(belief @ divergence.between(rows, belief @ rows))
        if total > best:
            best, where = total, (record, frozenset(known))
    method = "largest conditional information over records and known subsets"
    return Bound.exact(best, method=method, source="Cuff & Yu 2016, equation 61", witness=where)


@solve.register
def bayesian_neighbours(adversary: BayesianNeighbours, channel: Channel, divergence: Divergence) -> Bound:
    """max over records i, known subsets S and values of D(P_{Y|x_i,x_S} ‖ P_{Y|x_i',x_S}); witness (i, S)."""
    prior = as_prior(adversary.prior, channel.shape[0])
    best, where = 0.0, (0, frozenset[int]())
    for record, known in tracked(_record_and_known(channel), "records and known subsets"):
        for _, _, rows in _conditionals(channel, prior, record, known):
            value = diameter(Neighbours(), Channel(rows), divergence).upper
            if value > best:
                best, where = value, (record, frozenset(known))
    method = "diameter over records and known subsets, the others averaged by the prior"
    source = "Cuff & Yu 2016, equation 60"
    return Bound.exact(best, method=method, source=source, unit=divergence.unit, witness=where)


def _any_belief(channel: Channel, divergence: Divergence) -> Bound:
    """sup I(X_i; Y) over all beliefs: one database for each value of x_i is enough.

    For the information is convex in P(x_{−i} | x_i). Knowing some records only narrows the choice.
    """
    codes = record_codes(channel)
    solved: dict[frozenset[bytes], Bound] = {}
    best, where, upper = None, None, 0.0
    for record in range(codes.shape[1]):
        groups = [np.flatnonzero(codes[:, record] == value) for value in np.unique(codes[:, record])]
        _check_choices(math.prod(len(group) for group in groups))
        for chosen in tracked(product(*groups), f"databases, beliefs about record {record}"):
            part = _part(channel, np.array(chosen, dtype=np.intp))
            key = frozenset(row.tobytes() for row in part.matrix)
            if key not in solved:
                solved[key] = solve(AllPriors(), part, divergence)
                upper = max(upper, solved[key].upper)
                if best is None or solved[key].lower > best.lower:
                    best = solved[key]
                    where = Known((record,), (), part.inputs, best.witness)
    lower = best.lower if best is not None else 0.0
    method = f"largest of {len(solved)} channels with one database for each value of a record"
    return Bound(lower, upper, method, "Cuff & Yu 2016, remark after equation 61", witness=where)


def _part(channel: Channel, members: NDArray[np.intp]) -> Channel:
    return Channel(
        channel.matrix[members], inputs=[channel.inputs[x] for x in members], outputs=channel.outputs
    )


def _check_choices(count: int) -> None:
    if count > _CHOICES:
        raise InvalidParameter(
            f"a `BayesianAdversary` over all beliefs must leave at most {_CHOICES} ways to pick one database "
            f"for each value of a record. Got {count}. Give a prior, or use the bound of `AllPriors()`."
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


def _record_and_known(channel: Channel) -> Iterator[tuple[int, tuple[int, ...]]]:
    count = record_codes(channel).shape[1]
    if count << (count - 1) > _SUBSETS:
        raise InvalidChannel(
            "a Bayesian adversary can be tried on databases of "
            f"up to 13 records. Got {count}: too many subsets. "
            "Fix some records, or ask `StrongAdversary()`."
        )
    for record in range(count):
        others = [i for i in range(count) if i != record]
        for known in chain.from_iterable(combinations(others, size) for size in range(count)):
            yield record, known


def _conditionals(
    channel: Channel, prior: Floats, record: int, known: tuple[int, ...]
) -> Iterator[tuple[float, Floats, Floats]]:
    """For each value of the known records: its probability, the belief about x_i, P(y | x_i, x_S)."""
    live = prior > 0
    codes, weights, rows = record_codes(channel)[live], prior[live], channel.matrix[live]
    cells, cell = np.unique(codes[:, [*known, record]], axis=0, return_inverse=True)
    mass = np.bincount(cell.ravel(), weights=weights)
    joint = np.zeros((len(cells), rows.shape[1]))
    np.add.at(joint, cell.ravel(), weights[:, None] * rows)
    conditional = joint / mass[:, None]
    changes = (np.diff(cells[:, :-1], axis=0) != 0).any(axis=1)
    for members in np.split(np.arange(len(cells)), np.flatnonzero(changes) + 1):
        total = float(mass[members].sum())
        yield total, mass[members] / total, conditional[members]


def _coded(column: tuple[Hashable, ...]) -> list[int]:
    place = {value: code for code, value in enumerate(dict.fromkeys(column))}
    return [place[value] for value in column]
