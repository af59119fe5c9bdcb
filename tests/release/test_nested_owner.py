"""What the owner of nested keys is told, and dry runs and files of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from leakcap.errors import InvalidPolicy
from leakcap.owner import check
from leakcap.policy import load_policy
from leakcap.release import Query
from leakcap.release.dummy import dummy_engine
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.scan import scans_of
from release.nested import POLICY


def test_the_owner_is_told_of_pairs_that_are_not_listed() -> None:
    """On the owner's terminal alone; keys that are not listed at all are told of by their column."""
    rows = {
        "region": ["North", "North", "South", "West", None, "North"],
        "district": ["Ashby", "Poole", "Newton", "Poole", "Ryde", "nowhere"],
        "sex": ["f"] * 6, "age": [1.0] * 6, "day": ["2026-01-03"] * 6,
    }  # fmt: skip
    found = [one for one in check(pyarrow.table(rows), load_policy(POLICY)) if "together" in one.text]
    (fault,) = found
    assert (fault.place, fault.grade) == ("district", "problem")
    assert fault.text.startswith(
        "2 of 4 rows with listed keys have keys that the policy does not list together"
    )
    assert '"Poole" within "North" (1 row)' in fault.text
    assert '"Poole" within "West" (1 row)' in fault.text
    good = {name: own[:1] for name, own in rows.items()}
    assert not [one for one in check(pyarrow.table(good), load_policy(POLICY)) if "together" in one.text]


PARENTS: list[tuple[dict[str, Any], dict[str, list[str]]]] = [
    ({"p": {"case": "CASE WHEN age < 18 THEN 'y' ELSE 'o' END"}}, {"y": ["a"], "o": ["a", "b"]}),
    ({"p": {"from": "age", "cuts": [18], "keys": ["y", "o"]}}, {"y": ["a"], "o": ["a", "b"]}),
    ({"p": {"from": "day", "truncate": "month"}}, {"2026-01": ["a"], "2026-02": ["a", "b"]}),
    ({"p": {"from": "day", "part": "month"}}, {"1": ["a"], "2": ["a", "b"]}),
    ({"p": {"from": ["age", "other"], "compare": "<"}}, {"true": ["a"], "false": ["a", "b"]}),
    ({"p": {"type": "integer", "keys": [1, 2], "bounds": [1, 5]}}, {"1": ["a"], "2": ["a", "b"]}),
    ({"p": {"type": "decimal", "places": 1, "keys": ["0.5", "1.0"]}}, {"0.5": ["a"], "1.0": ["a", "b"]}),
    ({"p": {"keys": [True, False]}}, {"true": ["a"], "false": ["a", "b"]}),
]


OTHER_PARENTS = {
    "age": {"bounds": [0, 100]},
    "other": {"bounds": [0, 100]},
    "day": {"bounds": ["2026-01-01", "2026-02-28"]},
}


@pytest.mark.parametrize(("parent", "keys"), PARENTS)
@pytest.mark.parametrize("joined", [False, True])
def test_the_owner_is_told_where_the_parent_is_derived_or_no_text(
    parent: dict[str, Any], keys: dict[str, list[str]], joined: bool
) -> None:
    """The first of each parent has `a` alone, so that its row with `b` is told of, and no other."""
    columns = {**OTHER_PARENTS, **parent, "c": {"within": "p", "keys": keys}}
    stored = parent["p"].get("keys", []) if "from" not in parent["p"] and "case" not in parent["p"] else []
    rows = {
        "age": [3.0, 3.0, 50.0, 50.0],
        "other": [10.0] * 4,
        "day": ["2026-01-03", "2026-01-03", "2026-02-03", "2026-02-03"],
        "c": ["a", "b", "a", "b"],
    } | ({"p": [stored[0], stored[0], stored[1], stored[1]]} if stored else {})
    rest = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0}}
    if joined:
        policy = {**rest, "unit": {"id": "id"}, "columns": {"s": {"keys": ["f"]}}}
        policy["tables"] = {"people": {"id": "person", "columns": columns}}
        data = pyarrow.table({"id": [1, 2, 3, 4], "s": ["f"] * 4})
        theirs = pyarrow.table({"person": [1, 2, 3, 4], **rows})
        faults = check(data, load_policy(policy), tables={"people": theirs})
    else:
        faults = check(pyarrow.table(rows), load_policy({**rest, "columns": columns}))
    (fault,) = faults
    assert fault.place == ("people.c" if joined else "c")
    assert fault.text.startswith("1 of 4 rows with listed keys has keys that the policy does not list")


