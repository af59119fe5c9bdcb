"""`leakcap attack …` about records that depend on each other, and adversaries who do not know all of them."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli.attack_printing import Epsilon, Page, Seed, numbers, show
from leakcap.cli.printing import Json
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.attack import Pedigree

__all__ = ["chain", "family", "floor", "households", "knowledge", "linkage", "samples"]


def households(
    counts: Annotated[
        list[int] | None, typer.Argument(help="How many households.", show_default=False)
    ] = None,
    size: Annotated[int, typer.Option(help="People in each; all of them have the same value.")] = 4,
    epsilon: Epsilon = 0.1,
    prior: Annotated[float, typer.Option(help="The probability of value 1.")] = 0.5,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Households of one value each in a noisy sum: what it tells about one person.

    Example: leakcap attack households 1 10 100 --size 4 --epsilon 0.5
    """
    from leakcap.attack import correlated_record
    from leakcap.attack import households as law

    show(
        [correlated_record(law(n, size, prior=prior), epsilon) for n in counts or [1, 10, 100]], json_, report
    )


def chain(
    sizes: Annotated[list[int] | None, typer.Argument(help="How many records.", show_default=False)] = None,
    stay: Annotated[float, typer.Option(help="The probability that a record is as the one before.")] = 0.9,
    epsilon: Epsilon = 0.1,
    report: Page = None,
    json_: Json = False,
) -> None:
    """A Markov chain of records in a noisy sum: what it tells about the one in the middle.

    Example: leakcap attack chain 10 100 1000 --stay 0.99 --epsilon 0.5
    """
    from leakcap.attack import correlated_record, markov_chain

    show(
        [correlated_record(markov_chain(n, stay), epsilon) for n in sizes or [3, 10, 100, 1000]],
        json_,
        report,
    )


def family(
    person: Annotated[str, typer.Argument(help="Whose genome: a name or a number.")] = "0",
    pedigree: Annotated[
        Path | None,
        typer.Option(help="CSV: person, mother, father; parents empty for founders.", show_default=False),
    ] = None,
    children: Annotated[int, typer.Option(help="Without a pedigree: two parents, 0 and 1, and these.")] = 3,
    frequency: Annotated[float, typer.Option(help="Of the allele among founders.")] = 0.3,
    families: Annotated[int, typer.Option(help="Independent families like this one in the sum.")] = 1,
    epsilon: Epsilon = 1.0,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Genomes of a family: what a noisy allele count over relatives tells about one of them.

    Example: leakcap attack family ann --pedigree examples/family.csv --frequency 0.3
    """
    from leakcap.attack import correlated_record, genomes, siblings

    tree = siblings(children) if pedigree is None else _pedigree(pedigree)
    law = genomes(tree, tree.number(person), frequency, families=families)
    show([correlated_record(law, epsilon)], json_, report, read=pedigree)


def samples(
    file: Annotated[
        Path,
        typer.Argument(help="CSV of numbers: one database a row, one person a column.", show_default=False),
    ],
    person: Annotated[int, typer.Option(help="Whose record: the column, from 0.")] = 0,
    grid: Annotated[float, typer.Option(help="Values are rounded to multiples of this.")] = 1.0,
    bounds: Annotated[
        str | None, typer.Option(help="Public least and largest value, as in 0,120.", show_default=False)
    ] = None,
    epsilon: Epsilon = 1.0,
    seed: Seed = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """Any joint law given as samples: what a noisy sum tells about one record, under the empirical law.

    Example: leakcap attack samples examples/databases.csv --person 2 --seed 1
    """
    import numpy as np

    from leakcap.attack import sampled_record

    ends = None if bounds is None else numbers(bounds, "--bounds")
    if ends is not None and len(ends) != 2:
        raise InvalidParameter(f"`--bounds` must be two numbers with a comma between. Got {len(ends)}.")
    found = sampled_record(
        [[_number(cell) for cell in row] for row in _cells(file)],
        epsilon,
        generator=np.random.default_rng(seed),
        person=person,
        grid=grid,
        bounds=None if ends is None else (ends[0], ends[1]),
    )
    show([found], json_, report, read=file)


def knowledge(
    others: Annotated[
        list[int] | None, typer.Argument(help="How many records are unknown.", show_default=False)
    ] = None,
    nats: Annotated[float, typer.Option(help="The least entropy of each of them, at most ln 2.")] = 0.5,
    epsilon: Epsilon = 1.0,
    report: Page = None,
    json_: Json = False,
) -> None:
    """An adversary unsure of some independent records: the most that a noisy count tells about another.

    Example: leakcap attack knowledge 0 1 10 100 --nats 0.5
    """
    from leakcap.attack import knowledge_curve

    show(knowledge_curve(others or [0, 1, 2, 5, 10, 20, 50, 100], nats, epsilon), json_, report)


def floor(
    records: Annotated[int, typer.Argument(help="How many binary records the table has.")] = 100,
    missing: Annotated[
        str, typer.Option(help="Nats of the table that the adversary may know, with commas between.")
    ] = "0,0.01,0.03,0.1,0.3,1,3,10",
    epsilon: Epsilon = 1.0,
    report: Page = None,
    json_: Json = False,
) -> None:
    """An entropy floor n ln 2 − missing on the belief about the table, records free to depend on each other.

    Example: leakcap attack floor 100 --missing 0,0.1,1,10
    """
    from leakcap.attack import floor_curve

    top = records * math.log(2.0)
    floors = [top - known for known in numbers(missing, "--missing")]
    show(floor_curve(records, floors, epsilon), json_, report)


def linkage(
    k: Annotated[int, typer.Option("--k", help="The least number of people in a class of the file.")] = 5,
    epsilon: Annotated[float, typer.Option(help="Of leakcap's counts by the same classes.")] = 1.0,
    people: Annotated[int, typer.Option(help="In the town, and in its public register.")] = 5000,
    shares: Annotated[str, typer.Option(help="How common each illness is, with commas.")] = "0.6,0.3,0.1",
    seed: Seed = None,
    report: Page = None,
    json_: Json = False,
) -> None:
    """A k-anonymous file linked with a public register, and leakcap's noisy counts of the same classes.

    Example: leakcap attack linkage --k 5 --epsilon 1
    """
    import numpy as np

    from leakcap.attack import linkage as link

    law, generator = numbers(shares, "--shares"), np.random.default_rng(seed)
    show(link(k, epsilon, people=people, shares=law, generator=generator), json_, report)


def _cells(file: Path) -> list[list[str]]:
    if not file.is_file():
        raise InvalidParameter(f"There is no file `{file}`.")
    with file.open(encoding="utf-8", newline="") as lines:
        return [[cell.strip() for cell in row] for row in csv.reader(lines) if row]


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise InvalidParameter("The file must hold numbers only. Got text in a cell.") from None


def _pedigree(file: Path) -> Pedigree:
    from leakcap.attack import Pedigree

    rows = {}
    for row in _cells(file):
        if len(row) != 3 or not row[0]:
            raise InvalidParameter(f"A pedigree's rows must be person, mother, father. Got {len(row)} cells.")
        if row[0] in rows:
            raise InvalidParameter(f"A person must be listed once in a pedigree. Got {row[0]!r} twice.")
        rows[row[0]] = [parent for parent in row[1:] if parent]
    return Pedigree.of(rows)
