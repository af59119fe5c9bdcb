"""Files that would keep a reader busy for ever, or make it stumble: each is refused at once."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import pytest

from leakcap.channel import Channel
from leakcap.errors import InvalidChannel

HOSTILE = {
    "corner.csv": "1e999999999,1/2\n0,1",
    "exact.csv": ",a,b\nx,1/2,1/2\ny,1e-999999999,1",
    "underscores.csv": "1/2,1/2\n1e9_9_9_9_9_9,1",
    "zeros.csv": "1/2,1/2\n1e000000999999999,1",
    "capital.csv": "1/2,1/2\n1E+99999999,1",
    "long.csv": "1/2,1/2\n0." + "3" * 5000 + ",1",
    "fraction.csv": "1/2,1/2\n1/" + "7" * 4000 + ",1",
    "long form.csv": "input,output,probability\na,b,1e99999999\n",
    "exact.json": json.dumps([["1/2", "1/2"], ["1e99999999", 1]]),
    "deep.json": "[" * 100000,
    "deep closed.json": "[" * 3000 + "]" * 3000,
    "digits.json": "[[" + "9" * 5000 + ", 0]]",
    "overflow.json": "[[" + "9" * 4000 + ", 0]]",
    "labels.json": '{"matrix": [[1]], "inputs": 7}',
    "unhashable.json": '{"matrix": [[1]], "inputs": [{"a": 1}]}',
    "surrogate.json": '[["\\ud800", 1]]',
    "index.json": '{"entries": [[0, 999999999999, 1]], "inputs": ["a"], "outputs": ["b"]}',
    "text.json": '{"entries": 5, "inputs": ["a"], "outputs": ["b"]}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_is_refused_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(HOSTILE[name], encoding="utf-8")
    started = time.process_time()
    with pytest.raises(InvalidChannel) as refused:
        Channel.load(tmp_path / name)
    assert time.process_time() - started < 1.0
    assert len(str(refused.value)) < 300


def test_what_is_large_and_sound_is_read(tmp_path: Path) -> None:
    digits = "3" * 900
    rest = Fraction(1) - Fraction(f"0.{digits}") - Fraction(1, 10**300)
    (tmp_path / "exact.csv").write_text(f"1e-300,0.{digits},{rest}\n1/3,1/3,1/3\n")
    with pytest.raises(InvalidChannel, match="characters"):
        Channel.load(tmp_path / "exact.csv")
    rest = Fraction(1) - Fraction(1, 10**300)
    (tmp_path / "exact.csv").write_text(f"1e-300,{rest}\n1/3,2/3\n")
    exact = Channel.load(tmp_path / "exact.csv").exact
    assert exact is not None
    assert exact[0][0] == Fraction(1, 10**300)


def test_labels_may_look_like_anything(tmp_path: Path) -> None:
    """Only entries are numbers: the same text is a label where labels stand."""
    (tmp_path / "labels.csv").write_text(",1e999999999,b\n2e999999999,1/2,1/2\ny,0,1\n")
    assert Channel.load(tmp_path / "labels.csv").inputs == ("2e999999999", "y")
