"""What can be audited: a callable, a batch of runs at once, one of leakcap's mechanisms, a command line."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakcap.audit.outcomes import Raised
from leakcap.errors import InvalidInput, InvalidParameter
from leakcap.mechanism import Mechanism

__all__ = ["Batched", "Command", "Runner", "runner"]

Runner = Callable[[Any, int], Any]
"""Given an input and a number of runs, the sequence of outputs."""


@dataclass(frozen=True)
class Batched:
    """A callable that does many runs at once: `function(input, runs)` gives one output for each run.

    >>> Batched(lambda x, n: [x] * n).function(3, 2)
    [3, 3]
    """

    function: Runner


@dataclass(frozen=True)
class Command:
    """A command line that prints one output a run: a number, JSON, or text. `{}` stands for the input.

    Without `{}` the input goes last. No shell is involved. An exit code other than zero is an output: the
    exception it stands for. With `runs_at_once` the command is started once, with the number of runs in place
    of `{runs}`, and prints one output a line.

    >>> Command("echo {}")(4)
    4
    """

    line: str
    seconds: float = 60.0

    def __post_init__(self) -> None:
        if not self.line.strip():
            raise InvalidParameter("`line` of `Command` must name a program. Got an empty line.")

    @property
    def runs_at_once(self) -> bool:
        """Whether the command takes a number of runs."""
        return "{runs}" in self.line

    def __call__(self, value: Any) -> Any:
        """One run."""
        return self.batch(value, 1)[0]

    def batch(self, value: Any, runs: int) -> list[Any]:
        """Several runs: one process for all where the command takes their number, else one each."""
        if not self.runs_at_once:
            return [self._output(self._start(value, 1)) for _ in range(runs)]
        done = self._start(value, runs)
        if isinstance(done, Raised):
            return [done] * runs
        lines = done.splitlines()
        if len(lines) != runs:
            raise InvalidInput(
                f"`line` of `Command` must print one line a run. Got {len(lines)} lines for {runs} runs."
            )
        return [self._output(line) for line in lines]

    def _start(self, value: Any, runs: int) -> str | Raised:
        text = value if isinstance(value, str) else json.dumps(value)
        words = shlex.split(self.line)
        if not any("{}" in word for word in words):
            words.append("{}")
        words = [word.replace("{runs}", str(runs)).replace("{}", text) for word in words]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=self.seconds, check=False)
        except FileNotFoundError:
            raise InvalidParameter(f"`{words[0]}` of `Command` must be a program. There is none.") from None
        except subprocess.TimeoutExpired:
            return Raised("timeout")
        return done.stdout if done.returncode == 0 else Raised(f"exit code {done.returncode}")

    @staticmethod
    def _output(text: str | Raised) -> Any:
        if isinstance(text, Raised):
            return text
        try:
            return json.loads(text)
        except ValueError:
            return text.strip()


def runner(mechanism: object) -> Runner:
    """How to run a mechanism many times on one input.

    An exception of a single run is an output. One that a `Batched` raises says nothing about a single run and
    stops the audit.

    >>> list(runner(lambda x: x + 1)(1, 2))
    [2, 2]
    """
    if isinstance(mechanism, Batched):
        return mechanism.function
    if isinstance(mechanism, Command):
        return mechanism.batch
    if isinstance(mechanism, Mechanism):
        return _sampled(mechanism)
    if callable(mechanism):
        return _one_by_one(mechanism)
    raise InvalidParameter(
        f"`mechanism` of `audit` must be callable. Got {type(mechanism).__name__}. "
        "Give a function of one input, `Batched(function)`, `Command(line)` or a leakcap mechanism."
    )


def _sampled(mechanism: Mechanism) -> Runner:
    def run(value: Any, runs: int) -> Any:
        outputs = np.asarray(mechanism.sample(np.repeat(np.asarray([value]), runs, axis=0)))
        return outputs if outputs.ndim <= 2 else outputs.reshape(runs, -1)

    return run


def _one_by_one(function: Callable[[Any], Any]) -> Runner:
    def run(value: Any, runs: int) -> Sequence[Any]:
        return [_once(function, value) for _ in range(runs)]

    return run


def _once(function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except Exception as error:  # whatever the audited function raises is one of its outcomes
        return Raised(type(error).__name__)
