"""`StrongAdversary(size=2)` on a command line: an adversary by name; and which secrets are neighbours."""

from __future__ import annotations

import csv
import inspect
import re
from collections.abc import Hashable, Mapping
from pathlib import Path

from leakcap import adversary as nouns
from leakcap.adversary import Adversary, Neighbours
from leakcap.capacities import hamming_neighbours
from leakcap.channel import Channel
from leakcap.cli.expressions import call
from leakcap.errors import InvalidParameter

__all__ = ["adversary", "neighbours"]

_COMMA = re.compile(r",(?![^()]*\))")
"""A comma between two pairs, not one inside a database such as `(0, 1)`."""

_NEIGHBOURS = "`all`, `hamming`, `hamming:K`, pairs such as `a~b,b~c`, or a CSV file of pairs"


def adversary(text: str, prior: list[float]) -> Adversary:
    """An adversary as it is written in Python; the word `prior` stands for the belief of `--prior`.

    >>> adversary("GivenPrior(prior)", [0.5, 0.5]).prior
    (0.5, 0.5)
    """
    kinds = _kinds()
    name, arguments, keywords = call(text, "adversary", "EntropyFloor(0.5)", {"prior": tuple(prior)})
    if name not in kinds:
        raise InvalidParameter(
            f"`{name}` is no adversary that leakcap knows. Take one of {', '.join(sorted(kinds))}."
        )
    try:
        return kinds[name](*arguments, **keywords)
    except TypeError:
        takes = ", ".join(f"`{one}`" for one in inspect.signature(kinds[name]).parameters) or "nothing"
        raise InvalidParameter(f"`{text[:60]}` does not fit `{name}`. It takes {takes}.") from None


def _kinds() -> Mapping[str, type[Adversary]]:
    found = {name: getattr(nouns, name) for name in nouns.__all__}
    return {
        name: kind
        for name, kind in found.items()
        if isinstance(kind, type) and issubclass(kind, Adversary) and kind is not Adversary
    }


def neighbours(text: str, channel: Channel) -> Neighbours:
    """Which secrets of a channel are neighbours: every two, databases few records apart, or those named.

    >>> channel = Channel([[1.0], [1.0], [1.0]], inputs=["no", "maybe", "yes"])
    >>> neighbours("no~maybe, maybe~yes", channel).pairs
    ((0, 1), (1, 2))
    """
    if text == "all":
        return Neighbours()
    if text == "hamming":
        return hamming_neighbours(channel)
    if text.startswith("hamming:"):
        distance = text.removeprefix("hamming:")
        if not (distance.isascii() and distance.isdigit() and 0 < len(distance) < 10 and int(distance) > 0):
            raise InvalidParameter(
                f"`hamming:K` of `--neighbours` must have a whole number K of at least 1. Got {text[:60]!r}."
            )
        return hamming_neighbours(channel, int(distance))
    path = Path(text)
    if "~" not in text and not path.is_file():
        raise InvalidParameter(f"`--neighbours` must be {_NEIGHBOURS}. Got {text[:60]!r}.")
    pairs = _read_pairs(path) if path.is_file() else [part.split("~") for part in _COMMA.split(text)]
    return Neighbours(tuple(_indices(pair, channel) for pair in pairs))


def _read_pairs(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [line for line in csv.reader(file) if line]
    except (csv.Error, UnicodeDecodeError):
        raise InvalidParameter(
            f"`{path}` must be a CSV file with the labels of two secrets in each line."
        ) from None


def _indices(pair: list[str], channel: Channel) -> tuple[int, int]:
    if len(pair) != 2:
        raise InvalidParameter(f"`--neighbours` must name two secrets a pair. Got {len(pair)}.")
    first, second = (_index(label.strip(), channel) for label in pair)
    return first, second


def _index(label: str, channel: Channel) -> int:
    places = {_key(str(secret)): place for place, secret in enumerate(map(_shown, channel.inputs))}
    if _key(label) not in places:
        raise InvalidParameter(
            f"`--neighbours` names a secret {label[:60]!r}, which the channel does not have. "
            f"Its secrets are {', '.join(list(places)[:5])}{', …' if len(places) > 5 else ''}."
        )
    return places[_key(label)]


def _shown(secret: Hashable) -> str:
    return f"({', '.join(map(_shown, secret))})" if isinstance(secret, tuple) else str(secret)


def _key(label: str) -> str:
    """A label without spaces about its commas: `(0,1)` is `(0, 1)`."""
    return re.sub(r"\s*,\s*", ",", label)
