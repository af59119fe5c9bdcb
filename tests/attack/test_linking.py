"""Linking a given file with a register, beside every way in which the people can be behind the records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from command_line import leakcap
from leakcap.attack import ReleasedFile, link_file, read_released
from leakcap.attack.tables import linking
from leakcap.attack.tables.generalised import can_stand_for
from leakcap.errors import InvalidInput, InvalidParameter, LeakcapError

Ways = list[tuple[int | None, ...]]
BOXES = ("1", "2", "3", "1|2", "2|3", "1-3", "*")


def ways_of(files: ReleasedFile) -> Ways:
    """For each way, the record of each person or None: every one-to-one map of the smaller side that fits."""
    people, records = len(files.people), len(files.shown)
    fits = [
        [all(can_stand_for(a)(b) for a, b in zip(shown, own, strict=True)) for shown in files.shown]
        for own in files.people
    ]
    found: Ways = []
    if people <= records:
        for way in permutations(range(records), people):
            if all(fits[one][record] for one, record in enumerate(way)):
                found.append(way)
        return found
    for chosen in permutations(range(people), records):
        if all(fits[one][record] for record, one in enumerate(chosen)):
            behind = {one: record for record, one in enumerate(chosen)}
            found.append(tuple(behind.get(one) for one in range(people)))
    return found


def by_brute_force(files: ReleasedFile, ways: Ways) -> tuple[int, int, int, int, Fraction, Fraction]:
    """People whose record or secret is sure, or is if they are there; the fewest records; guess and limit."""
    known = sure = told = 0
    fewest, right, best = 10**9, Fraction(0), Fraction(0)
    for one, own in enumerate(files.people):
        seen = Counter(way[one] for way in ways)
        records = {record for record in seen if record is not None}
        if not records:
            continue
        fewest = min(fewest, len(records))
        secrets = Counter[str]()
        for record, many in seen.items():
            if record is not None:
                secrets[files.secrets[record]] += many
        known += None not in seen and len(records) == 1
        sure += None not in seen and len(secrets) == 1
        told += len(secrets) == 1
        naive = Counter(
            secret
            for shown, secret in zip(files.shown, files.secrets, strict=True)
            if all(can_stand_for(a)(b) for a, b in zip(shown, own, strict=True))
        )
        named = max(naive, key=lambda secret: (naive[secret], secret))
        right += Fraction(secrets[named], len(ways))
        best += Fraction(max(secrets.values()), len(ways))
    there = min(len(files.people), len(files.shown))
    return known, sure, told - sure, fewest, right / there, best / there


def drawn(seed: int) -> ReleasedFile:
    rng = np.random.default_rng(seed)
    people, records = ((5, 5), (6, 4), (3, 6), (6, 6))[seed % 4]
    own = [(str(rng.integers(1, 4)), str(rng.integers(1, 4))) for _ in range(people)]
    shown = [(BOXES[rng.integers(len(BOXES))], BOXES[rng.integers(len(BOXES))]) for _ in range(records)]
    return ReleasedFile(shown, [("flu", "cold", "burn")[rng.integers(3)] for _ in range(records)], own)


def checked(seeds: range) -> tuple[int, int]:
    """How many files have a way, and how many of them need more than who fits whom."""
    some, told = 0, 0
    for seed in seeds:
        files = drawn(seed)
        register = "everybody" if len(files.people) >= len(files.shown) else "some"
        ways = ways_of(files)
        if not ways:
            with pytest.raises(InvalidInput, match="cannot be behind"):
                link_file(files, register=register)  # type: ignore[arg-type]
            continue
        records, secrets, guess = link_file(files, register=register)  # type: ignore[arg-type]
        known, sure, if_there, fewest, right, best = by_brute_force(files, ways)
        assert (records.got, secrets.got, secrets.if_there) == (known, sure, if_there)
        assert records.got == records.at_most
        assert records.fewest == fewest
        assert records.k == min(Counter(files.shown).values())
        assert guess.left_out == 0
        assert guess.got == pytest.approx(float(right), abs=1e-12)
        assert float(best) <= guess.at_most <= float(best) + 1e-12
        some += 1
        told += right < best
    return some, told


def test_every_way_on_small_files() -> None:
    some, told = checked(range(160))
    assert some >= 60
    assert told >= 5


def test_planted_pairs_that_never_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: whoever fits a record is taken to be possible. The test above sees it."""

    def wrong(people: object, records: object, pairs: set[tuple[int, int]]) -> object:
        return pairs, set()

    monkeypatch.setattr(linking, "possible_pairs", wrong)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        checked(range(160))


def test_a_file_that_is_not_as_anonymous_as_it_says() -> None:
    """A planted flaw: nine records of which three are said to be alike, and one stands alone."""
    files = read_released("examples/disclosure/released.csv", "examples/disclosure/voters.csv")
    records, secrets, _ = link_file(files, k=3)
    assert (records.claimed, records.k, records.fewest) == (3, 1, 1)
    assert records.lines == ("9",)
    assert secrets.lines == ("5", "6", "7", "9")
    alike = files._replace(shown=[("20-64", "1*", "*")] * 9, secrets=["flu", "asthma", "cancer"] * 3)
    safe, hidden, guess = link_file(alike, k=3)
    assert (safe.got, hidden.got, safe.k, safe.fewest) == (0, 0, 9, 9)
    assert guess.got == pytest.approx(1 / 3)


