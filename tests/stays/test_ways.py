"""The year's publication from a file, in SQL and in Python: one set of questions, one set of answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leakcap.ledger import Ledger
from leakcap.release import PrivateTable, load_queries
from stays.office import SOME, Told, desk, make, printed, repeatable, told

PRICES = {
    "stays by month and sex": 0.3,
    "stays by chapter and age": 0.3,
    "emergencies by quarter": 0.2,
    "cost by chapter": 0.4,
    "median age": 0.1,
}


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return desk(tmp_path_factory.mktemp("office"))


def statements(office: Path) -> dict[str, str]:
    """Each statement of `year.sql` by the name of its answer."""
    texts = [one.strip() for one in (office / "year.sql").read_text().split(";") if one.strip()]
    return {one.split('"')[1]: one for one in texts}


def from_the_file(office: Path, ledger: str) -> Told:
    return printed("release", "year.toml", "--ledger", ledger, cwd=office)


def in_sql(office: Path, ledger: str) -> Told:
    found: Told = {}
    for name, text in statements(office).items():
        asked = ("sql", text, "--epsilon", str(PRICES[name]), "--in", "year.toml", "--ledger", ledger)
        found |= printed(*asked, cwd=office)
    return found


def in_python(office: Path, ledger: str) -> Told:
    stays = PrivateTable(office / "stays.parquet", policy=office / "policy.toml", ledger=office / ledger)
    asked = {name: {"epsilon": price, "name": name} for name, price in PRICES.items()}
    known = "emergency IS NOT NULL"
    return told([
        stays.count(by=["month", "sex"], **asked["stays by month and sex"]),
        stays.count(by=["chapter", "age_band"], **asked["stays by chapter and age"]),
        stays.ratio(when="emergency", where=known, by="quarter", **asked["emergencies by quarter"]),
        stays.mean("cost", by="chapter", **asked["cost by chapter"]),
        stays.median("age", **asked["median age"]),
    ])  # fmt: skip


def spent(office: Path, ledger: str) -> float:
    with Ledger.read(f"sqlite:///{office / ledger}") as book:
        return book.totals().epsilon


def test_what_was_asked_in_a_file_is_answered_for_free_in_every_way(office: Path) -> None:
    """Each way asks the same question, or the ledger would charge for another one."""
    first = from_the_file(office, "one.db")
    before = spent(office, "one.db")
    assert before == pytest.approx(1.9)
    ways = {"sql": in_sql(office, "one.db"), "python": in_python(office, "one.db")}
    assert spent(office, "one.db") == before
    for name in PRICES:
        for way, found in ways.items():
            if name == "stays by month and sex":  # the file adds the rows cut to it
                assert [row[:2] for row in found[name]] == [row[:2] for row in first[name]]
            else:
                assert found[name] == first[name], way


def test_another_question_is_paid_for(office: Path) -> None:
    """Planted: one key fewer."""
    printed("release", "year.toml", "--ledger", "other.db", cwd=office)
    before = spent(office, "other.db")
    asked = 'SELECT month, COUNT(*) AS "stays by month and sex" FROM stays GROUP BY month'
    printed("sql", asked, "--epsilon", "0.3", "--in", "year.toml", "--ledger", "other.db", cwd=office)
    assert spent(office, "other.db") == pytest.approx(before + 0.3)


def test_every_way_draws_the_same_from_one_seed(office: Path) -> None:
    """Nothing is repeated here: a new ledger for each question and way, one seed, one choice of rows."""
    queries, asked = load_queries(office / "year.toml"), statements(office)
    with repeatable():
        for one in queries.queries:
            if one.name not in PRICES:
                continue
            table = PrivateTable(queries.data, policy=queries.policy, ledger="sqlite://")
            (in_sql,) = table.sql(asked[one.name], epsilon=PRICES[one.name])
            table = PrivateTable(queries.data, policy=queries.policy, ledger="sqlite://")
            (from_file,) = table.release([one])
            assert told([in_sql]) == told([from_file])
            assert not in_sql.repeated


def test_the_table_is_the_one_that_the_pages_speak_of() -> None:
    whole = make.stays()
    people = whole.group_by("patient").aggregate([("stay", "count")])["stay_count"].to_pylist()
    assert (whole.num_rows, len(people), max(people)) == (200_000, 62_388, 29)
    assert make.stays(SOME).equals(make.stays(SOME))


def test_its_values_are_the_same_on_every_machine() -> None:
    """Nights and cents, added up by awk from the CSV file that the script writes."""
    whole = make.stays()
    cents = sum(round(100 * one) for one in whole["cost"].to_pylist())
    assert (sum(whole["nights"].to_pylist()), cents) == (553_036, 48_411_724_034)


def test_a_copy_of_the_folder_repeats_for_free(office: Path, tmp_path: Path) -> None:
    """Moved files are another version of the table; the owner's word says that it is the same."""
    printed("release", "march.toml", cwd=office)
    moved = Path(shutil.copytree(office, tmp_path / "moved"))
    before = spent(moved, "stays.db")
    printed("release", "march.toml", "--same-as", "1", cwd=moved)
    assert spent(moved, "stays.db") == before
