"""A program's channel and what it leaves to believe, exact, with nothing written down that is zero."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from leakcap.arrays import np
from leakcap.channel import Channel
from leakcap.channel.entries import scipy_sparse
from leakcap.errors import InvalidChannel, InvalidPrior
from leakcap.program.run import Run, laws_of_paths

__all__ = ["Program"]

_DENSE_FRACTIONS = 1 << 18
"""Entries up to which the channel is written out in fractions; beyond it is sparse, in doubles."""


class Program:
    """A function of a secret and a `Run`, as the channel from the secret to all that is observed on the way.

    The function is run once for each path, from the start, for each secret. What it observes, and what it
    returns unless that is None, is the output: a tuple, in order. Errors are `InvalidChannel`; one path may
    make 1,000 choices, and a secret have `most_paths` paths.
    Source: Gibbons, McIver, Morgan & Schrijvers 2020 (Kuifje); Alvim et al. 2020, chapter 13.

    >>> def early_exit(password, run):
    ...     for at, letter in enumerate("ab"):
    ...         if password[at] != letter:
    ...             return at
    >>> program = Program(early_exit, ["aa", "ab", "ba", "bb"])
    >>> program.channel().outputs
    ((1,), (), (0,))
    """

    def __init__(
        self,
        function: Callable[[Any, Run], Any],
        secrets: Iterable[Hashable],
        *,
        most_paths: int = 100_000,
    ) -> None:
        """Nothing is run before something is asked."""
        if not callable(function):
            raise InvalidChannel(f"a program must be a function of a secret and a run. Got {function!r}.")
        self.function = function
        self.secrets: tuple[Hashable, ...] = tuple(secrets)
        self.most_paths = most_paths
        if not self.secrets:
            raise InvalidChannel("a program must have at least one secret. Got none.")

    @cached_property
    def laws(self) -> tuple[dict[tuple[Hashable, ...], Fraction], ...]:
        """For each secret, the probability of each output that can come: exact, and no zeros.

        >>> Program(lambda bit, run: bit or run.flip(), [False, True]).laws
        ({(False,): Fraction(1, 2), (True,): Fraction(1, 2)}, {(True,): Fraction(1, 1)})
        """
        names: dict[Hashable, tuple[Hashable, ...]] = {}
        kinds: dict[Hashable, Any] = {}
        found: list[dict[tuple[Hashable, ...], Fraction]] = []
        for secret in self.secrets:
            law = laws_of_paths(partial(self.function, secret), _trace, self.most_paths)
            kept = {}
            for (output, kind), p in law.items():
                if kinds.setdefault(output, kind) != kind:
                    raise InvalidChannel(
                        "two observations that differ must not be equal in Python. Got values of two types "
                        "that are, as True and 1. Give them different labels."
                    )
                kept[names.setdefault(output, output)] = p
            found.append(kept)
        return tuple(found)

    def channel(self) -> Channel:
        """The channel, in fractions up to 2¹⁸ entries, beyond that sparse and in doubles.

        >>> Program(lambda n, run: n % 2, range(3)).channel().exact.tolist()[0]
        [Fraction(1, 1), Fraction(0, 1)]
        """
        laws = self.laws
        places: dict[Hashable, int] = {}
        for law in laws:
            for output in law:
                places.setdefault(output, len(places))
        shape = len(laws), len(places)
        if shape[0] * shape[1] <= _DENSE_FRACTIONS:
            rows = np.full(shape, Fraction(0), dtype=object)
            for x, law in enumerate(laws):
                for output, p in law.items():
                    rows[x, places[output]] = p
            return Channel(rows, inputs=self.secrets, outputs=tuple(places))
        starts = np.cumsum([0, *map(len, laws)])
        columns = np.fromiter((places[y] for law in laws for y in law), dtype=np.int64)
        values = np.fromiter((float(p) for law in laws for p in law.values()), dtype=np.float64)
        sparse = scipy_sparse().csr_array((values, columns, starts), shape=shape)
        return Channel(sparse, inputs=self.secrets, outputs=tuple(places))

    def posteriors(
        self, prior: Mapping[Hashable, Any] | None = None
    ) -> list[tuple[Fraction, dict[Hashable, Fraction]]]:
        """The hyper-distribution in fractions: how often each posterior comes, the most frequent first.

        Outputs with equal posteriors are one; secrets that are ruled out are left out. The prior is uniform
        if left out; its floats are read as the decimals that they are printed as. Raises `InvalidPrior`.
        Source: McIver, Meinicke & Morgan 2010.

        >>> Program(lambda n, run: n == 2, range(3)).posteriors()
        [(Fraction(2, 3), {0: Fraction(1, 2), 1: Fraction(1, 2)}), (Fraction(1, 3), {2: Fraction(1, 1)})]
        """
        beliefs = _prior(prior, self.secrets)
        joint: dict[Hashable, dict[Hashable, Fraction]] = {}
        for secret, law in zip(self.secrets, self.laws, strict=True):
            if believed := beliefs[secret]:
                for output, p in law.items():
                    joint.setdefault(output, {})[secret] = believed * p
        merged: dict[frozenset[tuple[Hashable, Fraction]], Fraction] = {}
        for part in joint.values():
            total = sum(part.values(), Fraction(0))
            posterior = frozenset((x, p / total) for x, p in part.items())
            merged[posterior] = merged.get(posterior, Fraction(0)) + total
        places = {x: place for place, x in enumerate(self.secrets)}
        hyper = [(p, dict(sorted(inner, key=lambda one: places[one[0]]))) for inner, p in merged.items()]
        return sorted(hyper, key=lambda one: -one[0])


def _trace(run: Run, result: Any) -> tuple[tuple[Hashable, ...], Any]:
    """What was seen, and of which types: values that are equal and not the same must not be taken for one."""
    if result is not None:
        run.observe(result)
    seen = tuple(run._seen)
    return seen, _kinds(seen)


def _kinds(value: Any) -> Any:
    """The type of a label, and of what is in it: True and 1 are equal and not the same."""
    return tuple(map(_kinds, value)) if isinstance(value, tuple) else type(value)


def _prior(prior: Mapping[Hashable, Any] | None, secrets: tuple[Hashable, ...]) -> dict[Hashable, Fraction]:
    if prior is None:
        return dict.fromkeys(secrets, Fraction(1, len(secrets)))
    if not isinstance(prior, Mapping) or not set(prior) <= set(secrets):
        raise InvalidPrior("a program's prior must be {secret: probability}, with secrets of the program.")
    try:
        read = {x: Fraction(str(p)) if isinstance(p, float) else Fraction(p) for x, p in prior.items()}
    except (TypeError, ValueError, OverflowError):
        raise InvalidPrior("a program's prior must have numbers as probabilities.") from None
    if min(read.values(), default=Fraction(0)) < 0 or sum(read.values(), Fraction(0)) != 1:
        raise InvalidPrior(
            "a program's prior must be non-negative and sum to one exactly. Write thirds as `Fraction(1, 3)`."
        )
    return {x: read.get(x, Fraction(0)) for x in secrets}
