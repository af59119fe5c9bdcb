"""Genomes of a family: what a noisy allele count over relatives tells about one of them, exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from leakcap.attack.correlated.pedigree import Factor, Pedigree, eliminate, transmission
from leakcap.attack.correlated.sums import Sums
from leakcap.errors import require
from leakcap.numeric.logspace import Floats

__all__ = ["genomes"]

Tag = Callable[[int, tuple[int, ...]], int]
"""What a person adds up, from the person's number and the genotypes of parents (if any) and person."""


def genomes(pedigree: Pedigree, person: int, frequency: float, *, families: int = 1) -> Sums:
    """The law of the allele count over `families` independent families like this one, given one person's.

    Everybody has 0, 1 or 2 copies of an allele; founders draw each copy with probability `frequency`,
    children get one copy of each parent at random. The sum's law is exact, by dynamic programming over the
    pedigree; so are the beliefs of somebody who knows everybody else's genotype, of which only those of the
    parents, the partners and the children matter.

    Source: Wu, Xia & He 2017, the old man's 100 descendants; Mendel's laws.

    >>> from leakcap.attack.correlated.pedigree import siblings
    >>> trio = genomes(siblings(1), 2, 0.5)
    >>> trio.prior, round(trio.extent, 6) == round(math.log(4.0), 6)
    ((0.25, 0.5, 0.25), True)
    """
    owner = "genomes"
    require(0 <= person < len(pedigree), "person", owner, f"be one of 0, …, {len(pedigree) - 1}", person)
    require(0.0 < frequency < 1.0, "frequency", owner, "lie strictly between 0 and 1", frequency)
    require(families >= 1, "families", owner, "be at least 1", families)
    # Each person is counted: the last axis is the sum of everybody's alleles.
    joint = eliminate(_factors(pedigree, frequency, lambda _, genotypes: genotypes[-1], 2), [person]).table
    prior = joint.sum(axis=1)
    given = joint / prior[:, None]
    if families > 1:
        rest = _power(joint.sum(axis=0), families - 1)
        given = np.stack([np.convolve(row, rest) for row in given])
    known = tuple(_known(pedigree, person, frequency))
    extent = max(
        math.log(b / p) for _, belief in known for b, p in zip(belief, prior, strict=True) if b > 0.0
    )
    name = f"genomes of {families} {'families' if families > 1 else 'family'} of {len(pedigree)}"
    law = tuple(prior.tolist())
    return Sums(name, given, law, pedigree.relatives(person), extent, known, values=(0, 1, 2), step=2)


def _factors(pedigree: Pedigree, frequency: float, tag: Tag, most: int) -> Iterator[Factor]:
    """One table a person: the chance of the genotype, times the number that the person adds up."""
    founder = np.convolve([1.0 - frequency, frequency], [1.0 - frequency, frequency])
    child = transmission()
    for person, pair in enumerate(pedigree.parents):
        scope = (person,) if pair is None else (*sorted(pair), person)
        chances = founder if pair is None else child
        table = np.zeros((*chances.shape, most + 1))
        for genotypes, chance in np.ndenumerate(chances):
            table[(*genotypes, tag(person, genotypes))] = chance
        yield Factor(
            scope, table[..., : 1 + int(np.flatnonzero(table.any(axis=tuple(range(len(scope))))).max())]
        )


def _known(pedigree: Pedigree, person: int, frequency: float) -> Iterator[tuple[float, tuple[float, ...]]]:
    """(weight, belief about the person) over all that the others' genotypes can say.

    A child says which allele it got from the person, or, where both parents could have given it, nothing. So
    the parents' genotypes and two counts of children suffice: of those who got allele 0, and allele 1.
    """
    own = set(pedigree.children(person))
    unit = len(own) + 1

    def tag(child: int, genotypes: tuple[int, ...]) -> int:
        if child not in own:
            return 0
        pair = sorted(pedigree.parents[child] or ())
        got = genotypes[2] - genotypes[1 - pair.index(person)] / 2.0  # less what the partner gives on average
        return 0 if got == 0.5 else (unit if got > 0.5 else 1)

    parents = pedigree.parents[person] or ()
    found = eliminate(_factors(pedigree, frequency, tag, unit), [person, *parents])
    cells = np.moveaxis(found.table, found.scope.index(person), 0).reshape(3, -1)
    mass = cells.sum(axis=0)
    for weight, cell in zip(
        mass[mass > 0.0].tolist(), (cells[:, mass > 0.0] / mass[mass > 0.0]).T, strict=True
    ):
        yield weight, tuple(cell.tolist())


def _power(law: Floats, times: int) -> Floats:
    """The law of the sum of so many independent copies, by squaring."""
    out = np.ones(1)
    while times:
        if times & 1:
            out = np.convolve(out, law)
        law, times = np.convolve(law, law), times >> 1
    return out
