"""`leakcap --server`: what the commands print of a curator's data is what they print of data at hand."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import leakcap.client
from client.both import Both, both_of
from client.in_process import HOME, InProcess, curator_in
from command_line import Done
from command_line import leakcap as run
from leakcap.client import Connection
from leakcap.client.credentials import credentials_file, forget_token, keep_token, kept_token, known_token
from leakcap.errors import InvalidParameter
from leakcap.service.api.curator import Curator
from leakcap.service.running.jobs import work
from release.session import POLICIES, data
from seeded_noise import noise_of
from service.direct import PASSWORD

QUESTIONS = """
[[query]]
name = "n"
statistic = "count"
by = ["d"]
epsilon = 0.5
[[query]]
name = "x"
statistic = "mean"
column = "x"
epsilon = 0.5
"""
AT_HAND = 'policy = "policy.toml"\ndata = "day.parquet"\nledger = "day.db"\n'
SQL = "SELECT d, COUNT(*) AS n FROM day GROUP BY d ORDER BY n DESC LIMIT 2"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own for what is kept."""
    for name in ("LEAKCAP_SERVER", "LEAKCAP_TOKEN", "LEAKCAP_DATASET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    monkeypatch.setattr(secrets, "token_hex", lambda size=32: "5e" * size)
    two = both_of(tmp_path, POLICIES["present"], data())
    token = (two.transport.requests and "") or two.there._http._token
    monkeypatch.setattr(
        leakcap.client, "connect", lambda url: Connection(url, token, transport=InProcess(two.curator))
    )
    (tmp_path / "release.toml").write_text(AT_HAND + QUESTIONS, encoding="utf-8")
    (tmp_path / "asked.toml").write_text(QUESTIONS, encoding="utf-8")
    two.here.ledger.close()
    yield two
    two.close()


def both_ways(place: Path, here: list[str], there: list[str]) -> tuple[str, str]:
    """What the command prints of data at hand, and of the curator's, with the same noise."""
    found = []
    for words in (here, ["--server", HOME, *there]):
        with noise_of("both ways"):
            done = run(*words, cwd=place)
        assert (done.returncode, done.stderr) == (0, ""), words
        found.append(done.stdout)
    return found[0], found[1]


def without_beginning(text: str) -> str:
    """What is printed without the line that a new ledger has, which a curator's begins out of sight."""
    return "\n".join(
        line for line in text.splitlines() if "ledger begins" not in line and "counted in it" not in line
    )


def test_sql(both: Both, home: Path) -> None:
    here, there = both_ways(home, ["sql", SQL, "--epsilon", "1"], ["sql", SQL, "--epsilon", "1"])
    assert without_beginning(here).strip() == there.strip()
    assert "only the first 2 groups" in " ".join(there.split())
    words = ["sql", SQL, "--epsilon", "1", "--json"]
    again = [json.loads(text) for text in both_ways(home, words, words)]
    for name in ("releases", "so_far", "caps", "policy", "assumptions"):
        assert again[0][name] == again[1][name]
    assert again[1]["releases"][0]["repeated"]


@pytest.mark.parametrize(
    "more", [["--preview"], ["--dry-run"], ["--preview", "--json"], ["--dry-run", "--json"]]
)
def test_sql_that_costs_nothing(both: Both, home: Path, more: list[str]) -> None:
    words = ["sql", SQL, "--epsilon", "1", *more]
    here, there = both_ways(home, words, words)
    assert here == there


def test_release_preview_and_budget(both: Both, home: Path) -> None:
    here, there = both_ways(home, ["preview", "release.toml"], ["preview", "asked.toml"])
    assert here == there
    here, there = both_ways(home, ["release", "release.toml"], ["release", "asked.toml"])
    assert without_beginning(here).strip() == there.strip()
    done = run(
        "--server", HOME, "release", "asked.toml", "--report", "page.html", "--csv", "values", cwd=home
    )
    assert "2 of 2 answers were repeated" in done.stdout
    assert (home / "page.html").is_file()
    assert (home / "values").is_dir()
    here, there = both_ways(home, ["budget", "release.toml"], ["budget"])
    assert there.splitlines()[:7] == here.splitlines()[:7]
    assert run("--server", HOME, "budget", "--json", cwd=home).stdout.startswith("{")


def test_datasets(both: Both, home: Path) -> None:
    done = run("--server", HOME, "datasets", "--json", cwd=home)
    record = json.loads(done.stdout)
    assert record["datasets"] == [{"name": "day", "title": "", "roles": ["analyst"], "paused": False}]
    assert "day" in run("--server", HOME, "datasets", cwd=home).stdout
    shape = json.loads(run("schema", "datasets").stdout)
    assert shape["properties"]["datasets"]["type"] == "array"


def test_the_server_of_the_environment_is_asked(
    both: Both, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKCAP_SERVER", HOME)
    assert run("preview", "asked.toml", cwd=home).returncode == 0
    assert run("convert", "PureDP(1)", "MIDP").returncode == 0  # a command that asks nobody is left alone


def refused(done: Done) -> str:
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_what_does_not_go_with_a_server_is_refused(both: Both, home: Path) -> None:
    at = ("--server", HOME)
    assert "works on data at hand" in refused(run(*at, "convert", "PureDP(1)", "MIDP"))
    assert "`policy` of `release.toml`" in refused(run(*at, "release", "release.toml", cwd=home))
    for option, value in (("--ledger", "x.db"), ("--analyst", "ada"), ("--same-as", "1"), ("--in", "a.toml")):
        told = refused(run(*at, "sql", SQL, "--epsilon", "1", option, value, cwd=home))
        assert f"`{option}` must be left out" in told
    assert "takes no file" in refused(run(*at, "budget", "release.toml", cwd=home))
    assert "`--server` is missing" in refused(run("datasets"))
    assert "There is no data set" in refused(run(*at, "--dataset", "none", "budget"))
    told = refused(run(*at, "sql", SQL, "--epsilon", "1", "--fresh", cwd=home))
    assert "--fresh pays ε = 1 for new noise" in told
    assert "begin with https://" in refused(run("--server", "http://example.org", "login"))


def test_an_answer_that_is_lost_is_told_as_the_terminal_needs_it(
    both: Both, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leakcap.client.http._PAUSES", ())

    def lost(request: httpx.Request, answer: httpx.Response) -> httpx.Response:
        if request.url.path.endswith("/releases"):
            raise httpx.ReadError("the line is dead")
        return answer

    def connect(url: str) -> Connection:
        transport = InProcess(both.curator)
        transport.after = lost
        return Connection(url, both.there._http._token, transport=transport)

    monkeypatch.setattr(leakcap.client, "connect", connect)
    told = refused(run("--server", HOME, "sql", SQL, "--epsilon", "1"))
    assert "Ask again without --fresh" in told
    assert "request=" not in told
    assert both.there.sql(SQL, epsilon=1.0)[0].repeated


@pytest.fixture
def curator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Curator]:
    more = "approval = { above_epsilon = 1.0, approvers = 1 }\n"
    found = curator_in(tmp_path, more=more)
    found.store.people.add("local:ann", by="test")
    found.store.grants.give("local:ann", "approver", "ward", by="test")
    monkeypatch.setattr(leakcap.client, "connect", lambda url: Connection(url, transport=InProcess(found)))
    yield found
    found.store.close()


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Standard input that is no terminal."""
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_sign_in_ask_wait_and_sign_out(curator: Curator, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"Sign in: leakcap login {HOME}" in refused(run("--server", HOME, "datasets"))
    typed(monkeypatch, f"{PASSWORD}\n")
    done = run("login", HOME, "--name", "ada")
    assert done.stderr == ""
    assert "Signed in as local:ada until" in done.stdout
    file = credentials_file()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    token = kept_token(HOME)
    assert token is not None
    assert token not in done.stdout
    assert PASSWORD not in file.read_text() + done.stdout
    told = run("--server", HOME, "sql", "SELECT COUNT(*) FROM ward", "--epsilon", "0.5")
    assert told.returncode == 0
    waits = refused(run("--server", HOME, "sql", "SELECT COUNT(*) FROM ward", "--epsilon", "2"))
    number = waits.split()[-1]
    assert f"leakcap --server {HOME} job {number}" in waits
    assert "awaiting approval" in run("--server", HOME, "job", number).stdout
    curator.store.decisions.decide(number, "local:ann", "approve", "")
    turns = iter([True, False])
    work(curator.store, curator.engine, curator.configuration, going=lambda: next(turns))
    answer = json.loads(run("--server", HOME, "job", number, "--json").stdout)
    assert answer["releases"][0]["price"]["epsilon"] == 2.0
    assert "The session is over." in run("logout", HOME).stdout
    assert kept_token(HOME) is None
    assert curator.store.tokens.find(token) is None
    assert "No token was kept" in run("logout", HOME).stdout


def test_a_password_that_was_given_is_replaced_at_signing_in_and_changed_later(
    curator: Curator, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, own, other = "a horse for one time", "another horse battery", "a third horse battery"
    curator.store.passwords.give_one_time("local:ada", given, by="test")
    typed(monkeypatch, f"{given}\n")
    assert "no new one was given. Nothing was changed" in refused(run("login", HOME, "--name", "ada"))
    assert not credentials_file().exists()
    typed(monkeypatch, f"{given}\n{own}\n")
    assert "Signed in as local:ada" in run("login", HOME, "--name", "ada").stdout
    first = kept_token(HOME)
    typed(monkeypatch, f"wrong\n{other}\n")
    assert "not accepted" in refused(run("password", HOME, "--name", "ada"))
    assert kept_token(HOME) == first
    typed(monkeypatch, f"{own}\n{other}\n")
    done = run("password", HOME, "--name", "ada", "--end-tokens")
    assert "The password is changed. All other sessions and all tokens have ended." in done.stdout
    assert other not in done.stdout
    assert run("--server", HOME, "datasets").returncode == 0
    assert first is not None
    assert curator.store.tokens.find(first) is None
    assert curator.store.passwords.verify("local:ada", other)


def test_a_wrong_password_keeps_nothing(
    curator: Curator, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(monkeypatch, "wrong\n")
    told = refused(run("login", HOME, "--name", "ada"))
    assert "wrong" not in told
    assert not credentials_file().exists()
    typed(monkeypatch, "ada\n")
    assert "`--name` is missing" in refused(run("login", HOME))


def test_the_password_is_no_option(curator: Curator) -> None:
    assert "No such option" in run("login", HOME, "--password", "x").stderr


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_refused(home: Path, mode: int) -> None:
    file = keep_token(HOME, "lkc_x")
    file.chmod(mode)
    with pytest.raises(InvalidParameter, match=r"may be opened by others.*chmod 600"):
        kept_token(HOME)
    with pytest.raises(InvalidParameter, match="may be opened by others"):
        keep_token(HOME, "lkc_y")
    file.chmod(0o600)
    assert kept_token(HOME) == "lkc_x"


def test_a_link_and_rubbish_are_refused(home: Path) -> None:
    file = keep_token(HOME, "lkc_x")
    file.rename(home / "elsewhere")
    file.symlink_to(home / "elsewhere")
    with pytest.raises(InvalidParameter, match="cannot be read as a file"):
        kept_token(HOME)
    file.unlink()
    for text in ("[", "[]", "[" * 5000):
        file.write_text(text)
        file.chmod(0o600)
        with pytest.raises(InvalidParameter, match="is not what `leakcap login` writes"):
            kept_token(HOME)


def test_a_token_goes_to_its_own_address_alone(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_token("https://one.example/", "lkc_one")
    assert known_token("https://ONE.example") == "lkc_one"
    assert known_token("https://two.example") is None
    assert known_token("https://one.example:8443") is None
    monkeypatch.setenv("LEAKCAP_TOKEN", "lkc_env")
    assert known_token("https://two.example") is None  # it is nobody's: no LEAKCAP_SERVER
    monkeypatch.setenv("LEAKCAP_SERVER", "https://two.example")
    assert known_token("https://two.example") == "lkc_env"
    assert known_token("https://one.example") == "lkc_one"
    assert forget_token("https://one.example")
    assert not forget_token("https://one.example")
