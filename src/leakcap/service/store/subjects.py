"""Names of people: what the ledger calls the analyst. A look-alike is refused, never folded into another.

    subject = "<provider>:<sub>"

The provider is `local`, or the alias of an OpenID provider. A local name is lower-case ASCII; the `sub` of a
provider is printable ASCII, exactly as verified, without spaces at its ends.
"""

from __future__ import annotations

import re

from leakcap.errors import require

__all__ = [
    "LOCAL",
    "SHELL",
    "local_subject",
    "provider_of",
    "provider_subject",
    "require_alias",
    "require_subject",
]

LOCAL = "local"
"""The provider of accounts with a password."""

SHELL = "shell"
"""What stands before the name of whoever acts at the machine's terminal: no provider, and no person."""

_ALIAS = re.compile(r"[a-z][a-z0-9-]{0,31}")
_NAME = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_SUB = re.compile(r"[!-~]([ -~]{0,198}[!-~])?")


def require_alias(alias: str) -> None:
    """Raise `InvalidParameter` for what no OpenID provider can be called.

    >>> require_alias("local")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `alias` of `OidcProvider` must be lower-case letters, digits and ...
    """
    good = isinstance(alias, str) and _ALIAS.fullmatch(alias) is not None and alias not in (LOCAL, SHELL)
    rule = "be lower-case letters, digits and hyphens, begin with a letter, and not be `local` or `shell`"
    require(good, "alias", "OidcProvider", rule, _cut(alias))


def local_subject(name: str) -> str:
    """The subject of a local account. Raises `InvalidParameter` for a name that is not one.

    >>> local_subject("alice")
    'local:alice'
    >>> local_subject("Alice")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `name` of `person` must be 1 to 64 of a-z, 0-9, `.`, `_` and `-`, ...
    """
    good = isinstance(name, str) and _NAME.fullmatch(name) is not None
    rule = "be 1 to 64 of a-z, 0-9, `.`, `_` and `-`, and begin with a letter"
    require(good, "name", "person", rule, _cut(name))
    return f"{LOCAL}:{name}"


def provider_subject(alias: str, sub: str) -> str:
    """The subject of a verified `sub`. Raises `InvalidParameter` for one that cannot be shown apart.

    >>> provider_subject("uni", "8f14e45f")
    'uni:8f14e45f'
    """
    require_alias(alias)
    good = isinstance(sub, str) and _SUB.fullmatch(sub) is not None
    rule = "be 1 to 200 printable ASCII characters without a space at either end"
    require(good, "sub", "person", rule, _cut(sub))
    return f"{alias}:{sub}"


def require_subject(subject: str) -> str:
    """The subject, if it is one; `InvalidParameter` otherwise.

    >>> require_subject("local:alice"), require_subject("uni:8f14e45f")
    ('local:alice', 'uni:8f14e45f')
    """
    require(isinstance(subject, str), "subject", "person", "be text", subject)
    provider, _, rest = subject.partition(":")
    return local_subject(rest) if provider == LOCAL else provider_subject(provider, rest)


def provider_of(subject: str) -> str:
    """The provider of a subject.

    >>> provider_of("uni:8f14e45f")
    'uni'
    """
    return subject.partition(":")[0]


def _cut(value: object) -> object:
    """At most 80 characters of what was given, and none that a terminal would hide."""
    return ascii(value[:80])[1:-1] if isinstance(value, str) else value
