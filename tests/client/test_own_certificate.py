"""The certificate that the client shows: read with suspicion, and to its own address alone."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from leakcap.client.certificates import known_certificate, with_certificate
from leakcap.client.http import CuratorHttp
from leakcap.errors import InvalidParameter
from service.authorities import Authority, Shown

HOME = "https://curator.example.org"


@pytest.fixture(scope="module")
def shown() -> Shown:
    return Authority().issued("ada")


def test_a_file_that_others_can_read_is_refused(shown: Shown, tmp_path: Path) -> None:
    file = shown.file(tmp_path, "ada")
    with_certificate(ssl.create_default_context(), file)
    for mode in (0o640, 0o604, 0o660):
        file.chmod(mode)
        with pytest.raises(InvalidParameter, match="chmod 600"):
            with_certificate(ssl.create_default_context(), file)


def test_what_cannot_be_shown_is_refused_in_a_line(shown: Shown, tmp_path: Path) -> None:
    """A key with a passphrase is not waited for at the terminal."""
    locked = shown.key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"a passphrase"),
    )
    contents = {
        "alone": shown.pem.encode(),
        "locked": shown.pem.encode() + locked,
        "empty": b"",
        "other": b"\x00\xff",
    }
    for name, content in contents.items():
        file = tmp_path / name
        file.write_bytes(content)
        file.chmod(0o600)
        with pytest.raises(InvalidParameter, match="must hold a certificate and its key"):
            with_certificate(ssl.create_default_context(), file)
    with pytest.raises(InvalidParameter, match="must be a PEM file"):
        with_certificate(ssl.create_default_context(), tmp_path / "nowhere")


def test_it_is_shown_to_its_own_address_alone(
    shown: Shown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that cannot be used tells whether it was looked at."""
    monkeypatch.setenv("LEAKCAP_CERTIFICATE", str(tmp_path / "nowhere"))
    monkeypatch.delenv("LEAKCAP_SERVER", raising=False)
    CuratorHttp(HOME).close()
    monkeypatch.setenv("LEAKCAP_SERVER", HOME)
    assert known_certificate(HOME) == tmp_path / "nowhere"
    for other in ("https://curator.example.com", "https://curator.example.org:444", "http://127.0.0.1:1"):
        assert known_certificate(other) is None
        CuratorHttp(other).close()
    with pytest.raises(InvalidParameter, match="must be a PEM file"):
        CuratorHttp(HOME)
    CuratorHttp(HOME, certificate=shown.file(tmp_path, "ada")).close()
