"""Information privacy of one individual: log-lift of one record over beliefs within the limits of a class.

The class is Wu, Xia & He's: an entropy floor on the database, at most k dependent records, an extent, and ℓ
records that are uncertain by t each. For one record, value and output the question is one of branch and bound
(`record_floor`, `record_search`). Where only k of n records depend on each other, the rest is independent of
them, so that a lift is at most the largest over what the rest may be, and the group has an entropy of at
least b less the most that the rest can have; below, laws of the rest are tried.
Source: Wu, Xia & He 2017, assumption 1 and §4; the solution is this project's (docs/theory/channels.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from leakcap.adversary import DependentRecords, LimitedKnowledge
from leakcap.bound import Bound
from leakcap.capacities.records.databases import record_codes
from leakcap.capacities.records.dependence import dependent_records
from leakcap.capacities.records.dual import KnowledgeLimits, RecordDual
from leakcap.capacities.records.questions import LiftQuestion, above, below, cases, whole
from leakcap.capacities.records.search import LiftInterval, best_under_floor, best_under_limits
from leakcap.capacities.verb import solver
from leakcap.channel import Channel
from leakcap.divergence import Divergence, Renyi
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.numeric.logspace import Floats
from leakcap.numeric.rounding import down, up
from leakcap.progress import tracked

__all__ = ["Suspicion", "limited_knowledge"]

_SOURCE = "Wu, Xia & He 2017, assumption 1 and §4"
_CLOSE = 2e-6
_WHOLE = 8 * 2.0**-53


@dataclass(frozen=True)
class Suspicion:
    """Where a lift about one record is attained: the record, its value, the output and the belief before.

    `prior` is over the channel's inputs.
    """

    record: int
    value: object
    output: object
    prior: Floats


@solver.register
def limited_knowledge(adversary: LimitedKnowledge, channel: Channel, divergence: Divergence) -> Bound:
    """sup over the class, records, values and outputs of ln p(x_i|y)/p(x_i), certified at both ends.

    With an entropy floor alone the lift at one end is 1 + 1e-9 times that at the other, with other limits
    mostly 1 + 1e-6; with fewer dependent records than there are, the two may be further apart. The witness
    is a `Suspicion`.

    >>> from leakcap.capacities import capacity
    >>> rows = [[0.8, 0.2], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]
    >>> count = Channel(rows, inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> told = capacity(count, Renyi(math.inf), LimitedKnowledge(floor=2 * math.log(2)))
    >>> round(math.exp(told.upper), 8)  # uniform: (0.8 + 0.5)/2 beside ½
    1.3
    """
    if not (isinstance(divergence, Renyi) and math.isinf(divergence.alpha)):
        raise InvalidParameter(
            "`divergence` under limited knowledge must be `Renyi(math.inf)`, the log-lift. "
            f"Got {divergence!r}. For other orders ask `StrongAdversary()` or `BayesianAdversary()`."
        )
    tensor, places = _tensor(channel)
    sizes = tensor.shape[:-1]
    limits = _checked(adversary, sizes)
    most = min(adversary.dependents or len(sizes), len(sizes))
    if limits.floor == 0.0 and limits.least == 0.0:
        return dependent_records(DependentRecords(most, adversary.extent), channel, divergence)
    count = adversary.unknown if limits.least > 0.0 else 0
    if math.log(channel.shape[0]) - limits.floor <= _WHOLE * (1.0 + limits.floor):
        return _uniform(channel, tensor, places)
    if most == len(sizes):
        answer, where = _largest(whole(tensor, limits, count))
        upper = answer.proved
    else:
        answer, where = _largest(below(tensor, limits, count, most))
        ceiling, _ = _largest(above(tensor, limits, count, most), answer.reached)
        upper = ceiling.proved
        if upper > answer.reached * (1.0 + _CLOSE):
            # A record that depends on no other has an extent of 0, whatever the others do.
            together = replace(limits, extent=0.0) if most == 1 else limits
            upper = min(upper, _largest(whole(tensor, together, count), answer.reached)[0].proved)
    witness = None if where is None else _suspicion(channel, places, where, answer)
    reached = math.log(answer.reached)
    low = max(down(reached, 64 + channel.shape[0], 1.0 + reached), 0.0)
    high = up(math.log(upper), 64 + channel.shape[0], 1.0 + math.log(upper)) if upper < math.inf else upper
    name = (
        "log-lift of one record under limited knowledge: branch and bound over P(x_i), certified by duality"
    )
    return Bound(min(low, high), high, name, _SOURCE, witness=witness)


def _checked(adversary: LimitedKnowledge, sizes: tuple[int, ...]) -> KnowledgeLimits:
    most = sum(math.log(size) for size in sizes)
    floor = _at_most("floor", adversary.floor, most, "the entropy of the uniform belief")
    least = adversary.uncertainty if adversary.unknown else 0.0
    if adversary.unknown > len(sizes):
        raise InvalidParameter(
            f"`unknown` of `LimitedKnowledge` must be at most {len(sizes)}, the number of records. "
            f"Got {adversary.unknown}."
        )
    if least > 0.0:
        largest = sorted((math.log(size) for size in sizes), reverse=True)[adversary.unknown - 1]
        least = _at_most("uncertainty", least, largest, "the most that so many records can have")
    return KnowledgeLimits(floor, adversary.extent, least)


def _uniform(channel: Channel, tensor: Floats, places: tuple[Floats, ...]) -> Bound:
    """Only the uniform belief has enough entropy."""
    best, where = 1.0, (0, 0, 0)
    for record, value, output in cases(tensor, tuple(range(tensor.ndim - 1))):
        inside = np.take(tensor[..., output], value, axis=record)
        centre = float(tensor[..., output].mean())
        if centre > 0.0 and inside.mean() / centre > best:
            best, where = float(inside.mean()) / centre, (record, value, output)
    label = channel.inputs[int(np.flatnonzero(places[where[0]] == where[1])[0])]
    prior = np.full(channel.shape[0], 1.0 / channel.shape[0])
    value = label[where[0]] if isinstance(label, tuple) else where[1]
    witness = Suspicion(where[0], value, channel.outputs[where[2]], prior)
    low, high = (max(way(math.log(best), 64 + channel.shape[0], 1.0), 0.0) for way in (down, up))
    return Bound(
        low, high, "log-lift of one record: the uniform belief alone is left", _SOURCE, witness=witness
    )


def _at_most(name: str, value: float, most: float, what: str) -> float:
    if value > most * (1.0 + _WHOLE):
        raise InvalidParameter(
            f"`{name}` of `LimitedKnowledge` must be at most {most:.12g} nats, {what}. "
            f"Got {value!r}. Lower it."
        )
    return min(value, most)


def _tensor(channel: Channel) -> tuple[Floats, tuple[Floats, ...]]:
    """P(y | x) with one axis a record and one for the output, and where each input lies in it."""
    codes = record_codes(channel)
    sizes = tuple(int(n) + 1 for n in codes.max(axis=0))
    if math.prod(sizes) != len(codes) or len(np.unique(codes, axis=0)) != len(codes):
        raise InvalidChannel(
            "inputs of a channel under limited knowledge must be all combinations of the records' values. "
            f"Got {len(codes)} of {math.prod(sizes)}. Add the rows that are missing."
        )
    places = tuple(codes.T)
    tensor = np.empty((*sizes, channel.shape[1]))
    tensor[places] = channel.matrix
    return tensor, places


def _largest(
    questions: Iterator[LiftQuestion], known: float = 1.0
) -> tuple[LiftInterval, LiftQuestion | None]:
    """The largest answer; questions that ask the same are answered once, hopeless ones proved to be so."""
    asked: dict[tuple[object, ...], LiftQuestion] = {}
    for question in questions:
        asked.setdefault(question.key, question)
    duals = [(RecordDual(q.table, q.limits), q) for q in asked.values() if q.table.max() > 0.0]
    duals.sort(key=lambda pair: -pair[0].relaxed.ceiling)
    best, where = LiftInterval(known, known), None
    for dual, question in tracked(duals, "records, values and outputs"):
        found = _answered(dual, best.reached)
        belief, place = (found.belief, question) if found.belief is not None else (best.belief, where)
        best = LiftInterval(max(found.reached, best.reached), max(found.proved, best.proved), belief)
        where = place
        if math.isinf(best.reached):
            break
    return best, where


def _answered(dual: RecordDual, known: float) -> LiftInterval:
    limits = dual.limits
    if max(dual.relaxed.ceiling, 1.0) <= known and not dual.relaxed.unbounded:
        return LiftInterval(known, known)
    if math.isinf(limits.extent) and not limits.uncertain:
        return best_under_floor(dual, known)
    if limits.floor == 0.0:
        return _without_floor(dual, known)
    return best_under_limits(dual, known)


def _without_floor(dual: RecordDual, known: float) -> LiftInterval:
    """The extent alone: f/(e^{−d} least beside the same others + (1−e^{−d}) least of all)."""
    share, least = math.exp(-dual.limits.extent), np.vstack([dual.f0, dual.f1]).min(axis=0)
    centre = share * least + (1.0 - share) * least.min()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(dual.f0 > 0.0, dual.f0 / centre, 0.0)
    return LiftInterval(known, max(float(ratio.max()) * (1.0 + 1e-14), known))


def _suspicion(
    channel: Channel, places: tuple[Floats, ...], question: LiftQuestion, answer: LiftInterval
) -> Suspicion | None:
    if answer.belief is None:
        return None
    size = answer.belief.shape[0]
    order = [question.value, *(v for v in range(size) if v != question.value)]
    belief = np.empty_like(answer.belief)
    belief[order] = answer.belief
    rest = np.ones(()) if question.rest is None else question.rest
    joint = np.multiply.outer(belief, rest)
    others = [j for j in range(len(places)) if j not in question.group]
    prior = np.moveaxis(joint, range(joint.ndim), (*question.group, *others))[places]
    first = int(np.flatnonzero(places[question.record] == question.value)[0])
    label = channel.inputs[first]
    value = label[question.record] if isinstance(label, tuple) else question.value
    return Suspicion(question.record, value, channel.outputs[question.output], np.asarray(prior))
