"""What two policies differ in, field by field, and how what was spent before counts, in plain words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from leakcap.ledger.continuing import ChargeTerms, alike
from leakcap.ledger.told import Change

__all__ = ["carried_words", "differences"]

Effect = Literal["new", "removed", "raised", "lowered", "changed"]
# What these hold is named one by one.
_OPENED = ("caps", "columns", "tables", "unit")
_ORDERED = ("caps.", "unit.max_", "rows", "max_rows")


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Change, ...]:
    """The fields in which two policies differ, in the order of their names.

    >>> old = {"caps": {"epsilon": 1.0}, "columns": {"age": {"bounds": [0.0, 120.0]}}}
    >>> new = {"caps": {"epsilon": 2.0}, "columns": {"age": {"bounds": [0.0, 120.0]}, "sex": {"keys": ["f"]}}}
    >>> [change.text for change in differences(old, new)]
    ['`caps.epsilon` raised from 1 to 2', '`columns.sex` new: keys ["f"]']
    """
    before, after = dict(_fields(old)), dict(_fields(new))
    names = [name for name in sorted({*before, *after}) if not alike(before.get(name), after.get(name))]
    return tuple(_change(name, before.get(name), after.get(name)) for name in names)


def carried_words(earlier: Sequence[ChargeTerms], now: ChargeTerms) -> str:
    """How what was spent on the terms of every earlier policy counts on those of now.

    >>> carried_words([ChargeTerms("replace-one", None)], ChargeTerms("replace-one", None))
    'What was spent before counts as it was charged, in every currency.'
    """
    words, public = [], ""
    if any(then.neighbours != now.neighbours for then in earlier):
        words.append(
            "every ε charged under add-remove-one counts twice and every δ (1 + e^ε) times, as two steps"
        )
        public = " Whether somebody is in the table is protected no longer."
    others = dict.fromkeys(then.alpha for then in earlier if then.alpha != now.alpha)
    for level in others:
        if level is not None and (now.alpha is None or level > now.alpha):
            fate = "are counted no more" if now.alpha is None else f"count as nats at level {now.alpha:g}"
            words.append(f"nats at level {level:g} {fate}")
    if now.alpha is not None and any(level is None or level < now.alpha for level in others):
        words.append(
            f"what was charged at no level, or a lower one, counts at level {now.alpha:g} as much as ε "
            "allows, without bound where there was a δ"
        )
    if not words:
        return "What was spent before counts as it was charged, in every currency."
    text = "; ".join(words)
    return f"{text[:1].upper()}{text[1:]}. All else counts as it was charged.{public}"


def _fields(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every field with its value, caps and units one by one, a column or a table as a whole."""
    for name, value in document.items():
        if name not in _OPENED or not isinstance(value, Mapping):
            yield name, value
            continue
        for part, inner in value.items():
            if name == "caps" and isinstance(inner, Mapping):
                yield from _caps(f"caps.{part}", inner)
            else:
                yield f"{name}.{part}", inner


def _caps(name: str, value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for part, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _caps(f"{name}.{part}", inner)
        else:
            yield f"{name}.{part}", inner


def _change(name: str, before: Any, after: Any) -> Change:
    return Change(name, _shown(before), _shown(after), _effect(name, before, after))


def _effect(name: str, before: Any, after: Any) -> Effect:
    if before is None or after is None:
        # A cap that is not there lets everything pass.
        return "new" if before is None else "removed"
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (before, after))
    if numbers and name.startswith(_ORDERED) and not name.endswith(".alpha"):
        return "raised" if after > before else "lowered"
    return "changed"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, Mapping):
        parts = (f"{name} {_shown(inner)}" for name, inner in value.items() if inner is not None)
        return ", ".join(part for part in parts if part.strip())
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
