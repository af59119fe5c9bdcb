"""What an attack comes back with: what it got, what the theory allows at most, and the ratio."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from leakcap.cards import bar, card

__all__ = ["Finding"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One attack carried out: `got` against `at_most`, both in `unit`, and the guard that holds it there.

    `got` is exact where the attack is computed and a frequency where it is played, which may then exceed
    `at_most` by chance. `stopped_by` names the part of leakcap without which the attack would get more.

    >>> Finding(attack="guess", got=0.6, at_most=0.75, unit="probability", stopped_by="ε").ratio
    0.7999999999999999
    """

    attack: str
    got: float
    at_most: float
    unit: str
    stopped_by: str

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
        return card(self.attack, rows, note=f"stopped by {self.stopped_by}")

    def to_dict(self) -> dict[str, object]:
        """Every field and the ratio, for JSON and plots; None for what JSON cannot say."""
        fields = {**asdict(self), "ratio": self.ratio}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in fields.items()
        }
