"""Bayesian differential privacy: one individual of a database whose other records are partly known, or not.

- `BayesianAdversary(prior)`: one belief about the database, any subset of the other records known.
- `BayesianAdversary()`: the supremum over all beliefs about the database.
- `BayesianNeighbours(prior)`: two values of one record compared under one belief.

Source: Cuff & Yu 2016, §6.3, for the order 1. At order α the joint law of record, output and known records is
compared with the law that makes record and output independent given the known ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain, combinations, product

import numpy as np

from leakcap.adversary import BayesianAdversary, BayesianNeighbours, Centre, Neighbours
from leakcap.bound import Bound
from leakcap.capacities.diameter import diameter
from leakcap.capacities.given import information_ends
from leakcap.capacities.records.databases import KnownRecords, over_beliefs, record_codes, restricted
from leakcap.capacities.solvers.columns import row_residue
from leakcap.capacities.verb import solve, solver
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.numeric.logspace import Floats, logsumexp
from leakcap.numeric.rounding import down, up
from leakcap.progress import tracked

__all__ = ["bayesian_adversary", "bayesian_neighbours"]

_UNIT = 2.0**-53
_SUBSETS = 1 << 16
"""Pairs of a record and a known subset that are tried; 13 records have 53,248 of them."""

_CHOICES = 1 << 12
"""Channels with one database for each value of a record that are solved."""


@solver.register
def bayesian_adversary(adversary: BayesianAdversary, channel: Channel, divergence: Divergence) -> Bound:
    """max over records i and known subsets S of the information of order α that Y has of X_i given X_S.

    At α = 1 that is I(X_i; Y | X_S), else D_α(P ‖ P_{X_S} × P_{X_i|X_S} × Q_{Y|X_S}), Q the output's own law
    (`Centre.MARGINAL`, the default) or the best (`Centre.SIBSON`). Without a prior the largest over all
    beliefs: at α = ∞ the ε of databases at any distance. The witness is (i, S), or
    `KnownRecords` where the belief is free.

    >>> from leakcap.capacities import capacity
    >>> rows = [[0.8, 0.2], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]
    >>> count = Channel(rows, inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> round(math.exp(capacity(count, Renyi(math.inf), BayesianAdversary()).upper), 9)
    4.0
    """
    if not isinstance(divergence, Renyi):
        raise InvalidParameter(
            f"`divergence` of a `BayesianAdversary` must be a `Renyi` order. Got {divergence!r}. "
            "Compare two values of a record with `BayesianNeighbours(prior)`."
        )
    if adversary.prior is None:
        return _any_belief(adversary.centre, channel, divergence)
    prior = as_prior(adversary.prior, channel.shape[0])
    best, most, where = 0.0, 0.0, (0, frozenset[int]())
    units = _units(channel)
    for record, known in tracked(_record_and_known(channel), "records and known subsets"):
        told = _told(adversary.centre, divergence, _conditionals(channel, prior, record, known), units)
        low = _averaged(divergence.alpha, [(mass, least) for mass, least, _ in told])
        high = _averaged(divergence.alpha, [(mass, greatest) for mass, _, greatest in told])
        size = 0.0 if divergence.alpha in (1.0, math.inf) else 1.0 / abs(divergence.alpha - 1.0)
        low, high = down(low, len(told) + 16, size + abs(low)), up(high, len(told) + 16, size + abs(high))
        if low > best:
            best, where = low, (record, frozenset(known))
        most = max(most, high)
    method = "largest conditional information over records and known subsets"
    ends = min(best, most), most
    return Bound.enclosed(ends, method=method, source="Cuff & Yu 2016, equation 61", witness=where)


def _units(channel: Channel) -> float:
    """How many halves of a last place the average of rows can be off by."""
    return 4.0 * channel.shape[0] + row_residue(channel) / _UNIT


def _told(
    centre: Centre, order: Renyi, cases: Iterable[tuple[float, Floats, Floats]], units: float
) -> list[tuple[float, float, float]]:
    """For each value of what is known: its probability and both ends of the information of order α about the
    record. Those with equally many values of the record are computed together.
    """
    alike: dict[int, list[tuple[float, Floats, Floats]]] = {}
    for case in cases:
        alike.setdefault(case[1].size, []).append(case)
    told = []
    for group in alike.values():
        low, high = _informations(
            centre,
            order,
            np.stack([belief for _, belief, _ in group]),
            np.stack([c[2] for c in group]),
            units,
        )
        told += [
            (mass, *ends) for (mass, _, _), *ends in zip(group, low.tolist(), high.tolist(), strict=True)
        ]
    return told


def _informations(
    centre: Centre, order: Renyi, beliefs: Floats, rows: Floats, units: float
) -> tuple[Floats, Floats]:
    """Both ends of the information of order α: beliefs (cases, values), rows (cases, values, outputs)."""
    mixed = beliefs[:, None, :] @ rows
    if order.alpha == 1.0:
        value = np.sum(beliefs * order.between(rows, mixed), axis=1)
        error = np.sum(beliefs * order.error(rows, mixed, units), axis=1) + units * _UNIT * value
        return np.maximum(value - error, 0.0), value + error
    joint, product_law = ((beliefs[:, :, None] * law).reshape(len(rows), -1) for law in (rows, mixed))
    error = order.error(joint, product_law, units)
    if centre is Centre.SIBSON:
        pairs = zip(rows, beliefs, strict=True)
        ends = np.array([information_ends(Channel(row), belief, order.alpha) for row, belief in pairs])
        return np.maximum(ends[:, 0] - error, 0.0), ends[:, 1] + error
    value = np.maximum(order.between(joint, product_law), 0.0)
    return np.maximum(value - error, 0.0), value + error


def _averaged(alpha: float, told: list[tuple[float, float]]) -> float:
    """(1/(α−1)) ln Σ p e^{(α−1)D}: the mean at α = 1, the largest at ∞."""
    masses, values = np.array(told).T
    if math.isinf(alpha) or np.isinf(values).any():
        return float(values.max()) if alpha >= 1.0 else _finite(alpha, masses, values)
    if alpha == 1.0:
        return float(masses @ values)
    return float(logsumexp(np.log(masses) + (alpha - 1.0) * values)) / (alpha - 1.0)


def _finite(alpha: float, masses: Floats, values: Floats) -> float:
    """For α < 1: a value of ∞ adds nothing to the sum."""
    live = np.isfinite(values)
    if not live.any():
        return math.inf
    return float(logsumexp(np.log(masses[live]) + (alpha - 1.0) * values[live])) / (alpha - 1.0)


@solver.register
def bayesian_neighbours(adversary: BayesianNeighbours, channel: Channel, divergence: Divergence) -> Bound:
    """max over records i, known subsets S and values of D(P_{Y|x_i,x_S} ‖ P_{Y|x_i',x_S}); witness (i, S)."""
    prior = as_prior(adversary.prior, channel.shape[0])
    best, most, where = 0.0, 0.0, (0, frozenset[int]())
    units = _units(channel)
    for record, known in tracked(_record_and_known(channel), "records and known subsets"):
        for _, _, rows in _conditionals(channel, prior, record, known):
            found = diameter(Neighbours(), Channel(rows), divergence)
            moved = 0.0
            if math.isfinite(found.upper) and isinstance(found.witness, tuple):
                p, q = (rows[place] for place in found.witness)
                moved = 2.0 * max(float(divergence.error(*pair, units)) for pair in ((p, q), (q, p)))
            if found.lower - moved > best:
                best, where = found.lower - moved, (record, frozenset(known))
            most = max(most, found.upper + moved)
    method = "diameter over records and known subsets, the others averaged by the prior"
    source = "Cuff & Yu 2016, equation 60"
    return Bound.enclosed((best, up(most)), method=method, source=source, unit=divergence.unit, witness=where)


def _any_belief(centre: Centre, channel: Channel, divergence: Renyi) -> Bound:
    """The sup over all beliefs: one database for each value of x_i is enough.

    For P(x_i) held still, D_α is quasi-convex in the pair (P_{X_iY}, P_{X_i} × Q), and that is linear in
    P(x_{−i} | x_i) and Q. Knowing some records only narrows the choice.
    """
    codes = record_codes(channel)
    solved: dict[frozenset[bytes], Bound] = {}
    best, where, upper = None, None, 0.0
    for record in range(codes.shape[1]):
        groups = [np.flatnonzero(codes[:, record] == value) for value in np.unique(codes[:, record])]
        _check_choices(math.prod(len(group) for group in groups))
        for chosen in tracked(product(*groups), f"databases, beliefs about record {record}"):
            part = restricted(channel, np.array(chosen, dtype=np.intp))
            key = frozenset(row.tobytes() for row in part.matrix)
            if key not in solved:
                solved[key] = solve(over_beliefs(centre), Channel(part.matrix), divergence)
                upper = max(upper, solved[key].upper)
                if best is None or solved[key].lower > best.lower:
                    best = solved[key]
                    where = KnownRecords((record,), (), part.inputs, best.witness)
    lower, how = (best.lower, best.method) if best is not None else (0.0, "no records")
    method = f"largest of {len(solved)} channels with one database for each value of a record: {how}"
    return Bound(lower, upper, method, "Cuff & Yu 2016, remark after equation 61", witness=where)


def _check_choices(count: int) -> None:
    if count > _CHOICES:
        raise InvalidParameter(
            f"a `BayesianAdversary` over all beliefs must leave at most {_CHOICES} ways to pick one database "
            f"for each value of a record. Got {count}. Give a prior, or use the bound of `AllPriors()`."
        )


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
