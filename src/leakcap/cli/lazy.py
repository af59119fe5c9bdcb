"""A group of commands that are loaded when they are called: `leakcap --help` needs none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

__all__ = ["Home", "LazyGroup"]


class Home(NamedTuple):
    """Where a command lives, and what the list of all commands says of it."""

    module: str
    name: str
    about: str


class LazyGroup(TyperGroup):
    """Commands by name; each module is imported when its command is looked up.

    The list of all commands is written from `homes` alone; a test compares it with the commands' own words.
    """

    homes: ClassVar[Mapping[str, Home]] = {}

    def __init__(self, **given: Any) -> None:
        self._loaded: dict[str, Any] = {}
        self._listing = False
        super().__init__(**given)

    @property
    def commands(self) -> MutableMapping[str, Any]:
        """All commands, loaded."""
        return {name: self._load(name) for name in self.homes}

    @commands.setter
    def commands(self, given: object) -> None:
        """Typer hands over the commands that it knows, which are none."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the table."""
        return list(self.homes)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, or None where there is none of that name."""
        if cmd_name not in self.homes:
            return None
        return self._named(cmd_name) if self._listing else self._load(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of the group, for which no command is loaded."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def _load(self, name: str) -> Any:
        if name not in self._loaded:
            home = self.homes[name]
            found = getattr(import_module(home.module), home.name)
            group = isinstance(found, typer.Typer)
            self._loaded[name] = get_group(found) if group else _alone(name, found)
            self._loaded[name].name = name
        return self._loaded[name]

    def _named(self, name: str) -> Any:
        """A command that has its line of help and nothing else."""
        return _alone(name, lambda: None, help=self.homes[name].about)


def _alone(name: str, function: Callable[..., Any], **given: Any) -> Any:
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(name, **given)(function)
    return get_command(alone)
