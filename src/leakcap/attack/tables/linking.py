"""Linkage of a published file: whose records they are, by a register of people with their public values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from leakcap.attack.tables.assigning import Contradiction, chances, parts, possible_pairs
from leakcap.attack.tables.released import ReleasedFile, boxes_of_people
from leakcap.attack.value import Finding, raised
from leakcap.errors import InvalidInput, InvalidParameter

__all__ = ["LinkedFile", "Whose", "link_file"]

Whose: TypeAlias = Literal["everybody", "some"]
_GUARD = "noise in every count; coarse values limit nobody who knows who is there"
_SHOWN = 50


@dataclass(frozen=True, kw_only=True)
class LinkedFile(Finding):
    """got = what is sure, or how often a guess is right; at_most = what both files allow.

    `k` is how many records have the same published values at least, `claimed` what the office says of it, and
    `fewest` how many records can be one person's at least, once those are ruled out that others must have.
    `lines` are those of the register of whom something is sure, and `if_there` counts further people of whom
    it is sure if they are in the file. `left_out` are people whose chances take too long to add up.
    """

    k: int
    claimed: int | None
    fewest: int
    records: int
    people: int
    lines: tuple[str, ...] = ()
    if_there: int = 0
    left_out: int = 0


def link_file(
    files: ReleasedFile, *, register: Whose = "everybody", k: int | None = None
) -> tuple[LinkedFile, ...]:
    """Link a published file with a register: records with their people, secrets that are sure, and guesses.

    A register of `everybody` has all people of the file, and may have more; one of `some` has people who are
    in the file for sure, beside others. Nothing else is known: all ways in which the people can be behind the
    records are possible, and for a guess equally likely. What is sure is so in every way, and what is not
    counted as sure is shown not to be: both are found by a flow. The guess is about somebody who is known to
    be in the file: linking names the value that stands most often in the records that fit. Its limit is the
    best guess by all ways together.

    Source: Sweeney 2002; Machanavajjhala et al. 2007 (secrets that are all alike).

    >>> file = ReleasedFile([("20-29", "1*")] * 2, ["flu", "flu"], [("25", "12"), ("27", "13")])
    >>> records, secrets, guess = link_file(file)
    >>> records.got, secrets.got, guess.got, records.k
    (0.0, 2.0, 1.0, 2)
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise InvalidParameter(f"`k` of `link_file` must be a whole number from 1. Got {k!r}.")
    if register not in ("everybody", "some"):
        raise InvalidParameter(f'`register` of `link_file` must be "everybody" or "some". Got {register!r}.')
    left = len(files.people) - len(files.shown)
    if left < 0 and register == "everybody":
        raise InvalidInput(
            f"A register of everybody must have at least as many people as the file has records. Got "
            f"{len(files.people):,} and {len(files.shown):,}: is it a register of some?"
        )
    if left > 0 and register == "some":
        raise InvalidInput(
            f"People who are all in the file must be no more than its records. Got {len(files.people):,} "
            f"and {len(files.shown):,}: is it a register of everybody?"
        )
    return _Link(files, k).findings()


