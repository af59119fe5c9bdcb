"""A curator's first files: `curator.toml` beside the data, the store, and the first people with passwords.

Passwords are drawn here and shown once, by whoever calls; the store keeps what argon2 makes of them.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from leakcap.errors import InvalidParameter
from leakcap.policy import load_policy
from leakcap.service.configuration import load_configuration
from leakcap.service.store import Role, Store
from leakcap.service.store.passwords import drawn_password
from leakcap.service.store.subjects import local_subject

__all__ = ["Begun", "NewAccount", "begin_curator", "with_account"]

_LIFETIME = timedelta(days=30)


@dataclass(frozen=True)
class NewAccount:
    """Somebody who was added, and what is shown once: a person's password, an agent's token. Both are None
    where a provider signs them in."""

    subject: str
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Begun:
    """The configuration's file, the data set's name, the new accounts, and files that were closed to other
    users of the machine."""

    file: Path
    dataset: str
    accounts: tuple[NewAccount, ...]
    closed: tuple[Path, ...]


def begin_curator(
    data: Path, policy: Path, *, owner: str, analysts: Iterable[str] = (), folder: Path | None = None
) -> Begun:
    """Write `curator.toml`, and make the store with an owner, who may also add people, and analysts.

    Raises `InvalidParameter` where a curator was begun there before, `InvalidPolicy` for a policy that cannot
    be used.
    """
    place = folder or Path.cwd()
    file, store = place / "curator.toml", place / "curator.db"
    for one in (file, store):
        if one.exists():
            raise InvalidParameter(
                f"`{one}` is there already: a curator was begun here. Choose another folder."
            )
    for what, one in (("data", data), ("policy", policy)):
        if not one.is_file():
            raise InvalidParameter(f"The {what} must be a file. Got `{one}`.")
    dataset = load_policy(policy).dataset
    name = _address_word(dataset)
    file.write_text(_text(name, data, policy, place), encoding="utf-8")
    load_configuration(file)
    closed = tuple(one for one in (data,) if _closed(one))
    with Store.open(f"sqlite:///{store}") as opened:
        first = with_account(opened, owner, by="setup", own=True)
        opened.grants.give(first.subject, Role.ADMIN, by="setup")
        for role in (Role.OWNER, Role.AUDITOR):
            opened.grants.give(first.subject, role, name, by="setup")
        others = []
        for analyst in analysts:
            others.append(with_account(opened, analyst, by="setup"))
            opened.grants.give(others[-1].subject, Role.ANALYST, name, by="setup")
    _closed(store)
    return Begun(file, name, (first, *others), closed)


def with_account(
    store: Store,
    name: str,
    *,
    by: str,
    agent: bool = False,
    own: bool = False,
    lifetime: timedelta = _LIFETIME,
) -> NewAccount:
    """Add a person, with a one-time password, or an agent, with a token for so long; whoever is called
    `<provider>:<sub>` signs in there. `own` is for whoever is at the terminal: their password stays."""
    if ":" in name and not name.startswith("local:"):
        return NewAccount(store.people.add(name, by=by, agent=agent).subject)
    subject = local_subject(name.removeprefix("local:"))
    store.people.add(subject, by=by, agent=agent)
    if agent:
        issued = store.tokens.issue(subject, lifetime=lifetime, label="agent", agent=True)
        return NewAccount(subject, token=issued.secret)
    password = drawn_password()
    keep = store.passwords.set if own else store.passwords.give_one_time
    keep(subject, password, by=by)
    return NewAccount(subject, password)


def _address_word(dataset: str) -> str:
    """A data set's name as a part of addresses."""
    word = "".join(one if one.isascii() and one.isalnum() else "-" for one in dataset.lower()).strip("-")
    return word if word[:1].isalpha() else f"data-{word}".rstrip("-")


def _text(name: str, data: Path, policy: Path, place: Path) -> str:
    def told(path: Path) -> str:
        found = os.path.relpath(path.resolve(), place.resolve())
        return '"' + found.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return (
        "# What the curator serves: `leakcap curator run curator.toml`.\n"
        'listen = "127.0.0.1:8422"\n\n'
        f"[data.{name}]\n"
        f"policy = {told(policy)}\n"
        f"source = {told(data)}\n"
        f'ledger = "{name}.db"\n'
    )


def _closed(path: Path) -> bool:
    """Take other users' permissions off a file; whether there were any."""
    mode = stat.S_IMODE(path.stat().st_mode)
    wanted = mode & ~(stat.S_IRWXO | stat.S_IWGRP)
    if mode != wanted:
        path.chmod(wanted)
    return mode != wanted
