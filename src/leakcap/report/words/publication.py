"""Everything that is told of one release or plan, gathered once: for the terminal and as the JSON record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from leakcap.ledger import Amendment, Balance
from leakcap.release import Policy, Preview, Release
from leakcap.release.results.exposure import balances_of_plan, exposure_of, exposure_of_plan
from leakcap.report.words.promises import assumptions, protects
from leakcap.report.words.wording import reading_text, sum_text
from leakcap.statement import Statement, statement_of

__all__ = [
    "CAPS",
    "ROUNDED",
    "Publication",
    "amendment_dict",
    "assumptions",
    "cap_name",
    "figures",
    "may_come",
    "number",
    "off_by",
    "planned",
    "protects",
    "scales",
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


def may_come(statement: Statement, left: Iterable[tuple[str, float | None]]) -> bool:
    """Whether the ε that is `left` is enough for as many more of the same as the statement assumes."""
    wanted = statement.exposure.epsilon * float(statement["more"].detail["more"])
    return all(rest is None or wanted <= rest for name, rest in left if name == "epsilon")


@dataclass(frozen=True)
class Publication:
    """The releases of one run, what each leaks, what all so far leak together, and what is left.

    `total` covers every query that the ledger knows, those of earlier runs included.
    """

    policy: Policy
    releases: tuple[Release, ...]
    statements: tuple[Statement, ...]
    total: Statement
    balances: tuple[Balance, ...]
    time: datetime
    amendments: tuple[Amendment, ...] = ()

    @classmethod
    def of(
        cls,
        policy: Policy,
        releases: Sequence[Release],
        total: Statement,
        balances: Sequence[Balance],
        amendments: Sequence[Amendment] = (),
    ) -> Publication:
        """Gather what a run gave."""
        each = tuple(release.statement() for release in releases)
        return cls(
            policy, tuple(releases), each, total, tuple(balances), datetime.now(UTC), tuple(amendments)
        )

    def values(self) -> list[dict[str, object]]:
        """Each release as JSON: values, interval, price, statement."""
        return [release.to_dict() for release in self.releases]

    def to_dict(self) -> dict[str, object]:
        """The publication as JSON: values, intervals, prices, statements, balances."""
        return {
            "dataset": self.policy.dataset,
            "time": self.time.isoformat(timespec="seconds"),
            "policy": self.policy.model_dump(mode="json"),
            "releases": self.values(),
            "so_far": self.total.to_dict(),
            "caps": _caps(self.balances),
            "assumptions": assumptions(self.policy),
            "amendments": [amendment_dict(amendment) for amendment in self.amendments],
        }


def _caps(balances: Sequence[Balance]) -> list[dict[str, object]]:
    return [
        {"cap": b.name, "unit": b.unit, "limit": b.cap, "spent": _finite(b.spent), "left": b.left}
        for b in balances
    ]


def amendment_dict(amendment: Amendment) -> dict[str, object]:
    """An amendment of the policy as JSON."""
    names = ("field", "before", "after", "effect")
    return {
        "time": amendment.time.isoformat(timespec="seconds"),
        "by": amendment.by,
        "reason": amendment.reason,
        "before": amendment.before,
        "policy": amendment.policy,
        "changes": [{name: getattr(change, name) for name in names} for change in amendment.changes],
        "carried": amendment.carried,
    }


def planned(policy: Policy, previews: Sequence[Preview]) -> dict[str, object]:
    """A plan as JSON: accuracy, price and statement of each query, and of all together."""
    each = [exposure_of(preview.price, preview.name) for preview in previews]
    prices = [preview.price for preview in previews]
    return {
        "dataset": policy.dataset,
        "policy": policy.model_dump(mode="json"),
        "statistics": [
            _finite_error(preview.to_dict())
            | {"remark": preview.remark, "statement": statement_of(exposure).to_dict()}
            for preview, exposure in zip(previews, each, strict=True)
        ],
        "together": statement_of(exposure_of_plan(prices, each, policy)).to_dict(),
        "caps": _caps(balances_of_plan(prices, policy)),
        "assumptions": assumptions(policy),
    }


def _finite_error(preview: dict[str, object]) -> dict[str, object]:
    error = preview["error_95"]
    return preview | {"error_95": _finite(float(error)) if isinstance(error, int | float) else None}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def number(value: float) -> str:
    """A released number: whole numbers as they are, others at six significant digits.

    >>> number(212), number(14.127291), number(-3)
    ('212', '14.1273', '-3')
    """
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15)
    return f"{int(value):,d}" if whole else f"{value:,.6g}"


def off_by(error: float) -> str:
    """How far an answer may be off, before it is asked: three digits, rounded up.

    >>> off_by(30.0), off_by(79886.2)
    ('± 30', '± 79,900')
    """
    return f"± {number(float(sum_text(error, 3)))}" if math.isfinite(error) else "no bound"


def scales(release: Release) -> str:
    """The noise scales of a release; for a mean those of its sum and of its count."""
    shown = {role: number(float(f"{scale:.4g}")) for role, scale in release.price.noise_scales.items()}
    return (
        next(iter(shown.values()))
        if len(shown) == 1
        else ", ".join(f"{role} {s}" for role, s in shown.items())
    )


def figures(statement: Statement, key: str) -> str:
    """The number of one line, beside its sentence: rounded outward, with its unit.

    >>> from leakcap.bound import Bound
    >>> from leakcap.statement import Exposure, statement_of
    >>> s = statement_of(Exposure("q", 0.1, 0.1, Bound.exact(0.00125, method="m"), 1.0, "replace-one"))
    >>> figures(s, "epsilon"), figures(s, "coin_flip")
    ('0.1 nats (0.14427 bits)', 'p ≤ 52.50 %')
    """
    return reading_text(statement[key])