class _Link:
    """The kinds of people and of records, and the pairs that occur in some way."""

    def __init__(self, files: ReleasedFile, claimed: int | None) -> None:
        self.files, self.claimed = files, claimed
        boxes = list(dict.fromkeys(files.shown))
        self.in_box: list[Counter[str]] = [Counter() for _ in boxes]
        place = {box: number for number, box in enumerate(boxes)}
        for shown, secret in zip(files.shown, files.secrets, strict=True):
            self.in_box[place[shown]][secret] += 1
        self.sizes = [own.total() for own in self.in_box]
        kinds: dict[tuple[int, ...], list[int]] = {}
        for line, fits in enumerate(boxes_of_people(files, boxes)):
            kinds.setdefault(fits, []).append(line)
        self.fits, self.lines = list(kinds), list(kinds.values())
        self.counts = list(map(len, self.lines))
        together = {(i, j) for i, own in enumerate(self.fits) for j in own}
        try:
            self.pairs, self.absent = possible_pairs(self.counts, self.sizes, together)
        except Contradiction:
            raise InvalidInput(
                "These people cannot be behind these records: some records fit fewer people than there are "
                "of them, or some people no record. Is it a register of everybody, or of some?"
            ) from None
        self.options: list[list[int]] = [[] for _ in self.fits]
        for i, j in sorted(self.pairs):
            self.options[i].append(j)

    def findings(self) -> tuple[LinkedFile, ...]:
        """Records whose person is sure, secrets that are sure, and guesses."""
        alone = [i for i, own in enumerate(self.options) if sum(self.sizes[j] for j in own) == 1]
        told = [i for i, own in enumerate(self.options) if len({s for j in own for s in self.in_box[j]}) == 1]
        known = [i for i in alone if i not in self.absent]
        sure = [i for i in told if i not in self.absent]
        secret = self.files.secret
        return (
            self._sure("records whose person is sure", "records", known, alone),
            self._sure(f"people whose {secret} is sure", "people", sure, told),
            *self._guess(),
        )

    def _sure(self, called: str, unit: str, kinds: Sequence[int], if_there: Sequence[int]) -> LinkedFile:
        count = sum(self.counts[i] for i in kinds)
        lines = sorted(2 + line for i in kinds for line in self.lines[i])
        more = sum(self.counts[i] for i in if_there) - count
        return self._made(called, float(count), float(count), unit, lines=lines, if_there=more)

    def _guess(self) -> list[LinkedFile]:
        """How often linking names the secret of somebody in the file, and how often the best guess does."""
        right, best, weight, computed = list[float](), list[float](), list[float](), 0
        for own, boxes in parts(len(self.fits), len(self.sizes), self.pairs):
            if not (own and boxes):
                continue
            place = {j: at for at, j in enumerate(boxes)}
            near = {(at, place[j]) for at, i in enumerate(own) for j in self.options[i]}
            seen = chances([self.counts[i] for i in own], [self.sizes[j] for j in boxes], near)
            if seen is None:
                continue
            for at, i in enumerate(own):
                law: dict[str, float] = {}
                for share, j in zip(seen[at].tolist(), boxes, strict=True):
                    for secret, many in self.in_box[j].items():
                        law[secret] = law.get(secret, 0.0) + share * many / self.sizes[j]
                right.append(law.get(self._named(i), 0.0) * self.counts[i])
                best.append(max(law.values()) * self.counts[i])
                weight.append(math.fsum(law.values()) * self.counts[i])
                computed += self.counts[i]
        if not computed:
            return []
        limit = math.fsum(best) / math.fsum(weight)
        got = min(math.fsum(right) / math.fsum(weight), limit)
        left = sum(many for many, own in zip(self.counts, self.fits, strict=True) if own) - computed
        called = f"{self.files.secret} named by linking"
        return [self._made(called, got, raised(limit, 1.0), "probability", left_out=left)]

    def _named(self, kind: int) -> str:
        """The value that stands most often in the records that fit these people."""
        named = sum((self.in_box[j] for j in self.fits[kind]), Counter[str]())
        return max(named, key=lambda one: (named[one], one))

    def _made(
        self,
        called: str,
        got: float,
        most: float,
        unit: str,
        *,
        lines: Sequence[int] = (),
        if_there: int = 0,
        left_out: int = 0,
    ) -> LinkedFile:
        more = ["…"] if len(lines) > _SHOWN else []
        return LinkedFile(
            attack=called,
            got=got,
            at_most=most,
            unit=unit,
            stopped_by=_GUARD,
            k=min(self.sizes),
            claimed=self.claimed,
            fewest=min(sum(self.sizes[j] for j in own) for own in self.options if own),
            records=len(self.files.shown),
            people=len(self.files.people),
            lines=(*map(str, lines[:_SHOWN]), *more),
            if_there=if_there,
            left_out=left_out,
        )
