"""A password in a URL is on no screen: each way in which one is given, by each command that has one."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import COMMANDS as ALL
from command_line import leakcap
from leakcap.credentials import shown_url, without_credentials
from leakcap.errors import LeakcapError
from leakcap.ledger import Caps, Ledger, database
from leakcap.models.files import load_model
from leakcap.release import PrivateTable, load_queries
from leakcap.web import Settings

SECRET = "s3cr3t"
URLS = """
postgresql+psycopg://ann:s3cr3t@127.0.0.1:1/x
postgresql://ann:s3cr3t@127.0.0.1:1/x
postgres://ann:s3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann:@s3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann:a/s3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann:a?s3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann:a#s3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann@corp:s3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann%3As3cr3t@127.0.0.1:1/x
postgresql+psycopg://ann:%2Fs3cr3t%40@127.0.0.1:1/x
postgresql+psycopg://127.0.0.1:1/x?password=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?user=ann&password=s3cr3t&connect_timeout=1
postgresql+psycopg://127.0.0.1:1/x?PASSWORD=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?p%61ssword=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?sslpassword=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?passfile=/home/s3cr3t
postgresql+psycopg://127.0.0.1:1/x?pasword=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?sslmode=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?port=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?options=-cs3cr3t
postgresql+psycopg://127.0.0.1:1/x?host=s3cr3t&host=b
postgresql+psycopg://127.0.0.1:1/x?service=s3cr3t
postgresql+psycopg://127.0.0.1:1/x?s3cr3t
postgresql+psycopg://127.0.0.1:s3cr3t/x
postgresql+psycopg:///host=127.0.0.1 port=1 password=s3cr3t
postgresql+psycopg:///postgresql%3A%2F%2Fann%3As3cr3t%40127.0.0.1%3A1%2Fx
postgresql+psycopg:///postgresql://ann:s3cr3t@127.0.0.1:1/x
postgresql+nodriver://ann:s3cr3t@127.0.0.1:1/x
postgresql+psycopg2://ann:s3cr3t@127.0.0.1:1/x
POSTGRESQL://ann:s3cr3t@127.0.0.1:1/x
postgresql:/ann:s3cr3t@127.0.0.1:1/x
mysql://ann:s3cr3t@127.0.0.1:1/x
mysql+pymysql://127.0.0.1:1/x?password=s3cr3t
sqlite://ann:s3cr3t@127.0.0.1/x
sqlite:///x.db?password=s3cr3t
host=127.0.0.1 port=1 user=ann password=s3cr3t dbname=x
host=127.0.0.1 password = 's3cr3t and more'
host=127.0.0.1 sslpassword='a\\' s3cr3t' passfile=/s3cr3t
dbname=postgresql://ann:s3cr3t@127.0.0.1:1/x
s3a://key:s3cr3t@bucket/t.parquet
sc://127.0.0.1:1/;token=s3cr3t
sc://127.0.0.1:1/;use_ssl=true;token=s3cr3t;user_id=ann
spark://ann:s3cr3t@127.0.0.1:1
""".strip().splitlines()

POLICY = """dataset = "ward"
neighbours = "add-remove-one"
[caps]
epsilon = 1.0
[columns.x]
bounds = [0.0, 10.0]
"""
QUERIES = """policy = "policy.toml"
data = {data}
table = "t"
ledger = {ledger}
[[query]]
name = "n"
statistic = "count"
epsilon = 0.1
"""
MODEL = """policy = "policy.toml"
data = {data}
table = "t"
ledger = {ledger}
[model]
kind = "linear"
features = ["x"]
target = "x"
epsilon = 0.1
"""


def unreachable(url: str) -> None:
    """Spark takes a minute to say so."""
    raise ValueError(url)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("leakcap.release.engine.spark._session", unreachable)
    Path("policy.toml").write_text(POLICY)
    Path("t.csv").write_text("x\n1.0\n")
    return tmp_path


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write(*, data: str, ledger: str) -> None:
    for name, text in (("q.toml", QUERIES), ("m.toml", MODEL)):
        text = text.format(data=quoted(data), ledger=quoted(ledger))
        Path(name).write_text(text if "://" in data else text.replace('table = "t"\n', ""))


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "a ledger's": lambda url: ["release", "q.toml", "--ledger", url],
    "sql": lambda url: [
        "sql",
        "SELECT COUNT(*) FROM ward",
        "--epsilon",
        "0.1",
        "--in",
        "q.toml",
        "--ledger",
        url,
    ],
    "fit": lambda url: ["fit", "m.toml", "--ledger", url],
    "budget": lambda url: ["budget", "--ledger", url],
    "budget of no query file": lambda url: ["budget", url],
    "annex": lambda url: ["annex", url],
    "plan": lambda url: ["plan", "q.toml", "--ledger", url],
    "verify": lambda url: ["ledger", "verify", url],
    "verify, as a query file": lambda url: ["ledger", "verify", f"{url}.toml"],
    "repair": lambda url: ["ledger", "repair", url],
    "export": lambda url: ["ledger", "export", url, "--output", "out.csv"],
    "amend": lambda url: ["ledger", "amend", "policy.toml", "--ledger", url, "--reason", "why"],
    "no verb": lambda url: ["ledger", url],
    "no command": lambda url: [url],
    "one word too many": lambda url: ["ledger", "verify", "l.db", url],
    "release of no query file": lambda url: ["release", url],
    "a number": lambda url: ["release", "q.toml", "--family", url],
    "report": lambda url: ["report", url],
    "init": lambda url: ["init", url, "--table", "t"],
    "check": lambda url: ["check", url, "--table", "t", "--policy", "policy.toml", "--show"],
    "serve": lambda url: ["serve", url],
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("url", [URLS[0], URLS[10]])
def test_no_command_repeats_it(name: str, url: str, place: Path) -> None:
    refused(url, [name], place)


@pytest.mark.slow
@pytest.mark.parametrize("url", URLS)
def test_nor_in_any_spelling(url: str, place: Path) -> None:
    refused(url, list(COMMANDS), place)


def refused(url: str, names: list[str], place: Path) -> None:
    write(data="t.csv", ledger="l.db")
    for name, words in [(name, COMMANDS[name]) for name in names]:
        done = leakcap(*words(url), cwd=place)
        assert done.returncode == 2, (name, done)
        assert done.stderr
        assert SECRET not in done.stdout + done.stderr, (name, done.stderr)
    assert not [path for path in place.rglob("*") if SECRET in path.name]


def doings(url: str) -> list[list[str]]:
    """Every command that has a ledger's URL, in an order in which each does what it is for."""
    why = ["--reason", "agreed"]
    return [
        ["release", "q.toml", "--ledger", url],
        ["release", "q2.toml", "--ledger", url, "--json"],
        ["sql", "SELECT SUM(x) FROM ward", "--epsilon", "0.1", "--in", "q.toml", "--ledger", url],
        ["budget", "--ledger", url],
        ["plan", "q.toml", "--ledger", url],
        ["annex", url],
        ["ledger", "verify", url],
        ["ledger", "repair", url],
        ["ledger", "export", url, "--json"],
        ["ledger", "admit", "visits.toml", "--ledger", url, "--preview", *why],
        ["ledger", "admit", "visits.toml", "--ledger", url, *why],
        ["ledger", "revise", url, "--replace", "1=2", *why],
        ["ledger", "withdraw", url, "--entry", "2", *why],
        ["ledger", "amend", "wider.toml", "--ledger", url, *why],
        ["ledger", "backup", url, "l.backup"],
        ["ledger", "restore", "l.backup", url, "--preview"],
        ["ledger", "move", url, "wide.db", "--preview"],
        ["ledger", "move", url, "wide.db"],
        ["ledger", "move", "wide.db", "back.db"],
    ]


