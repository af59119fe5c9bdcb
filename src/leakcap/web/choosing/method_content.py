"""What is shown of a method: tables, cards and pictures, made of what it tells."""

from __future__ import annotations

import math
from typing import NamedTuple

from leakcap.choosing import MethodTells
from leakcap.choosing.methods import RiskTold
from leakcap.statement.wording import at_most, percent
from leakcap.web.choosing.method_plots import kind_text, method_figures
from leakcap.web.figures import Figure

__all__ = ["MethodContent", "method_content"]


_LONGEST = 11


class MethodContent(NamedTuple):
    """What the template `method_result` draws."""

    t: MethodTells
    rows: list[dict[str, object]]
    all: list[dict[str, object]]
    figures: list[Figure]
    average_error: str
    largest_error: str
    error: str
    limit: float = math.inf


def method_content(tells: MethodTells) -> MethodContent:
    """All that is shown of a method."""
    return MethodContent(
        tells,
        [_compared(tells, kind) for kind in (*tells.cells, *tells.noise)],
        [_listed(tells, kind) for kind in tells.kinds],
        method_figures(tells),
        _short(tells.average_error),
        _short(tells.largest_error),
        _short(tells.error),
    )


def _short(error: object) -> str:
    """A fraction, or the decimal number that it nearly is where it is a long one.

    >>> _short(4), _short("59999999999999999/20000000000000000")
    ('4', '3')
    """
    text = str(error)
    if len(text) <= _LONGEST:
        return text
    above, _, below = text.partition("/")
    return f"{int(above) / int(below or 1):.6g}"


def _listed(tells: MethodTells, kind: RiskTold) -> dict[str, object]:
    """One kind of cell in a table, without what takes long."""
    return {
        "name": kind_text(tells, kind),
        "others": kind.others,
        "nats": at_most(kind.risk.capacity.upper),
        "epsilon": at_most(kind.risk.epsilon.upper),
        "belief": "" if kind.belief is None else percent(kind.belief),
        "one": percent(kind.guess),
    }


def _compared(tells: MethodTells, kind: RiskTold) -> dict[str, object]:
    never = "never" if kind.guesses[-1] <= 0.5 else "over a million"
    return _listed(tells, kind) | {
        "guesses": [percent(right) for right in kind.guesses],
        "sure": never if kind.sure is None else f"{kind.sure:,}",
    }
