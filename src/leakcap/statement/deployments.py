"""A published entry of OpenDP's registry of deployments: what its parameters promise, what it leaves open.

Source of the fields: Ghazi, Nanayakkara & Vadhan, the schema of `opendp/deployments-registry-data`.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from leakcap.definition import MIDP, ApproxDP, DeltaDP, PureDP, ZeroConcentratedDP, convert
from leakcap.errors import DataError
from leakcap.numeric.enclosure import enclose
from leakcap.statement.guessing import success
from leakcap.statement.record import Part

__all__ = ["AT_DELTA", "PublishedEntry"]

AT_DELTA = 1e-6
"""The δ at which the ε of a ρ is said, where the entry names none."""

_LARGEST = 1e6
_PURE = "Pure DP"
_PARTS = re.compile(
    r"\b(day|week|month|quarter|year|trip|event|tuple|record|country|device)s?\b", re.IGNORECASE
)


class PublishedEntry(Part):
    """An entry as leakcap reads it. Numbers are bounds, rounded up, on what tells two adjacent tables apart,
    as the entry has them; null where nothing follows."""

    name: str
    curators: tuple[str, ...]
    published: str
    variant: str | None
    unit: str | None
    model: str | None
    epsilon: float | None
    delta: float | None
    rho: float | None
    odds: Annotated[float | None, Field(description="the factor e^ε that no odds pass, where there is no δ")]
    guess: Annotated[float | None, Field(description="how often a fifty-fifty guess is right, at most")]
    advantage: Annotated[float | None, Field(description="of such a guess over chance: total variation")]
    nats: Annotated[float | None, Field(description="mutual information with a yes-or-no fact")]
    at_delta: Annotated[
        tuple[float, float] | None,
        Field(description="where ρ is given: an ε that follows from it, and its δ"),
    ]
    remarks: Annotated[tuple[str, ...], Field(description="what is missing, or does not fit together")]

    @classmethod
    def read(cls, content: object) -> PublishedEntry:
        """The entry; `DataError` in one line where it is none.

        >>> told = {"basic": {"name": "Stays", "data_curators": ["Office"], "publication_date": "2026-03-01"},
        ...     "dp_variant": {"variant_name": "Pure DP"},
        ...     "privacy_loss": {"privacy_unit": "Person", "privacy_parameters": {"epsilon": 1.0}}}
        >>> entry = PublishedEntry.read({"deployment": told})
        >>> round(entry.guess, 6), round(entry.nats, 6), entry.remarks[-1]
        (0.731059, 0.110944, 'It does not say which tables are adjacent (`privacy_unit_details`).')
        """
        deployment = _section(_mapping(content, "It").get("deployment"), "`deployment`", required=True)
        basic = _section(deployment.get("basic"), "`basic`", required=True)
        variant = _text(_section(deployment.get("dp_variant"), "`dp_variant`").get("variant_name")) or None
        loss = _section(deployment.get("privacy_loss"), "`privacy_loss`")
        model = _section(deployment.get("deployment_model"), "`deployment_model`")
        given = _section(loss.get("privacy_parameters"), "`privacy_parameters`")
        epsilon, rho = (_amount(given.get(one), one) for one in ("epsilon", "rho"))
        told = given.get("delta")
        delta = None if isinstance(told, str) and not _is_number(told) else _amount(told, "delta")
        follows = variant in (None, _PURE) if told is None else delta is not None
        bound = epsilon if follows else None
        curators = basic.get("data_curators") or ()
        remarks = [
            *_missing(basic, loss),
            *_mismatched(variant, epsilon, delta, rho, told),
            *_open(loss.get("privacy_unit"), model, bound, delta, rho),
            *_apart(epsilon, delta, rho),
        ]
        return cls(
            name=_text(basic.get("name")) or "(unnamed)",
            curators=tuple(map(str, curators)) if isinstance(curators, list | tuple) else (str(curators),),
            published=_text(basic.get("publication_date")) or "",
            variant=variant,
            unit=_text(loss.get("privacy_unit")),
            model=_text(model.get("model_name")),
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            **_meaning(bound, delta, rho),
            remarks=tuple(remarks),
        )


def _meaning(epsilon: float | None, delta: float | None, rho: float | None) -> dict[str, Any]:
    """The bounds that follow; of ε and ρ the better one for each. Without a δ ε is that of pure DP."""
    guesses, nats, odds, at_delta = [1.0], [math.inf], None, None
    if epsilon is not None:
        slack = delta or 0.0
        guesses.append(success(epsilon, slack))
        bounded = slack == 0.0 and epsilon < 700
        odds = enclose(lambda d: d.of(epsilon).exp())[1] if bounded else None
        pure = PureDP(epsilon) if slack == 0.0 else ApproxDP(epsilon, slack)
        nats.append(convert(pure, MIDP, values=2).nats)
    if rho is not None:
        zero = ZeroConcentratedDP(rho)
        guesses.append(0.5 + convert(zero, DeltaDP).delta / 2)
        nats.append(convert(zero, MIDP).nats)
        at = delta or AT_DELTA
        at_delta = (convert(zero, ApproxDP, delta=at).epsilon, at)
    if len(guesses) == 1:
        return {"odds": None, "guess": None, "advantage": None, "nats": None, "at_delta": None}
    guess = min(1.0, math.nextafter(min(guesses), 2.0))
    # A yes-or-no fact has no more than ln 2.
    most = min(*nats, math.nextafter(math.log(2), 1.0))
    advantage = min(1.0, math.nextafter(2 * guess - 1, 2.0))
    return {"odds": odds, "guess": guess, "advantage": advantage, "nats": most, "at_delta": at_delta}


def _missing(basic: Mapping[str, Any], loss: Mapping[str, Any]) -> Iterator[str]:
    for name in ("name", "data_curators", "description", "intended_use", "data_product_region"):
        if not basic.get(name):
            yield f"`{name}` is missing, which the registry asks for."
    if not isinstance(basic.get("publication_date"), str):
        yield "`publication_date` is missing or not in quotation marks: the registry asks for a text."
    if not loss.get("privacy_unit"):
        yield "It names no unit of privacy, so it is open whose loss the parameters bound."
    if not loss.get("privacy_unit_details"):
        yield "It does not say which tables are adjacent (`privacy_unit_details`)."


def _mismatched(
    variant: str | None, epsilon: float | None, delta: float | None, rho: float | None, told: object
) -> Iterator[str]:
    if epsilon is None and rho is None:
        yield "It gives neither ε nor ρ: nothing follows."
    alone = epsilon is not None and told is None
    if variant is None:
        read = ", and its ε is read as that of pure DP" if alone else ""
        yield f"It does not name the variant of differential privacy{read}."
    if told is not None and delta is None:
        yield "Its δ is no number, so that nothing follows from its ε."
    if variant == _PURE and told is not None and delta != 0.0:
        yield "It says Pure DP and gives a δ: the promise is that of approximate DP."
    if variant == _PURE and rho is not None:
        yield "It says Pure DP and gives a ρ, which promises less."
    if alone and variant not in (None, _PURE):
        yield f"It says {variant} and gives no δ: nothing follows from its ε."
    if variant == "Zero-concentrated DP" and rho is None and epsilon is not None:
        yield "It says zero-concentrated DP and gives no ρ."


def _open(
    unit: object, model: Mapping[str, Any], epsilon: float | None, delta: float | None, rho: float | None
) -> Iterator[str]:
    found = _PARTS.search(unit.replace("-", " ")) if isinstance(unit, str) else None
    if found is not None:
        part = f"The unit may be a part of what a person gives ({found[1].lower()})."
        yield part + _of_many(epsilon, delta, rho)
    if model.get("release_type") == "Many releases":
        yield "It has many releases: whether the parameters are of one or of all is in its own words alone."
    if model.get("model_name") == "Local":
        yield "The model is local: the parameters bound what one report tells whoever collects it."


def _of_many(epsilon: float | None, delta: float | None, rho: float | None) -> str:
    """How the parameters grow for k units that change together.

    Source: Dwork & Roth 2014, theorem 2.2 and its extension to δ; Bun & Steinke 2016, proposition 1.9.
    """
    grown = [] if epsilon is None else ["ε may be k times as large"]
    if epsilon is not None and delta:
        grown.append("δ (e^{kε} − 1)/(e^ε − 1) times" if epsilon else "δ k times")
    if rho is not None:
        grown.append("ρ k² times" if grown else "ρ may be k² times as large")
    return f" Of k of them {', '.join(grown[:-1])}{' and ' if grown[1:] else ''}{grown[-1]}." if grown else ""


def _apart(epsilon: float | None, delta: float | None, rho: float | None) -> Iterator[str]:
    """ε and ρ beside each other: whether ε follows from ρ at the δ."""
    if epsilon is None or rho is None or not delta:
        return
    proven = convert(ZeroConcentratedDP(rho), ApproxDP, delta=delta).epsilon
    if proven > epsilon:
        yield (
            f"Its ε is below {math.ceil(1000 * proven) / 1000:g}, which follows from its ρ at its δ for "
            "every noise: it rests on what the noise is, or on figures that were rounded."
        )


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise DataError(f"{what} is no entry of the registry: fields with values are missing.")
    return value


def _section(value: object, what: str, *, required: bool = False) -> Mapping[str, Any]:
    if value is None and not required:
        return {}
    return _mapping(value, what)


def _text(value: object) -> str | None:
    return None if value is None else str(value).strip()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _amount(value: object, name: str) -> float | None:
    """A parameter; `DataError` where it is none."""
    if value is None:
        return None
    number = float(value) if isinstance(value, str) and _is_number(value) else value
    most = 1.0 if name == "delta" else _LARGEST
    good = isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= most
    if not good:
        raise DataError(
            f"`{name}` of `privacy_parameters` must be a number from 0 to {most:,.0f}. Got {_shown(value)}."
        )
    return float(number)  # type: ignore[arg-type]


def _shown(value: object) -> str:
    """The beginning of it: what is published may be long."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python writes no integers of thousands of digits.
        return "a longer one"
