"""`leakcap attack blackbox`: what it prints, what it reads, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import ROOT, leakcap
from leakcap.audit import black_box

TIMINGS = ROOT / "examples" / "timing" / "timings.csv"


def test_it_says_what_the_library_says(tmp_path: Path) -> None:
    rows = [line.split(",") for line in TIMINGS.read_text(encoding="utf-8").splitlines()[1:]]
    found = black_box([row[0] for row in rows], [float(row[1]) for row in rows], prior="uniform")
    done = leakcap("attack", "blackbox", str(TIMINGS), "--prior", "uniform", "--json", cwd=tmp_path)
    one, leak, nats = json.loads(done.stdout)["findings"]
    assert (one["got"], one["at_most"]) == (found.vulnerability.lower, found.vulnerability.upper)
    assert (leak["got"], leak["at_most"]) == (
        found.min_entropy_leakage.lower,
        found.min_entropy_leakage.upper,
    )
    assert (nats["got"], nats["at_most"]) == (found.information.lower, found.information.upper)
    assert (one["samples"], one["secrets"], one["without"]) == (4000, 4, found.prior_vulnerability.upper)
    # Four exponents told apart by the time that they take.
    assert one["got"] > 0.4


def test_texts_and_several_columns(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("a,x\nb,y\n" * 60, encoding="utf-8")
    (tmp_path / "plane.csv").write_text("a,1,2\nb,2,1\n" * 60, encoding="utf-8")
    for name in ("texts.csv", "plane.csv"):
        done = leakcap("attack", "blackbox", name, "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["findings"][0]["outputs"] == 2
        assert json.loads(done.stdout)["findings"][0]["got"] > 0.9


def test_a_heading_says_where_the_secret_is(tmp_path: Path) -> None:
    """Planted before: the heading was a sample of a third secret, and the output was taken for the secret."""
    rows = ["a,x,1", "b,y,2", "b,x,1"] * 40
    (tmp_path / "first.csv").write_text("\n".join(rows), encoding="utf-8")
    turned = [",".join(row.split(",")[1:] + row.split(",")[:1]) for row in rows]
    (tmp_path / "last.csv").write_text("\n".join(["sort,time,Secret", *turned]), encoding="utf-8")
    first, last = (
        json.loads(leakcap("attack", "blackbox", name, "--json", cwd=tmp_path).stdout)["findings"]
        for name in ("first.csv", "last.csv")
    )
    assert first == last
    assert (first[0]["samples"], first[0]["secrets"]) == (120, 2)


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("a,1\nb,2,3\n" * 40, (), "Sample 2 has 3 cells, the first 2"),
        ("a\nb\n" * 40, (), "a secret and an output"),
        ("", (), "a secret and an output"),
        ("a,1\nb,nan\n" * 40, (), "40 are NaN or infinite"),
        ("a,1\na,2\n" * 40, (), "two or more different"),
        ("a,1\nb,2\n" * 10, (), "50 samples or more"),
        ("a,1\nb,2\n" * 40, ("--prior", "0.5"), "--prior"),
        ("a,1\nb,2\n" * 40, ("--attackers", "oracle"), "oracle"),
        ("a,x\nb,y\n" * 40, ("--attackers", "nearest"), "outputs that are numbers"),
        ("a,1\nb,2\n" * 40, ("--confidence", "2"), "confidence"),
        ("group,answer\n" + "a,x\nb,y\n" * 40, (), "it may be a heading"),
        ("exponent,time\n" + "3,1\n5,2\n" * 40, (), "it may be a heading"),
        ("1.5,a\n" + "2.5,b\n3.5,a\n" * 1 + "".join(f"{i},a\n" for i in range(60)), (), "hold the secret"),
        ("time,secret\n" + "1,a\n2\n" * 40, (), "cells"),
    ],
)
def test_what_is_refused_in_one_line(tmp_path: Path, text: str, options: tuple[str, ...], says: str) -> None:
    (tmp_path / "samples.csv").write_text(text, encoding="utf-8")
    done = leakcap("attack", "blackbox", "samples.csv", *options, cwd=tmp_path)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_no_text_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00\x01" * 100)
    assert "UTF-8" in leakcap("attack", "blackbox", "bytes.csv", cwd=tmp_path).stderr
    assert "There is no file" in leakcap("attack", "blackbox", "none.csv", cwd=tmp_path).stderr
