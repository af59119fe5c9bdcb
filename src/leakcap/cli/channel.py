"""`leakcap channel`: everything that one matrix leaks."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap import gain as gains
from leakcap.certificate import bundle
from leakcap.channel import Channel
from leakcap.cli.adversaries import adversary as read_adversary
from leakcap.cli.adversaries import neighbours as read_neighbours
from leakcap.cli.printing import Json, console, print_record
from leakcap.cli.targets import require_target
from leakcap.errors import InvalidParameter, InvalidPrior
from leakcap.gain import Gain
from leakcap.leakage import Hyper

if TYPE_CHECKING:
    from leakcap.leakage.findings import Leak
    from leakcap.report.records import ChannelRecord

__all__ = ["channel", "channel_record", "read_gain", "read_prior"]

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
    neighbours: Annotated[
        str,
        typer.Option(
            help="Which secrets are compared: all, hamming, hamming:K (databases at most K records apart), "
            "a~b,b~c, or a CSV file of pairs."
        ),
    ] = "all",
    adversary: Annotated[
        list[str] | None,
        typer.Option(
            help="A further adversary, as in 'StrongAdversary()', 'EntropyFloor(0.5)' or "
            "'BayesianAdversary(prior)'; may be given more than once."
        ),
    ] = None,
    individuals: Annotated[
        bool, typer.Option("--individuals", help="The privacies of each person of a channel on databases.")
    ] = False,
    hyper: Annotated[
        bool, typer.Option("--hyper", help="Which beliefs the outputs lead to, and how often.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(help="Write what proves the numbers here, as JSON for `leakcap-verify`."),
    ] = None,
    json_: Json = False,
) -> None:
    """Everything that a channel given as a matrix leaks: to any belief, under one, and towards a goal.

    Example: leakcap channel examples/survey.csv --prior 0.5,0.25,0.25 --gain k_guesses:2 --neighbours
    no~maybe --adversary 'EntropyFloor(0.9)'
    """
    asked = _Asked(prior, gain, alpha, neighbours, tuple(adversary or ()), individuals, hyper)
    if certificate is not None:
        require_target(certificate, "`--certificate`", (".json",), [file])
    matrix, belief, found = _found(file, asked)
    record = _record(file, asked, matrix, belief, found)
    if certificate is not None:
        certificate.write_text(bundle(leak.bound.certificate() for leak in found), encoding="utf-8")
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.theory import print_channel

    print_channel(console(), record)


@dataclass(frozen=True)
class _Asked:
    """The options, as they were written."""

    prior: str = "uniform"
    gain: str = "identity"
    alpha: str = "2,8"
    neighbours: str = "all"
    adversary: tuple[str, ...] = ()
    individuals: bool = False
    hyper: bool = False


def channel_record(file: Path, asked: _Asked | None = None) -> ChannelRecord:
    """Everything that the matrix in `file` leaks."""
    asked = _Asked() if asked is None else asked
    return _record(file, asked, *_found(file, asked))


def _record(
    file: Path, asked: _Asked, matrix: Channel, belief: list[float], found: list[Leak]
) -> ChannelRecord:
    from leakcap.report.records import ChannelRecord

    return ChannelRecord.of(
        file.name,
        matrix,
        found,
        prior=belief,
        gain=asked.gain,
        neighbours=asked.neighbours,
        hyper=Hyper(matrix, belief) if asked.hyper else None,
    )


def _found(file: Path, asked: _Asked) -> tuple[Channel, list[float], list[Leak]]:
    from leakcap.leakage.findings import findings

    matrix = Channel.load(file)
    belief = read_prior(asked.prior, matrix.shape[0])
    found = findings(
        matrix,
        belief,
        read_gain(asked.gain, belief, matrix),
        _orders(asked.alpha),
        neighbours=read_neighbours(asked.neighbours, matrix),
        adversaries={text: read_adversary(text, belief) for text in asked.adversary},
        individuals=asked.individuals,
    )
    return matrix, belief, found


def _numbers(text: str, what: str) -> list[float]:
    try:
        return [float(part) for part in text.replace("\n", ",").split(",") if part.strip()]
    except ValueError:
        raise InvalidParameter(f"`{what}` must be numbers with commas between. Got {text[:60]!r}.") from None


def read_prior(text: str, size: int) -> list[float]:
    """The belief that `--prior` names, one number a secret; errors are `InvalidPrior`, `InvalidParameter`."""
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


def read_gain(text: str, prior: list[float], matrix: Channel) -> Gain:
    """The goal that `--gain` names, about the secrets of the channel; errors are `InvalidParameter`."""
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
