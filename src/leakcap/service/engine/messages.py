"""Messages between the web workers and the engine: JSON with its length before it, over a local socket.

JSON and nothing that could run: whoever breaks into a web worker can ask what its people may ask, and no
more.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

from leakcap.errors import DataError

__all__ = ["MOST", "receive", "send"]

MOST = 256 * 2**20
"""The longest message in bytes."""
_LENGTH = struct.Struct(">I")


def send(connection: socket.socket, message: Any) -> None:
    """Write one message. Raises `DataError` where it is too long, `OSError` where nobody reads."""
    text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MOST:
        raise DataError(f"The answer is longer than {MOST // 2**20} MiB. Ask for fewer groups.")
    connection.sendall(_LENGTH.pack(len(text)) + text)


def receive(connection: socket.socket) -> Any:
    """Read one message; None where the other side has ended. Raises `OSError` for one that is cut short."""
    head = _exactly(connection, _LENGTH.size, may_end=True)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > MOST:
        raise ConnectionError("A message is too long.")
    text = _exactly(connection, length, may_end=False)
    return json.loads(text or b"null")


def _exactly(connection: socket.socket, length: int, *, may_end: bool) -> bytes | None:
    parts: list[bytes] = []
    left = length
    while left:
        part = connection.recv(min(left, 2**20))
        if not part:
            if may_end and left == length:
                return None
            raise ConnectionError("The other side ended in the middle of a message.")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
