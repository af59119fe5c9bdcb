"""What a text that is no number was probably meant to be, in words that say what to write."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["meant_number", "remedy"]

_SPACES = re.compile(r"[\s'\N{RIGHT SINGLE QUOTATION MARK}]")
_NUMBER = re.compile(r"[^\d+\-.,]*([+-]?\d[\d.,]*|[+-]?[.,]\d+)[^\d]*")


def meant_number(text: str) -> str | None:
    """The number in a text with a decimal comma, separated thousands, a currency or a unit; None where it is
    not plain which one is meant, or none is.

    >>> meant_number("1,234.56 €"), meant_number("1.234,56"), meant_number("3,5"), meant_number("12 kg")
    ('1234.56', '1234.56', '3.5', '12')
    >>> meant_number("1,234"), meant_number("12 %"), meant_number("n/a"), meant_number("3-5")
    (None, None, None, None)
    """
    found = _NUMBER.fullmatch(_SPACES.sub("", text).replace("\N{MINUS SIGN}", "-"))
    if found is None or "%" in text:
        return None
    number = found[1].rstrip(".,")
    point = _decimal_sign(number)
    if point is None:
        return None
    whole, sign, rest = number.rpartition(point) if point else (number, "", "")
    return re.sub("[.,]", "", whole) + (f".{rest}" if sign else "")


def _decimal_sign(number: str) -> str | None:
    """The sign in front of the decimals, empty where there are none, None where it could be either."""
    points, commas = number.count("."), number.count(",")
    if points and commas:
        last = max(number.rfind("."), number.rfind(","))
        return number[last] if number.count(number[last]) == 1 else None
    sign, many = (".", points) if points else (",", commas)
    if many == 0:
        return ""
    in_threes = all(len(part) == 3 for part in number.split(sign)[1:])
    if many > 1:
        return "" if in_threes else None
    return None if sign == "," and in_threes else sign


def remedy(texts: Sequence[str]) -> str:
    """What to write in place of these.

    >>> remedy(["1,234.56 €"]), remedy(["-"])
    ('Write 1234.56: digits and a decimal point alone.', 'Leave the cell empty where there is no number.')
    """
    number = next((found for found in map(meant_number, texts) if found is not None), None)
    if number is not None:
        return f"Write {number}: digits and a decimal point alone."
    if any(sign.isdigit() for text in texts for sign in text):
        return "Write digits and a decimal point alone."
    return "Leave the cell empty where there is no number."
