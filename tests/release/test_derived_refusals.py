"""Derived columns that a policy may not declare: each broken rule is one line."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from leakcap.errors import InvalidPolicy
from leakcap.release import load_policy
from release.test_derived import FIRST

BAD: dict[str, str] = {
    'x = { from = "nobody", cuts = [1] }': "`columns.x` is from `nobody`, which is no column",
    'x = { from = "band", prefix = 1, keys = ["u"] }': "needs text that is stored, or a `prefix` of it",
    'x = { from = "x", cuts = [1] }': "`columns.x` follows from itself: `x` from `x`",
    "x = { from = 'y', cuts = [1] }\ny = { from = 'z', cuts = [1] }\n"
    "z = { from = ['x', 'y'], compute = '+' }": (
        "`columns.x` follows from itself: `x` from `y` from `z` from `x`"
    ),
    "x0 = { from = ['age', 1], compute = '+' }\n"
    + "\n".join(
        f"x{n + 1} = {{ from = ['x{n}', 1], compute = '+' }}" for n in range(10)
    ): "more than 10 columns away",
    "\n".join(f"x{n} = {{ from = 'x{n + 1}', cuts = [1] }}" for n in range(3000))
    + "\nx3000 = { from = 'age', cuts = [1] }": "more than 10 columns away",
    'x = { from = "age" }': "takes one of `cuts`, `truncate`, `part`, `prefix`, `groups`, `compare`, `comp",
    'x = { from = "band", truncate = "month" }': "needs a column with dates as `bounds`",
    'x = { from = "band", cuts = [1] }': "needs `bounds` of the same kind",
    'x = { from = "band", groups = { old = ["over 65"] } }': "name `over 65`, which is no key of `band`",
    "x = { from = 'admitted', truncate = 'month' }\ny = { from = 'admitted', truncate = 'year' }\n"
    "z = { from = ['x', 'y'], compare = '=' }": "compares columns of two kinds",
    'x = { from = ["band", "icd"], compare = "=" }': "compares columns of two kinds",
    "x = { from = 'icd', groups = { a = ['C'], b = ['D'] } }\nz = { from = ['x', 'x'], compare = '<' }": (
        "compares groups, which have no order, by order"
    ),
    'x = { from = ["age", 2], compute = "*", bounds = [0, 9], type = "integer" }': "need not be whole",
    'x = { from = "icd", keys = [1] }': "must be of the kind of `icd`",
    'x = { from = "age", keys = ["1"] }': "must be of the kind of `age`",
    'x = { from = "age", keys = "private" }': "must be of the kind of `age`",
    'x = { from = "band", keys = ["under 65"] }': "needs a column that is stored",
    'x = { from = ["icd", "icd"], keys = ["a"] }': "takes one of `cuts`",
    'x = { from = "age", compute = "+" }': "`compare` and `compute` take two",
    'x = { from = [1, 2], compute = "+" }': "`from` is the name of a column",
    'x = { from = ["age", 1, 2], compute = "+" }': "`from` is the name of a column",
    'x = { from = ["age", true], compute = "+" }': "`from` is the name of a column",
    'x = { from = ["age", nan], compute = "+" }': "must be 0, or of size 1e-90 to 1e+90",
    'x = { from = ["age", 1], compute = "%" }': "'/'",
    'x = { from = ["age", 1], compare = "<" }': "a number stands in a condition",
    'x = { from = ["age", "icd"], compute = "+" }': "no numbers as `bounds`. Give it such `bounds`",
    'x = { from = ["age", "band"], compute = "+" }': "computes with `band`, which has no numbers as `bounds`",
    'x = { from = ["admitted", 1], compute = "+" }': "Only the days between two dates can be computed",
    'x = { from = ["admitted", "seen"], compute = "+" }': "Only the days between two dates can be computed",
    'x = { from = ["age", 0], compute = "/" }': "divides by what may be 0",
    'x = { from = [1, "age"], compute = "/" }': "divides by what may be 0",
    "w = { bounds = [1e-91, 1.0] }\nx = { from = ['age', 'w'], compute = '/' }": "closer to 0 than 1e-90",
    'x = { from = ["age", 1e91], compute = "*" }': "must be 0, or of size 1e-90 to 1e+90",
    'x = { from = ["age", 1e-91], compute = "+" }': "must be 0, or of size 1e-90 to 1e+90",
    'x = { from = ["age", 1e89], compute = "*" }': "must lie within ±1e+90",
    'x = { from = ["age", 1e30], compute = "+" }': "the same number in every row",
    'x = { from = ["age", 0], compute = "*" }': "the same number in every row. Leave it out.",
    'x = { from = ["age", 2], compute = "*", bounds = [0, 241] }': "must lie within those that follow",
    'x = { from = ["age", 2], compute = "*", bounds = [9, 1] }': "low < high",
    'x = { from = ["age", 2], compute = "*", fill = 241.0 }': "must lie within its bounds, [0, 240]",
    'x = { from = ["age", 2], compute = "*", bounds = [0, 9], fill = 10.0 }': "must lie within `bounds`",
    'x = { from = ["age", 2], compute = "*", keys = ["a"] }': "what is computed has no `keys`",
    'x = { from = ["age", 2], compute = "*", keys = "private" }': "follow from what it is `from`",
    'x = { from = "age", cuts = [1], part = "year" }': "takes one of `cuts`",
    "x = { cuts = [1] }": "`cuts` needs `from`",
    'x = { from = ["age", "age"], cuts = [1] }': "`compare` and `compute` take two",
    'x = { from = "age", compare = "<" }': "`compare` and `compute` take two",
    'x = { from = ["age"], compare = "<" }': "`from` is the name of a column",
    'x = { from = ["age", "admitted"], compare = "<" }': "compares columns of two kinds",
    'x = { from = "age", cuts = [65, 18] }': "`cuts` must rise",
    'x = { from = "age", cuts = [] }': "`cuts` are rising numbers, or rising dates",
    'x = { from = "age", cuts = [1, 2024-01-01] }': "`cuts` are rising numbers, or rising dates",
    'x = { from = "age", cuts = [0] }': "`cuts` of `columns.x` must lie within the bounds of `age`",
    'x = { from = "age", cuts = [120] }': "`cuts` of `columns.x` must lie within the bounds of `age`",
    'x = { from = "age", cuts = [2024-02-01] }': "needs `bounds` of the same kind",
    'x = { from = "ward", cuts = [1] }': "needs `bounds` of the same kind",
    'x = { from = "age", cuts = [65], keys = ["young"] }': "must be texts, one more than `cuts`",
    'x = { from = "age", cuts = [65], keys = ["a", "a"] }': "must not repeat a key",
    'x = { from = "age", cuts = [65], keys = [1, 2] }': "must be texts, one more than `cuts`",
    'x = { from = "age", cuts = [65], keys = "private" }': "follow from what it is `from`",
    'x = { from = "age", cuts = [65], fill = 1.0 }': "no `bounds` and no `fill` of its own",
    'x = { from = "age", truncate = "month" }': "needs a column with dates as `bounds`",
    'x = { from = "admitted", truncate = "moon" }': "'month'",
    'x = { from = "admitted", part = "week" }': "'weekday'",
    'x = { from = "admitted", part = "month", keys = [1] }': "follow from what it is `from`",
    'x = { from = "icd", prefix = 0, keys = ["a"] }': "must be at least 1",
    'x = { from = "icd", prefix = 1, keys = ["C5"] }': "must have 1 characters at most",
    'x = { from = "icd", prefix = 1 }': 'a `prefix` needs `keys`, or `keys = "private"`, or `groups`',
    'x = { from = "ward", prefix = 1, keys = ["1"] }': "needs a column with text keys",
    'x = { from = "icd", groups = { a = [1] } }': "needs a column with integer keys",
    'x = { from = "icd", groups = { a = [] } }': "give each name a list",
    'x = { from = "icd", groups = { a = ["1", 1] } }': "all text or all integers",
    'x = { from = "icd", groups = { a = ["C"], b = ["C"] } }': "must not name a value twice",
    'x = { from = "icd", prefix = 1, groups = { a = ["C5"] } }': "texts of its length",
    "x = { bounds = [2024-01-02, 2024-01-01] }": "first < last",
    "x = { bounds = [2024-01-02] }": "`bounds` must be [first, last], both dates",
    "x = { bounds = [2024-01-01, 2024-01-02T00:00:00] }": "`bounds` must be [first, last], both dates",
    "x = { bounds = [2024-01-01T00:00:00, 2024-01-02T00:00:00Z] }": "the same one",
    "x = { bounds = [2024-01-01T00:00:00+01:00, 2024-01-02T00:00:00+02:00] }": "the same one",
    "x = { bounds = [2024-01-01, 2024-01-02], fill = 1.0 }": "`fill` goes with `bounds` of a number",
    "x = { bounds = [2024-01-01, 2024-01-02], keys = [1] }": "only integers and decimals may have",
    "x = { bounds = [0001-01-01, 9999-01-01] }\ny = { from = 'x', truncate = 'day' }": "100,000 keys",
}


@pytest.mark.parametrize("line", BAD)
def test_each_broken_rule_is_one_line(line: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        load_policy(tomllib.loads(FIRST + line))
    assert BAD[line] in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "more",
    [
        {"unit": {"id": "band", "max_rows": 1}},
        {"unit": {"id": "age", "caps": "band"}, "caps": {"epsilon": 1.0, "each_person": [1.0]}},
        {"tables": {"wards": {"public": True, "key": "w", "on": "band", "columns": {"r": {"keys": [1]}}}}},
    ],
)
def test_what_is_read_from_the_table_is_not_derived(more: dict[str, Any]) -> None:
    with pytest.raises(InvalidPolicy, match=r"derived|must name a stored column"):
        load_policy({**tomllib.loads(FIRST), **more})
