"""Which versions there are: of which data, what became of each, and who said that data is the same."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from leakcap.errors import InvalidParameter, InvalidQuery
from leakcap.ledger import Caps, Charge, Edition, Ledger, Spend, answer_once
from leakcap.release import PrivateTable
from leakcap.release.engine.beforehand import Identity, called_together

POLICY = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 9.0},
    "columns": {"days": {"bounds": [0.0, 9.0]}},
}
ROWS = pyarrow.table({"days": [1.0, 2.0, 3.0]})


def march(version: str) -> Edition:
    return Edition("Stays", "2026-03", version)


def asked(folder: Path, file: str, edition: Edition | None, *queries: float, **options: Any) -> None:
    """A count for each ε, of a file that is written if it is not there."""
    place = folder / file
    if not place.exists():
        parquet.write_table(ROWS, place)
    with Ledger.open(**opening(folder)) as ledger:
        table = PrivateTable(place, policy=POLICY, ledger=ledger, edition=edition, **options)
        for epsilon in queries:
            table.count(epsilon=epsilon)


def opening(folder: Path) -> dict[str, Any]:
    from leakcap.policy import load_policy

    policy = load_policy(POLICY)
    return {
        "url": f"sqlite:///{folder / 'l.db'}",
        "dataset": "stays",
        "policy": policy.fingerprint(),
        "caps": policy.caps.ledger_caps(),
        "text": policy.text(),
    }


def test_a_year_of_versions_is_told_as_it_was(tmp_path: Path) -> None:
    """Published, revised from a corrected file, asked of a copy that is said to be the same, withdrawn."""
    asked(tmp_path, "march.parquet", march("1.0"), 0.1, 0.2, analyst="ada")
    asked(tmp_path, "mended.parquet", march("1.1"), 0.1, analyst="ada")
    asked(tmp_path, "copy.parquet", march("1.2"), 0.1, 0.3, analyst="bo", same_as=2)
    with Ledger.resume(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        ledger.revise({1: 3}, reason="a ward was missing", by="ada")
        ledger.withdraw([2], reason="nobody needs it", by="ada")
        ledger.verify()
        first, second, third = ledger.versions()
        entries = ledger.entries()
    assert [one.edition for one in (first, second, third)] == [march("1.0"), march("1.1"), march("1.2")]
    assert [one.data_version for one in (first, second, third)] == [1, 2, 2]
    assert [one.sources for one in (first, second, third)] == [("march.parquet",), ("mended.parquet",), ()]
    assert [(one.answers, one.repeated) for one in (first, second, third)] == [(2, 0), (1, 0), (2, 1)]
    assert (first.replaced, first.replaced_by, first.withdrawn) == (1, (march("1.1"),), 1)
    assert first.reasons == ("a ward was missing", "nobody needs it")
    assert (second.replaced, second.withdrawn, second.same_as) == (0, 0, ())
    (said,) = third.same_as
    assert (said.source, said.by, said.answers) == ("copy.parquet", "bo", 2)
    assert [(one.source, one.same_as) for one in entries] == [
        ("march.parquet", None),
        ("march.parquet", None),
        ("mended.parquet", None),
        ("copy.parquet", 2),
    ]


def test_what_was_repeated_as_another_version_falls_with_its_answer(tmp_path: Path) -> None:
    asked(tmp_path, "march.parquet", march("1.0"), 0.1)
    asked(tmp_path, "march.parquet", march("1.1"), 0.1)
    with Ledger.resume(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        ledger.withdraw([1], reason="wrong")
        assert [one.withdrawn for one in ledger.versions()] == [1, 1]


def test_same_as_says_which_file_and_period_it_answers_for(tmp_path: Path) -> None:
    asked(tmp_path, "march.parquet", march("1.0"), 0.1)
    april = Edition("Stays", "2026-04", "1.0")
    with pytest.raises(InvalidQuery, match=r"Version 1 of the table \(march.parquet\) was published"):
        asked(tmp_path, "copy.parquet", april, 0.1, same_as=1)
    with Ledger.open(**opening(tmp_path)) as ledger:
        place = tmp_path / "copy.parquet"
        table = PrivateTable(place, policy=POLICY, ledger=ledger, edition=march("1.0"), same_as=1)
        assert table.same_as is not None
        assert table.same_as.line == "version 1 of the table (march.parquet, published for 2026-03)"
        copy = pickle.loads(pickle.dumps(table))
        assert (copy.same_as, copy.named) == (table.same_as, "copy.parquet")
        copy.ledger.close()


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with Ledger.open(url, dataset="patients", policy="ab12cd34", caps=Caps(epsilon=0.9)) as book:
        yield book


def test_what_the_ledger_calls_data_is_no_part_of_the_question(ledger: Ledger) -> None:
    """A file of another name is the same table where its state is: the answer is repeated."""
    for source, same in (("a.csv", None), ("b.csv", 1), ("", None)):
        charge = Charge("n", "count", Spend(epsilon=0.1), source=source, same_as=same)
        answer_once(ledger, [charge], lambda *_: lambda entries: [(9, [[9]]) for _ in entries], data="t")
    assert [one.source for one in ledger.entries()] == ["a.csv"]
    (version,) = ledger.versions()
    assert (version.answers, version.repeated, version.sources) == (1, 2, ("a.csv",))
    assert [one.source for one in version.same_as] == ["b.csv"]


def test_a_period_that_was_repeated_for_was_published(tmp_path: Path) -> None:
    """One file for two periods, the second time for free: a copy of it may be asked for either."""
    march_, april = march("1.0"), Edition("Stays", "2026-04", "1.0")
    asked(tmp_path, "march.parquet", march_, 0.1)
    asked(tmp_path, "march.parquet", april, 0.1)
    asked(tmp_path, "copy.parquet", april, 0.1, same_as=1)
    with Ledger.read(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        found, versions = ledger.data_version(1), ledger.versions()
    assert found.periods == tuple(sorted({one.edition.period for one in versions})) == ("2026-03", "2026-04")
    assert found.sources == ("march.parquet",)
    assert [(one.answers, one.repeated) for one in versions] == [(1, 0), (1, 2)]


def test_a_repeat_that_says_nothing_is_no_repeat_of_before(ledger: Ledger) -> None:
    """Published once as an edition, then repeated by somebody who publishes nothing."""
    for edition in (march("1.0"), None):
        charge = Charge("n", "count", Spend(epsilon=0.1), edition=edition)
        answer_once(ledger, [charge], lambda *_: lambda entries: [(9, [[9]]) for _ in entries], data="t")
    ledger.mark_repeated([1])  # as leakcap recorded it before it recorded occasions
    assert [(one.edition, one.answers, one.repeated) for one in ledger.versions()] == [
        (march("1.0"), 1, 1),
        (Edition(), 1, 1),
    ]
    ledger.verify()


def test_what_the_ledger_calls_data_is_one_short_line() -> None:
    for wrong in ("a\nb", "a\rb", "a" * 201):
        with pytest.raises(InvalidParameter, match="`source` of `Charge` must be one line of at most 200"):
            Charge("n", "count", Spend(epsilon=0.1), source=wrong)
    # Whatever a file is called, an answer about it can be recorded.
    for name in ("a\nb.csv", "ü" * 120 + ".csv", "\udce9.csv"):
        called = called_together({"": Identity(Path(name)).called, "wards": name})
        assert Charge("n", "count", Spend(epsilon=0.1), source=called).source == called


@pytest.mark.parametrize(
    "wrong", [{"source": "a\0b"}, {"same_as": 0}, {"same_as": True}, {"same_as": "1"}, {"same_as": -1}]
)
def test_what_no_ledger_can_keep_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=f"`{next(iter(wrong))}` of `Charge` must be"):
        Charge("n", "count", Spend(epsilon=0.1), **wrong)


@pytest.mark.parametrize("name", ["data_source", "same_as"])
def test_nobody_writes_these_details_but_the_ledger(name: str) -> None:
    with pytest.raises(InvalidParameter, match=f"leave `{name}` to the ledger"):
        Charge("n", "count", Spend(epsilon=0.1), details={name: 1})


CALLED: dict[str, tuple[dict[str, Any], str]] = {
    "a path": ({"data": Path("/srv/secret place/stays.csv")}, "stays.csv"),
    "a text": ({"data": "/srv/secret/stays.parquet"}, "stays.parquet"),
    "a relative path": ({"data": "../secret/stays.parquet"}, "stays.parquet"),
    "a table of a file": ({"data": "/srv/secret/w.duckdb", "table": "stays"}, "w.duckdb, table stays"),
    "a server": (
        {"data": "postgresql+psycopg://ada:secret@secret.host/secret", "table": "health.stays"},
        "table health.stays",
    ),
    "a cluster": ({"data": "spark://secret.host:7077", "table": "stays"}, "table stays"),
    "a data frame": ({"data": ROWS}, ""),
    "a version": ({"data": ROWS, "version": "2026-03"}, "version 2026-03"),
    "a file and a version": ({"data": "/secret/a.csv", "version": "v"}, "a.csv, version v"),
}


@pytest.mark.parametrize("case", CALLED)
def test_no_folder_no_address_and_no_password_is_in_a_name(case: str) -> None:
    given, name = CALLED[case]
    found = Identity(given["data"], table=given.get("table"), version=given.get("version")).called
    assert (found, "secret" in found) == (name, False)


def test_a_hostile_name_is_one_line_of_bounded_length() -> None:
    hostile = "stays\n\x1b[2J\udcff" + "x" * 500 + ".csv"
    name = called_together({"": Identity(hostile).called, "wards": "w.csv"})
    assert len(name) == 200
    assert name.isprintable()
    assert name.startswith("stays\\n\\x1b[2J")
    assert Charge("n", "count", Spend(epsilon=0.1), source=name).source == name


def test_tables_that_are_joined_are_named_too(tmp_path: Path) -> None:
    beds = {"beds": {"bounds": [0.0, 99.0]}}
    joined = POLICY | {
        "columns": {"days": {"bounds": [0.0, 9.0]}, "ward": {"keys": ["a", "b"]}},
        "tables": {"wards": {"key": "ward", "on": "ward", "public": True, "columns": beds}},
    }
    stays = pyarrow.table({"days": [1.0, 2.0], "ward": ["a", "b"]})
    wards = pyarrow.table({"ward": ["a", "b"], "beds": [10.0, 20.0]})
    for name, rows in (("stays", stays), ("beds", wards)):
        parquet.write_table(rows, tmp_path / f"{name}.parquet")
    table = PrivateTable(
        tmp_path / "stays.parquet",
        policy=joined,
        ledger="sqlite://",
        tables={"wards": tmp_path / "beds.parquet"},
    )
    assert table.named == "stays.parquet, wards: beds.parquet"
    assert PrivateTable(stays, policy=joined, ledger="sqlite://", tables={"wards": wards}).named == ""


def test_ledgers_of_before_names_were_kept_say_what_they_know(
    ledger: Ledger, charge: Callable[..., Charge]
) -> None:
    """Rows without these details, repeats among them."""
    for _ in range(2):
        (entry,) = ledger.reserve([charge()], data="t")
        ledger.mark_released([entry.id], answers={entry.id: [[1]]})
    ledger.mark_repeated([1, 1])
    (version,) = ledger.versions()
    assert (version.edition, version.sources, version.same_as) == (Edition(), (), ())
    assert (version.answers, version.repeated) == (2, 2)
    assert ledger.data_version(1).line == "version 1 of the table"


def test_the_export_has_it(tmp_path: Path) -> None:
    from leakcap.ledger import export

    asked(tmp_path, "march.parquet", march("1.0"), 0.1)
    asked(tmp_path, "copy.parquet", march("1.0"), 0.2, same_as=1)
    with Ledger.read(f"sqlite:///{tmp_path / 'l.db'}") as ledger:
        rows = json.loads(export(ledger.entries(), "json"))
    assert [row["details"].get("data_source") for row in rows] == ["march.parquet", "copy.parquet"]
    assert [row["details"].get("same_as") for row in rows] == [None, 1]
