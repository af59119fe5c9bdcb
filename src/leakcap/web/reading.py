"""Numbers and choices as they come in a query string: in range, or the nearest thing that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

__all__ = ["Slider", "chosen", "not_shown", "plain_number", "short_number"]


def plain_number(value: float) -> str:
    """A number as a person types it: no exponent, no trailing zeros.

    >>> plain_number(0.1), plain_number(1000.0), plain_number(1e-05)
    ('0.1', '1000', '0.00001')
    """
    return f"{Decimal(repr(float(value))).normalize():f}"


def short_number(value: float) -> str:
    """The same, with an exponent below 10⁻⁴, where zeros are hard to count.

    >>> short_number(0.25), short_number(1e-06), short_number(2.5e-12)
    ('0.25', '1e-6', '2.5e-12')
    """
    if value == 0.0 or abs(value) >= 1e-4:
        return plain_number(value)
    digits, power = f"{value:.5e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"


@dataclass(frozen=True)
class Slider:
    """A quantity that a reader moves: its name in the URL, range, start, and steps from end to end.

    >>> eps = Slider("eps", "ε", 0.01, 10.0, 0.1, log=True, unit="nats")
    >>> eps.read({"eps": "0.25"}), eps.read({"eps": "1e9"}), eps.read({"eps": "nan"}), eps.read({})
    (0.25, 10.0, 0.1, 0.1)
    """

    name: str
    label: str
    least: float
    most: float
    start: float
    log: bool = False
    whole: bool = False
    unit: str = ""
    help: str = ""
    steps: int = 200

    def read(self, query: Mapping[str, str]) -> float:
        """The value in a query: out of range the nearest end, no number the start."""
        text = query.get(self.name, "")[:24]
        try:
            value = float(text)
        except ValueError:
            return self.start
        if math.isnan(value):
            return self.start
        value = min(max(value, self.least), self.most)
        # Six digits are what a person would type, and keep every state of the page a short URL.
        return float(round(value)) if self.whole else float(f"{value:.6g}")

    def complaint(self, query: Mapping[str, str]) -> str:
        """What is shown in place of what was asked, and why; nothing where that is shown.

        >>> eps = Slider("eps", "ε", 0.01, 10.0, 0.1)
        >>> eps.complaint({"eps": "abc"}), eps.complaint({"eps": "1"})
        ('`eps` must be a number. Got `abc`: shown is 0.1.', '')
        """
        text = query.get(self.name, "")[:24].strip()
        shown = short_number(self.read(query))
        try:
            value = float(text or shown)
        except ValueError:
            value = math.nan
        if math.isnan(value):
            return f"`{self.name}` must be a number. Got `{text}`: shown is {shown}."
        if self.least <= value <= self.most and (not self.whole or value == round(value)):
            return ""
        kind = "a whole number from" if self.whole else "from"
        ends = f"{short_number(self.least)} to {short_number(self.most)}"
        return f"`{self.name}` must be {kind} {ends}. Got `{text}`: shown is {shown}."

    def shown(self, value: float) -> dict[str, object]:
        """What the template needs to draw the slider."""
        return {
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "help": self.help,
            "value": short_number(value),
            "least": short_number(self.least),
            "most": short_number(self.most),
            "steps": self.steps,
            "step": "1" if self.whole else "any",
            "scale": "log" if self.log else "linear",
        }


def not_shown(
    query: Mapping[str, str], sliders: Sequence[Slider], name: str, options: Sequence[str]
) -> list[str]:
    """What of a query string is not shown as it was asked, for one choice and some sliders.

    >>> not_shown({"m": "c"}, [], "m", ["a", "b"])
    ['`m` must be one of a, b. Got `c`: shown is a.']
    """
    asked = query.get(name, "")[:24]
    found = (
        [] if asked in ("", *options) else [f"`{name}` must be one of {', '.join(options)}. Got `{asked}`: "]
    )
    found = [text + f"shown is {options[0]}." for text in found]
    return found + [text for slider in sliders if (text := slider.complaint(query))]


def chosen(query: Mapping[str, str], name: str, options: Sequence[str]) -> str:
    """One of the options: the one asked for, the first otherwise.

    >>> chosen({"m": "b"}, "m", ["a", "b"]), chosen({"m": "<b>"}, "m", ["a", "b"])
    ('b', 'a')
    """
    value = query.get(name, "")
    return value if value in options else options[0]
