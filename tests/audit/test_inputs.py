"""Whatever a mechanism does: exceptions, NaN, changing types, texts, nothing; and callables that are none."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

from leakcap.audit import Batched, Command, Raised, Verdict, audit, audit_samples
from leakcap.audit.outcomes import OutcomeReader
from leakcap.definition import PureDP, RenyiDP
from leakcap.errors import InvalidInput, InvalidParameter


def coin(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_failure_is_an_output_and_a_leak() -> None:
    flip = coin(1)

    def fails(x: int) -> float:
        if x == 1 and flip.random() < 0.05:
            raise KeyError("not to be shown")
        return float(flip.normal())

    found = audit(fails, 0, 1, samples=3000, claim=PureDP(1.0), bits=False, early=False, seed=0)
    assert found.verdict is Verdict.VIOLATED
    assert found.epsilon.lower > 2.5
    assert list(found.failures) == ["raised KeyError"]
    assert found.failures["raised KeyError"][0] == 0
    assert found.failures["raised KeyError"][1] > 100
    assert any("raised KeyError" in e.event for e in found.evidence)
    assert "not to be shown" not in str(found)


LEAKS: dict[str, Any] = {
    "NaN": lambda x, u: math.nan if u < 0.1 + 0.5 * x else u,
    "infinite": lambda x, u: math.inf if u < 0.1 + 0.5 * x else -math.inf,
    "type": lambda x, u: 1 if u < 0.1 + 0.5 * x else 1.0,
    "text": lambda x, u: "yes" if u < 0.1 + 0.5 * x else "no",
    "nothing": lambda x, u: None if u < 0.1 + 0.5 * x else 3,
    "length": lambda x, u: [u] if u < 0.1 + 0.5 * x else [u, u],
    "nested": lambda x, u: {"a": [1, 2]} if u < 0.1 + 0.5 * x else {"a": [None]},
    "mapping": lambda x, u: {"count": u + x, "noise": 3},
    "huge": lambda x, u: 10**400 if u < 0.1 + 0.5 * x else 10**3,
    "object": lambda x, u: object() if u < 0.1 + 0.5 * x else 1j,
    "bool": lambda x, u: u < 0.1 + 0.5 * x,
}


@pytest.mark.parametrize("kind", LEAKS)
def test_every_kind_of_output_can_leak(kind: str) -> None:
    flip = coin(2)
    found = audit(lambda x: LEAKS[kind](x, flip.random()), 0, 1, samples=2000, seed=0)
    # Under one input it comes with probability 0.6, under the other with 0.1 (or the number moves by one).
    assert found.epsilon.lower > 1.0
    assert found.delta(0.0) > 0.4


@pytest.mark.parametrize("kind", LEAKS)
def test_and_the_same_without_a_leak(kind: str) -> None:
    flip = coin(3)
    found = audit(lambda x: LEAKS[kind](0, flip.random()), 0, 1, samples=2000, seed=0)
    assert found.epsilon.lower < 0.15
    assert found.information.lower < 0.001


def test_arrays_with_some_that_are_no_numbers() -> None:
    flip = coin(4)

    def run(x: int, n: int) -> Any:
        values = flip.normal(size=n)
        values[flip.random(n) < 0.1 + 0.3 * x] = np.nan
        return values

    assert audit(Batched(run), 0, 1, samples=2000, seed=0).epsilon.lower > 0.8


def test_a_mechanism_that_never_runs_is_an_error() -> None:
    def broken(x: int, y: int) -> int:
        return x + y

    with pytest.raises(InvalidInput, match="Every run of both raised TypeError"):
        audit(broken, 0, 1, samples=100)
    with pytest.raises(InvalidParameter, match="callable"):
        audit(3, 0, 1)
    with pytest.raises(InvalidInput, match="one output a run"):
        audit(Batched(lambda x, n: [x] * (n - 1)), 0, 1)
    with pytest.raises(InvalidInput, match="sequence"):
        audit(Batched(lambda x, n: x), 0, 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"samples": 10}, "samples"),
        ({"confidence": 1.0}, "confidence"),
        ({"learn": 0.0}, "learn"),
        ({"tolerance": -1.0}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
    ],
)
def test_settings_out_of_range(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        audit(lambda x: x, 0, 1, **options)


def test_claims_of_other_kinds_are_tested_by_what_follows() -> None:
    flip = coin(5)
    found = audit(
        Batched(lambda x, n: x + flip.normal(size=n)),
        0,
        1,
        samples=20_000,
        claim=RenyiDP(2.0, 0.1),
        seed=0,
    )
    assert found.verdict is Verdict.VIOLATED


def test_samples_of_one_side_only_are_too_few() -> None:
    with pytest.raises(InvalidParameter, match="samples"):
        audit_samples([1.0] * 1000, [])


def test_command_lines() -> None:
    line = f'{sys.executable} -c "import sys; print(int(sys.argv[1]) + 1)" {{}}'
    assert Command(line)(4) == 5
    many = (
        f'{sys.executable} -c "import sys; print((sys.argv[1] + chr(10)) * int(sys.argv[2]))" {{}} {{runs}}'
    )
    with pytest.raises(InvalidInput, match="one line a run"):
        Command(many).batch("x", 3)
    neat = many.replace("print((sys", "sys.stdout.write((sys")
    assert Command(neat).batch("x", 3) == ["x", "x", "x"]
    found = audit(Command(neat), "x", "z", samples=200, seed=0)
    assert found.epsilon.lower > 3.0
    failing = Command(f'{sys.executable} -c "import sys; sys.exit(int(sys.argv[1]))" {{}}')
    assert failing(3) == Raised("exit code 3")
    with pytest.raises(InvalidParameter, match="no-such-program"):
        Command("no-such-program {}")(1)
    slow = Command(f'{sys.executable} -c "import time; time.sleep(60)" {{}}', seconds=0.2)
    assert slow(1) == Raised("timeout")


def test_texts_of_which_there_are_no_end() -> None:
    reader = OutcomeReader()
    reader.read([f"text {i}" for i in range(3000)])
    assert len(reader.names) <= 1001


NUMBERS: dict[str, list[Any]] = {
    "floats": [0.5, -0.0, 5e-324, 1.7e308],
    "integers": [0, -3, 2**53 + 1, 10**30],
    "beyond the doubles": [1, 10**400],
    "not finite": [1.0, math.nan, math.inf, -math.inf],
    "mixed": [1, 2.0],
    "truths": [True, False],
    "none": [],
}


@pytest.mark.parametrize("first", [[], [[1.0, 2.0]]], ids=["at once", "after vectors"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_read_at_once_are_those_read_one_by_one(name: str, first: list[Any]) -> None:
    quick, slow = OutcomeReader(), OutcomeReader()
    for reader in (quick, slow):
        reader.read(first)
    found, wanted = quick.read(NUMBERS[name]), slow._one_by_one(NUMBERS[name])
    assert quick.names == slow.names
    assert (found.kinds.tolist(), found.numeric.tolist()) == (wanted.kinds.tolist(), wanted.numeric.tolist())
    assert found.numbers.tolist() == wanted.numbers.tolist()


def test_plain_numbers_are_not_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(output: object) -> None:
        raise AssertionError("one by one")

    monkeypatch.setattr("leakcap.audit.outcomes._parts", never)
    assert OutcomeReader().read([1.5, 2.5]).numbers.tolist() == [[1.5], [2.5]]
    integers = OutcomeReader()
    assert integers.read([3, 4]).numbers.tolist() == [[3.0], [4.0]]
    assert integers.names == ["int"]
