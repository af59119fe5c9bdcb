"""`leakcap curator`: begin one, run it, and say who may ask."""

from __future__ import annotations

import getpass
import importlib
import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakcap.cli import curator_custody
from leakcap.cli.printing import say
from leakcap.errors import InvalidParameter

if TYPE_CHECKING:
    from leakcap.service.beginning import NewAccount
    from leakcap.service.store import Store

__all__ = ["curator"]

curator = typer.Typer(
    name="curator",
    help="Begin and run a curator: many people ask, and nobody but the owner holds the data.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
File = Annotated[Path, typer.Argument(help="The curator's configuration (TOML).", show_default=False)]
Name = Annotated[
    str,
    typer.Argument(
        help="A name for an account of the curator's own, or PROVIDER:SUB of an identity provider.",
        show_default=False,
    ),
]
Role = Annotated[
    list[str],
    typer.Option(
        help="ROLE:DATASET, a role of owner, analyst, approver and auditor, or admin; may be repeated.",
        metavar="ROLE:DATASET",
    ),
]


_CONFIRMED = "two administrators confirm it, within seven days"
"""At the terminal no account asks, and any one administrator may be who sits there."""


def _require_extra() -> None:
    try:
        for module in ("argon2", "fastapi", "joserfc", "prometheus_client", "uvicorn"):
            importlib.import_module(module)
    except ImportError:
        raise InvalidParameter(
            "`leakcap curator` needs more packages. Install them with `pip install 'leakcap[curator]'`."
        ) from None


@curator.command("init")
def init(
    data: Annotated[
        Path, typer.Argument(help="The data: a Parquet, CSV or DuckDB file.", show_default=False)
    ],
    policy: Annotated[
        Path, typer.Option(help="The policy (TOML); `leakcap init` drafts one.", show_default=False)
    ],
    analyst: Annotated[
        list[str] | None, typer.Option(help="Somebody who may ask; may be repeated.", show_default=False)
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="The owner's name; else your own.", show_default=False)
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where its files go; else here.", show_default=False)
    ] = None,
) -> None:
    """Write curator.toml beside the data, and make accounts for its owner and for those who may ask.

    Passwords are shown once, here; those of others than the owner are good for choosing another one, within
    seven days. The data is closed to other users of this machine.

    Example: leakcap curator init ward.parquet --policy policy.toml --analyst ada
    """
    _require_extra()
    from leakcap.service.beginning import begin_curator

    begun = begin_curator(data, policy, owner=owner or _own_name(), analysts=analyst or (), folder=folder)
    for path in begun.closed:
        say(f"{path} can no longer be read by other users of this machine.")
    say(f"Wrote {begun.file}. The data set is called {begun.dataset}.\n")
    for account in begun.accounts:
        _say_account(account)
    say(f"\nNext: leakcap curator run {begun.file}")


@curator.command("run")
def run(file: File) -> None:
    """Serve the data sets until it is ended by Ctrl-C or SIGTERM.

    Everything is checked first: files that others could read, ledgers, policies, addresses.

    Example: leakcap curator run curator.toml
    """
    _require_extra()
    from leakcap.service.running.supervisor import Supervisor
    from leakcap.service.running.supervisor import run as watched
    from leakcap.service.timing import timing_lines

    def ready(supervisor: Supervisor) -> None:
        configuration = supervisor.configuration
        origin = configuration.public or configuration.origin.replace(":0", f":{supervisor.port}")
        say(f"{configuration.name} is at {origin}")
        for line in timing_lines(configuration):
            say(line)
        say("Ctrl-C stops it.")

    watched(file, ready=ready)


@curator.command("check")
def check(file: File) -> None:
    """What `run` would refuse, and whether data, policies and ledgers fit each other.

    Example: leakcap curator check curator.toml
    """
    _require_extra()
    from leakcap.plain import counted
    from leakcap.service.configuration import load_configuration
    from leakcap.service.engine.tables import OpenTables
    from leakcap.service.running.checking import require_fit
    from leakcap.service.timing import timing_lines

    configuration = load_configuration(file)
    require_fit(configuration, file)
    tables, before = OpenTables(configuration.data), os.umask(0o077)
    try:
        for dataset in configuration.data:
            tables.of(dataset, "")
    finally:
        tables.close()
        os.umask(before)
    say(f"It can run: {counted(len(configuration.data), 'data set')}, at {configuration.origin}.")
    for line in timing_lines(configuration):
        say(line)


