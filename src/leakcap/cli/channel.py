"""`leakcap channel`: everything that one matrix leaks."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakcap import gain as gains
from leakcap.channel import Channel
from leakcap.cli.printing import Json, console, print_json
from leakcap.errors import InvalidParameter, InvalidPrior
from leakcap.gain import Gain

if TYPE_CHECKING:
    from leakcap.report.channel import Finding

__all__ = ["channel", "channel_record"]

_GAINS = (
    "identity, k_guesses:K, property:CLASS,CLASS,…, distance:FILE, distribution_reciprocal, "
    "or a FILE of g(w, x)"
)


def channel(
    file: Annotated[Path, typer.Argument(help="The matrix: CSV, Parquet or JSON.", show_default=False)],
    prior: Annotated[
        str, typer.Option(help="The belief: `uniform`, numbers with commas between, or a file of them.")
    ] = "uniform",
    gain: Annotated[str, typer.Option(help=f"What the attacker wants: {_GAINS}.")] = "identity",
    alpha: Annotated[str, typer.Option(help="Further orders, with commas between.")] = "2,8",
    json_: Json = False,
) -> None:
    """Everything that a channel given as a matrix leaks: to any belief, under one, and towards a goal.

    Example: leakcap channel examples/survey.csv --prior 0.5,0.25,0.25 --gain k_guesses:2
    """
    if json_:
        record = channel_record(file, prior=prior, gain=gain, alpha=alpha)
        print_json("channel/1", {name: part for name, part in record.items() if name != "schema"})
        return
    from leakcap.report.terminal import print_findings

    matrix, _, found = _found(file, prior, gain, alpha)
    print_findings(console(), f"{file.name}: {matrix.shape[0]} secrets, {matrix.shape[1]} outputs", found)


def channel_record(
    file: Path, *, prior: str = "uniform", gain: str = "identity", alpha: str = "2,8"
) -> dict[str, Any]:
    """Everything that the matrix in `file` leaks, as JSON."""
    matrix, belief, found = _found(file, prior, gain, alpha)
    return {
        "schema": "leakcap/channel/1",
        "file": file.name,
        "shape": list(matrix.shape),
        "prior": belief,
        "gain": gain,
        "measures": [finding.to_dict() for finding in found],
    }


def _found(file: Path, prior: str, gain: str, alpha: str) -> tuple[Channel, list[float], list[Finding]]:
    from leakcap.report.channel import findings

    matrix = Channel.load(file)
    belief = _prior(prior, matrix.shape[0])
    return matrix, belief, findings(matrix, belief, _gain(gain, belief, matrix), _orders(alpha))


def _numbers(text: str, what: str) -> list[float]:
    try:
        return [float(part) for part in text.replace("\n", ",").split(",") if part.strip()]
    except ValueError:
        raise InvalidParameter(f"`{what}` must be numbers with commas between. Got {text[:60]!r}.") from None


def _prior(text: str, size: int) -> list[float]:
    if text == "uniform":
        return [1.0 / size] * size
    path = Path(text)
    return _checked(_numbers(path.read_text() if path.is_file() else text, "--prior"), size)


def _checked(prior: list[float], size: int) -> list[float]:
    if len(prior) != size:
        raise InvalidPrior(f"`--prior` must have one number a secret. Got {len(prior)} for {size} secrets.")
    return prior


def _orders(text: str) -> list[float]:
    orders = _numbers(text, "--alpha")
    bad = [a for a in orders if not (a > 0 and math.isfinite(a) and a != 1.0)]
    if bad:
        raise InvalidParameter(
            f"`--alpha` must be orders above 0, other than 1 and ∞, which are always shown. Got {bad[0]:g}."
        )
    return orders


def _gain(text: str, prior: list[float], matrix: Channel) -> Gain:
    kind, _, rest = text.partition(":")
    secrets = matrix.inputs
    kinds: dict[str, Callable[[], Gain]] = {
        "identity": lambda: gains.identity(secrets),
        "k_guesses": lambda: gains.k_guesses(secrets, int(_numbers(rest or "x", "k_guesses")[0])),
        "property": lambda: gains.property_of([part.strip() for part in rest.split(",")]),
        "distance": lambda: gains.distance(_matrix(Path(rest))),
        "distribution_reciprocal": lambda: gains.distribution_reciprocal(prior),
    }
    if kind in kinds:
        return kinds[kind]()
    if Path(text).is_file():
        return gains.matrix(_matrix(Path(text)))
    raise InvalidParameter(f"`--gain` must be {_GAINS}. Got {text[:60]!r}.")


def _matrix(path: Path) -> list[list[float]]:
    if not path.is_file():
        raise InvalidParameter(f"There is no file `{path}` with a matrix.")
    with path.open(newline="", encoding="utf-8") as file:
        try:
            return [[float(cell) for cell in row] for row in csv.reader(file) if row]
        except ValueError:
            raise InvalidParameter(f"`{path}` must be a CSV file of numbers, without labels.") from None
