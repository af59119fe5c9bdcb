"""What an attack comes back with: what it got, what the theory allows at most, and the ratio."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from leakcap.cards import bar, card, interval
from leakcap.numeric.rounding import up

__all__ = ["Finding", "raised"]

_CHANCE = ("got_lower", "got_upper")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One attack carried out: `got` against `at_most`, both in `unit`, and the guard that holds it there.

    `got` is exact where the attack is computed. Where it is played, it is a frequency, `got_lower` and
    `got_upper` are the ends of a 99 % interval of what it stands for, and chance may bring `got` above
    `at_most`. `stopped_by` names the part of leakcap without which the attack would get more.

    >>> found = Finding(attack="guess", got=0.8, at_most=0.75, unit="probability", stopped_by="ε",
    ...     got_lower=0.65, got_upper=0.9)
    >>> round(found.ratio, 3), found.above_by_chance
    (1.067, True)
    """

    attack: str
    got: float
    at_most: float
    unit: str
    stopped_by: str
    got_lower: float | None = None
    got_upper: float | None = None

    @property
    def above_by_chance(self) -> bool | None:
        """Whether chance alone may have brought `got` above `at_most`: its interval holds `at_most`.

        None where nothing is to be explained: `got` is computed, or within the limit.
        """
        if self.got_lower is None or self.got <= self.at_most:
            return None
        return self.got_lower <= self.at_most

    @property
    def ratio(self) -> float:
        """`got`/`at_most`: 1 for an attack that reaches the limit, ∞ for one that gets what nobody may."""
        if self.at_most == 0.0:
            return math.inf if self.got > 0.0 else 1.0
        return self.got / self.at_most

    def _repr_html_(self) -> str:
        """What was got against the limit, as a notebook shows it."""
        share = bar(min(self.ratio, 1.0) if math.isfinite(self.ratio) else 1.0)
        rows = [
            ("got", f"{self.got:.6g} {self.unit}", share),
            ("at most", f"{self.at_most:.6g} {self.unit}", ""),
            ("ratio", "∞" if math.isinf(self.ratio) else f"{self.ratio:.4g}", ""),
        ]
        if self.got_lower is not None and self.got_upper is not None:
            rows.insert(1, ("99 % interval", interval(self.got_lower, self.got_upper, self.unit), ""))
        return card(self.attack, rows, note=f"stopped by {self.stopped_by}")

    def to_dict(self) -> dict[str, object]:
        """Every field and the ratio, for JSON and plots; None for what JSON cannot say."""
        fields = {**asdict(self), "ratio": self.ratio}
        if self.got_lower is None:
            fields = {name: value for name, value in fields.items() if name not in _CHANCE}
        else:
            fields["above_by_chance"] = self.above_by_chance
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }


def raised(limit: float, top: float = math.inf) -> float:
    """A limit that the roundings of what is held against it do not exceed: 10⁻¹⁴ higher, and at most `top`.

    >>> 0.5 < raised(0.5) < 0.5 + 1e-13, raised(1.0, 1.0)
    (True, 1.0)
    """
    return min(up(limit, 64, 1.0), top)
