"""PostgreSQL's text in the server's own encoding, in which nothing that is stored can fail to be read.

A server converts between its encoding and another one character by character, and stops where one has no
counterpart: WIN1252 may hold the byte 81, which UTF-8 has no sign for. The stop would tell that the row is
there. So bytes come as they are stored and become text here; what is no text in the server's encoding, or
would not become the same bytes again, is written out, so that two texts stay two.
"""

from __future__ import annotations

from typing import Any

from leakcap.errors import DataError
from leakcap.release.engine.readings import ESCAPED

__all__ = ["load_plainly", "read_plainly", "require_sendable"]

_UNCONVERTED = "SELECT set_config('client_encoding', getdatabaseencoding()::text, false)"


def read_plainly(cursor: Any) -> str:
    """Have the cursor read text whatever its bytes are; Python's name of the server's encoding.

    It is empty where Python has no such encoding. Converted by the server, what comes back could stop it.
    """
    from psycopg import NotSupportedError

    try:
        cursor.execute(_UNCONVERTED)
        cursor.connection.commit()
        codec = cursor.connection.info.encoding
    except NotSupportedError:
        return ""
    if codec == "ascii":  # SQL_ASCII is any bytes, which are UTF-8 if they are anything
        codec = "utf-8"
    load_plainly(cursor, codec)
    return str(codec)


def load_plainly(cursor: Any, codec: str) -> None:
    """The same for another cursor of such a connection: how text is read is a cursor's own."""
    from psycopg.adapt import Loader

    class Text(Loader):
        def load(self, data: Any) -> str:
            return _text(bytes(data), codec)

    for type_ in ("text", "varchar", "bpchar", "name"):
        cursor.adapters.register_loader(type_, Text)


def _text(data: bytes, codec: str) -> str:
    """Bytes as text.

    >>> _text(b"M\\xfcller \\x81", "cp1252"), _text(b"M\\xfcller", "utf-8")
    ('Müller \ufffd81', 'M\ufffdfcller')
    """
    text = data.decode(codec, ESCAPED)
    if codec == "utf-8" or "\ufffd" in text:
        return text
    return text if text.encode(codec, "replace") == data else f"\ufffd{data.hex()}"


def require_sendable(statement: str, codec: str) -> None:
    """Raise `DataError` where a text of a policy or a query has a character that the server cannot have.

    >>> require_sendable("SELECT '€'", "iso8859-1")
    Traceback (most recent call last):
    leakcap.errors.DataError: The server's encoding has no `€`, which the policy or the query names. ...
    """
    try:
        statement.encode(codec)
        return
    except UnicodeEncodeError as error:
        sign = statement[error.start]
    raise DataError(
        f"The server's encoding has no `{sign}`, which the policy or the query names. No row has it: leave "
        "it out, or copy the table to a database in UTF8. Nothing was spent."
    )
