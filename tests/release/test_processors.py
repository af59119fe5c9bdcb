"""Two processors, one ledger: the last digit of a computed number identifies nothing.

Logarithms and sums of products end in other digits where a processor has other vector units. The same day is
lived with libraries that may not use some of them, and with functions whose last digit is changed by hand.
"""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import mpmath
import numpy as np
import pytest

from alone import alone
from leakcap.errors import InvalidParameter
from leakcap.policy.caps import coin_flip_epsilon
from leakcap.policy.document import load_policy
from leakcap.release import Query
from leakcap.release.asking.budget import divided
from leakcap.release.asking.currency import Objective
from leakcap.release.asking.templates import QueryTemplate
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.price import price_of
from leakcap.release.results.exposure import exposure_of
from leakcap.statement import statement_of
from leakcap.statement.record import StatementRecord
from leakcap.statement.restated import restated
from release.session import POLICIES, day

# OpenBLAS takes the kernels that it is told to, also those that the processor cannot run: it would be killed.
_WIDEST = "SkylakeX" if np._core._multiarray_umath.__cpu_features__.get("AVX512F") else "Haswell"
# What numpy, OpenBLAS and the C library can be told to leave alone, on the machines that have it.
_X86 = [
    {},
    {"NPY_DISABLE_CPU_FEATURES": "AVX512_SPR AVX512_ICL X86_V4"},
    {"NPY_DISABLE_CPU_FEATURES": "AVX512_SPR AVX512_ICL X86_V4 X86_V3"},
    {"OPENBLAS_CORETYPE": "Prescott"},
    {"OPENBLAS_CORETYPE": _WIDEST},
    {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-AVX2_Usable,-FMA_Usable,-FMA4"},
]
_MATH = (
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "erf",
    "erfc",
    "pow",
)
_NUMPY = ("exp", "expm1", "log", "log1p", "log2", "sinh", "cosh", "tanh", "power", "logaddexp")


def _off(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its last digit changed, up for some values and down for others."""

    def changed(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        if isinstance(found, float) and math.isfinite(found) and found not in (0.0, 1.0):
            return type(found)(math.nextafter(found, math.inf if hash(found) % 2 else -math.inf))
        if isinstance(found, np.ndarray) and found.dtype == np.float64:
            odd = (np.ascontiguousarray(found).view(np.int64) >> 2) % 2
            with np.errstate(all="ignore"):
                return np.where(
                    np.isfinite(found), np.nextafter(found, np.where(odd, np.inf, -np.inf)), found
                )
        return found

    return changed


@pytest.fixture
def other_processor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    forget()
    for name in _MATH:
        monkeypatch.setattr(math, name, _off(getattr(math, name)))
    for name in _NUMPY:
        monkeypatch.setattr(np, name, _off(getattr(np, name)))
    yield
    forget()


def forget() -> None:
    """Let nothing be remembered that the processor of before computed."""
    found = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("leakcap."):
            found += sum(map(_forgotten, _functions(module)))
    assert found >= 20


def _functions(module: ModuleType) -> Iterator[object]:
    """What a module and its classes hold, methods and properties as the functions that they are."""
    for value in vars(module).values():
        for one in (value, *(vars(value).values() if isinstance(value, type) else ())):
            bare = getattr(one, "__func__", one)
            yield getattr(bare, "fget", bare)


def _forgotten(function: object) -> bool:
    if cached := isinstance(function, functools._lru_cache_wrapper):
        function.cache_clear()
    return cached


def asked(day: dict[str, Any]) -> dict[str, list[Any]]:
    """By policy what identifies the queries: the policy itself, texts, keys, versions."""
    columns = ("kind", "query", "text", "memo", "data", "data_version")
    return {
        name: [found["policy"], *([row[one] for one in columns] for row in found["rows"])]
        for name, found in day.items()
    }


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without salts and pseudonyms."""
    own = ("salt", "shown", "previous", "hash")
    return [{name: value for name, value in row.items() if name not in own} for row in rows]


def lowest() -> list[float]:
    """What counts tell at least, as the processor computes it."""
    policy = load_policy(POLICIES["present"])
    asked = (Query(name="n", statistic="count", epsilon=k / 100) for k in range(1, 60))
    return [price_of(plan_query(one, policy)).nats_person.lower for one in asked]


def test_an_answer_is_paid_for_once_whatever_the_last_digits(tmp_path: Path, request: Any) -> None:
    first, before = day(tmp_path, 9, ["present"]), lowest()
    assert not any(first["present"]["repeated"])
    request.getfixturevalue("other_processor")
    again = day(tmp_path, 10, ["present"])
    assert len(again["present"]["repeated"]) > 100
    assert all(again["present"]["repeated"])
    (tmp_path / "anew").mkdir()
    anew = day(tmp_path / "anew", 9, ["present"])
    assert asked(anew) == asked(first)
    # The last digits did change: what was computed is not the same, and the test not in vain.
    assert sum(a != b for a, b in zip(before, lowest(), strict=True)) > 10
    # Of that hardly anything is left in the ledger.
    details = [[row["details"] for row in one["present"]["rows"]] for one in (first, anew)]
    assert sum(a != b for a, b in zip(*details, strict=True)) < 10


def lived(folder: Path, hour: int, settings: dict[str, str]) -> dict[str, Any]:
    """The day in a process of its own, whose libraries leave some of the processor alone."""
    told = alone("release.session", str(folder), str(hour), warnings="ignore", settings=settings)
    found: dict[str, Any] = json.loads(told)
    return found


@pytest.mark.slow
def test_one_ledger_on_many_processors(tmp_path: Path) -> None:
    home, days = tmp_path / "home", []
    for number, settings in enumerate(_X86):
        folder = tmp_path / str(number)
        folder.mkdir()
        days.append(lived(folder, 9, settings))
        assert not any(any(one["repeated"]) for one in days[-1].values())
        # What the first one answered is free on this one too.
        if number == 0:
            folder.rename(home)
            continue
        again = lived(home, 9 + number, settings)
        assert {name: len(one["repeated"]) > 90 for name, one in again.items()} == dict.fromkeys(
            POLICIES, True
        )
        assert all(all(one["repeated"]) for one in again.values())
    for other in days[1:]:
        assert asked(other) == asked(days[0])
        for name, one in other.items():
            assert len(one["rows"]) > 180
            # Byte by byte, but for what each ledger draws by itself, and the hashes over that.
            assert json.dumps(plain(one["rows"])) == json.dumps(plain(days[0][name]["rows"]))


@pytest.mark.parametrize("apart", [1, 2])
def test_odds_become_the_same_cap_on_every_processor(apart: int, request: Any) -> None:
    """ε = ln(p/(1−p))/steps, rounded down at 10⁻¹²: against 50 digits, where logarithms are off."""
    request.getfixturevalue("other_processor")
    for thousandth in range(501, 1000):
        p = thousandth / 1000
        with mpmath.workdps(50):
            exact = mpmath.log(mpmath.mpf(thousandth) / (1000 - thousandth)) / apart
            ticks = int(mpmath.floor(exact * 10**12))
        assert coin_flip_epsilon(p, contents_apart=apart) == ticks / 10**12


@pytest.mark.parametrize("change", [False, True])
def test_a_batch_is_divided_the_same_on_every_processor(change: bool, request: Any) -> None:
    """Equal counts of weights 1, 8 and 27 share for the least total error as 1 : 2 : 3, for equal errors as
    themselves: exactly, though logarithms and cube roots are not exact."""
    if change:
        request.getfixturevalue("other_processor")
    policy = load_policy(POLICIES["present"])
    for tenth in range(1, 60):
        templates = [QueryTemplate({"name": "n", "statistic": "count"}, weight=float(w)) for w in (1, 8, 27)]
        for objective, parts in (("least total error", (1, 2, 3)), ("equal errors", (1, 8, 27))):
            budget = tenth * sum(parts)
            found = divided(templates, policy, epsilon=budget / 1000, objective=cast(Objective, objective))
            assert [query.epsilon for query in found] == [tenth * part / 1000 for part in parts]


def test_a_report_can_be_drawn_on_another_processor(request: Any) -> None:
    """Its sentences follow from its numbers there too, though some of their last digits are rounded up."""
    records = []
    for content in POLICIES.values():
        policy = load_policy(content)
        for thousandth in (*range(1, 100), *range(100, 2000, 50)):
            query = Query(name="q", statistic="count", epsilon=thousandth / 1000)
            told = statement_of(exposure_of(price_of(plan_query(query, policy)), "q")).to_dict()
            records.append(StatementRecord.model_validate(told))
    before = [[line.sentence for line in record.lines] for record in records]
    request.getfixturevalue("other_processor")
    after = [[line.sentence for line in restated(record).lines] for record in records]
    assert sum(one != other for one, other in zip(before, after, strict=True)) > 5
    # An edited figure is still found.
    lines = list(records[0].lines)
    place = next(i for i, line in enumerate(lines) if "%" in line.sentence)
    lines[place] = lines[place].model_copy(
        update={"sentence": re.sub(r"[\d.]+ ?%", "12.5 %", lines[place].sentence)}
    )
    with pytest.raises(InvalidParameter, match="do not follow from its numbers"):
        restated(records[0].model_copy(update={"lines": tuple(lines)}))
