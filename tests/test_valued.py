"""Dataclasses that are made in a quarter of the time are those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, FrozenInstanceError, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from leakcap import valued

Maker = Callable[..., Callable[[type], type]]


def kinds(maker: Maker) -> dict[str, Any]:
    """Every way in which a class of leakcap is written, and a few more."""

    class Shape(ABC):
        """A base that is no dataclass."""

        sides: ClassVar[int] = 0

        @abstractmethod
        def area(self) -> float:
            """Of the shape."""

    @maker(frozen=True)
    class Square(Shape):
        """One field, a class variable, a property that is kept."""

        side: float
        sides: ClassVar[int] = 4

        def area(self) -> float:
            return self.side**2

        @cached_property
        def diagonal(self) -> float:
            return self.side * 2**0.5

    @maker(frozen=True)
    class Plain:
        """Defaults, among them one that is made anew, and fields that are not shown or compared."""

        first: int
        second: str = "b"
        third: list[int] = field(default_factory=list)
        hidden: float = field(default=1.0, repr=False)
        apart: float = field(default=2.0, compare=False)
        unhashed: dict[str, int] = field(default_factory=dict, hash=False)
        named: int = field(default=3, kw_only=True)

    @maker(frozen=True)
    class Child(Plain):
        """A field more, another default, a field that is computed."""

        second: str = "child"
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError("below zero")
            object.__setattr__(self, "twice", 2 * self.first)

    @maker(frozen=True, kw_only=True)
    class Named:
        """Only by name."""

        least: float = 0.0
        most: float

    @maker(frozen=True)
    class Marked:
        """Some by name."""

        first: int
        _: KW_ONLY
        last: int = 2

    @maker(frozen=True, eq=False)
    class Alone:
        """Equal to itself only."""

        value: int

    @maker(frozen=True, repr=False)
    class Told:
        """It says itself how it is shown, hashed and compared."""

        value: int

        def __repr__(self) -> str:
            return "told"

        def __hash__(self) -> int:
            return 7

    @maker(frozen=True)
    class Like:
        """Its own equality, without a hash of its own."""

        value: int

        def __eq__(self, other: object) -> bool:
            return True

    @maker(frozen=True)
    class Nothing:
        """No field."""

    return {one.__name__: one for one in (Square, Plain, Child, Named, Marked, Alone, Told, Like, Nothing)}


OURS, THEIRS = kinds(valued.dataclass), kinds(dataclasses.dataclass)
ARGUMENTS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Square": [((2.0,), {}), ((float("nan"),), {}), ((), {"side": 1.5})],
    "Plain": [
        ((1,), {}),
        ((1, "c"), {"named": 4}),
        ((1, "b", [2]), {}),
        ((1,), {"apart": 9.0, "hidden": 0.0}),
    ],
    "Child": [((1,), {}), ((3, "x"), {"named": 5})],
    "Named": [((), {"most": 2.0}), ((), {"most": 2.0, "least": 1.0})],
    "Marked": [((1,), {}), ((1,), {"last": 5})],
    "Alone": [((1,), {})],
    "Told": [((1,), {}), ((2,), {})],
    "Like": [((1,), {})],
    "Nothing": [((), {})],
}
REFUSED: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "Plain": [((), {}), ((1, "b", [], 1.0, 2.0, {}, 3), {}), ((1,), {"other": 1})],
    "Child": [((-1,), {}), ((1,), {"twice": 2})],
    "Named": [((1.0,), {}), ((), {})],
    "Marked": [((1, 2), {})],
}


def described(one: Any) -> tuple[Any, ...]:
    """What can be seen of a value, but for the place in memory."""
    kind = type(one)
    try:
        hashed: Any = hash(one) if kind.__hash__ is not object.__hash__ else "by identity"
    except TypeError as error:
        hashed = str(error)
    shown = [(f.name, f.type, f.init, f.repr, f.compare, f.kw_only) for f in dataclasses.fields(one)]
    return (
        repr(one).partition(" object at ")[0],
        hashed if not isinstance(hashed, int) or "nan" not in repr(one) else "of NaN",
        shown,
        str(inspect.signature(kind)),
        kind.__match_args__,
        kind.__init__.__annotations__,
        kind.__init__.__qualname__,
        dataclasses.asdict(one).keys(),
        vars(one).keys(),
        copy.copy(one) == one,
        one == dataclasses.replace(one),
        one != one,
        inspect.isabstract(kind),
        repr(kind.__dataclass_params__),
    )


def test_every_way_is_compared() -> None:
    assert OURS.keys() == THEIRS.keys() == ARGUMENTS.keys()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_values_are_those_of_the_standard_library(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    given = ARGUMENTS[name]
    for words, terms in given:
        mine, other = ours(*words, **terms), theirs(*words, **terms)
        assert described(mine) == described(other)
        assert name == "Like" or mine != other  # another class
        for change in (lambda one: setattr(one, "first", 2), lambda one: setattr(one, "new", 2)):
            with pytest.raises(FrozenInstanceError) as found:
                change(mine)
            with pytest.raises(FrozenInstanceError) as expected:
                change(other)
            assert str(found.value) == str(expected.value)
        with pytest.raises(FrozenInstanceError, match="cannot delete field"):
            del mine.first
    table = [[ours(*w, **t) == ours(*v, **u) for w, t in given] for v, u in given]
    assert table == [[theirs(*w, **t) == theirs(*v, **u) for w, t in given] for v, u in given]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_in_the_same_words(name: str) -> None:
    for words, terms in REFUSED[name]:
        said = []
        for kind in (OURS[name], THEIRS[name]):
            with pytest.raises((TypeError, ValueError)) as refused:
                kind(*words, **terms)
            said.append((type(refused.value), str(refused.value)))
        assert said[0] == said[1]


def test_both_inherit_from_each_other() -> None:
    @dataclasses.dataclass(frozen=True)
    class Outside(OURS["Plain"]):  # type: ignore[misc, name-defined]
        more: int = 5

    @valued.dataclass(frozen=True)
    class Inside(THEIRS["Plain"]):  # type: ignore[misc, name-defined]
        more: int = 5

    assert repr(Outside(1, more=6)).partition(".")[2] == repr(Inside(1, more=6)).partition(".")[2].replace(
        "Inside", "Outside"
    )
    assert Outside(1) == Outside(1)
    assert hash(OURS["Square"](1.0)) == hash(THEIRS["Square"](1.0))
    with pytest.raises(FrozenInstanceError):
        Outside(1).more = 2  # type: ignore[misc]


def test_what_cannot_be_is_refused_when_it_is_written() -> None:
    for maker in (valued.dataclass, dataclasses.dataclass):
        make: Maker = maker  # type: ignore[assignment]
        changing = dataclasses.dataclass(type("Changing", (), {"__annotations__": {"x": "int"}}))
        with pytest.raises(TypeError, match="cannot inherit frozen dataclass from a non-frozen one"):
            make(frozen=True)(type("Frozen", (changing,), {"__annotations__": {"y": "int"}}))
        with pytest.raises(TypeError, match="Cannot overwrite attribute __setattr__"):
            make(frozen=True)(type("Own", (), {"__setattr__": print, "__annotations__": {"x": "int"}}))
        with pytest.raises(ValueError, match="mutable default"):
            make(frozen=True)(type("Shared", (), {"x": [], "__annotations__": {"x": "list"}}))


def test_others_are_made_by_the_standard_library() -> None:
    @valued.dataclass
    class Changing:
        value: int

    @valued.dataclass(frozen=True, slots=True, order=True)
    class Tight:
        value: int

    one = Changing(1)
    one.value = 2
    assert one == Changing(2)
    assert Tight(1) < Tight(2)
    assert not hasattr(Tight(1), "__dict__")


@valued.dataclass(frozen=True)
class Kept:
    """At the top of a module, where pickle finds it."""

    value: int
    more: tuple[int, ...] = ()


def test_values_are_pickled() -> None:
    again = pickle.loads(pickle.dumps(Kept(1, (2,))))
    assert again == Kept(1, (2,))
    assert again is not Kept(1, (2,))


def test_a_value_that_holds_itself_is_shown() -> None:
    one = Kept(1)
    object.__setattr__(one, "more", (one,))
    assert repr(one) == "Kept(value=1, more=(...,))"


if TYPE_CHECKING:
    Kept(1).value = 2  # type: ignore[misc]  # the checker knows that it is frozen
