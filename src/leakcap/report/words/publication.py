"""What a release, a plan and its caps are called, in a few words, on every page and in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from leakcap.release.results.pivot import FLAG
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import ReleasedRecord
from leakcap.report.words.wording import number, sum_text, to_its_noise
from leakcap.statement import Statement

__all__ = [
    "CAPS",
    "NOT_COMPARED",
    "ROUNDED",
    "cap_name",
    "estimated",
    "headings",
    "may_come",
    "none_shown",
    "off_by",
    "scales",
    "shared",
    "unreliable",
]

CAPS = {
    "epsilon": "ε per person",
    "delta": "δ per person",
    "nats_person": "nats per person",
    "nats_table": "nats, whole table",
    "nats_level": "nats at level α per person",
    "rho": "ρ per person",
    "queries": "queries",
}
"""What a person calls the ledger's currencies."""

NOT_COMPARED = (
    "An earlier version wrote the record of this page, without the question: whether its numbers agree with "
    "each other was not looked at."
)


def cap_name(cap: str, unit: str) -> str:
    """What a person calls one currency, whose unit may say more: at which level, of which answers.

    >>> cap_name("epsilon", "nats of log-odds"), cap_name("epsilon", "nats of log-odds, all together")
    ('ε per person', 'ε, all together')
    """
    if unit.startswith("nats at level") and "α" not in unit:
        return f"{unit} per person"
    said = unit.partition(", ")[2]
    if said and cap in ("epsilon", "delta"):
        return f"{CAPS[cap].partition(' ')[0]}, {said}"
    return CAPS.get(cap, cap)


ROUNDED = "Values are shown to what their noise leaves of them; --csv and --json have every digit."
"""Beside rounded values."""

_NAMES = 6
"""The most statistics that are named where a sentence is about some of them."""


def may_come(statement: Statement, left: Iterable[tuple[str, float | None]]) -> bool:
    """Whether the ε that is `left` is enough for as many more of the same as the statement assumes."""
    wanted = statement.exposure.epsilon * float(statement["more"].detail["more"])
    return all(rest is None or wanted <= rest for name, rest in left if name == "epsilon")


def estimated(value: float, interval: tuple[float | None, float | None] | None) -> tuple[str, str]:
    """A number of a model and its interval, to the digits that its noise leaves; the ends rounded outward.

    >>> estimated(12.271612, (-9.68412, 23.5726)), estimated(1.5, None)
    (('12', '-10 to 24'), ('1.5', 'unknown'))
    """
    if interval is None:
        return number(value), "unknown"
    low, high = interval
    if low is None or high is None:
        return number(value), "anything: the noise hides it"
    shown, low_text, high_text = to_its_noise(value, low, high)
    return shown, f"{low_text} to {high_text}"


def headings(dataset: str, named: Publication | None) -> tuple[str, str]:
    """A title, and what stands below it: of which data set, period and version. Where nothing is named the
    data set is the title.

    >>> headings("stays", Publication(title="Hospital stays", period="2024-03"))
    ('Hospital stays', 'stays. Reference period: 2024-03')
    """
    if named is None:
        return dataset, ""
    return named.title, ". ".join(part for part in (dataset, named.line) if part)


def off_by(error: float) -> str:
    """How far an answer may be off, before it is asked: three digits, rounded up.

    >>> off_by(30.0), off_by(79886.2)
    ('± 30', '± 79,900')
    """
    return f"± {number(float(sum_text(error, 3)))}" if math.isfinite(error) else "no bound"


def none_shown(release: ReleasedRecord) -> str:
    """Why a table has no values: all were left out afterwards, or none of its groups appeared at all."""
    return "no group is left (HAVING, OFFSET)" if release.left_out else "no group had enough people to appear"


def scales(noise: Mapping[str, float]) -> str:
    """The noise scales of a release; for a mean those of its sum and of its count.

    >>> scales({"rows": 10.0}), scales({"sum": 1234.567, "rows": 10.0})
    ('10', 'sum 1,235, rows 10')
    """
    shown = {role: number(float(f"{scale:.4g}")) for role, scale in noise.items()}
    return (
        next(iter(shown.values()))
        if len(shown) == 1
        else ", ".join(f"{role} {s}" for role, s in shown.items())
    )


def shared(names: Sequence[str], told: Sequence[str | None]) -> list[str]:
    """What is said of some statistics, each sentence once: with their names, unless it is said of all.

    >>> shared(["a", "b", "c"], ["One.", None, "One."]), shared(["a"], ["One."])
    (['a, c: One.'], ['One.'])
    """
    found = []
    for words in dict.fromkeys(one for one in told if one):
        whose = [name for name, one in zip(names, told, strict=True) if one == words]
        more = f" and {len(whose) - _NAMES:,} more" if len(whose) > _NAMES else ""
        found.append(words if len(whose) == len(names) else f"{', '.join(whose[:_NAMES])}{more}: {words}")
    return found


def unreliable(releases: Sequence[ReleasedRecord]) -> str:
    """What the flag says, and how many values of which tables have it; empty where none has."""
    several = [one for one in releases if one.drowned]
    if not several:
        return ""
    told = [
        f"{one.drowned:,} of {len(one.values):,} values of {one.name}" if one.grouped else one.name
        for one in several[:_NAMES]
    ]
    more = f" and {len(several) - _NAMES:,} more" if len(several) > _NAMES else ""
    return f"{FLAG}: unreliable, because the noise is as large as the value: {', '.join(told)}{more}."
