"""The example of nginx as it stands, before a curator, with a certificate of its own and free ports."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from curator_played import free_port
from ending_with_us import with_us
from leakcap.client.certificates import with_certificate
from service.started import Started, started

NAME = "curator.example.org"
EXAMPLE = Path(__file__).parents[2] / "examples/curator/nginx.conf"
CURATOR = f'public = "https://{NAME}"\nbehind_proxy = true\n'


@dataclass(frozen=True)
class Proxy:
    """nginx, the curator behind it, and the certificate to trust."""

    port: int
    curator: Started
    certificate: Path

    def connection(
        self, source: str = "127.0.0.1", name: str = NAME, shown: Path | None = None
    ) -> ssl.SSLSocket:
        """A connection whose certificate was checked, from an address of loopback; with a certificate of
        one's own, if given, as leakcap's client shows it."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        if shown is not None:
            with_certificate(context, shown)
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(source, 0))
        return context.wrap_socket(raw, server_hostname=name)

    def told(self, request: bytes, *, seconds: float = 3.0, shown: Path | None = None) -> bytes:
        """All that is answered on one connection, until it is closed or nothing comes any more."""
        parts = []
        with self.connection(shown=shown) as connection:
            connection.sendall(request)
            connection.settimeout(seconds)
            try:
                while part := connection.recv(65536):
                    parts.append(part)
            except (TimeoutError, ssl.SSLError, ConnectionError):
                pass
        return b"".join(parts)


def certificate(folder: Path) -> None:
    """`curator.pem` and `curator.key`, for a day."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "curator.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "curator.key").write_bytes(secret)


def placed(
    folder: Path, port: int, upstream: int, example: Path = EXAMPLE, changes: Sequence[tuple[str, str]] = ()
) -> Path:
    """An example with the test's places in place of a machine's: nothing else of it is changed, except what a
    test plants."""
    text = example.read_text(encoding="utf-8")
    for old, new in (
        *changes,
        ("/run/nginx.pid", str(folder / "nginx.pid")),
        ("/var/log/nginx", str(folder)),
        ("/etc/leakcap/tls", str(folder)),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("127.0.0.1:8422;", f"127.0.0.1:{upstream};"),
    ):
        assert old in text, old
        text = text.replace(old, new)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    return folder / "nginx.conf"


@contextmanager
def proxied(folder: Path) -> Iterator[Proxy]:
    """nginx as the example has it, before a curator with its real processes."""
    with started(folder, CURATOR) as curator, in_front(folder, curator) as proxy:
        yield proxy


@contextmanager
def in_front(
    folder: Path, curator: Started, *, example: Path = EXAMPLE, changes: Sequence[tuple[str, str]] = ()
) -> Iterator[Proxy]:
    """nginx before a curator that runs; its files are in the folder."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    certificate(folder)
    port = free_port()
    file = placed(folder, port, curator.port, example, changes)
    words = [program, "-p", str(folder), "-e", str(folder / "errors.log"), "-c", str(file)]
    checked = subprocess.run([*words, "-t"], capture_output=True, text=True, timeout=30)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(with_us([*words, "-g", "daemon off;"]))
    try:
        _wait(port)
        yield Proxy(port, curator, folder / "curator.pem")
    finally:
        process.terminate()
        process.wait(20)


def _wait(port: int) -> None:
    give_up = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert time.monotonic() < give_up
            time.sleep(0.05)
