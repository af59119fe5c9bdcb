"""What lets somebody in, and is never repeated: passwords and tokens in URLs and in lists of parameters."""

from __future__ import annotations

import re

__all__ = ["may_hold_secret", "shown_url", "without_credentials"]

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*:/{1,3}"
_FILES = ("sqlite", "file", "http")
_URL = re.compile(rf"(?<![\w/])({_SCHEME})([^\s`'\"]+)")
_USER = re.compile(rf"({_SCHEME})(?=[^`\n@]*(?::|%3[aA]))[^`\n]*@")
_QUERY = re.compile(rf"({_SCHEME}[^\s`?;]*[?;])[^\s`]+")
# What stands in quotes may hold escaped ones: it is left out to the end of the line.
_PAIR = re.compile(
    r"(?i)\b((?:ssl)?pass(?:word|wd|phrase|file)?|pwd|\w*token|\w*secret|scram_\w+_key)(\s*=\s*)"
    r"(?:'[^`\n]*|[^\s&;`'\"]+)"
)
_PARTS = re.compile(
    r"([A-Za-z][\w+.-]*):/{1,2}(?:([\w.+-]+)(?::[^@/]*)?@)?"
    r"([\w.,-]*|\[[0-9A-Fa-f:.]+\])(:\d+)?(/[\w.$/=-]*)?(?:[?;][^@]*)?",
    re.DOTALL,
)

_PUBLIC = {
    *("application_name", "connect_timeout", "host", "port", "service"),
    *("sslmode", "sslrootcert", "target_session_attrs", "use_ssl", "user"),
}
"""Parameters of a URL that let nobody in."""


def may_hold_secret(url: str) -> bool:
    """Whether a URL holds more than where it leads: a password, or a parameter that could be one.

    >>> may_hold_secret("postgresql://ann@db/x?sslmode=require"), may_hold_secret("postgresql://ann:pw@db/x")
    (False, True)
    >>> may_hold_secret("sc://h:1/;token=t")
    True
    """
    base, *parameters = re.split(r"[?;&]", url)
    pairs = [one.partition("=") for one in parameters if one]
    plain = all(name.lower() in _PUBLIC and re.fullmatch(r"[\w./:,%-]*", value) for name, _, value in pairs)
    return shown_url(base) != base or not plain


def without_credentials(text: str) -> str:
    """`text` without the passwords and parameters of URLs, and without pairs such as password=….

    >>> without_credentials("no table at postgresql://ann:pw@db/x?sslpassword=pw, nor password = 'p w'")
    'no table at postgresql://…@db/x?… nor password = …'
    """
    text = _USER.sub(r"\1…@", _PAIR.sub(r"\1\2…", text))
    return _URL.sub(lambda found: _shown(found[0]), _QUERY.sub(r"\1…", text))


def _shown(url: str) -> str:
    return url if url.startswith(_FILES) or "…" in url else shown_url(url)


def shown_url(url: str) -> str:
    """Where a URL leads: scheme, user, host, port and database; a part that is not plainly one is left out.

    >>> shown_url("postgresql+psycopg://ann:pw@db:5432/x?password=pw"), shown_url("sc://h:1/;token=t")
    ('postgresql+psycopg://ann@db:5432/x', 'sc://h:1/')
    >>> shown_url("postgresql://ann:p@w/x@db")
    'postgresql://…'
    """
    found = _PARTS.fullmatch(url)
    if found is None:
        return f"{url.partition(':/')[0]}://…" if re.match(_SCHEME, url) else without_credentials(url)
    scheme, user, host, port, path = (part or "" for part in found.groups())
    return f"{scheme}://{user}{'@' if user else ''}{host}{port}{path}"
