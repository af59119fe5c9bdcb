"""Records from published tables against every table that there is; what a method leaves possible."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import leakcap
from leakcap.attack import (
    HiddenCount,
    PublishedNumber,
    PublishedTables,
    ReadNumbers,
    ReadRecords,
    possible_counts,
    read_published_tables,
    records_from_tables,
)
from leakcap.disclosure.cells import CellMethod, FollowedBy
from leakcap.disclosure.rounding import NearestRounding, RandomRounding
from leakcap.disclosure.suppression import SmallCells, TopCoding
from leakcap.errors import InvalidInput, LeakcapError

SHAPE, PEOPLE = (2, 2, 2), 4
LABELS = (("N", "S"), ("f", "m"), ("young", "old"))
MARGINS = [
    [places if number >> axis & 1 else (None,) for axis, places in enumerate([((0,), (1,))] * 3)]
    for number in range(8)
]
METHODS: list[CellMethod | None] = [
    None,
    RandomRounding(3),
    NearestRounding(2),
    SmallCells(below=2),
    FollowedBy(RandomRounding(2), SmallCells(below=3)),
    TopCoding(2),
]


def everything() -> Iterator[np.ndarray]:
    for people in range(PEOPLE + 1):
        for places in itertools.combinations_with_replacement(range(8), people):
            yield np.bincount(np.array(places, dtype=int), minlength=8).reshape(SHAPE)


ALL = np.array(list(everything()))


def summed(where: Any) -> np.ndarray:
    """The number of every table there is, for each of `ALL`."""
    chosen = np.ix_(range(len(ALL)), *([0, 1] if one is None else list(one) for one in where))
    return np.asarray(ALL[chosen].sum(axis=(1, 2, 3)))


def chosen_numbers(rng: np.random.Generator) -> list[Any]:
    margins = [
        MARGINS[0],
        *(MARGINS[at] for at in rng.choice(range(1, 8), size=rng.integers(1, 4), replace=False)),
    ]
    return list(dict.fromkeys(where for one in margins for where in itertools.product(*one)))


@pytest.mark.parametrize("place", range(len(METHODS)))
def test_records_are_those_of_every_table_that_agrees(place: int) -> None:
    """The grand total is published as it is, so that no table beyond the enumerated agrees."""
    method, rng = METHODS[place], np.random.default_rng(place)
    sure = tried = 0
    for _ in range(12):
        truth = ALL[rng.integers(len(ALL))]
        agreeing, numbers = np.ones(len(ALL), dtype=bool), list[PublishedNumber]()
        for where in chosen_numbers(rng):
            counts = summed(where)
            own = int(counts[(truth == ALL).all(axis=(1, 2, 3))][0])
            if method is None or where == (None, None, None):
                numbers.append(PublishedNumber(where, own))
                agreeing &= counts == own
            else:
                law = method.law(own)
                shown = list(law)[int(rng.integers(len(law)))]
                numbers.append(PublishedNumber(where, shown))
                fits = {n: shown in method.law(n) for n in range(PEOPLE + 1)}
                agreeing &= np.array([fits[int(n)] for n in counts])
        if method is not None:
            # The total as it is: a word that is known to stand for it.
            total = int(truth.sum())
            numbers[0] = PublishedNumber((None, None, None), "x")
            found = records_from_tables(
                PublishedTables(("a", "b", "c"), LABELS, tuple(numbers)),
                method=method,
                hidden={"x": HiddenCount(total, total)},
            )
        else:
            found = records_from_tables(PublishedTables(("a", "b", "c"), LABELS, tuple(numbers)))
        fitting = ALL[agreeing].reshape(-1, 8)
        intersection = int(fitting.min(axis=0).sum())
        assert isinstance(found[0], ReadRecords)
        assert isinstance(found[1], ReadNumbers)
        assert found[0].got <= intersection <= found[0].at_most
        fixed = int((fitting.min(axis=0) == fitting.max(axis=0)).sum())
        assert found[1].got <= fixed <= found[1].at_most
        sure += found[0].got == intersection == found[0].at_most
        tried += 1
    assert tried == 12
    assert sure >= 9  # in three dimensions a bound need not be attained by whole numbers


def test_differencing_two_tables_finds_one_person() -> None:
    """Everybody between 20 and 69, and everybody between 20 and 64 or so: the difference is a person."""
    where = [((0, 1), None), ((0,), None), (None, (0,)), ((0,), (0,))]
    numbers = tuple(PublishedNumber(w, n) for w, n in zip(where, [40, 39, 12, 11], strict=True))
    tables = PublishedTables(("age", "ill"), (("20-64", "65-69"), ("yes", "no")), numbers)
    records, counts = records_from_tables(tables)[:2]
    assert (records.got, records.at_most) == (40.0, 40.0)
    assert isinstance(records, ReadRecords)
    assert records.records == ("20-64, yes: 11", "20-64, no: 28", "65-69, yes: 1")
    assert counts.got == counts.at_most == 4.0


@pytest.mark.parametrize("method", [one for one in METHODS if one is not None])
def test_possible_counts_by_the_law(method: CellMethod) -> None:
    laws = [method.law(count) for count in range(60)]
    for shown in {one for law in laws[:25] for one in law}:
        fitting = [count for count, law in enumerate(laws) if shown in law]
        found = possible_counts(method, shown)
        assert found.low == fitting[0]
        assert found.high == (None if fitting[-1] == 59 else fitting[-1])
    with pytest.raises(InvalidInput, match="of no count"):
        possible_counts(method, "never said")


def test_a_rule_of_suppression_narrows_what_words_can_be() -> None:
    numbers = (
        PublishedNumber(((0,),), "x"), PublishedNumber(((1,),), "x"), PublishedNumber(((2,),), "x"),
        PublishedNumber((None,), 11),
    )  # fmt: skip
    tables = PublishedTables(("a",), (("p", "q", "r"),), numbers)
    free = records_from_tables(tables)
    assert (free[0].got, free[0].at_most) == (0.0, 0.0)
    for found in (
        records_from_tables(tables, hidden={"x": HiddenCount(1, 4)}),
        records_from_tables(tables, method=SmallCells(below=5)),
    ):
        assert (found[0].got, found[0].at_most) == (9.0, 9.0)  # each is 3 or 4: 3 + 4 + 4 = 11


def test_protected_margins_are_unpicked() -> None:
    """Rounded to base 3: parts 1 + 0 published as 3 and 0, the total as 0: one of them is 1 or 2, and 0."""
    parts = [PublishedNumber(((0,),), 3), PublishedNumber(((1,),), 0), PublishedNumber((None,), 0)]
    tables = PublishedTables(("a",), (("p", "q"),), tuple(parts))
    records, _, protected = records_from_tables(tables, method=RandomRounding(3))
    pairs = [(p, q) for p in range(1, 6) for q in range(3) if p + q <= 2]
    assert records.got == min(p for p, _ in pairs) == 1
    assert isinstance(protected, ReadNumbers)
    assert protected.counts == ("p: 1 to 2", "q: 0 to 1", "everybody: 1 to 2")


FILES = {
    "by_region.csv": "region,sex,n\nN,f,1\nN,m,0\nS,total,x\ntotal,f,2\ntotal,m,3\n",
    "by_sex.csv": "sex,ill,n\nf,yes,2\nf,no,0\nm,yes|no,3\nm,yes,0\n",
}


def test_files_from_the_command_line(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    done = leakcap("attack", "tables", *FILES, "--json", "--report", "p.html", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    records, counts, hidden = json.loads(done.stdout)["findings"]
    assert records["records"] == ["N, f, yes: 1", "S, f, yes: 1", "S, m, no: 3"]
    assert (records["got"], records["at_most"], records["people"]) == (5.0, 5.0, "5")
    assert (counts["got"], hidden["counts"]) == (8.0, ["S: 4"])
    (tmp_path / "method.toml").write_text('[[method]]\nkind = "suppression"\nbelow = 4\n')
    refused = leakcap("attack", "tables", *FILES, "--method", "method.toml", cwd=tmp_path)
    assert refused.returncode == 2
    assert "publishes 1 of no count" in refused.stderr


BAD = {
    ("a,n\nx,1\n", "a,a,n\nx,x,1\n"): "another name for each dimension",
    ("a,n\nx,1\nx,2\n",): "Line 3 of .* a cell that stood before",
    ("a,n\ntotal,1\n",): "The dimension `a` must have a word besides `total`",
    ("a,n\nx,-3\n",): "Line 2 of .* must end with a count",
    ("a,n\nx,1\n", "b,n\nu,2\ntotal,1\n"): "contradict each other",
    ("a,b,c,n\n" + "".join(f"{i},{i},{i},1\n" for i in range(30)),): "at most 20,000 combinations",
}


@pytest.mark.parametrize("texts", BAD)
def test_what_is_no_set_of_tables_is_refused_in_one_line(tmp_path: Path, texts: tuple[str, ...]) -> None:
    paths = [tmp_path / f"{number}.csv" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    with pytest.raises(LeakcapError, match=BAD[texts]) as caught:
        records_from_tables(read_published_tables(paths))
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidInput, match="There is no file"):
        read_published_tables([tmp_path / "none.csv"])


def test_two_way_margins_of_a_made_up_town() -> None:
    """6 × 5 × 3 × 2 combinations of 120 people from all two-way margins; what is said to be sure is true."""
    rng = np.random.default_rng(3)
    counts = rng.multinomial(120, rng.dirichlet(np.full(180, 0.1))).reshape(6, 5, 3, 2)
    numbers = []
    for axes in itertools.combinations(range(4), 2):
        for place, count in np.ndenumerate(counts.sum(axis=axes)):
            left = iter(place)
            where = tuple(None if axis in axes else (next(left),) for axis in range(4))
            numbers.append(PublishedNumber(where, int(count)))
    labels = tuple(tuple(map(str, range(size))) for size in counts.shape)
    start = time.process_time()
    records = records_from_tables(PublishedTables(("a", "b", "c", "d"), labels, tuple(numbers)))[0]
    assert time.process_time() - start < 15  # 0.7 s, with room for a busy machine
    assert 0 < records.got <= records.at_most <= 120
    assert isinstance(records, ReadRecords)
    for line in records.records:
        name, told = line.split(": ")
        assert counts[tuple(map(int, name.split(", ")))] >= int(told.split()[0])
