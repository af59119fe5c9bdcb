"""What is checked before a curator runs: files and who may read them, ledgers, policies; each by name."""

from __future__ import annotations

import importlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from leakcap.errors import InvalidParameter, LeakcapError
from leakcap.policy import load_policy
from leakcap.service.configuration import LOCAL, Configuration, proxy_secret

__all__ = ["require_fit"]


def require_fit(configuration: Configuration, file: Path) -> None:
    """Raise `InvalidParameter`, a line for each mistake, unless a curator can run with this configuration."""
    found = list(_mistakes(configuration, file))
    if found:
        raise InvalidParameter("\n".join(found))


def _mistakes(configuration: Configuration, file: Path) -> Iterator[str]:
    yield from _open_secrets(configuration, file)
    yield from _shared_ledgers(configuration)
    yield from _policies(configuration)
    for alias, one in configuration.identity.items():
        secret = one.console_secret
        if secret and not Path(secret).is_file():
            yield f"`identity.{alias}.console_secret` of `{file.name}` must be a file. Got `{secret}`."
    if configuration.client_certificates is not None:
        try:
            proxy_secret(configuration)
        except InvalidParameter as error:
            yield str(error)
    if configuration.telemetry is not None and not _has_telemetry():
        yield (
            f"`telemetry` of `{file.name}` needs OpenTelemetry, which is not installed. Run "
            "`pip install 'leakcap[telemetry]'`, or leave `telemetry` out."
        )
    if configuration.tls is not None:
        for name, path in (("certificate", configuration.tls.certificate), ("key", configuration.tls.key)):
            if not Path(path).is_file():
                yield f"`tls.{name}` of `{file.name}` must be a file. Got `{path}`."


def _has_telemetry() -> bool:
    try:
        importlib.import_module("leakcap.service.telemetry")
    except ImportError:
        return False
    return True


def _open_secrets(configuration: Configuration, file: Path) -> Iterator[str]:
    """Files that other users of this machine could read or change."""
    urls = [configuration.store, *(one.ledger for one in configuration.data.values())]
    if any("@" in url for url in (*urls, *(one.source for one in configuration.data.values()))):
        yield from _open(file, "has passwords")
    files = [(_file(url), "is a ledger or the store") for url in urls]
    files += [
        (Path(one.source), "is the data") for one in configuration.data.values() if "://" not in one.source
    ]
    if configuration.tls is not None:
        files.append((Path(configuration.tls.key), "is the certificate's key"))
    if configuration.client_certificates is not None:
        files.append((Path(configuration.client_certificates.secret), "is the proxy's secret"))
    files += [
        (Path(one.console_secret), "is a client's secret")
        for one in configuration.identity.values()
        if one.console_secret
    ]
    for path, what in files:
        if path is not None and path.exists():
            yield from _open(path, what)


def _open(path: Path, what: str) -> Iterator[str]:
    mode = stat.S_IMODE(os.stat(path).st_mode)
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        yield f"`{path}` {what}, and other users of this machine can read or change it: chmod o-rw,g-w {path}"


def _file(url: str) -> Path | None:
    scheme, _, path = url.partition(":///")
    return Path(path) if scheme == "sqlite" and path else None


def _shared_ledgers(configuration: Configuration) -> Iterator[str]:
    """Two data sets on one ledger: their accounts would be one."""
    seen: dict[str, str] = {}
    for name, one in configuration.data.items():
        path = _file(one.ledger)
        place = os.path.realpath(path) if path is not None else one.ledger
        if place in seen:
            yield (
                f"`data.{name}` and `data.{seen[place]}` have one ledger, so that their people's budgets "
                "would be one. Give each its own."
            )
        if place == os.path.realpath(_file(configuration.store) or "") or one.ledger == configuration.store:
            yield f"`data.{name}` has its ledger in the `store`. Give it its own database."
        seen[place] = name


def _policies(configuration: Configuration) -> Iterator[str]:
    known = {LOCAL, *configuration.identity}
    for name, one in configuration.data.items():
        try:
            policy = load_policy(one.policy)
        except LeakcapError as error:
            yield str(error)
            continue
        groups = getattr(policy.caps, "groups", {}) or {}
        named = [*policy.caps.analysts, *(who for group in groups.values() for who in group.members)]
        for analyst in named:
            provider, colon, _ = analyst.partition(":")
            if not colon or provider not in known:
                yield (
                    f"The policy of `data.{name}` has caps of `{analyst[:80]}`, whom no provider of this "
                    f"curator can verify: names begin with {', '.join(sorted(f'`{one}:`' for one in known))}."
                )
