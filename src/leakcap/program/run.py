"""One path of a program: what it chose, what was observed, and loops whose states are merged."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from leakcap.errors import InvalidChannel
from leakcap.numeric.linear_systems import exact_solution
from leakcap.sampling.rational import printed

__all__ = ["Run", "laws_of_paths"]

Value = TypeVar("Value")

Law = dict[Hashable, Fraction]

_MOST_CHOICES = 500
"""Choices of one path: a `while` loop that may go on for ever is met here."""

_MOST_STATES = 300
"""States of a loop without a bound, whose law is the solution of a linear system."""

_MOST_BOUNDED = 100_000
"""States of a loop with a bound."""

_RAISE = object()


@dataclass(frozen=True)
class _Stopped:
    result: Any


@dataclass
class Course:
    """Which option each choice of a path takes, what was offered there, and the laws of loops on the way."""

    script: list[int] = field(default_factory=list)
    offered: list[tuple[Fraction, ...]] = field(default_factory=list)
    masses: list[Fraction] = field(default_factory=lambda: [Fraction(1)])
    loops: dict[tuple[int, ...], Law] = field(default_factory=dict)

    def mass(self) -> Fraction:
        """The probability of the whole course; that of its beginning is kept from course to course."""
        for at in range(len(self.masses) - 1, len(self.script)):
            self.masses.append(self.masses[at] * self.offered[at][self.script[at]])
        return self.masses[-1]

    def advance(self) -> bool:
        """Go to the next course, depth first; False where this was the last one."""
        while self.script and self.script[-1] == len(self.offered[-1]) - 1:
            self.script.pop()
            self.offered.pop()
        if self.script:
            self.script[-1] += 1
        del self.masses[max(len(self.script), 1) :]
        return bool(self.script)


class Run:
    """What a program is handed beside its secret: its choices, its observations and its loops.

    Probabilities are fractions, integers, or floats, which are read as the decimals that they are printed as.
    A program is run again for each path, so it must do the same whenever its choices are the same: no
    `random`, no clock, nothing that one run leaves to the next. Errors are `InvalidChannel`.
    """

    def __init__(self, course: Course, *, within_loop: bool = False) -> None:
        """Follow the course where choices were made before, and take the first option of each new one."""
        self._course = course
        self._made = self._loops = 0
        self._paused = False
        self._seen: list[Hashable] = []
        self._within_loop = within_loop

    def choose(self, options: Mapping[Value, Any]) -> Value:
        """One of the keys, with the probability that is its value; these sum to one.

        >>> from leakcap.program import Program
        >>> noisy = Program(lambda bit, run: bit ^ run.choose({0: 0.75, 1: 0.25}), [0, 1])
        >>> noisy.channel().matrix.tolist()
        [[0.75, 0.25], [0.25, 0.75]]
        """
        if not isinstance(options, Mapping):
            raise InvalidChannel(
                "`choose` of a program must have a probability for each option, {option: probability}. "
                f"Got {type(options).__name__}. Use `uniform` where all are alike."
            )
        chosen: Value = self._choice([(value, _probability(p, "choose")) for value, p in options.items()])
        return chosen

    def uniform(self, values: Iterable[Value]) -> Value:
        """One of the values, all alike.

        >>> from leakcap.program import Program
        >>> Program(lambda n, run: (n + run.uniform(range(3))) % 3, range(3)).channel().exact[0].tolist()
        [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
        """
        found = list(values)
        share = _share(len(found)) if found else Fraction(0)
        chosen: Value = self._choice([(value, share) for value in found])
        return chosen

    def flip(self, probability: Any = Fraction(1, 2)) -> bool:
        """True with this probability.

        >>> from leakcap.program import Program
        >>> Program(lambda bit, run: bit != run.flip(0.1), [False, True]).channel().exact[0].tolist()
        [Fraction(9, 10), Fraction(1, 10)]
        """
        try:
            tails, heads = _coin(probability)
        except TypeError:  # not hashable, hence no number
            kind = type(probability).__name__
            raise InvalidChannel(
                f"`flip` of a program must have a number as its probability. Got {kind}."
            ) from None
        return bool(self._choice([(False, tails), (True, heads)]))

    def observe(self, value: Hashable) -> None:
        """Let the adversary see a value; all that is seen on a path, in order, is the output.

        >>> from leakcap.program import Program
        >>> Program(lambda n, run: run.observe(n > 1), range(3)).channel().outputs
        ((False,), (True,))
        """
        self._used()
        if self._within_loop:
            raise InvalidChannel(
                "`observe` of a program must stand outside of `loop`, which forgets how a state was reached. "
                "Keep what is seen in the loop's state and observe it afterwards."
            )
        try:
            hash(value)
            same = value == value
        except TypeError:
            same = False
        if not same:
            raise InvalidChannel(
                f"what a program lets see must be hashable and equal to itself. Got {type(value).__name__}. "
                "Use numbers, texts or tuples."
            )
        self._seen.append(value)

    def loop(
        self,
        body: Callable[[Any, Run], Hashable],
        start: Hashable,
        *,
        most: int | None = None,
        unfinished: Any = _RAISE,
    ) -> Any:
        """What a loop ends with: `state = body(state, run)` until it returns `run.stop(result)`.

        Paths that reach a state again are merged, so a loop costs its states and no paths. Without `most` it
        may have 300 states and go on for any time: its law is the exact solution of a linear system. With
        `most` it makes so many steps, and ends with `unfinished` where it has not stopped by then, which is
        refused if none is given.

        >>> from leakcap.program import Program
        >>> def until_six(secret, run):
        ...     return run.loop(lambda die, run: run.stop(die) if die >= 5 else run.uniform(range(1, 7)), 0)
        >>> Program(until_six, ["any"]).channel().exact.tolist()
        [[Fraction(1, 2), Fraction(1, 2)]]
        """
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise InvalidChannel(f"`most` of a loop must be a number of steps, at least 1. Got {most!r}.")
        self._used()
        self._loops += 1
        here = (*self._course.script[: self._made], -self._loops)
        ends = self._course.loops.get(here)
        if ends is None:
            self._paused = True
            ends = _ended(body, start) if most is None else _stepped(body, start, most, unfinished)
            self._paused = False
            self._course.loops[here] = ends
        return self._choice(list(ends.items()))

    @staticmethod
    def stop(result: Any = None) -> Hashable:
        """What a loop's body returns to end it, with the loop's result."""
        return _Stopped(result)

    def _used(self) -> None:
        if self._paused:
            raise InvalidChannel("a loop's body must use the run that it is handed, not the one around it.")

    def _choice(self, options: list[tuple[Any, Fraction]]) -> Any:
        self._used()
        options = [(value, p) for value, p in options if p]
        if len(options) == 1 and options[0][1] == 1:
            return options[0][0]
        at, offer, course = self._made, tuple(p for _, p in options), self._course
        if at == len(course.script):
            self._checked(offer)
            course.script.append(0)
            course.offered.append(offer)
        elif course.offered[at] != offer:
            raise InvalidChannel(_CHANGED)
        self._made += 1
        return options[course.script[at]][0]

    def _checked(self, offer: tuple[Fraction, ...]) -> None:
        """What is offered for the first time."""
        total = sum(offer, Fraction(0))
        if total != 1:
            raise InvalidChannel(
                "the probabilities of a program's choice must sum to one. "
                f"Got {total if offer else 'no option'}. Write thirds and the like as `Fraction(1, 3)`."
            )
        if self._made == _MOST_CHOICES:
            raise InvalidChannel(
                f"a path of a program may make at most {_MOST_CHOICES} choices. Got more. "
                "Bound the loop, or use `run.loop`, which merges paths and needs no bound."
            )


_CHANGED = (
    "a program must do the same whenever its choices are the same. Got another course on the same path. "
    "Take chance from `run` alone, and keep nothing from one run for the next."
)


End = TypeVar("End", bound=Hashable)


def laws_of_paths(
    program: Callable[[Run], Any], ended: Callable[[Run, Any], End], most: int, *, within_loop: bool = False
) -> dict[End, Fraction]:
    """The law of what a program's paths end with, path by path, each from the start (depth first).

    >>> laws_of_paths(lambda run: run.flip(), lambda run, result: result, 10)
    {False: Fraction(1, 2), True: Fraction(1, 2)}
    """
    law: dict[End, Fraction] = {}
    course = Course()
    for paths in range(most):
        run, result = _followed(program, course, within_loop)
        end = ended(run, result)
        if paths == 0 and ended(*_followed(program, course, within_loop)) != end:
            raise InvalidChannel(_CHANGED)
        law[end] = law.get(end, Fraction(0)) + course.mass()
        if not course.advance():
            return law
    raise InvalidChannel(
        f"a program may take at most {most} paths for one secret. Got more. "
        "Use `run.loop`, which merges paths that meet, fewer choices, or a larger `most_paths`."
    )


def _followed(program: Callable[[Run], Any], course: Course, within_loop: bool) -> tuple[Run, Any]:
    run, known = Run(course, within_loop=within_loop), len(course.script)
    result = program(run)
    if run._made < known:
        raise InvalidChannel(_CHANGED)
    return run, result


@lru_cache(maxsize=1024)
def _coin(heads: Any) -> tuple[Fraction, Fraction]:
    """Both sides; the same objects for the same coin, which are compared at once."""
    p = _probability(heads, "flip")
    if p > 1:
        raise InvalidChannel(f"`flip` of a program must have a probability up to 1. Got {heads!r}.")
    return 1 - p, p


@lru_cache(maxsize=1024)
def _share(count: int) -> Fraction:
    return Fraction(1, count)


def _probability(value: Any, owner: str) -> Fraction:
    try:
        p = printed(value) if isinstance(value, float) else Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        p = Fraction(-1)
    if p < 0:
        raise InvalidChannel(
            f"probabilities of `{owner}` of a program must be numbers from 0 to 1. Got {value!r}."
        )
    return p


def _step(body: Callable[[Any, Run], Hashable], state: Hashable) -> Law:
    """Where a state leads. What a loop's body chose is summed over, so paths are few."""
    try:
        return laws_of_paths(lambda run: body(state, run), lambda _, end: end, 100_000, within_loop=True)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise InvalidChannel(
            "states and results of a loop must be hashable. Got lists, sets or dictionaries. Use tuples."
        ) from None


def _ended(body: Callable[[Any, Run], Hashable], start: Hashable) -> Law:
    """Where a loop ends, by the expected number of visits to each state: v = e + vQ."""
    places: dict[Hashable, int] = {start: 0}
    states = [start]
    steps: list[Law] = []
    for state in states:  # which grows meanwhile
        steps.append(_step(body, state))
        for end in steps[-1]:
            if not isinstance(end, _Stopped) and end not in places:
                places[end] = len(states)
                states.append(end)
        if len(places) > _MOST_STATES:
            raise InvalidChannel(
                f"a loop without a bound may have at most {_MOST_STATES} states. Got more. "
                "Give it `most` steps."
            )
    size = len(places)
    system = [[Fraction(int(x == y)) for y in range(size)] for x in range(size)]
    for place, law in enumerate(steps):
        for end, p in law.items():
            if not isinstance(end, _Stopped):
                system[places[end]][place] -= p
    visits = exact_solution(system, [Fraction(int(x == 0)) for x in range(size)])
    if visits is None:
        raise InvalidChannel(
            "a loop without a bound must end for sure. Got states that it never leaves. Give it `most` steps."
        )
    ends: Law = {}
    for visited, law in zip(visits, steps, strict=True):
        for end, p in law.items():
            if isinstance(end, _Stopped):
                ends[end.result] = ends.get(end.result, Fraction(0)) + visited * p
    return ends


def _stepped(body: Callable[[Any, Run], Hashable], start: Hashable, most: int, unfinished: Any) -> Law:
    current: Law = {start: Fraction(1)}
    known: dict[Hashable, Law] = {}
    ends: Law = {}
    for _ in range(most):
        following: Law = {}
        for state, mass in current.items():
            if state not in known:
                known[state] = _step(body, state)
            for end, p in known[state].items():
                law, key = (ends, end.result) if isinstance(end, _Stopped) else (following, end)
                law[key] = law.get(key, Fraction(0)) + mass * p
        current = following
        if len(known) > _MOST_BOUNDED:
            raise InvalidChannel(f"a loop with a bound may have at most {_MOST_BOUNDED} states. Got more.")
    left = sum(current.values(), Fraction(0))
    if left and unfinished is _RAISE:
        raise InvalidChannel(
            f"a loop with a bound must have stopped after its {most} steps. Got one that goes on with "
            f"probability {float(left):.3g}. Give it more, or say what it ends with then (`unfinished`)."
        )
    if left:
        ends[unfinished] = ends.get(unfinished, Fraction(0)) + left
    return ends
