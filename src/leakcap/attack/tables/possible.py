"""Which counts a published number, or a word in its place, can stand for under an office's method."""

from __future__ import annotations

from leakcap.attack.tables.suppressed import HiddenCount
from leakcap.disclosure.cells import CellMethod, FollowedBy, GivenMethod, Shown
from leakcap.errors import InvalidInput

__all__ = ["possible_counts"]


def possible_counts(method: CellMethod, shown: Shown) -> HiddenCount:
    """The least and the largest count of which the method publishes this; None for no end above.

    Raises `InvalidInput` where it publishes this of no count.

    >>> from leakcap.disclosure.rounding import RandomRounding
    >>> from leakcap.disclosure.suppression import SmallCells
    >>> possible_counts(RandomRounding(3), 6), possible_counts(SmallCells(below=5), "suppressed")
    (HiddenCount(low=4, high=8), HiddenCount(low=1, high=4))
    """
    moved = _moved(method)
    if isinstance(method, GivenMethod):
        counts, far = range(method.matrix.shape[0]), method.matrix.shape[0] - 1
    else:
        least = shown if isinstance(shown, int) else method.start
        far = max(method.start + method.period, least + moved) + moved + 1
        counts = range(max(0, least - moved) if isinstance(shown, int) else 0, far)
    found = [count for count in counts if shown in method.law(count)]
    if not found:
        said = "a word" if isinstance(shown, str) else f"{shown:,}"
        raise InvalidInput(f"The method publishes {said} of no count: the tables were made in another way.")
    return HiddenCount(found[0], None if shown in method.law(far) else found[-1])


def _moved(method: CellMethod) -> int:
    """How far a number that is published is from its count at most, unless counts are cut off above."""
    if isinstance(method, FollowedBy):
        return _moved(method.first) + _moved(method.second)
    return method.reach or 0
