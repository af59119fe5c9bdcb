"""The form of the page about offices' methods: what its sliders offer, and what a query string asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from leakcap.choosing import OfficeMethod
from leakcap.choosing.methods import tenths, variances
from leakcap.web.reading import Slider, chosen, plain_number

__all__ = [
    "KINDS",
    "MATCHED",
    "TABLES",
    "asked_method",
    "drawn",
    "method_address",
    "method_query",
    "sliders_of",
    "values_of",
]

KINDS: Mapping[str, str] = {
    "random": "Random rounding",
    "nearest": "Rounding to the nearest",
    "small": "Small counts left out",
    "top": "Large counts cut off",
    "key": "Cell keys",
}
TABLES: Mapping[str, str] = {
    "entropy": "Most entropy, as offices have it",
    "least": "Tells least",
}
"""Perturbation tables of cell keys."""
MATCHED: Mapping[str, str] = {
    "average": "average over large counts",
    "largest": "largest of any large count",
}
"""Which error noise beside a method has."""

_BASE = Slider("base", "Base", 2, 20, 3, whole=True, help="published counts are its multiples", steps=18)
_BELOW = Slider(
    "below", "Threshold", 2, 20, 5, whole=True, help="counts from 1 to below it are left out", steps=18
)
_TOP = Slider("top", "Top", 2, 40, 10, whole=True, help="larger counts are published as this one", steps=38)
_LARGEST = Slider("largest", "Largest change (D)", 2, 8, 5, whole=True, help="added or taken away", steps=6)


_VARIANCE = Slider("variance", "Variance (V)", 0.1, 7.9, 3, help="the mean square of the change", steps=78)


def _variance(largest: int) -> Slider:
    least, most = map(float, variances(largest))
    return replace(_VARIANCE, least=least, most=most, start=min(max(_VARIANCE.start, least), most))


def sliders_of(asked: OfficeMethod) -> tuple[Slider, ...]:
    """The sliders of a method, as far as they make sense together."""
    if asked.kind == "key":
        return (_LARGEST, _variance(asked.largest))
    return ({"random": _BASE, "nearest": _BASE, "small": _BELOW, "top": _TOP}[asked.kind],)


def drawn(asked: OfficeMethod) -> tuple[Slider, ...]:
    """The same as they are drawn: how far one goes must not wait for the page to be loaded again."""
    return tuple(_VARIANCE if slider.name == "variance" else slider for slider in sliders_of(asked))


def values_of(asked: OfficeMethod) -> tuple[float, ...]:
    """Where they stand."""
    return tuple(float(getattr(asked, slider.name)) for slider in sliders_of(asked))


def asked_method(query: Mapping[str, str]) -> OfficeMethod:
    """What a query string asks; what is missing or makes no sense is as it was at the start.

    >>> asked_method({"kind": "key", "largest": "2", "variance": "7"}).variance, asked_method({}).base
    (Fraction(19, 10), 3)
    """
    found = OfficeMethod(
        kind=chosen(query, "kind", list(KINDS)),
        table=chosen(query, "table", list(TABLES)),
        matched=chosen(query, "matched", list(MATCHED)),
    )
    largest = int(_LARGEST.read(query))
    return replace(
        found,
        base=int(_BASE.read(query)),
        below=int(_BELOW.read(query)),
        top=int(_TOP.read(query)),
        largest=largest,
        variance=tenths(_variance(largest).read(query)),
    )


def method_query(asked: OfficeMethod) -> dict[str, str]:
    """A method as a query string says it.

    >>> method_query(asked_method({"kind": "small", "below": "4"}))
    {'kind': 'small', 'below': '4'}
    """
    found = {"kind": asked.kind}
    if asked.kind == "key":
        found["table"] = asked.table
    if asked.kind not in ("small", "top"):
        found["matched"] = asked.matched
    values = zip(sliders_of(asked), values_of(asked), strict=True)
    return found | {slider.name: plain_number(value) for slider, value in values}


def method_address(shown: OfficeMethod, **other: str) -> str:
    """Where the page shows a method, but for what is given."""
    return "/method?" + urlencode(method_query(asked_method(method_query(shown) | other)))