@pytest.mark.parametrize(("parent", "keys"), PARENTS[-3:])
def test_a_dry_run_has_parents_that_are_no_text(parent: dict[str, Any], keys: dict[str, list[str]]) -> None:
    """It failed where a parent has bounds beside its keys, or keys that are decimals."""
    columns = {**parent, "c": {"within": "p", "keys": keys}}
    policy = load_policy({**POLICY, "columns": columns})
    engine, query = dummy_engine(policy), Query(name="q", statistic="count", by=("p", "c"), epsilon=1.0)
    (scan,) = scans_of([plan_query(query, policy)], engine)
    (total,) = scan.run(engine)[0].totals
    assert sum(total.tolist()) == 1_000
    assert min(total.tolist()) > 0


def test_a_dry_run_has_listed_pairs_alone_and_every_one() -> None:
    """So that no cell of a preview by dummy data is empty for want of a pair."""
    engine = dummy_engine(load_policy(POLICY))
    plan = plan_query(
        Query(name="q", statistic="count", by=("region", "district"), epsilon=1.0), load_policy(POLICY)
    )
    (scan,) = scans_of([plan], engine)
    (total,) = scan.run(engine)[0].totals
    assert sum(total.tolist()) == 1_000
    assert min(total.tolist()) > 0


def test_keys_in_a_file_are_those_of_a_table(tmp_path: Path) -> None:
    """A row for each key; whole numbers, three levels, and a column that lies within no other."""
    head = 'dataset = "d"\nneighbours = "add-remove-one"\ncaps = { epsilon = 1.0 }\n[columns]\n'
    state, region = "state = { keys = [1, 2] }\n", 'region = { within = "state", keys = "regions.csv" }\n'
    town = 'town = { within = "region", keys = "towns.csv", type = "integer" }\n'
    (tmp_path / "p.toml").write_text(f'{head}{state}{region}{town}sex = {{ keys = "sex.csv" }}\n')
    (tmp_path / "regions.csv").write_text("state,region\n1,north\n1,south\n2,north\n", encoding="utf-8-sig")
    towns = "state,region,town\n1,north,7\n2,north,7\n\n1,south,-3\n2,north,8\n"
    (tmp_path / "towns.csv").write_text(towns)
    (tmp_path / "sex.csv").write_text('sex\nf\n"m, or so"\n')
    inline: dict[str, Any] = {
        "state": {"keys": [1, 2]},
        "region": {"within": "state", "keys": {"1": ["north", "south"], "2": ["north"]}},
        "town": {"within": "region", "keys": {"1": {"north": [7], "south": [-3]}, "2": {"north": [7, 8]}}},
        "sex": {"keys": ["f", "m, or so"]},
    }
    rest = {"dataset": "d", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0}}
    assert load_policy(tmp_path / "p.toml").text() == load_policy({**rest, "columns": inline}).text()
    for content, rule in (
        ("region,state,town\n1,north,7\n", "must have the columns state, region, town, in this order"),
        ("state,region,town\n1,north\n", "must have 3 cells in each line, none empty. See line 2"),
        ("state,region,town\n1,north,07\n", "must have whole numbers as keys. See line 2"),
        ("state,region,town\n", "must have a line of names and one key or more"),
        (towns + "2,north,8\n", "must not repeat a key within `2 > north`"),
        ('state,region,town\n1,north,"7\n', "is not valid CSV"),
        (None, "`towns.csv` cannot be read"),
    ):
        (tmp_path / "towns.csv").unlink()
        if content is not None:
            (tmp_path / "towns.csv").write_text(content)
        with pytest.raises(InvalidPolicy) as caught:
            load_policy(tmp_path / "p.toml")
        assert rule in str(caught.value)
