"""What a running explorer shows, and whom it lets in."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakcap.errors import require
from leakcap.ledger import Edition

__all__ = ["Settings", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Settings:
    """A policy with its ledger and its data, where there are any; where to listen; who may come in.

    `token` is None where nobody is asked for one. `names` are further host names under which the pages may be
    asked for. `tables` are those that the policy joins with the data; as `edition` answers are published.
    `questions` are those for tables, trees and running counts, by which the ledger's answers are drawn.

    Releases are allowed only with a policy, a ledger and data. A ledger is shown, and releases are
    allowed, only with a token: whoever can reach the port of a shared machine could read and spend otherwise.

    >>> Settings().needs_token
    False
    """

    policy: Path | None = None
    ledger: str | None = field(default=None, repr=False)
    data: Path | str | None = field(default=None, repr=False)
    table: str | None = None
    tables: Mapping[str, Path | str] = field(default_factory=dict, repr=False)
    analyst: str = ""
    allow_release: bool = False
    host: str = "127.0.0.1"
    port: int = 8421
    names: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)
    edition: Edition | None = None
    questions: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        require(0 <= self.port < 65536, "port", "Settings", "lie between 0 and 65535", self.port)
        whole = self.policy is not None and self.ledger is not None and self.data is not None
        rule = "come with a policy, a ledger and data"
        require(whole or not self.allow_release, "allow_release", "Settings", rule, self.allow_release)
        require(
            self.ledger is None or self.policy is not None,
            "ledger",
            "Settings",
            "come with its policy",
            self.ledger,
        )

    @property
    def needs_token(self) -> bool:
        """Whether somebody unwanted could reach the pages, spend through them, or read what was asked."""
        return self.allow_release or self.ledger is not None or not is_loopback(self.host)