@pytest.mark.parametrize("json_", [False, True])
def test_no_success_shows_it(json_: bool, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands for the server, so that every command ends well; what is shown is what it was given."""
    url, read = URLS[0], database._parse
    monkeypatch.setattr(database, "_parse", lambda text: read("sqlite:///l.db" if text == url else text))
    policy = POLICY.replace("[caps]", 'unit = { id = "p", max_rows = 1 }\n[caps]')
    for name, text in {
        "policy.toml": policy,
        "wider.toml": policy.replace("epsilon = 1.0", "epsilon = 2.0"),
        "visits.toml": policy.replace('"ward"', '"visits"'),
        "t.csv": "p,x\n1,1.0\n",
        "t2.csv": "p,x\n1,1.0\n2,2.0\n",
    }.items():
        Path(name).write_text(text)
    write(data="t2.csv", ledger="unused.db")
    Path("q.toml").rename("q2.toml")
    write(data="t.csv", ledger="unused.db")
    walked = set()
    for words in doings(url):
        words = [*words, "--json"] if json_ and "--json" not in words else words
        done = leakcap(*words, cwd=place)
        assert (done.returncode, done.stderr) == (0, ""), (words, done)
        assert SECRET not in done.stdout, (words, done.stdout)
        walked.add(" ".join(words[:2]))
    assert not Path("unused.db").exists()
    assert {name for name in ALL if name.startswith("ledger ")} <= walked


@pytest.mark.parametrize("url", URLS)
def test_no_file_that_names_it_does(url: str, place: Path) -> None:
    for data, ledger in ((url, "l.db"), ("t.csv", url)):
        write(data=data, ledger=ledger)
        for words in (
            ["release", "q.toml"],
            ["fit", "m.toml"],
            ["budget", "q.toml"],
            ["ledger", "verify", "q.toml"],
        ):
            done = leakcap(*words, cwd=place)
            assert SECRET not in done.stdout + done.stderr, (words, done.stderr)
        assert SECRET not in repr(load_queries("q.toml")) + repr(load_model("m.toml"))
        settings = Settings(policy=Path("policy.toml"), ledger=ledger, data=data)
        assert SECRET not in repr(settings) + str(replace(settings, tables={"a": url}))


@pytest.mark.parametrize("url", URLS)
def test_no_traceback_repeats_it(url: str, place: Path) -> None:
    """Python prints an error with everything that led to it."""
    policy = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0}, "columns": {}}
    calls: list[Callable[[], object]] = [
        lambda: Ledger.open(url, dataset="d", policy="ab12cd34", caps=Caps(1.0)),
        lambda: Ledger.read(url),
        lambda: PrivateTable(url, policy=policy, ledger="sqlite://", table="t"),
        lambda: PrivateTable("t.csv", policy=policy, ledger=url),
    ]
    for call in calls:
        try:
            call()
        except LeakcapError as error:
            frames = traceback.TracebackException.from_exception(error)
            shown = [line for line in frames.format() if not line.startswith("  File")]
            assert SECRET not in "".join(shown)
        else:
            pytest.fail(f"{url} was opened")


def test_what_is_no_secret_is_shown() -> None:
    assert shown_url("postgresql+psycopg://ann:pw@[::1]:5432/x") == "postgresql+psycopg://ann@[::1]:5432/x"
    assert shown_url("spark://master:7077") == "spark://master:7077"
    for text in (
        "Write `sqlite:///ledger.db` or `postgresql+psycopg://user@host/database`.",
        "`data` must be a URL like postgresql+psycopg://user@host/database.",
        "`noise_scale` of `Charge` must be positive. Got -1.0.",
        "write the dates as 12:30 to ann@example.org",
    ):
        assert without_credentials(text) == text
