"""`@dataclass(frozen=True)` as the standard library has it, made in a quarter of the time.

The standard library compiles seven functions for each frozen class; two hundred of them were a fifth of what
`leakcap preview` took. Here only `__init__` is compiled. The others are the same for every class but for the
names of its fields, so that they are ordinary functions.
"""

from __future__ import annotations

import abc
import dataclasses
import inspect
import reprlib
import sys
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(kind: type | None = None, /, **options: bool) -> Any:
        """`dataclasses.dataclass`. A frozen class without slots, order and `InitVar` is made here, any other
        by the standard library; both may inherit from each other.

        >>> @dataclass(frozen=True)
        ... class Pair:
        ...     first: int
        ...     second: int = 2
        >>> Pair(1), Pair(1) == Pair(1, 2), dataclasses.replace(Pair(1), second=3)
        (Pair(first=1, second=2), True, Pair(first=1, second=3))
        """
        if not options.get("frozen") or not options.keys() <= {"frozen", "eq", "repr", "kw_only"}:
            made = dataclasses.dataclass(**options)
        else:
            made = _maker(**options)
        return made if kind is None else made(kind)


def _maker(
    *, frozen: bool, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> Callable[[type], type]:
    def made(kind: type) -> type:
        _refuse_mixed(kind)
        known = _fields(kind, kw_only=kw_only)
        fields = list(known.values())
        template = _template(eq=eq, repr=repr, kw_only=kw_only)
        _put(kind, "__init__", _initialiser(kind, fields))
        if repr:
            _put(kind, "__repr__", _written([one.name for one in fields if one.repr]))
        if eq:
            # Python puts None there for a class that says what is equal and not how it is hashed.
            own = kind.__dict__.get("__hash__")
            _put(kind, "__eq__", _equal(_values([one.name for one in fields if one.compare])))
            if own is None:
                hashed = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
                _put(kind, "__hash__", _hashed(_values(hashed)), over=True)
        names = frozenset(one.name for one in fields)
        _put(kind, "__setattr__", _unassignable(kind, names))
        _put(kind, "__delattr__", _undeletable(kind, names))
        ordinary = tuple(one.name for one in fields if one.init and not one.kw_only)
        for name, value in (
            ("__dataclass_fields__", known),
            ("__dataclass_params__", template["__dataclass_params__"]),
        ):
            setattr(kind, name, value)
        for name, value in (("__match_args__", ordinary), ("__replace__", template.get("__replace__"))):
            if value is not None and name not in kind.__dict__:
                setattr(kind, name, value)
        abc.update_abstractmethods(kind)
        return kind

    assert frozen
    return made


@cache
def _template(**options: bool) -> dict[str, Any]:
    """What the standard library says of a frozen class with these options, whatever its fields."""
    return dict(vars(dataclasses.dataclass(frozen=True, **options)(type("Template", (), {}))))


def _refuse_mixed(kind: type) -> None:
    for name in ("__setattr__", "__delattr__"):
        if name in kind.__dict__:
            raise TypeError(f"Cannot overwrite attribute {name} in class {kind.__name__}")
    if any(not base.__dict__["__dataclass_params__"].frozen for base in _bases(kind)):
        raise TypeError("cannot inherit frozen dataclass from a non-frozen one")


def _bases(kind: type) -> list[type]:
    """Its dataclasses, the farthest first."""
    return [base for base in kind.__mro__[-1:0:-1] if "__dataclass_fields__" in base.__dict__]


def _fields(kind: type, *, kw_only: bool) -> dict[str, dataclasses.Field[Any]]:
    """Those of its bases, then its own, which the standard library reads off a class of nothing else."""
    found: dict[str, dataclasses.Field[Any]] = {}
    for base in _bases(kind):
        found |= {one.name: one for one in dataclasses.fields(base)}
    own = inspect.get_annotations(kind)
    content = {name: kind.__dict__[name] for name in own if name in kind.__dict__}
    # Of a class without a docstring the standard library writes one, which takes longer than all else.
    said = {"__annotations__": own, "__module__": kind.__module__, "__doc__": "Fields."}
    bare = type(kind.__name__, (), content | said)
    plain: Any = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=kw_only)(
        bare
    )
    for one in dataclasses.fields(plain):
        found[one.name] = one
        if isinstance(kind.__dict__.get(one.name), dataclasses.Field):
            if one.default is dataclasses.MISSING:
                delattr(kind, one.name)
            else:
                setattr(kind, one.name, one.default)
    return found


def _put(kind: type, name: str, function: Callable[..., Any], *, over: bool = False) -> None:
    """As a method of the class, which keeps one of its own."""
    if over or name not in kind.__dict__:
        function.__name__, function.__qualname__ = name, f"{kind.__qualname__}.{name}"
        function.__module__ = kind.__module__
        setattr(kind, name, function)


class _NotGiven:
    """In a signature: the default is made anew."""

    def __repr__(self) -> str:
        return "<factory>"


_NOT_GIVEN = _NotGiven()


def _initialiser(kind: type, fields: list[dataclasses.Field[Any]]) -> Callable[..., None]:
    """The one function that is compiled, since it is run for every value."""
    known: dict[str, Any] = {"_not_given": _NOT_GIVEN, "_set": object.__setattr__}
    ordinary: list[str] = []
    named: list[str] = []
    body: list[str] = []
    for one in fields:
        value, given = one.name, one.name
        if one.default_factory is not dataclasses.MISSING:
            known[f"_make_{one.name}"] = one.default_factory
            value, given = f"_make_{one.name}()", f"{one.name}=_not_given"
            if one.init:
                value = f"{value} if {one.name} is _not_given else {one.name}"
        elif one.default is not dataclasses.MISSING:
            known[f"_default_{one.name}"] = one.default
            given = f"{one.name}=_default_{one.name}"
        if one.init:
            (named if one.kw_only else ordinary).append(given)
        if one.init or one.default_factory is not dataclasses.MISSING:
            body.append(f"  _set(self, {one.name!r}, {value})")
    if hasattr(kind, "__post_init__"):
        body.append("  self.__post_init__()")
    takes = ", ".join(["self", *ordinary, *(["*", *named] if named else [])])
    text = f"def _make({', '.join(known)}):\n def __init__({takes}):\n"
    made: dict[str, Any] = {}
    exec(
        "\n".join([text + (body.pop(0) if body else "  pass"), *body, " return __init__"]), _names(kind), made
    )
    function: Callable[..., None] = made["_make"](**known)
    function.__annotations__ = {one.name: one.type for one in fields if one.init} | {"return": None}
    return function


def _names(kind: type) -> dict[str, Any]:
    """Where the words of its annotations have their meaning."""
    module = sys.modules.get(kind.__module__)
    return {} if module is None else vars(module)


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A value's fields of these names, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple(getattr(one, name) for name in names)


def _written(names: list[str]) -> Callable[..., str]:
    @reprlib.recursive_repr()
    def written(self: Any) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({fields})"

    return written


def _equal(values: Callable[[Any], tuple[Any, ...]]) -> Callable[..., Any]:
    def equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashed(values: Callable[[Any], tuple[Any, ...]]) -> Callable[..., int]:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


def _unassignable(kind: type[Any], names: frozenset[str]) -> Callable[..., None]:
    def refuse(self: Any, name: str, value: Any) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(kind, self).__setattr__(name, value)

    return refuse


def _undeletable(kind: type[Any], names: frozenset[str]) -> Callable[..., None]:
    def refuse(self: Any, name: str) -> None:
        if type(self) is kind or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(kind, self).__delattr__(name)

    return refuse
