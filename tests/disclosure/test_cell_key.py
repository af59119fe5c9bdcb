"""Cell keys of one cell, the files that offices keep their tables in, and what the published tables tell."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import root

from leakcap.disclosure.cell_key import CellKey, PerturbationTable
from leakcap.disclosure.cell_key_files import read_perturbation_table, write_perturbation_table
from leakcap.disclosure.joint import margin_channel
from leakcap.disclosure.weighing import CellRisk, cell_risks, mean_squared_error, worst_cell
from leakcap.errors import InvalidInput, InvalidParameter

ONE = Fraction(1)


def most_entropy(count: int, largest: int, variance: float) -> dict[int, float]:
    """The law of most entropy on −min(count, D), …, D with mean 0 and this variance: two multipliers."""
    if count == 0:
        return {0: 1.0}
    values = np.arange(max(-largest, -count), largest + 1)

    def law(multipliers: np.ndarray) -> np.ndarray:
        weights = np.exp(multipliers[0] * values + multipliers[1] * values**2)
        return np.asarray(weights / weights.sum())

    def off(multipliers: np.ndarray) -> list[float]:
        chances = law(multipliers)
        return [float(chances @ values), float(chances @ values**2 - variance)]

    found = root(off, [0.0, -0.1], tol=1e-14)
    return dict(zip(values.tolist(), law(found.x).tolist(), strict=True))


def written_by_ptable(path: Path, largest: int, variance: float, *, lower: bool = False) -> Path:
    """As the R package writes it: eight digits, spaces for one width, semicolons."""
    lines = ["i;j;p;v;p_int_lb;p_int_ub" if lower else "i;j;p;v;p_int_ub"]
    for count in range(largest + 1):
        low = 0.0
        for value, chance in most_entropy(count, largest, variance).items():
            high = low + chance
            ends = f"{low:.8f};{high:.8f}" if lower else f"{high:.8f}"
            lines.append(f"{count};{count + value:2d};{chance:.8f};{value:2d};{ends}")
            low = high
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    ("largest", "variance", "capacity", "successes"),
    [(5, 3.0, "0.0405", [0.614, 0.819, 0.981]), (2, 1.0, "0.1162", [0.691, 0.948, 1.000])],
)
def test_published_maximum_entropy_tables_of_large_counts(
    tmp_path: Path, lower: bool, largest: int, variance: float, capacity: str, successes: list[float]
) -> None:
    """Theory §11; small counts tell much more, and the worst cell is the empty one."""
    path = written_by_ptable(tmp_path / "ptable.csv", largest, variance, lower=lower)
    method = CellKey(read_perturbation_table(path))
    for others in (largest, 40):
        risk = CellRisk(method, others)
        assert f"{risk.capacity.upper:.4f}" == capacity
        assert [round(risk.success(cells).upper, 3) for cells in (1, 10, 50)] == successes
    worst = worst_cell(method)
    assert worst.others == 0
    assert worst.capacity.lower > 2 * float(capacity)
    assert worst.epsilon.upper == math.inf
    error = mean_squared_error(method)
    assert error is not None
    assert abs(float(error) - variance) < 1e-6
    # Against the law before it was printed.
    for count in range(1, largest + 1):
        wanted = most_entropy(count, largest, variance)
        assert {shown: pytest.approx(float(p), abs=2e-8) for shown, p in method.law(count).items()} == {
            count + value: chance for value, chance in wanted.items()
        }


def by_key_lines(rows: list[list[int]], first: int = 1) -> str:
    return "pcv,ckey,pvalue\n" + "".join(
        f"{count},{key},{value}\n" for count, row in enumerate(rows, first) for key, value in enumerate(row)
    )


def test_a_table_by_keys_is_the_joint_channel_of_a_cell_alone(tmp_path: Path) -> None:
    """The law of one cell, beside `margin_channel` of a margin with no other part, which shows it twice."""
    rows = [[-1, 0, 0, 1], [-2, 1, 0, 1], [0, -1, 0, 1]]
    (tmp_path / "t.csv").write_text(by_key_lines(rows))
    table = read_perturbation_table(tmp_path / "t.csv", cycle=1)
    assert table.by_key(4) == [[0, 0, 0, 0], *rows]
    method = CellKey(table)
    for others in range(6):
        channel = margin_channel(table.by_key(4), others, [])
        exact = channel.as_exact()
        assert exact is not None
        for law, row in ((method.law(others), exact[0]), (method.law(others + 1), exact[1])):
            assert law == {int(o[0]): p for o, p in zip(channel.outputs, row, strict=True) if p}


def test_rows_that_come_again(tmp_path: Path) -> None:
    """`cell-key-perturbation` looks up (count − 1) mod 250 + 501 above 750."""
    rows = [[-(count % 3), 0, count % 5, 1] if count >= 3 else [0, 0, 0, 1] for count in range(1, 751)]
    (tmp_path / "t.csv").write_text(by_key_lines(rows))
    method = CellKey(read_perturbation_table(tmp_path / "t.csv"))
    for count in (1, 500, 501, 749, 750, 751, 999, 1000, 1001, 1249, 1250, 1251, 123_456):
        looked_up = count if count <= 750 else (count - 1) % 250 + 501
        wanted: dict[int, Fraction] = {}
        for value in rows[looked_up - 1]:
            wanted[count + value] = wanted.get(count + value, Fraction(0)) + Fraction(1, 4)
        assert method.law(count) == wanted
    # The pair (1000, 1001) joins the rows 750 and 501.
    assert method.counts == range(751)

    def told(others: int) -> list[tuple[Fraction, Fraction]]:
        here, there = method.law(others), method.law(others + 1)
        return sorted((here.get(o, Fraction(0)), there.get(o, Fraction(0))) for o in here | there)

    for others in (501, 600, 749, 750):
        assert told(others) == told(others + 250) == told(others + 750)


def test_a_deterministic_table_has_no_epsilon(tmp_path: Path) -> None:
    """Rounding down to 0 below ten and else to the nearest five, as a table: every key adds the same."""
    rows = [[-count if count < 10 else (count + 2) // 5 * 5 - count] * 4 for count in range(1, 31)]
    (tmp_path / "t.csv").write_text(by_key_lines(rows))
    method = CellKey(read_perturbation_table(tmp_path / "t.csv", cycle=5))
    told = {risk.others for risk in cell_risks(method) if risk.epsilon.upper > 0}
    assert told == {9, 12, 17, 22, 27}
    assert CellRisk(method, 12).epsilon.lower == math.inf
    assert CellRisk(method, 12).success(1).upper == 1.0


def test_an_empty_cell_has_the_key_zero() -> None:
    half = Fraction(1, 2)
    zero = ((2, half), (0, ONE))
    method = CellKey(PerturbationTable((zero, ((-1, half), (1, ONE)))))
    assert method.law(0) == {2: ONE}
    assert method.law(1) == {0: half, 2: half}
    assert method.start == 1


@pytest.mark.parametrize("keys", [None, 8])
def test_a_table_written_is_read_again(tmp_path: Path, keys: int | None) -> None:
    eighth = Fraction(1, 8)
    rows = (
        ((0, ONE),),
        ((-1, eighth), (0, 5 * eighth), (2, ONE)),
        ((1, 3 * eighth), (-2, 4 * eighth), (1, ONE)),
    )
    table = PerturbationTable(rows, 2)
    write_perturbation_table(table, tmp_path / "t.csv", keys=keys)
    assert read_perturbation_table(tmp_path / "t.csv", cycle=2) == table


KEYS = "pcv,ckey,pvalue\n"
SHARES = "i;j;p;v;p_int_ub\n0;0;1;0;1\n"
BAD = {
    "a,b\n1,2\n": "must have the columns pcv, ckey, pvalue",
    "": "must have the columns",
    KEYS + "1,0,-2\n1,1,0\n": "not make a count of 1 negative",
    KEYS
    + "1,0,0\n1,1,0\n2,0,0\n": "every key from 0 to 1 for every count from 1 to 2. The count 2 has 1 keys",
    KEYS + "1,0,0\n1,1,0\n3,0,0\n3,1,0\n": "The count 2 has 0 keys",
    KEYS + "1,0,0\n1,0,0\n": "the key 0 of the count 1 twice",
    KEYS + "1,0,0\n1,1,0.5\n": "`pvalue` in .* must be a whole number",
    KEYS + "1,0,0\n1,1\n": "Line 3 of .* must have 3 numbers",
    KEYS + "1,0,0\n1,1,nan\n": "Line 3 of .* must have 3 numbers",
    KEYS + "1,0,0\n1,1,1e400\n": "Line 3 of .* must have 3 numbers",
    KEYS + "1,0,0\n1,1,x\n": "Line 3 of .* must have 3 numbers",
    KEYS + "-1,0,0\n-1,1,0\n": "every key from 0 to 1",
    SHARES + "1;0;0.5;-1;0.5\n1;2;0.4;1;0.9\n": "of the count 1 in .* must sum to one. Got 0.9",
    SHARES + "1;0;0.5;-1;0.5\n1;2;0.6;1;1.1\n": "of the count 1 in .* must sum to one. Got 1.1",
    SHARES + "1;0;0.5;-1;0.5\n1;2;0.25;1;1\n": "each as wide as its `p`",
    SHARES + "1;-1;0.5;-2;0.5\n1;3;0.5;2;1\n": "not make a count of 1 negative",
    SHARES + "1;0;0.5;-1;0.5\n1;2;0.5;2;1\n": "`v` in .* must be `j` − `i`",
    SHARES + "2;0;1;-2;1\n": "every count from 0 to the largest",
    "i;j;p;v;p_int_ub\n": "every count from 0 to the largest",
    "i;j;p;v;p_int_ub;type\n0;0;1;0;1;all\n": "a table for magnitudes",
}


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidInput, match=BAD[text]):
        read_perturbation_table(tmp_path / "t.csv", cycle=1)


def test_other_numbers_of_counts_need_a_word_for_larger_ones(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(KEYS + "1,0,0\n1,1,0\n")
    with pytest.raises(InvalidInput, match="has 1 counts, and `cell-key-perturbation` looks up 750"):
        read_perturbation_table(tmp_path / "t.csv")


def test_what_is_no_table_is_refused() -> None:
    half = Fraction(1, 2)
    zero = ((0, ONE),)
    for rows, rule in (
        ((), "have a row for the count 0"),
        ((((0, half),),), "must sum to one"),
        ((((0, half), (1, half), (2, ONE)),), "rise from 0 to 1"),
        ((((-1, ONE),),), "not make a count of 0 negative"),
    ):
        with pytest.raises(InvalidParameter, match=rule):
            PerturbationTable(rows)
    with pytest.raises(InvalidParameter, match="all but that of 0"):
        PerturbationTable((zero, zero), 2)
    with pytest.raises(InvalidParameter, match="a whole number of keys"):
        PerturbationTable((zero, ((-1, Fraction(1, 3)), (1, ONE)))).by_key(256)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    for bad in (b"\xff\xfe\x00", b"pcv,ckey,pvalue\n\xff,1,2\n"):
        (tmp_path / "t.csv").write_bytes(bad)
        with pytest.raises(InvalidInput, match="must be CSV in UTF-8"):
            read_perturbation_table(tmp_path / "t.csv", cycle=1)
    # How long a field may be is a setting of the whole process, which others raise.
    (tmp_path / "t.csv").write_bytes(b"pcv,ckey,pvalue\n1,0," + b"1" * 200_000)
    with pytest.raises(InvalidInput, match=r"must be CSV in UTF-8|must have 3 numbers"):
        read_perturbation_table(tmp_path / "t.csv", cycle=1)


@pytest.mark.parametrize(
    "text",
    [
        "pcv,ckey,pvalue\n1,999999999,0\n",
        "pcv,ckey,pvalue\n999999999,0,0\n",
        "i;j;p;v;p_int_ub\n999999999;999999999;1;0;1\n",
    ],
)
def test_a_huge_count_or_key_is_refused_at_once(tmp_path: Path, text: str) -> None:
    """Nothing is made as large as a file says: a list up to there would take gigabytes."""
    (tmp_path / "t.csv").write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match="must"):
            read_perturbation_table(tmp_path / "t.csv", cycle=1)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
