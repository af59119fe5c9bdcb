"""Policies and query files: what they hold, and one clear line for each broken rule."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from leakcap.errors import InvalidPolicy, InvalidQuery
from leakcap.ledger.rules import rules_of
from leakcap.release import load_policy, load_queries, preview, query_from
from release.world import policy_of

HOSPITAL = Path(__file__).parents[2] / "examples" / "hospital"
GOOD: dict[str, Any] = {
    "dataset": "d",
    "neighbours": "replace-one",
    "rows": 10,
    "caps": {"epsilon": 1.0},
    "columns": {"x": {"bounds": [0, 1]}, "d": {"keys": ["a", "b"]}},
}


OLDER: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str, str]] = {
    "a plan": (
        {"epsilon": 1.0, "delta": 1e-6},
        [{"name": "p", "count": 12, "epsilon": 0.05, "delta": 1e-7}],
        "52769e94b01c23761470cf5e8f9c226c8a523897762298928b338982bb8712e9",
        '{"delta":1000000,"epsilon":1000000000000}',
    ),
    "slots": (
        {"epsilon": 1.0, "delta": 1e-6},
        [
            {
                "name": "p",
                "delta": 1e-7,
                "slots": [
                    {"name": "a", "count": 2, "epsilon": 0.1, "noise": "laplace", "steps": 8},
                    {"name": "b", "count": 3, "rho": 0.001, "noise": "gaussian"},
                ],
            }
        ],
        "daf70bb4b6cb0cb96e07cb37a14636a6b1b6fd2c91d38565800ea9ff1cd6fc70",
        '{"delta":1000000,"epsilon":1000000000000}',
    ),
    "rho": (
        {"epsilon": 1.0, "rho": 0.02},
        [],
        "cddfca780669ea78aefe80949bc9aaf1fcabf1139771357e0420cfb0167f60e9",
        '{"epsilon":1000000000000,"rho":20000000000}',
    ),
    "rho by account": (
        {
            "epsilon": 9.0,
            "delta": 1e-6,
            "rho": 2.0,
            "each_analyst": {"rho": 1.0},
            "analysts": {"ng": {"rho": 0.5}},
            "each_period": {"length": "month", "rho": 0.25},
        },
        [],
        "c441fc7755d64b58acd881414eaff8107c7d81ad92f6cbd152374fa17ec51d32",
        '{"analysts":{"ng":{"rho":500000000000}},"delta":1000000,"each_analyst":{"rho":1000000000000},'
        '"each_period":{"rho":250000000000},"epsilon":9000000000000,"period":"month","rho":2000000000000}',
    ),
}
"""Policies as commit f0caab0 read them: fingerprint, and the caps in the first row of their ledgers."""


@pytest.mark.parametrize("name", OLDER)
def test_a_ledger_of_before_is_of_the_same_policy_and_the_same_caps(name: str) -> None:
    """What a policy may say since then is no part of one that does not say it."""
    caps, plans, fingerprint, text = OLDER[name]
    plan = {"plan": plans} if plans else {}
    policy = load_policy(
        {
            "dataset": "d",
            "neighbours": "add-remove-one",
            "columns": {"x": {"bounds": [0.0, 1.0]}},
            "caps": caps,
            **plan,
        }
    )
    assert policy.fingerprint() == fingerprint
    assert rules_of(policy.caps.ledger_caps()).text == text


def column(**fields: Any) -> dict[str, Any]:
    return {"columns": {"c": fields}}


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"epsilom": 1}, "`epsilom` of `policy` is not a known field"),
    "unknown cap": ({"caps": {"epsilon": 1.0, "gamma": 1}}, "`caps.gamma`"),
    "unknown column field": (column(bounds=[0, 1], typo=1), "`columns.c.typo`"),
    "no epsilon": ({"caps": {"delta": 0.0}}, "`caps` of `policy`: `epsilon` is missing; or give `rho`"),
    "epsilon 0": ({"caps": {"epsilon": 0}}, "`caps.epsilon`"),
    "epsilon ∞": ({"caps": {"epsilon": math.inf}}, "finite"),
    "epsilon NaN": ({"caps": {"epsilon": math.nan}}, "`caps.epsilon`"),
    "epsilon as text": ({"caps": {"epsilon": "1"}}, "must be a number"),
    "epsilon true": ({"caps": {"epsilon": True}}, "must be a number"),
    "negative cap": ({"caps": {"epsilon": 1, "nats_per_person": -1}}, "`caps.nats_per_person`"),
    "neighbours": ({"neighbours": "both"}, "`neighbours`"),
    "no rows": ({"rows": None}, "`rows`, the public number of units, is required"),
    "rows 0": ({"rows": 0}, "`rows`"),
    "rows and max_rows": ({"max_rows": 10}, "`max_rows` goes with add-remove-one"),
    "rows not public": ({"neighbours": "add-remove-one"}, "`rows` is not public under add-remove-one"),
    "table cap": (
        {"neighbours": "add-remove-one", "rows": None, "caps": {"epsilon": 1.0, "nats_table": 3.0}},
        "`max_rows` is required when `caps.nats_table` is set",
    ),
    "bounds turned": (column(bounds=[1, 0]), "low < high"),
    "bounds equal": (column(bounds=[1, 1]), "low < high"),
    "bounds infinite": (column(bounds=[0, math.inf]), "finite"),
    "bounds NaN": (column(bounds=[0, math.nan]), "finite"),
    "bounds far": (column(bounds=[0, 1e100]), "must lie within"),
    "bounds of three": (column(bounds=[0, 1, 2]), "at most 2 items"),
    "fill outside": (column(bounds=[0, 1], fill=2), "`fill` must lie within `bounds`"),
    "fill of keys": (column(keys=["a"], fill=2), "`fill` goes with `bounds`"),
    "neither": (column(), "either `bounds = [low, high]` or `keys = [...]`"),
    "both": (column(bounds=[0, 1], keys=["a"]), "only integers and decimals may have `bounds` and `keys`"),
    "no keys": (column(keys=[]), "at least one key"),
    "twice the same key": (column(keys=["a", "a"]), "must not repeat"),
    "mixed keys": (column(keys=["a", 1]), "all text, all integers"),
    "true is not 1": (column(keys=[True, 1]), "all text, all integers"),
    "wide key": (column(keys=[0, 2**63]), "64 bits"),
    "low key": (column(keys=[0, -(2**63)]), "64 bits"),
    "half a surrogate in a key": (column(keys=["a", "b\ud800"]), "a database can hold"),
    "a null character in a key": (column(keys=["a", "\0"]), "a database can hold"),
    "no columns": ({"columns": {}}, "`columns`"),
    "case": ({"columns": {"x": {"keys": [1]}, "X": {"keys": [1]}}}, "upper and lower case"),
    "unit": ({"unit": "person"}, "`unit`"),
    "unit quota": ({"unit": {"id": "x", "max_rows": 0}}, "max_rows"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD.keys())
def test_a_broken_rule_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        load_policy({**GOOD, **changes})
    assert message in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_every_broken_rule_gets_its_line() -> None:
    with pytest.raises(InvalidPolicy) as caught:
        load_policy({"rows": 3, "typo": 1, "dataset": "d"})
    assert len(str(caught.value).splitlines()) == 4


def test_files_that_do_not_parse(tmp_path: Path) -> None:
    broken = tmp_path / "policy.toml"
    for content, message in (
        (b"dataset = ", "not valid TOML"),
        (b"\xff", "not UTF-8"),
        (b"", "missing"),
    ):
        broken.write_bytes(content)
        with pytest.raises(InvalidPolicy, match=message):
            load_policy(broken)
        with pytest.raises(InvalidQuery, match=message):
            load_queries(broken)
    with pytest.raises(InvalidPolicy, match="does not exist"):
        load_policy(tmp_path / "none.toml")


def test_the_fingerprint_is_of_the_content_alone() -> None:
    turned = {key: GOOD[key] for key in reversed(GOOD)}
    same = {**GOOD, "columns": {"d": {"keys": ["a", "b"]}, "x": {"bounds": [0.0, 1.0]}}}
    prints = {load_policy(policy).fingerprint() for policy in (GOOD, turned, same)}
    assert len(prints) == 1
    for changes in ({"rows": 11}, {"dataset": "e"}, {"caps": {"epsilon": 2.0}}, {"unit": {"id": "d"}}):
        assert load_policy({**GOOD, **changes}).fingerprint() not in prints
    assert len(prints.pop()) == 64


def test_a_fingerprint_from_before_still_fits() -> None:
    """A ledger outlives versions: this text, hashed by hand, is what a policy stands for."""
    import hashlib

    text = (
        '{"caps":{"delta":null,"epsilon":1.0,"nats_per_person":null,"nats_table":null},'
        '"columns":{"d":{"bounds":null,"fill":null,"keys":["a","b"]},'
        '"x":{"bounds":[0.0,1.0],"fill":null,"keys":null}},"dataset":"d","max_rows":null,'
        '"neighbours":"replace-one","rows":10,"unit":"row"}'
    )
    assert load_policy(GOOD).fingerprint() == hashlib.sha256(text.encode()).hexdigest()


QUERY: dict[str, Any] = {"name": "n", "statistic": "count", "epsilon": 1.0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"statistics": "count"}, "`statistics` of query `n` is not a known field"),
        ({"epsilon": "0.1"}, "`epsilon` of query `n`"),
        ({"epsilon": True}, "`epsilon` of query `n`"),
        ({"epsilon": math.nan}, "`epsilon` of query `n` must be a positive finite number"),
        ({"epsilon": 0}, "`epsilon` of query `n` must be a positive finite number"),
        ({"epsilon": None}, "`epsilon`"),
        ({"statistic": "mode"}, "must be one of count, histogram, contingency, "),
        ({"by": [1]}, "`by.0`"),
        ({"by": ["a", "a"]}, "not repeat"),
        ({"name": ""}, "printable"),
        ({"name": "a\nb"}, "printable"),
        ({"bins": 2.5}, "`bins`"),
    ],
)
def test_a_query_that_breaks_a_rule(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        query_from({**QUERY, **changes})
    assert message in str(caught.value)


def write(folder: Path, **changes: str) -> Path:
    fields = {"policy": "p.toml", "data": "d.parquet", "ledger": "l.db", **changes}
    lines = [f'{name} = "{value}"' for name, value in fields.items()]
    lines += ["[[query]]", 'name = "n"', 'statistic = "count"', "epsilon = 1"]
    (folder / "q.toml").write_text("\n".join(lines))
    return folder / "q.toml"


def test_paths_start_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    read = load_queries(write(tmp_path, report="out/r.html"))
    assert (read.policy, read.data) == (tmp_path / "p.toml", tmp_path / "d.parquet")
    assert read.report == tmp_path / "out" / "r.html"
    assert read.ledger == f"sqlite:///{tmp_path / 'l.db'}"
    for given, url in (
        ("sqlite:///l.db", f"sqlite:///{tmp_path / 'l.db'}"),
        ("sqlite:////srv/l.db", "sqlite:////srv/l.db"),
        ("/srv/l.db", "sqlite:////srv/l.db"),
        ("sqlite://", "sqlite://"),
        ("postgresql://office/budget", "postgresql://office/budget"),
    ):
        assert load_queries(write(tmp_path, ledger=given)).ledger == url


def test_query_files_are_strict(tmp_path: Path) -> None:
    with pytest.raises(InvalidQuery, match="`polici`"):
        load_queries(write(tmp_path, polici="x"))
    path = write(tmp_path)
    path.write_text(path.read_text() + '\n[[query]]\nname = "n"\nstatistic = "count"\nepsilon = 2')
    with pytest.raises(InvalidQuery, match="unique"):
        load_queries(path)
    path.write_text('policy = "p"\ndata = "d"\nledger = "l"\nquery = []')
    with pytest.raises(InvalidQuery, match="`query`"):
        load_queries(path)


def test_the_example_is_in_order_and_leaves_room() -> None:
    policy, read = load_policy(HOSPITAL / "policy.toml"), load_queries(HOSPITAL / "release.toml")
    prices = [item.price for item in preview(read.queries, policy=policy)]
    assert read.data.is_file()
    assert 2 * sum(price.epsilon for price in prices) < policy.caps.epsilon
    assert 2 * sum(price.nats_person.upper for price in prices) < (policy.caps.nats_per_person or 0)
    assert 2 * sum(price.nats_table for price in prices) < (policy.caps.nats_table or 0)


def test_one_policy_serves_queries_by_row_and_by_person() -> None:
    assert policy_of().rows_per_unit == 1
    assert policy_of(unit={"id": "id", "max_rows": 4}).rows_per_unit == 4
    assert policy_of(unit={"id": "id"}).id_column == "id"
