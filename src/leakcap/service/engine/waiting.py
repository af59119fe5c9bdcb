"""The calls that wait on a process's socket: one, or several questions that can share their transactions."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from leakcap.service.engine.messages import receive
from leakcap.service.ticks import rung

__all__ = ["WaitingCall", "WaitingCalls"]

_MOST = 16
"""How many questions share their transactions at most."""
_LONGEST = 0.25
"""How many seconds they may take together, going by the last ones: nobody waits long for others' answers."""


@dataclass(frozen=True)
class WaitingCall:
    """A call, and the connection on which it is answered."""

    connection: socket.socket
    message: Any

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Its connection ends."""
        self.connection.close()

    @property
    def dataset(self) -> str:
        """The data set that a question under a request's number is about; empty for any other call."""
        said = self.message if isinstance(self.message, Mapping) else {}
        body, words = said.get("body"), [said.get(name) for name in ("dataset", "analyst", "request")]
        if said.get("operation") != "release" or "begun" in said or not isinstance(body, Mapping):
            return ""
        plain = "policy" not in body and all(isinstance(word, str) and word for word in words)
        return str(words[0]) if plain else ""

    def waits_for(self, other: WaitingCall) -> bool:
        """Whether this question is answered after another one: under the same number it is paid for once, and
        the same question, unless it is fresh, is repeated for free."""
        mine, theirs = self.message, other.message
        same = mine["body"] == theirs["body"] and mine["body"].get("fresh") is not True
        return same or mine["request"] == theirs["request"]


class WaitingCalls:
    """The calls on a socket, taken from it by one process of several; `tick` is that of the clock on which
    what is computed ends."""

    def __init__(self, listener: socket.socket, tick: float) -> None:
        listener.setblocking(False)  # another process may be faster
        self._listener, self._tick = listener, tick
        self._kept: WaitingCall | None = None
        self._each: dict[str, float] = {}

    def next(self) -> list[WaitingCall]:
        """A call, or several questions about one data set, each under another request's number, where the
        last ones were quick. Waits for the first."""
        first, self._kept = self._kept, None
        while first is None:
            select.select([self._listener], [], [])
            first = self._at_hand()
        found, dataset = [first], first.dataset
        while dataset and len(found) < self._most(dataset) and (one := self._at_hand()) is not None:
            if one.dataset != dataset or any(one.waits_for(other) for other in found):
                self._kept = one
                break
            found.append(one)
        return found

    def took(self, dataset: str, many: int, seconds: float) -> None:
        """Note how long so many questions took, by the clock: others may see no more of it."""
        self._each[dataset] = rung(seconds, self._tick) / many

    def _most(self, dataset: str) -> int:
        each = self._each.get(dataset)
        return 1 if each is None else min(_MOST, int(_LONGEST / each))

    def _at_hand(self) -> WaitingCall | None:
        """A call that waits just now. Of one that cannot be read nothing is answered."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except BlockingIOError:
                return None
            connection.setblocking(True)
            with contextlib.suppress(OSError, ValueError):
                message = receive(connection)
                if message is not None:
                    return WaitingCall(connection, message)
            connection.close()
