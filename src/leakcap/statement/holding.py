"""What a line holds for, where answers were asked one after another.

Most lines are of the sums that were reached. They hold for whoever keeps to these sums, as if they were caps,
in the mean over the noise, and not at a moment that somebody chooses by what they saw: whoever goes on until
an answer is lucky has spent less than that luck would have cost. Two bounds hold at such a moment too: of
answers without a δ the ε that was added up, which no run passes; and caps that were fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from leakcap.statement.exposure import Exposure
from leakcap.statement.proving import Proven
from leakcap.statement.reading import Reading
from leakcap.statement.wording import at_most

__all__ = ["held", "rarely"]

Bounds = Callable[[Proven], tuple[float, float]]
"""From proven pairs to the number of a line, and the probability with which it may be more."""

_ROUNDED = 1e-9
"""Relative: sums of the same ε may differ by so much."""


def held(
    line: Reading, e: Exposure, of: Bounds, shown: Callable[[float], str], *, run: bool, contents: bool = True
) -> Reading:
    """The line, which says what it holds for where there are several answers.

    `of` is how the line comes from proven pairs, `shown` its number as the sentence has it; `run` says
    whether it bounds what any single run may tell, and so holds of the ε that a run spent. `contents` says
    whether it is about two contents of a unit, or else about neighbours.
    """
    if e.composed is None or e.queries < 2:
        return line
    if e.composed.at_once:
        return replace(line, holds="beforehand")
    told = (e.pairs_contents if contents else e.pairs)[:1]
    sure = of(told) if run and told[0][1] == 0.0 else None
    if sure is not None and sure[0] <= line.upper * (1.0 + _ROUNDED):
        return replace(line, holds="always", stopping=max(line.upper, sure[0]))
    capped = e.capped_contents if contents else e.capped_pairs
    found = [(*of(capped), True)] if capped else []
    found += [(*sure, False)] if sure is not None else []
    kept = "This holds for whoever keeps to what was spent"
    if not found:
        sentence = f"{line.sentence} {kept}, and not for whoever stops when it suits them."
        return replace(line, sentence=sentence, holds="spent")
    value, rare, caps = min(found)
    condition = ", if the caps were fixed beforehand" if caps else ""
    most = f"it is {shown(value)} at most{rarely(rare)}"
    if value <= line.upper and rare <= line.detail.get("exception", 0.0):
        value, most = line.upper, "it holds too"
    sentence = f"{line.sentence} {kept}; for whoever stops when it suits them {most}{condition}."
    return replace(line, sentence=sentence, holds="spent", stopping=value, under_caps=caps)


def rarely(probability: float) -> str:
    """That something may fail so often, as the end of a sentence; nothing where it never does.

    >>> rarely(0.001), rarely(0.0)
    (', except with probability 0.00100 at most', '')
    """
    return f", except with probability {at_most(probability)} at most" if probability > 0.0 else ""
