"""Tokens as they are kept between commands: one file, which its owner alone may read.

`~/.config/leakcap/credentials.json`, or below `XDG_CONFIG_HOME`. A file that others may read is refused, as
are one that somebody else owns and one that is a link.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from leakcap.client.address import server_address
from leakcap.errors import InvalidParameter

__all__ = ["credentials_file", "forget_token", "keep_token", "kept_token", "known_token"]

_LARGEST = 2**20


def credentials_file() -> Path:
    """Where tokens are kept."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(given) if given.startswith("/") else Path.home() / ".config"
    return folder / "leakcap" / "credentials.json"


def known_token(url: str) -> str | None:
    """The token for an address: of `LEAKCAP_TOKEN` where `LEAKCAP_SERVER` names it, else the one that is
    kept; None where there is neither. A token goes to no other address than its own."""
    given, server = os.environ.get("LEAKCAP_TOKEN"), os.environ.get("LEAKCAP_SERVER")
    if given and server and server_address(server) == server_address(url):
        return given
    return kept_token(url)


def kept_token(url: str) -> str | None:
    """The token that `keep_token` kept for an address. Raises `InvalidParameter` where others can read it."""
    found = _kept().get(server_address(url))
    token = found.get("token") if isinstance(found, dict) else None
    return token if isinstance(token, str) else None


def keep_token(url: str, token: str, *, subject: str = "", expires: str = "") -> Path:
    """Keep a token for an address, in place of the one before; the file that it is kept in."""
    kept = _kept()
    kept[server_address(url)] = {"token": token, "subject": subject, "expires": expires}
    return _write(kept)


def forget_token(url: str) -> bool:
    """Keep no token for an address any more; whether there was one."""
    kept = _kept()
    if kept.pop(server_address(url), None) is None:
        return False
    _write(kept)
    return True


def _kept() -> dict[str, Any]:
    path = credentials_file()
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return {}
    except OSError:
        raise InvalidParameter(f"`{path}` cannot be read as a file. Remove it, and sign in again.") from None
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        _require_private(path, about)
        text = file.read(_LARGEST + 1)
    with contextlib.suppress(ValueError, RecursionError):
        found = json.loads(text)
        if isinstance(found, dict) and len(text) <= _LARGEST:
            return found
    raise InvalidParameter(f"`{path}` is not what `leakcap login` writes. Remove it, and sign in again.")


def _require_private(path: Path, about: os.stat_result) -> None:
    mode = stat.S_IMODE(about.st_mode)
    if about.st_uid != os.getuid():
        raise InvalidParameter(f"`{path}` belongs to somebody else. Remove it, and sign in again.")
    if not stat.S_ISREG(about.st_mode) or mode & 0o077:
        raise InvalidParameter(
            f"`{path}` may be opened by others (mode {mode:04o}): whoever reads it asks in your name. "
            f"Sign in again, and before that: chmod 600 {path}"
        )


def _write(kept: dict[str, Any]) -> Path:
    """In one step, so that no other process sees half of it."""
    path = credentials_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".credentials-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=1)
            file.flush()
            os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return path
