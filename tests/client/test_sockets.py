"""Over real sockets: certificates, dead addresses, and the tools over standard input and output."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import pty
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from mcp import ClientSession, StdioServerParameters, stdio_client

import leakcap as lc
from client.in_process import curator_in, token_of
from client.serving import served
from ending_with_us import with_us
from leakcap.client import NoAnswer
from leakcap.service.api.curator import Curator
from service.direct import PASSWORD

pytestmark = pytest.mark.slow


@pytest.fixture
def curator(tmp_path: Path) -> Iterator[Curator]:
    found = curator_in(tmp_path)
    yield found
    found.store.close()


def certificate(folder: Path) -> tuple[str, str]:
    """A certificate for this machine that nobody has vouched for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(built.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return str(files[0]), str(files[1])


def test_a_certificate_that_nobody_vouches_for_is_refused(
    curator: Curator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted trust, in the program that asks, lets the same certificate in."""
    cert, key = certificate(tmp_path)
    monkeypatch.setattr("leakcap.client.http._PAUSES", ())
    with served(curator, ssl_certfile=cert, ssl_keyfile=key) as port:
        url, token = f"https://127.0.0.1:{port}", token_of(curator, "ada")
        with lc.connect(url, token) as connection, pytest.raises(NoAnswer, match="ConnectError"):
            connection.me()
        trusting = f"import leakcap as lc; print(lc.connect({url!r}, {token!r}).me()['subject'])"
        # Around this machine the environment is not read: the program says itself whom it trusts.
        trust = "import httpx, ssl; made = httpx.Client.__init__\n"
        trust += f"context = ssl.create_default_context(cafile={cert!r})\n"
        trust += "httpx.Client.__init__ = lambda self, **m: made(self, **{**m, 'verify': context})\n"
        done = subprocess.run(
            [sys.executable, "-c", trust + trusting], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.stdout, done.stderr) == ("local:ada\n", "")


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with lc.connect(f"http://127.0.0.1:{port}", "lkc_x") as connection:
        start = time.monotonic()
        with pytest.raises(NoAnswer, match="could not be reached"):
            connection.me()
        assert 2.0 < time.monotonic() - start < 10.0  # it was tried four times


def test_a_server_that_never_answers_is_not_waited_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with lc.connect(f"http://127.0.0.1:{port}", "lkc_x", seconds=0.3) as connection:
            start = time.monotonic()
            with pytest.raises(NoAnswer, match="ReadTimeout"):
                connection.me()
            assert time.monotonic() - start < 15.0


def test_tools_over_standard_input_and_output(curator: Curator) -> None:
    """Whatever is not the protocol on standard output would end the session."""
    with served(curator) as port:
        url = f"http://127.0.0.1:{port}"
        known = {**os.environ, "LEAKCAP_SERVER": url, "LEAKCAP_TOKEN": token_of(curator, "ada")}
        program = "import sys; sys.argv = ['leakcap', 'mcp']; from leakcap_command import run; run()"
        parameters = StdioServerParameters(command=sys.executable, args=["-c", program], env=known)

        async def session() -> Any:
            async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
                await client.initialize()
                sql = "SELECT COUNT(*) FROM ward"
                return await client.call_tool("ask", {"dataset": "ward", "sql": sql, "epsilon": 0.5})

        told = anyio.run(session)
        assert not told.is_error
        assert told.structured_content["answers"][0]["epsilon"] == 0.5
    assert curator.engine.call("budget", "ward", "")["caps"][0]["spent"] == 0.5


def test_a_password_is_asked_for_and_not_shown(curator: Curator, tmp_path: Path) -> None:
    """At a terminal: what is typed for the name is seen, what is typed for the password is not."""
    with served(curator) as port:
        ours, theirs = pty.openpty()
        known = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config")}
        words = ["leakcap", "login", f"http://127.0.0.1:{port}"]
        program = "import fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        program += f"sys.argv = {words!r}; from leakcap_command import run; run()"
        process = subprocess.Popen(
            with_us([sys.executable, "-c", program]),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=known,
            start_new_session=True,
        )
        os.close(theirs)
        seen = b""
        for prompt, typed in ((b"Name: ", b"ada\n"), (b"Password: ", f"{PASSWORD}\n".encode())):
            while prompt not in seen:
                seen += os.read(ours, 1000)
            time.sleep(0.2)  # the terminal stops showing what is typed just after it has asked
            os.write(ours, typed)
        with contextlib.suppress(OSError):  # the other end is closed
            while more := os.read(ours, 1000):
                seen += more
        assert process.wait(60) == 0, seen
        os.close(ours)
    assert b"ada" in seen
    assert PASSWORD.encode() not in seen
    assert b"Signed in as local:ada" in seen
