"""The questions about one record: one for each record, value, output and choice of who depends on whom."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from leakcap.capacities.records.dual import KnowledgeLimits
from leakcap.numeric import entropy
from leakcap.numeric.logspace import Floats

__all__ = ["LiftQuestion", "above", "below", "cases", "whole"]

_WHOLE = 8 * 2.0**-53
_SHARES = (0.0, 0.05, 0.15, 0.3, 0.5, 0.75, 1.0)
"""How far the laws of independent records that are tried go from certainty to uniform."""


@dataclass(frozen=True)
class LiftQuestion:
    """Likelihoods of one output with the record first, its value first, and the law of all other records."""

    table: Floats
    limits: KnowledgeLimits
    record: int
    value: int
    output: int
    group: tuple[int, ...] = ()
    rest: Floats | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for questions with equal answers: under a floor alone, the two sets of likelihoods matter."""
        limits, table = self.limits, self.table
        if math.isinf(limits.extent) and not limits.uncertain:
            flat = table.reshape(table.shape[0], -1)
            return limits.floor, np.sort(flat[0]).tobytes(), np.sort(flat[1:].ravel()).tobytes()
        return limits, table.shape, table.tobytes()


def _turned(array: Floats, axes: tuple[int, ...], value: int) -> Floats:
    """Only these axes, in this order, with one value of the first put first."""
    moved = np.moveaxis(array, axes, range(len(axes)))
    order = [value, *(v for v in range(moved.shape[0]) if v != value)]
    return np.asarray(moved[order])


def cases(tensor: Floats, group: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Every record of a group, its values, and the outputs that are possible at all."""
    for record in group:
        if tensor.shape[record] > 1:
            for value, output in product(range(tensor.shape[record]), range(tensor.shape[-1])):
                yield record, value, output


def _limited(
    limits: KnowledgeLimits, floor: float, count: int, sizes: tuple[int, ...]
) -> Iterator[KnowledgeLimits]:
    """Every choice of the records that are uncertain; a record's entropy is one of the database too."""
    able = [j for j, size in enumerate(sizes) if math.log(size) >= limits.least * (1.0 - _WHOLE)]
    for chosen in combinations(able, count):
        least = limits.least if chosen else 0.0
        yield replace(limits, floor=max(floor, least), least=least, uncertain=chosen)


def whole(tensor: Floats, limits: KnowledgeLimits, count: int) -> Iterator[LiftQuestion]:
    """All records may depend on each other."""
    everybody = tuple(range(tensor.ndim - 1))
    for record, value, output in cases(tensor, everybody):
        axes = (record, *(j for j in everybody if j != record))
        table = _turned(tensor[..., output], axes, value)
        for these in _limited(limits, limits.floor, count, table.shape):
            yield LiftQuestion(table, these, record, value, output, axes)


def _groups(tensor: Floats, most: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    everybody = range(tensor.ndim - 1)
    for group in combinations(everybody, most):
        yield group, tuple(j for j in everybody if j not in group)


def above(tensor: Floats, limits: KnowledgeLimits, count: int, most: int) -> Iterator[LiftQuestion]:
    """The rest held still, with all the entropy that it can have."""
    for group, rest in _groups(tensor, most):
        sizes = [tensor.shape[j] for j in rest]
        floor = max(limits.floor - sum(math.log(size) for size in sizes), 0.0)
        for record, value, output in cases(tensor, group):
            axes = (record, *(j for j in group if j != record))
            moved = _turned(tensor[..., output], axes, value)
            settings = moved.reshape(*moved.shape[: len(group)], -1)
            for setting in range(settings.shape[-1]):
                table = np.ascontiguousarray(settings[..., setting])
                for these in _limited(limits, floor, max(count - len(rest), 0), table.shape):
                    yield LiftQuestion(table, these, record, value, output, axes)


def below(tensor: Floats, limits: KnowledgeLimits, count: int, most: int) -> Iterator[LiftQuestion]:
    """The rest with laws of its own: uniform, known, and between."""
    for group, rest in _groups(tensor, most):
        laws = list(_laws([tensor.shape[j] for j in rest], limits.least))
        for record, value, output in cases(tensor, group):
            axes = (record, *(j for j in group if j != record))
            moved = _turned(tensor[..., output], axes, value)
            for law, spread, unsure in laws:
                table = np.tensordot(moved, law, axes=law.ndim)
                floor = max(limits.floor - spread, 0.0)
                for these in _limited(limits, floor, max(count - unsure, 0), table.shape):
                    yield LiftQuestion(table, these, record, value, output, axes, law)


def _laws(sizes: list[int], least: float) -> Iterator[tuple[Floats, float, int]]:
    """Laws of independent records: their product, its entropy, how many have `least` nats."""
    seen: set[bytes] = set()
    for still in product(*(range(size) for size in sizes)):
        for share in _SHARES:
            singles = [
                (1.0 - share) * np.eye(size)[value] + share / size
                for size, value in zip(sizes, still, strict=True)
            ]
            law = np.ones(())
            for single in singles:
                law = np.multiply.outer(law, single)
            if law.tobytes() not in seen:
                seen.add(law.tobytes())
                spreads = [float(entropy(single)) for single in singles]
                # A whole entropy is a logarithm: the sum of rounded terms may miss it by a digit.
                whole = [
                    math.log(size) if share == 1.0 else h for size, h in zip(sizes, spreads, strict=True)
                ]
                unsure = sum(h >= least for h in whole) if least > 0.0 else 0
                yield law, sum(whole), unsure
