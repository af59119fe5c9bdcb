"""Which check covers which public function: every one that returns a `Bound` has a check, by existing."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import leakcap
from outward.balls import Case

Cases = Callable[[bool], Iterator[Case]]


@dataclass(frozen=True)
class Check:
    """Cases for some public functions; `full` asks for all of them, else for a few of every kind."""

    name: str
    of: tuple[str, ...]
    cases: Cases


CHECKS: dict[str, Check] = {}


def checks(*of: str) -> Callable[[Cases], Cases]:
    """Enrol a generator of cases as the check of these functions, by their full names."""

    def enrol(cases: Cases) -> Cases:
        CHECKS[cases.__name__] = Check(cases.__name__, of, cases)
        return cases

    return enrol


_A_BOUND = re.compile(r"\bBound\b")


def public_bounds() -> set[str]:
    """Every public function, method and property of leakcap that is annotated to return a `Bound`."""
    found = set()
    for module in pkgutil.walk_packages(leakcap.__path__, "leakcap."):
        if any(part.startswith("_") for part in module.name.split(".")):
            continue
        loaded = importlib.import_module(module.name)
        for name, value in vars(loaded).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.name:
                continue
            if inspect.isclass(value):
                found |= {f"{module.name}.{name}.{method}" for method in _methods(value)}
            elif callable(value) and _returns_a_bound(value):
                found.add(f"{module.name}.{name}")
    return found


def _methods(owner: type) -> Iterator[str]:
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        inner = getattr(inner, "func", inner)
        if callable(inner) and _returns_a_bound(inner):
            yield name


def _returns_a_bound(function: object) -> bool:
    wrapped = inspect.unwrap(function) if callable(function) else function  # type: ignore[arg-type]
    told = getattr(wrapped, "__annotations__", {}).get("return", "")
    return bool(_A_BOUND.search(told if isinstance(told, str) else getattr(told, "__name__", "")))