@curator.command("add")
def add(
    file: File,
    name: Name,
    role: Role,
    agent: Annotated[
        bool, typer.Option("--agent", help="A program that asks for itself: it decides nothing.")
    ] = False,
    days: Annotated[int, typer.Option(min=1, max=366, help="How long an agent's token is good for.")] = 30,
) -> None:
    """Let somebody in, with roles. A one-time password of an account of the curator's own, or an agent's
    token, is shown once.

    Example: leakcap curator add curator.toml ada --role analyst:ward
    """
    with _store(file) as store:
        from leakcap.service.beginning import with_account

        roles = [_role_of(one, file) for one in role]
        account = with_account(store, name, by=_by(), agent=agent, lifetime=timedelta(days=days))
        _say_account(account)
        _give(store, file, account.subject, roles)


@curator.command("grant")
def grant(file: File, name: Name, role: Role) -> None:
    """Give somebody further roles.

    Example: leakcap curator grant curator.toml ada --role approver:ward
    """
    with _store(file) as store:
        if _give(store, file, _subject(name), [_role_of(one, file) for one in role]):
            say(f"{_subject(name)} has {', '.join(role)}.")


@curator.command("take")
def take(file: File, name: Name, role: Role) -> None:
    """Take roles away.

    Example: leakcap curator take curator.toml ada --role approver:ward
    """
    with _store(file) as store:
        for one, dataset in [_role_of(one, file) for one in role]:
            store.grants.take(_subject(name), one, dataset, by=_by())
    say(f"{_subject(name)} no longer has {', '.join(role)}.")


@curator.command("remove")
def remove(file: File, name: Name) -> None:
    """Take away somebody's password, tokens and roles, for good; the name is never given out again.

    Example: leakcap curator remove curator.toml ada
    """
    with _store(file) as store:
        store.people.remove(_subject(name), by=_by())
    say(f"{_subject(name)} is removed. What they asked stays in the ledgers.")


@curator.command("certificate")
def certificate(
    file: File,
    name: Name,
    shown: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="Their certificate (PEM).", show_default=False)
    ],
    withdraw: Annotated[bool, typer.Option("--withdraw", help="It lets nobody in any more.")] = False,
) -> None:
    """Register the certificate that somebody shows to the proxy, beside what they sign in with.

    Where `curator.toml` has `client_certificates`, nobody is let in without one of their own.

    Example: leakcap curator certificate curator.toml ada ada.pem
    """
    from leakcap.cli.certified import thumbprint_in

    thumbprint = thumbprint_in(shown)
    subject, when = _subject(name), ""
    with _store(file) as store:
        if withdraw:
            store.certificates.withdraw(subject, thumbprint, by=_by())
        elif _second_administrator(file):
            from leakcap.service.store.confirmed import CERTIFICATE

            store.certificates.require_may_wait(subject, thumbprint)
            body = {"thumbprint": thumbprint}
            store.confirmations.ask(CERTIFICATE, by=_by(), subject=subject, body=body)
            when = f" once {_CONFIRMED}"
        else:
            store.certificates.register(subject, thumbprint, by=_by())
    say(f"{thumbprint} is {'withdrawn from' if withdraw else 'a certificate of'} {subject}{when}.")


@curator.command("password")
def password(file: File, name: Name) -> None:
    """Give somebody who forgot theirs a one-time password, shown once. Their sessions and tokens end.

    It is good for choosing another one, within seven days, and for nothing else.

    Example: leakcap curator password curator.toml ada
    """
    with _store(file) as store:
        from leakcap.service.store.confirmed import ONE_TIME_PASSWORD
        from leakcap.service.store.passwords import drawn_password

        drawn = drawn_password()
        if _second_administrator(file):
            body = {"hash": store.passwords.hashed(_subject(name), drawn)}
            store.confirmations.ask(ONE_TIME_PASSWORD, by=_by(), subject=_subject(name), body=body)
            when = f"not good before {_CONFIRMED}"
        else:
            until = store.passwords.give_one_time(_subject(name), drawn, by=_by())
            when = f"good until {until:%Y-%m-%d}"
    say(f"{_subject(name)}  one-time password, {when}, shown once: {drawn}")


