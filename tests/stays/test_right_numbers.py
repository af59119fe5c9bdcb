"""The comparisons of `benchmarks/stays.py` on a smaller table, and that they catch what is wrong."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import pytest
from scipy.stats import binom

from command_line import ROOT
from leakcap.policy import load_policy
from seeded import ALARM, SeededSource
from stays.office import EXAMPLE


def _benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stays_benchmark", ROOT / "benchmarks/stays.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


benchmark = _benchmark()


@pytest.fixture(scope="module")
def held() -> tuple[Any, Any]:
    return benchmark.table(10_000), load_policy(EXAMPLE / "policy.toml")


@pytest.mark.parametrize("name", ["a_month", "a_rare_row", "two_tables"])
def test_the_whole_numbers_are_right(name: str, held: tuple[Any, Any]) -> None:
    """Of the choices the share of a rare row fails by chance once in a million runs at most."""
    found = list(getattr(benchmark, name)(*held))
    assert found
    assert all(one.agrees for one in found), found


def test_intervals_that_claim_the_table_s_figure_hold_it(held: tuple[Any, Any]) -> None:
    """Four times 24 intervals. False alarms: 10⁻⁶."""
    raw, covered, count = benchmark.holding(*held, 4, SeededSource(3))
    assert count == 96
    assert binom.cdf(covered, count, 0.95) > ALARM
    assert binom.cdf(raw, count, 0.95) < ALARM  # those of the rows kept do not, and would be caught


@pytest.mark.slow
def test_all_of_it_on_the_whole_table() -> None:
    """False alarms: 10⁻⁶."""
    found = benchmark.compared(200_000, 20, SeededSource(1))
    assert len(found) == 6
    assert all(one.agrees for one in found), found


def test_rows_chosen_by_what_a_query_reads_are_caught(
    held: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: no row key. Two tables are then about other rows."""
    data, policy = held
    blind = policy.model_copy(update={"unit": policy.unit.model_copy(update={"row": None})})
    (found,) = benchmark.two_tables(data, blind)
    assert not found.agrees


def test_a_choice_before_the_condition_is_caught(
    held: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the condition holds after five rows of each person were chosen."""
    data, policy = held
    right = benchmark.exact

    def late(engine: Any, policy: Any, secret: str = "a", **asked: Any) -> Any:
        if asked.pop("where", None) is None:
            return right(engine, policy, secret, **asked)
        ((*cells,),) = right(engine, policy, secret, statistic="count", by=("month",))
        return [[cells[2]]]

    monkeypatch.setattr(benchmark, "exact", late)
    first, _ = benchmark.a_month(data, policy)
    assert not first.agrees
