"""`leakcap login`, `logout` and `datasets`: the way to a curator."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from leakcap.cli.printing import Json, console, print_record, say
from leakcap.cli.remote import asked_server, connection_to, required_server
from leakcap.errors import InvalidParameter, LeakcapError

__all__ = ["datasets", "login", "logout", "password"]

Address = Annotated[
    str | None,
    typer.Argument(
        metavar="URL", help="The curator's address; that of --server by default.", show_default=False
    ),
]


def login(
    url: Address = None,
    name: Annotated[
        str | None, typer.Option(help="The name of a local account; asked for otherwise.", show_default=False)
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(help="The OpenID provider to sign in with, by its alias.", show_default=False),
    ] = None,
) -> None:
    """Sign in at a curator: with name and password, or with a code at an OpenID provider.

    The password is asked for and not shown; where nobody is at a terminal, it is the first line of standard
    input. One that somebody else gave you lets you in once you have chosen your own, which is the second
    line. The token is kept in ~/.config/leakcap/credentials.json, which nobody else may read.

    Example: leakcap login https://curator.example.org
    """
    from leakcap.client.credentials import keep_token

    address = _address(url)
    with connection_to(address) as connection:
        about = connection.about()
        chosen = _provider(about, provider, name)
        if chosen is None:
            token, expires = _by_password(connection, name)
        else:
            token, expires = _by_code(connection.url, chosen)
    path = keep_token(address, token, expires=expires)
    with connection_to(address) as connection:
        subject = str(connection.me().get("subject"))
    until = f" until {expires[:16]}" if expires else ""
    say(f"Signed in as {subject}{until}. The token is in {path}")


def password(
    url: Address = None,
    name: Annotated[
        str | None, typer.Option(help="The name of a local account; asked for otherwise.", show_default=False)
    ] = None,
    end_tokens: Annotated[
        bool, typer.Option("--end-tokens", help="End all personal access tokens, too.")
    ] = False,
) -> None:
    """Change the password of your account at a curator; you are signed in under the new one.

    The old password and the new one are asked for and not shown; where nobody is at a terminal, they are the
    first two lines of standard input. All other sessions end. Tokens of programs go on, unless --end-tokens
    ends them: do so where somebody else may have learned the old password.

    Example: leakcap password https://curator.example.org --name ada
    """
    from leakcap.client.credentials import keep_token

    address, seen = _address(url), sys.stdin.isatty()
    with connection_to(address) as connection:
        given = name if name is not None else _line("Name: ", seen)
        old = _secret("Password: ", seen)
        told = connection.change_password(given, old, _chosen(seen), end_tokens=end_tokens)
    path = keep_token(address, told.secret, expires=told.expires)
    rest = "All other sessions and all tokens have ended." if end_tokens else "All other sessions have ended."
    say(f"The password is changed. {rest} The token of this session is in {path}")


def logout(url: Address = None) -> None:
    """End the session at a curator, and forget its token.

    Example: leakcap logout https://curator.example.org
    """
    from leakcap.client.credentials import forget_token, kept_token

    address = _address(url)
    if kept_token(address) is None:
        say("No token was kept for this address.")
        return
    ended = "The session is over."
    try:
        with connection_to(address) as connection:
            connection.sign_out()
    except LeakcapError:
        ended = "The curator could not be told: the token stays good until it expires."
    forget_token(address)
    say(f"{ended} The token is forgotten.")


def datasets(json_: Json = False) -> None:
    """The data sets of a curator in which you have a role.

    Example: leakcap --server https://curator.example.org datasets
    """
    from leakcap.report.records.curators import DatasetsRecord

    server = required_server()
    with connection_to(server.url) as connection:
        record = DatasetsRecord.made(datasets=connection.datasets())
    if json_:
        print_record(record)
        return
    from leakcap.report.terminal.plain_tables import plain_table

    table = plain_table("data set", "roles", "")
    for one in record.datasets:
        table.add_row(one.name, ", ".join(one.roles), "paused" if one.paused else one.title)
    console().print(table)


def _address(url: str | None) -> str:
    from leakcap.client.address import server_address

    found = asked_server()
    if url is None and found is None:
        raise InvalidParameter("`URL` is missing: leakcap login https://curator.example.org")
    return server_address(url if url is not None else found.url if found else "")


def _provider(about: Mapping[str, Any], alias: str | None, name: str | None) -> Mapping[str, Any] | None:
    """The provider to sign in with; None for an account of the curator's own."""
    listed = about.get("providers")
    known = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    if alias is not None:
        found = [one for one in known if one.get("alias") == alias]
        if not found:
            names = ", ".join(str(one.get("alias"))[:40] for one in known) or "none"
            raise InvalidParameter(f"`--provider` must be one of the curator's. It has {names}.")
        return found[0]
    if name is not None or about.get("local_accounts") is True:
        return None
    if len(known) != 1:
        names = ", ".join(str(one.get("alias"))[:40] for one in known)
        raise InvalidParameter(f"`--provider` must say where to sign in: {names or 'the curator has none'}.")
    return known[0]


def _by_password(connection: Any, name: str | None) -> tuple[str, str]:
    from leakcap.client.errors import PasswordNotChosen

    seen = sys.stdin.isatty()
    given = name if name is not None else _line("Name: ", seen)
    password = _secret("Password: ", seen)
    try:
        told = connection.sign_in(given, password)
    except PasswordNotChosen:
        if seen:
            say("This password is good for one thing: choosing your own.")
        told = connection.change_password(given, password, _chosen(seen))
    return told.secret, told.expires


def _secret(prompt: str, seen: bool) -> str:
    return getpass.getpass(prompt) if seen else sys.stdin.readline().rstrip("\r\n")


def _chosen(seen: bool) -> str:
    """A new password, typed twice by whoever is at a terminal. Raises `InvalidParameter`."""
    chosen = _secret("New password: ", seen)
    if seen and _secret("Again: ", seen) != chosen:
        raise InvalidParameter("The new password was typed in two ways. Nothing was changed. Try again.")
    if not chosen:
        raise InvalidParameter(
            "The password is one that you must replace, and no new one was given. Nothing was changed. Give "
            "it on a second line of standard input, or at a terminal."
        )
    return chosen


def _line(prompt: str, seen: bool) -> str:
    if not seen:
        raise InvalidParameter("`--name` is missing, and nobody can be asked here.")
    sys.stderr.write(prompt)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _by_code(url: str, provider: Mapping[str, Any]) -> tuple[str, str]:
    from urllib.parse import urlsplit

    from leakcap.client.address import on_this_machine
    from leakcap.client.device import device_token

    near = on_this_machine(urlsplit(url).hostname or "")
    given = device_token(
        provider, lambda found: say(f"Open {found.address} and type the code {found.code}"), near=near
    )
    if given.seconds is None:
        return given.token, ""
    return given.token, (datetime.now(UTC) + timedelta(seconds=given.seconds)).isoformat(timespec="seconds")