@curator.command("people")
def people(file: File) -> None:
    """Who is known, and their roles.

    Example: leakcap curator people curator.toml
    """
    with _store(file, writes=False) as store:
        for person in store.people.list():
            roles = ", ".join(
                f"{one.role}:{one.dataset}" if one.dataset else str(one.role)
                for one in store.grants.of(person.subject)
            )
            say(f"{person.subject}{' (agent)' if person.agent else ''}: {roles or 'no role'}")


curator.command("backup")(curator_custody.backup)
curator.command("restore")(curator_custody.restore)


@curator.command("openapi")
def openapi() -> None:
    """The OpenAPI document of the interface, as JSON.

    Example: leakcap curator openapi
    """
    _require_extra()
    from leakcap.plain import json_text
    from leakcap.service.api.document import document

    typer.echo(json_text(document(), indent=2))


def _store(file: Path, *, writes: bool = True) -> Store:
    """The store. Before anything is written into it the log of acts tells whether this file, which may be
    another one than the curator runs by, asks for a second administrator."""
    _require_extra()
    from leakcap.service.configuration import load_configuration
    from leakcap.service.store import Store

    configuration = load_configuration(file)
    store = Store.open(configuration.store)
    if writes:
        try:
            store.confirmations.note_rule(configuration.second_administrator, by=_by())
        except BaseException:
            store.close()
            raise
    return store


def _second_administrator(file: Path) -> bool:
    from leakcap.service.configuration import load_configuration

    return load_configuration(file).second_administrator


def _give(store: Store, file: Path, subject: str, roles: list[tuple[str, str]]) -> bool:
    """Give roles, or ask for them where a second administrator has to confirm; whether they are given."""
    from leakcap.service.store.confirmed import ROLE

    if not _second_administrator(file):
        for role, dataset in roles:
            store.grants.give(subject, role, dataset, by=_by())
        return True
    for role, dataset in roles:
        name = f"{role}:{dataset}" if dataset else role
        if store.grants.require_may_wait(subject, role, dataset, by=_by()) is not None:
            say(f"{subject} has {name}.")
            continue
        store.confirmations.ask(ROLE, by=_by(), subject=subject, dataset=dataset, body={"role": str(role)})
        say(f"{subject} has {name} once {_CONFIRMED}.")
    return False


def _subject(name: str) -> str:
    return name if ":" in name else f"local:{name}"


def _role_of(text: str, file: Path) -> tuple[str, str]:
    """A role and its data set. Raises `InvalidParameter`."""
    from leakcap.service.configuration import load_configuration
    from leakcap.service.store import Role as Known
    from leakcap.service.store.roles import require_role_fits

    role, _, dataset = text.partition(":")
    known = load_configuration(file).data
    if role not in set(Known):
        raise InvalidParameter(f"`--role` must be one of {', '.join(Known)}. Got `{role[:80]}`.")
    if dataset and dataset not in known:
        raise InvalidParameter(
            f"`--role` names a data set that is none of {', '.join(known)}: `{dataset[:80]}`."
        )
    require_role_fits(Known(role), dataset)
    return role, dataset


def _say_account(account: NewAccount) -> None:
    if account.token is not None:
        say(f"{account.subject}  token, shown once: {account.token}")
    elif account.password is not None:
        say(f"{account.subject}  password, shown once: {account.password}")
    else:
        say(f"{account.subject} signs in at the provider.")


def _by() -> str:
    return f"shell:{getpass.getuser()}"


def _own_name() -> str:
    name = "".join(one for one in getpass.getuser().lower() if one.isascii() and one.isalnum())
    return name if name[:1].isalpha() else "owner"
