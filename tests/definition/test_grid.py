"""Every source, every target, every free parameter, at the ends of their ranges and between.

Whatever is asked, the answer is a guarantee whose numbers can be read, or an error of leakcap's own that
speaks of what was asked; and where the source is weaker, so is the answer.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    Definition,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
    route,
)
from leakcap.errors import InvalidParameter, LeakcapError, NoRoute

Free = dict[str, Any]

LEVELS = (0.0, 1e-300, 1e-12, 1e-6, 0.1, math.log(2), 0.7, 3.0, 800.0, math.inf)
ORDERS = (0.3, 0.999999, 1.0, 1.0000001, 2.0, 10.0, 1e6, math.inf)
SHARES = (0.0, 1e-300, 1e-9, 0.1, 0.999, 1.0)

PLAIN = (PureDP, KLDP, MIDP, MaximalLeakage, ZeroConcentratedDP, GaussianDP, InformationPrivacy)
TARGETS = (*PLAIN, LocalInformationPrivacy, ApproxDP, DeltaDP, RenyiDP, LevelCapacity)

SINGLE: dict[str, tuple[Any, ...]] = {
    "alpha": (0.5, 1.0, 2.0, 1e3, math.inf),
    "epsilon": (0.0, 1e-9, 1.0, 50.0),
    "delta": (0.0, 1e-12, 0.1, 1.0),
    "values": (2, 5, 10**6),
    "records": (1, 3, math.inf),
    "extent": (0.0, 1.0, math.inf),
}
KEYWORDS: tuple[Free, ...] = (
    {},
    *({name: value} for name, values in SINGLE.items() for value in values),
    {"values": 3, "alpha": 2.0},
    {"values": 3, "epsilon": 0.5},
    {"records": 3, "extent": 0.5},
)


def sources() -> Iterator[tuple[Definition, ...]]:
    """Families that differ in the threshold alone, from the strongest to the weakest."""
    for plain in (*PLAIN, LocalInformationPrivacy):
        yield tuple(plain(level) for level in LEVELS)
    for alpha in ORDERS:
        yield tuple(RenyiDP(alpha, level) for level in LEVELS)
        yield tuple(LevelCapacity(alpha, level) for level in LEVELS)
    for epsilon in LEVELS[:-1]:
        yield tuple(ApproxDP(epsilon, delta) for delta in SHARES)
    yield tuple(DeltaDP(delta) for delta in SHARES)


def jobs() -> list[tuple[tuple[Definition, ...], type[Definition], Free]]:
    return [(family, target, free) for family in sources() for target in TARGETS for free in KEYWORDS]


def answer(source: Definition, target: type[Definition], free: Free) -> Definition | None:
    """What follows; None where nothing does, or more has to be said."""
    try:
        found = route(source, target, **free)
    except LeakcapError as error:
        words = str(error)
        assert "nan" not in words.split(), (source, target, free, words)
        assert "of `Bound`" not in words, (source, target, free, words)
        return None
    assert str(found)
    assert found.target.threshold >= 0.0, (source, free, found.target)
    for name, value in free.items():
        assert getattr(found.target, name, value) == value
    return found.target


def walk(chosen: list[tuple[tuple[Definition, ...], type[Definition], Free]]) -> tuple[int, list[str]]:
    answered, faults = 0, []
    for family, target, free in chosen:
        before = 0.0
        for source in family:
            reached = answer(source, target, free)
            if reached is None:
                continue
            answered += 1
            # The threshold alone orders answers only where nothing else was left open.
            if reached.threshold < before * (1.0 - 1e-9) - 1e-300 and _comparable(reached, free):
                faults.append(f"{source} -> {reached} with {free}: below {before!r}")
            before = reached.threshold
    return answered, faults


def _comparable(reached: Definition, free: Free) -> bool:
    open_ = {"alpha", "epsilon", "delta"} & set(type(reached).__match_args__) - set(free)
    return len(open_) <= 1


def test_a_sample_of_the_grid() -> None:
    chosen = random.Random(5).sample(jobs(), 120)
    answered, faults = walk(chosen)
    assert faults == []
    assert answered > 90


@pytest.mark.slow
def test_a_quarter_of_the_grid() -> None:
    """A fault that sixteen of the twelve thousand jobs show is missed with probability (3/4)¹⁶ = 0.01."""
    chosen = random.Random(6).sample(jobs(), len(jobs()) // 4)
    answered, faults = walk(chosen)
    assert faults == []
    assert answered > 2_000


def test_a_fall_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    family = (PureDP(0.1), PureDP(1.0))
    monkeypatch.setattr(f"{__name__}.route", lambda source, target, **free: _Backwards(source))
    assert walk([(family, MIDP, {})])[1] != []


class _Backwards:
    def __init__(self, source: Definition) -> None:
        self.target = MIDP(1.0 / source.threshold)

    def __str__(self) -> str:
        return "backwards"


@pytest.mark.parametrize("value", [math.nan, "1", None, True, [1.0], 1j])
@pytest.mark.parametrize("name", ["alpha", "epsilon", "delta", "values"])
def test_what_is_no_number_is_refused(name: str, value: Any) -> None:
    targets = {"alpha": LevelCapacity, "epsilon": ApproxDP, "delta": ApproxDP, "values": MIDP}
    with pytest.raises(InvalidParameter, match=f"`{name}`"):
        convert(PureDP(1.0), targets[name], **{name: value})


@pytest.mark.parametrize(
    ("source", "target", "free"),
    [
        (PureDP(1.0), LevelCapacity, {"alpha": 0.0}),
        (PureDP(1.0), LevelCapacity, {"alpha": -2.0}),
        (MIDP(0.1), ApproxDP, {"epsilon": -1.0}),
        (MIDP(0.1), ApproxDP, {"epsilon": math.inf}),
        (GaussianDP(0.7), ApproxDP, {"epsilon": math.inf}),
        (PureDP(1.0), ApproxDP, {"delta": 1.5}),
        (DeltaDP(0.1), MIDP, {"values": 1}),
        (DeltaDP(0.1), MIDP, {"values": 2.5}),
        (PureDP(1.0), InformationPrivacy, {"records": 0}),
        (PureDP(1.0), InformationPrivacy, {"extent": -0.1}),
    ],
)
def test_out_of_range(source: Definition, target: type[Definition], free: Free) -> None:
    with pytest.raises(InvalidParameter, match=f"`{next(iter(free))}` of"):
        convert(source, target, **free)


@pytest.mark.parametrize("target", [PureDP, RenyiDP])
def test_information_of_one_record_promises_no_ratio(target: type[Definition]) -> None:
    with pytest.raises(NoRoute, match="MIDP"):
        convert(MIDP(0.1), target, **({"alpha": 2.0} if target is RenyiDP else {}))
