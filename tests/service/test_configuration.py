"""What the owner writes for a curator: every mistake is one line that names it, and nothing runs with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from leakcap.errors import InvalidParameter, LedgerError
from leakcap.release import amend
from leakcap.service.configuration import load_configuration
from leakcap.service.engine.tables import governing
from leakcap.service.running.checking import require_fit
from service.direct import POLICY, curator_in, written

OIDC = '[identity.{}]\nissuer = "{}"\naudience = "curator"\nclient_id = "cli"\n'


def refused(folder: Path, more: str, *, instead: str = "") -> str:
    """What is said of a configuration with these lines more, or `instead` of all."""
    file = written(folder)
    plain = file.read_text().replace("tick = 0.001\n", "")
    # Tables come after what stands at the top.
    file.write_text(instead or (plain + more if more.startswith("[") else more + plain))
    with pytest.raises(InvalidParameter) as told:
        require_fit(load_configuration(file), file)
    return str(told.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('listen = "0.0.0.0:8422"\n', "`tls` is missing"),
        ('listen = "0.0.0.0:8422"\nbehind_proxy = true\n', "`tls` is missing"),
        ('listen = "192.0.2.7:8422"\n', "`tls` is missing"),
        ('listen = "localhost"\n', "an address and a port"),
        ('listen = "127.0.0.1:99999"\n', "an address and a port"),
        ('public = "http://curator.example.org"\n', "must be an https address"),
        ('public = "https://curator.example.org"\n', "`behind_proxy = true`"),
        ("tick = 0.0\n", "`tick`"),
        ("workers = 0\n", "`workers`"),
        ("local_accounts = false\n", "nobody could sign in"),
        ("secret = 1\n", "`secret`"),
        (OIDC.format("local", "https://login.example.org"), "`identity.local`"),
        (OIDC.format("Uni", "https://login.example.org"), "`identity.Uni`"),
        (OIDC.format("uni", "http://login.example.org"), "must be an https address"),
        (OIDC.format("uni", "https://login.example.org") + 'algorithms = ["HS256"]\n', "public key"),
        (OIDC.format("uni", "https://login.example.org") + 'algorithms = ["none"]\n', "public key"),
        ('[tls]\ncertificate = "none.pem"\nkey = "none.key"\n', "`tls.certificate`"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, more: str, said: str) -> None:
    assert said in refused(tmp_path, more)


def test_two_data_sets_have_two_ledgers(tmp_path: Path) -> None:
    """However the one ledger's path is written."""
    file = written(tmp_path)
    other = '[data.other]\npolicy = "policy.toml"\nsource = "ward.parquet"\nledger = "sqlite:///./ward.db"\n'
    told = refused(tmp_path, "", instead=file.read_text() + other)
    assert "have one ledger" in told


def test_a_ledger_is_no_store(tmp_path: Path) -> None:
    file = written(tmp_path)
    told = refused(tmp_path, "", instead='store = "sqlite:///ward.db"\n' + file.read_text())
    assert "its own database" in told


@pytest.mark.parametrize("name", ["ward.parquet", "ward.db", "curator.db"])
def test_what_others_can_read_is_not_served(tmp_path: Path, name: str) -> None:
    file = written(tmp_path)
    (tmp_path / name).touch()
    (tmp_path / name).chmod(0o604)
    with pytest.raises(InvalidParameter, match="other users of this machine"):
        require_fit(load_configuration(file), file)
    (tmp_path / name).chmod(0o600)
    require_fit(load_configuration(file), file)


def test_a_file_with_passwords_is_the_owners_alone(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_text(file.read_text().replace('"ward.db"', '"postgresql+psycopg://me:secret@host/ward"'))
    file.chmod(0o644)
    with pytest.raises(InvalidParameter, match="has passwords") as told:
        require_fit(load_configuration(file), file)
    assert "secret" not in str(told.value)


def test_caps_of_somebody_whom_nobody_can_verify_are_refused(tmp_path: Path) -> None:
    """A policy that caps `ada` would cap nobody: she is `local:ada` here."""
    file = written(tmp_path)
    (tmp_path / "policy.toml").write_text(POLICY % 10.0 + "[caps.analysts.ada]\nepsilon = 1.0\n")
    with pytest.raises(InvalidParameter, match="`ada`"):
        require_fit(load_configuration(file), file)
    (tmp_path / "policy.toml").write_text(POLICY % 10.0 + '[caps.analysts."uni:ada"]\nepsilon = 1.0\n')
    with pytest.raises(InvalidParameter, match="`uni:ada`"):
        require_fit(load_configuration(file), file)
    file.write_text(file.read_text() + OIDC.format("uni", "https://login.example.org"))
    require_fit(load_configuration(file), file)


def test_an_edited_policy_is_amended_before_it_governs(tmp_path: Path) -> None:
    """A new policy never refreshes a budget: the edited file is refused, and the amended one goes on."""
    curator = curator_in(tmp_path)
    source = curator.configuration.data["ward"]
    query = {"name": "n", "statistic": "count", "epsilon": 1.0}
    curator.engine.call("release", "ward", "local:ada", {"queries": [query]})
    (tmp_path / "policy.toml").write_text(POLICY % 20.0)
    with pytest.raises(LedgerError, match="leakcap ledger amend"):
        governing(source)
    amend(tmp_path / "policy.toml", tmp_path / "ward.db", reason="agreed", by="olga")
    assert governing(source).caps.epsilon == 20.0
    caps = curator.engine.call("budget", "ward", "local:ada")["caps"]
    assert (caps[0]["limit"], caps[0]["spent"]) == (20.0, 1.0)


def test_an_amendment_over_the_wire_needs_no_file(tmp_path: Path) -> None:
    """The file on disk is the one of before: what governs is in the ledger."""
    curator = curator_in(tmp_path)
    query = {"name": "n", "statistic": "count", "epsilon": 1.0}
    curator.engine.call("release", "ward", "local:ada", {"queries": [query]})
    policy = curator.engine.call("describe", "ward", "local:olga")["policy"]
    policy["caps"]["epsilon"] = 5.0
    body = {"policy": policy, "reason": "less"}
    curator.engine.call("amend", "ward", "local:olga", body)
    caps = curator.engine.call("budget", "ward", "local:ada")["caps"]
    assert (caps[0]["limit"], caps[0]["spent"]) == (5.0, 1.0)
    assert governing(curator.configuration.data["ward"]).caps.epsilon == 5.0
