"""The command line as a person meets it: the main job, the caps, and one clear line for what is wrong."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from command_line import leakcap
from responses import best_guess

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"
POLICY = """
dataset = "ward"
neighbours = "replace-one"
rows = 4
[columns.age]
bounds = [0.0, 120.0]
[columns.sex]
keys = ["f", "m"]
[caps]
epsilon = 0.9
nats_per_person = 1.0
nats_table = 500.0
"""
QUERIES = """
policy = "policy.toml"
data = "ward.parquet"
ledger = "sqlite:///ward.db"
report = "report.html"
[[query]]
name = "old"
statistic = "count"
where = "age >= 65"
epsilon = 0.1
"""


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "release.toml").write_text(QUERIES)
    duckdb.execute(
        f"COPY (SELECT * FROM (VALUES (31.0, 'f'), (45.0, 'm'), (72.0, 'f'), (90.0, 'm')) t(age, sex)) "
        f"TO '{tmp_path / 'ward.parquet'}' (FORMAT parquet)"
    )
    return tmp_path


def spent(folder: Path) -> list[str]:
    """All that the ledger's file holds."""
    path = folder / "ward.db"
    if not path.exists():
        return []
    connection = sqlite3.connect(path)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_the_hospital_end_to_end(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(HOSPITAL, tmp_path / "hospital"))
    done = leakcap("release", "hospital/release.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert Path(result["report"]).stat().st_size < 3_000_000
    names = {release["name"] for release in result["releases"]}
    assert len(names) == len(result["releases"]) >= 4
    total = math.fsum(release["price"]["epsilon"] for release in result["releases"])
    so_far = {line["key"]: line for line in result["so_far"]["lines"]}
    assert so_far["epsilon"]["upper"] == pytest.approx(total, abs=1e-9)
    pure = result["so_far"]["exposure"]["composed"]["neighbours"]["pure"]
    assert math.fsum(epsilon * times for epsilon, times in pure) == pytest.approx(total, abs=1e-9)
    assert so_far["coin_flip"]["upper"] == pytest.approx(best_guess(pure), rel=1e-9)
    assert so_far["information_own"]["upper"] < so_far["information_published"]["upper"]
    budget = json.loads(leakcap("budget", folder / "release.toml", "--json", cwd=tmp_path).stdout)
    assert {entry["state"] for entry in budget["entries"]} == {"released"}
    table = leakcap("release", "hospital/release.toml", "--explain", cwd=tmp_path)
    assert table.returncode in (0, 2)
    assert table.returncode == 2 or "Cuff & Yu 2016" in table.stdout


def test_ten_runs_at_a_cap_for_nine(ward: Path) -> None:
    for run in range(9):
        done = leakcap("release", "release.toml", "--fresh", "--yes", cwd=ward)
        assert done.returncode == 0, (run, done.stderr)
    before, report = spent(ward), (ward / "report.html").read_bytes()
    refused = leakcap("release", "release.toml", "--fresh", "--yes", cwd=ward)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    for part in ("epsilon", "0 left of 0.9", "0.1 asked"):
        assert part in refused.stderr
    assert refused.stdout == ""
    assert spent(ward) == before
    assert (ward / "report.html").read_bytes() == report
    budget = json.loads(leakcap("budget", "release.toml", "--json", cwd=ward).stdout)
    caps = {cap["cap"]: cap for cap in budget["caps"]}
    assert (caps["epsilon"]["spent"], caps["epsilon"]["left"]) == (0.9, 0.0)
    assert len(budget["entries"]) == 9
    assert math.fsum(entry["epsilon"] for entry in budget["entries"]) == pytest.approx(0.9, abs=1e-12)
    person = math.fsum(entry["nats_person"] for entry in budget["entries"])
    assert caps["nats_person"]["spent"] == pytest.approx(person, abs=1e-11)
    shown = leakcap("budget", "--ledger", "ward.db", cwd=ward)
    assert shown.returncode == 0
    assert "old" in shown.stdout


@pytest.mark.parametrize("words", [(), ("--json",)], ids=str)
def test_new_noise_is_not_paid_for_without_a_word(ward: Path, words: tuple[str, ...]) -> None:
    assert leakcap("release", "release.toml", cwd=ward).returncode == 0
    before = spent(ward)
    for command in (("release", "release.toml"), ("sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.1")):
        refused = leakcap(*command, "--fresh", *words, cwd=ward)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "--fresh pays ε = 0.1 for new noise, of 0.8 left." in refused.stderr
        assert "say --yes" in refused.stderr
    assert spent(ward) == before


def test_what_a_first_release_says_and_writes(ward: Path) -> None:
    (ward / "release.toml").write_text(QUERIES.replace('report = "report.html"\n', ""))
    before = {path.name for path in ward.iterdir()}
    told = leakcap("release", "release.toml", "--csv", "values.csv", cwd=ward)
    assert told.returncode == 0, told.stderr
    assert "A new ledger begins: sqlite:" in told.stdout
    assert "Not counted" in told.stdout
    assert {path.name for path in ward.iterdir()} - before <= {
        "ward.db",
        "ward.db-wal",
        "ward.db-shm",
        "values.csv",
    }
    again = leakcap("release", "release.toml", cwd=ward)
    assert "A new ledger begins" not in again.stdout
    assert "1 of 1 answers were repeated" in again.stdout
    head, row = (ward / "values.csv").read_text().splitlines()
    assert head == '"statistic","value","lower","upper","confidence","flag","covers"'
    assert row.startswith('"old",')


def test_a_policy_is_corrected_before_anything_was_spent(ward: Path) -> None:
    policy = ward / "policy.toml"
    policy.write_text(POLICY.replace("rows = 4", "rows = 5"))
    refused = leakcap("release", "release.toml", cwd=ward)
    assert refused.returncode == 2
    assert "The policy says 5 rows (`rows`); the table does not have so many." in refused.stderr
    policy.write_text(POLICY)
    told = leakcap("budget", "release.toml", cwd=ward)
    assert "the next release takes it over as it is" in " ".join(told.stdout.split())
    assert leakcap("release", "release.toml", cwd=ward).returncode == 0
    policy.write_text(POLICY.replace("epsilon = 0.9", "epsilon = 9.0"))
    told = leakcap("budget", "release.toml", cwd=ward)
    assert "leakcap ledger amend" in told.stdout


def test_a_useless_answer_is_named_with_the_epsilon_that_helps(ward: Path) -> None:
    """The mean of four ages at ε = 0.1 is off by 900; of 120 the middle is off by 60 at most."""
    query = QUERIES.replace('"count"\nwhere = "age >= 65"', '"mean"\ncolumn = "age"')
    (ward / "release.toml").write_text(query)
    record = json.loads(leakcap("preview", "release.toml", "--json", cwd=ward).stdout)
    (one,) = record["statistics"]
    assert one["policy_error"] == 60.0
    assert one["error_95"] > 60.0
    useful = one["useful_epsilon"]
    told = leakcap("preview", "release.toml", cwd=ward)
    assert f"± 6 takes ε = {useful:.6g}" in " ".join(told.stdout.split())
    for epsilon, within in ((useful, True), (useful * 0.999, False)):
        (ward / "release.toml").write_text(query.replace("epsilon = 0.1", f"epsilon = {epsilon}"))
        (one,) = json.loads(leakcap("preview", "release.toml", "--json", cwd=ward).stdout)["statistics"]
        assert (one["error_95"] <= 6.0) == within
        assert "policy_error" not in one


def test_preview_touches_nothing(ward: Path) -> None:
    (ward / "ward.parquet").unlink()
    done = leakcap("preview", "release.toml", cwd=ward)
    assert done.returncode == 0, done.stderr
    assert "± 30" in done.stdout.replace("\u2212", "-")
    assert not (ward / "ward.db").exists()
    answer = json.loads(leakcap("preview", "release.toml", "--json", cwd=ward).stdout)
    assert answer["statistics"][0]["error_95"] == 30.0


BAD: dict[str, tuple[str, str, str]] = {
    "missing data": ('data = "ward.parquet"', 'data = "none.parquet"', "none.parquet"),
    "missing policy": ('policy = "policy.toml"', 'policy = "none.toml"', "none.toml"),
    "missing column": ("age >= 65", "height >= 65", "height"),
    "sum without bounds": (
        'statistic = "count"\nwhere = "age >= 65"',
        'statistic = "sum"\ncolumn = "sex"',
        "bounds",
    ),
    "epsilon zero": ("epsilon = 0.1", "epsilon = 0.0", "epsilon"),
    "epsilon negative": ("epsilon = 0.1", "epsilon = -1.0", "epsilon"),
    "epsilon nan": ("epsilon = 0.1", "epsilon = nan", "epsilon"),
    "epsilon inf": ("epsilon = 0.1", "epsilon = inf", "epsilon"),
    "unknown key": ("age >= 65", "sex = 'x'", "sex"),
    "by without keys": ('where = "age >= 65"', 'by = "age"', "age"),
    "where unparsable": ("age >= 65", "age >=", "where"),
    "where outside": ("age >= 65", "age > (SELECT 1)", "where"),
    "where two statements": ("age >= 65", "age > 1; DROP TABLE x", "where"),
    "unknown field": ("epsilon = 0.1", "epsilon = 0.1\ncolour = 1", "colour"),
    "decimal comma": ("epsilon = 0.1", "epsilon = 0,1", "write 0.1: a decimal has a point"),
    "spaces": ("age >= 65", "Stay (days) >= 65", 'double quotes, like "stay (days)"'),
    "other case": ("age >= 65", "Age >= 65", "did you mean `age`"),
    "toml": ("[[query]]", "[[query", "release.toml"),
    "unwritable report": ('report = "report.html"', 'report = "policy.toml/report.html"', "report"),
    "unknown ledger": ('ledger = "sqlite:///ward.db"', 'ledger = "nosuch://x"', "ledger"),
    "over the cap": ("epsilon = 0.1", "epsilon = 0.95", "epsilon"),
}


@pytest.mark.parametrize("case", BAD)
def test_one_clear_line_and_nothing_spent(ward: Path, case: str) -> None:
    old, new, named = BAD[case]
    path = ward / "release.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    done = leakcap("release", "release.toml", cwd=ward)
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1, done.stderr
    assert named.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [row for row in spent(ward) if "'old'" in row] == []
    for value in ("31.0", "72.0", "90.0"):
        assert value not in done.stderr


def test_a_policy_with_an_unknown_field_and_a_foreign_ledger(ward: Path) -> None:
    assert leakcap("release", "release.toml", cwd=ward).returncode == 0
    before = spent(ward)
    policy = ward / "policy.toml"
    policy.write_text(POLICY.replace("epsilon = 0.9", "epsilon = 9.0"))
    foreign = leakcap("release", "release.toml", cwd=ward)
    assert foreign.returncode == 2
    assert "another policy" in foreign.stderr
    policy.write_text("speed = 3\n" + POLICY)
    unknown = leakcap("release", "release.toml", cwd=ward)
    assert unknown.returncode == 2
    assert "speed" in unknown.stderr
    assert spent(ward) == before


def test_the_console_script_in_a_process_of_its_own(ward: Path) -> None:
    command = [sys.executable, "-m", "leakcap.cli.main", "release", "release.toml"]
    done = subprocess.run(command, cwd=ward, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (ward / "ward.parquet").write_text("no parquet")
    failed = subprocess.run(command, cwd=ward, capture_output=True, text=True, timeout=120, check=False)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr.startswith("leakcap: ")
    assert failed.stderr.count("\n") == 1


def test_usage_errors_and_help(ward: Path) -> None:
    for args in (
        ["release"],
        ["release", "none.toml"],
        ["budget"],
        ["nonsense"],
        ["budget", "--ledger", "none.db"],
    ):
        done = leakcap(*args, cwd=ward)
        assert done.returncode == 2, args
        assert "Traceback" not in done.stderr
    for command in ("release", "preview", "budget"):
        assert "Example" in leakcap(command, "--help", cwd=ward).stdout
    assert not (ward / "none.db").exists()