def test_boxes_that_overlap_are_alike_and_yet_give_somebody_away() -> None:
    """Each record is like another one, and yet those of others leave one kind for the two who fit both."""
    shown = [("1|2",), ("1|2",), ("2|3",), ("2|3",)]
    people = [("1",), ("1",), ("2",), ("2",)]
    records, secrets, guess = link_file(ReleasedFile(shown, ["flu", "flu", "cold", "cold"], people))
    assert (records.k, records.fewest) == (2, 2)
    assert (secrets.got, guess.at_most) == (4, 1)
    assert guess.got == 0.5  # of a tie between flu and cold, linking names one: wrong for both who fit both


def test_a_register_of_some() -> None:
    """Two people who are in the file, among four records: who fits one alone is sure."""
    files = ReleasedFile([("1",), ("2",), ("2",), ("3",)], list("abca"), [("1",), ("2",)])
    records, secrets, guess = link_file(files, register="some")
    assert (records.got, secrets.got, records.lines) == (1, 1, ("2",))
    assert guess.at_most == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("shown", "yes", "no"),
    [
        ("20-29", ("20", "25.5", "29"), ("19", "30", "x", "")),
        ("-5 to 5", ("-5", "0", "5"), ("-6",)),
        ("[20, 30)", ("20", "29.9"), ("30",)),
        ("(20;30]", ("30",), ("20",)),
        ("<20", ("19",), ("20", "young")),
        ("≥65", ("65", "90"), ("64",)),
        ("65+", ("65",), ("64",)),
        ("12*", ("12", "1207"), ("1", "21")),
        ("12**", ("1207",), ("12", "120", "12070")),
        ("a|20-29", ("a", "24"), ("b",)),
        ("*", ("", "x"), ()),
        ("", ("x",), ()),
        ("young", ("young",), ("old",)),
        ("20-29 years", ("20-29 years",), ("24",)),
    ],
)
def test_what_coarse_values_stand_for(shown: str, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
    fits = can_stand_for(shown)
    assert all(fits(one) for one in yes)
    assert not any(fits(one) for one in no)


RELEASED, VOTERS = "age,zip,illness\n20-29,1*,flu\n20-29,1*,cold\n", "name,age,zip\nA,23,11\nB,24,12\n"
BAD = [
    ("different column|another name", "age,age,illness\n1,2,flu\n", VOTERS),
    ("must have one column", "age,zip,illness,job\n1,2,flu,cook\n", VOTERS),
    ("must have one column", "age,zip\n1,2\n", VOTERS),
    ("a column for each dimension", "illness\nflu\n", VOTERS),
    ("at least as many people", RELEASED + "20-29,1*,flu\n", VOTERS),
    ("cannot be behind", RELEASED.replace("20-29", "30-39"), VOTERS),
    ("UTF-8", b"age,illness\n1,\xff\n", VOTERS),
    ("in every line", "age,zip,illness\n1,2\n", VOTERS),
]


@pytest.mark.parametrize(("words", "released", "voters"), BAD)
def test_one_line_of_refusal(tmp_path: Path, words: str, released: str | bytes, voters: str) -> None:
    (tmp_path / "r.csv").write_bytes(released if isinstance(released, bytes) else released.encode())
    (tmp_path / "v.csv").write_text(voters)
    with pytest.raises(LeakcapError, match=words) as error:
        link_file(read_released(tmp_path / "r.csv", tmp_path / "v.csv"))
    assert "\n" not in str(error.value)


def test_bad_parameters() -> None:
    files = ReleasedFile([("1",)], ["flu"], [("1",), ("1",)])
    calls: list[Callable[[], object]] = [
        lambda: link_file(files, k=0),
        lambda: link_file(files, register="most"),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(InvalidParameter, match="must"):
            call()
    with pytest.raises(InvalidInput, match="no more than its records"):
        link_file(files, register="some")


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(RELEASED)
    (tmp_path / "v.csv").write_text(VOTERS)
    done = leakcap("attack", "link", "r.csv", "v.csv", "--k", "2", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)["findings"]
    assert [one["got"] for one in found] == [0.0, 0.0, 0.5]
    done = leakcap("attack", "link", "r.csv", "v.csv", "--secret", "zip", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "in the register too" in done.stderr


def test_many_people_in_seconds() -> None:
    """4,000 records in six classes, from a register of 6,000."""
    people = [(str(20 + one % 60), str(one % 97)) for one in range(6000)]
    shown = [(f"{20 + 10 * (one % 6)}-{29 + 10 * (one % 6)}", "*") for one in range(4000)]
    records, _, guess = link_file(ReleasedFile(shown, [str(one // 6 % 3) for one in range(4000)], people))
    assert records.got == 0
    assert guess.left_out == 0
    assert guess.at_most < 0.36
