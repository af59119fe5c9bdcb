"""What the check has not looked at, or a release refuses, is said: it never ends in "no problems" unseen."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from command_line import leakcap
from leakcap.errors import DataError
from leakcap.owner import check, columns
from leakcap.owner.asking import OwnerTable
from leakcap.policy import load_policy
from release.world import policy_of

STAYS: dict[str, Any] = {
    "dataset": "stays",
    "neighbours": "add-remove-one",
    "unit": {"id": "person", "row": "stay", "max_rows": 3},
    "caps": {"epsilon": 1.0},
    "columns": {"ward": {"keys": ["a", "b"]}},
    "tables": {
        "people": {"id": "person", "columns": {"sex": {"keys": ["f", "m"]}}},
        "wards": {
            "public": True,
            "key": "ward",
            "on": "ward",
            "columns": {"beds": {"bounds": [0.0, 90.0]}},
        },
    },
}
PEOPLE = pyarrow.table({"person": ["x", "y"], "sex": ["f", "m"]})
WARDS = pyarrow.table({"ward": ["a", "b"], "beds": ["1", "2"]})
SOUND: dict[str, Any] = {"person": ["x", "x", "y"], "stay": ["1", "2", "1"], "ward": ["a", "b", "a"]}


def found_in(data: dict[str, Any], **tables: object) -> list[tuple[str, str, str]]:
    given = {"people": PEOPLE, "wards": WARDS, **tables}
    given = {name: one for name, one in given.items() if one is not None}
    found = check(pyarrow.table(data), load_policy(STAYS), tables=given)
    return [(one.place, one.grade, one.text) for one in found]


def test_a_sound_table_has_nothing() -> None:
    assert found_in(SOUND) == []


def test_a_row_key_that_the_data_lacks() -> None:
    ((place, grade, text),) = found_in({"person": ["x", "y"], "stay_nr": ["1", "2"], "ward": ["a", "b"]})
    assert (place, grade) == ("stay", "problem")
    assert text.startswith("the data has no such column.")


@pytest.mark.parametrize(
    ("stays", "told"),
    [
        ([None, "2", "1"], "1 row has no key. "),
        ([None, None, "1"], "2 rows have no key. "),
        (["7", "7", "7"], "2 rows have a key that another row of the same person has. "),
        (["7", "8", "7"], None),  # of two people
    ],
)
def test_rows_without_a_key_of_their_own(stays: list[str | None], told: str | None) -> None:
    """Those of nobody, who are in no answer, are not among them."""
    nobody = {"person": [None, None], "stay": [None, None], "ward": ["a", "a"]}
    data = {name: [*values, *nobody[name]] for name, values in {**SOUND, "stay": stays}.items()}
    about = [(grade, text) for place, grade, text in found_in(data) if place == "stay"]
    assert [grade for grade, _ in about] == ["note"] * (told is not None)
    assert told is None or about[0][1].startswith(told)


def test_a_table_that_the_policy_does_not_declare_is_refused() -> None:
    with pytest.raises(DataError) as told:
        found_in(SOUND, peple=PEOPLE)
    assert str(told.value) == (
        "`tables` names `peple`, which the policy does not declare. Did you mean `people`?"
    )
    with pytest.raises(DataError, match="It declares none"):
        check(pyarrow.table({"x": [1.0]}), policy_of(columns={"x": {"bounds": [0, 2]}}), tables={"a": WARDS})


def test_a_table_that_was_not_given_is_noted() -> None:
    assert [(place, grade) for place, grade, _ in found_in(SOUND, wards=None)] == [("wards", "note")]
    assert [place for place, *_ in found_in(SOUND, people=None, wards=None)] == ["people", "wards"]


def test_a_row_of_a_public_table_is_nobodys_anyway() -> None:
    ((place, _, text),) = found_in(SOUND, wards=pyarrow.table({"ward": ["a", "b", None], "beds": ["1"] * 3}))
    assert (place, text) == (
        "wards.ward",
        "1 of 3 rows has no key: it is joined with nothing. Give each row a key.",
    )
    people = pyarrow.table({"person": ["x", "y", None, None], "sex": ["f", "m", "f", "f"]})
    ((_, _, text),) = found_in(SOUND, people=people)
    assert text == "2 of 4 rows have no id: they belong to nobody and are in no answer. Give each row an id."


def test_a_joined_file_may_have_an_equals_sign_in_its_path(tmp_path: Path) -> None:
    (tmp_path / "run=3").mkdir()
    (tmp_path / "run=3" / "people.csv").write_text("person,sex\nx,q\n")
    (tmp_path / "d.csv").write_text("person,ward\nx,a\n")
    (tmp_path / "p.toml").write_text(
        'dataset = "d"\nneighbours = "add-remove-one"\nunit = { id = "person" }\n[caps]\nepsilon = 1.0\n'
        '[columns.ward]\nkeys = ["a"]\n[tables.people]\nid = "person"\ncolumns.sex = { keys = ["f"] }\n'
    )
    words = ["check", "d.csv", "--policy", "p.toml", "--show", "--joined"]
    done = leakcap(*words, "people=run=3/people.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "`people.sex`: 1 of 1 row has a key that the policy does not list" in done.stdout
    other = leakcap(*words, "peple=run=3/people.csv", cwd=tmp_path)
    assert (other.returncode, other.stdout) == (2, "")
    assert "`peple`, which the policy does not declare. Did you mean `people`?" in other.stderr


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_very_many_keys(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no literals of a statement, and few of them are compared sign by sign."""
    compared, nodes = [], []
    close, run = difflib.get_close_matches, OwnerTable._run

    def counting(text: str, words: list[str], n: int, cutoff: float) -> list[str]:
        compared.append(len(words))
        return close(text, words, n=n, cutoff=cutoff)

    def measured(self: OwnerTable, tree: Any) -> Any:
        nodes.append(sum(1 for _ in tree.walk()))
        return run(self, tree)

    monkeypatch.setattr(columns, "get_close_matches", counting)
    monkeypatch.setattr(OwnerTable, "_run", measured)
    keys: list[Any] = [f"Key {one:05}" for one in range(6000)] if kind == "text" else [*range(0, 12000, 2)]
    cells = ["key 05999", "KEY 00001", "Key 00003", "none"] if kind == "text" else [1, 7, 6, 6]
    data = pyarrow.table({"k": [*cells, *keys[10:5000]]})
    found = check(data, policy_of(columns={"k": {"keys": keys}}))
    assert [one.place for one in found] == ["k", "k"]
    outside = 3 if kind == "text" else 2
    assert found[0].text.startswith(f"{outside:,} of 4,994 rows have a key that the policy does not list")
    if kind == "text":
        assert '"KEY 00001" (1 row; did you mean `Key 00001`, which no row has?)' in found[0].text
        assert '"key 05999" (1 row; did you mean `Key 05999`, which no row has?)' in found[0].text
    # Keys 10 to 4,999 are there, and the one with place 3; two are what a misspelt one stands for.
    silent = 6000 - 4990 - 1 - (2 if kind == "text" else 0)
    assert f" and {silent - 5:,} more. Is each spelt" in found[1].text
    assert len(nodes) > 3
    assert max(nodes) < 200
    assert max(compared, default=0) <= 2000
