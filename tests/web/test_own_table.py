"""The upload of a perturbation table: its numbers by the command's records, and one line for what is none."""

from __future__ import annotations

import html
import json
import re
from fractions import Fraction
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from command_line import leakcap
from leakcap.disclosure import PerturbationTable, write_perturbation_table
from leakcap.statement.wording import at_most, percent
from leakcap.web import Settings, create_app
from leakcap.web.serving import bounded
from leakcap.web.serving.guard import MOST_BODY, Keys

HOME = "http://127.0.0.1:8421"
EVIL = "<img src=x onerror=alert(1)>{{7*7}}"
SHARES = "i;j;p;v;p_int_ub\n0;0;1;0;1\n1;0;0.5;-1;0.5\n1;2;0.5;1;1\n"


@pytest.fixture(scope="module")
def keys() -> Keys:
    return Keys(None, "leakcap_8421")


@pytest.fixture(scope="module")
def web(keys: Keys) -> TestClient:
    return TestClient(create_app(Settings(), keys=keys), base_url=HOME)


def send(web: TestClient, keys: Keys, raw: bytes | str, part: bool = False, **fields: str) -> tuple[int, str]:
    raw = raw.encode() if isinstance(raw, str) else raw
    headers = {"origin": HOME} | ({"hx-request": "true"} if part else {})
    answer = web.post(
        "/method/own",
        data={"form_key": keys.form} | fields,
        files={"table": ("../../x.csv", raw, "text/csv")},
        headers=headers,
    )
    return answer.status_code, html.unescape(answer.text)


def problem(page: str) -> str:
    found = re.findall(r'role="alert">(.*?)</div>', page, re.DOTALL)
    assert len(found) == 1
    return re.sub("</?code>", "`", found[0])


@pytest.mark.parametrize("keyed", [True, False])
def test_both_formats_are_weighed_as_the_command_does(
    web: TestClient, keys: Keys, tmp_path: Path, keyed: bool
) -> None:
    half = Fraction(1, 2)
    rows = (((0, 2 * half),), ((-1, half / 2), (1, 2 * half)), ((-2, half), (0, 3 * half / 2), (1, 2 * half)))
    write_perturbation_table(PerturbationTable(rows), tmp_path / "t.csv", keys=4 if keyed else None)
    (tmp_path / "m.toml").write_text('[[method]]\nkind = "cell key"\ntable = "t.csv"\ncycle = 1\n')
    done = leakcap("disclosure", "m.toml", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    status, page = send(web, keys, (tmp_path / "t.csv").read_bytes(), cycle="1")
    assert status == 200
    for cell in (told["cells"][0], told["cells"][-1]):
        assert f'<td class="num">{at_most(cell["capacity"][1])}</td>' in page
        assert f'<td class="num">{percent(cell["guesses"][0]["upper"])}</td>' in page
    assert page.count("vega") >= 1
    status, part = send(web, keys, (tmp_path / "t.csv").read_bytes(), part=True, cycle="1")
    assert status == 200
    assert part.strip() in page


def test_the_error_of_noise_beside_it_can_be_chosen(web: TestClient, keys: Keys) -> None:
    """Counts in turn are off by 1 and by 2: mean squares of 1 and 4."""
    raw = SHARES + "2;0;0.5;-2;0.5\n2;4;0.5;2;1\n"
    _, page = send(web, keys, raw, cycle="2")
    assert "5/2 on average over large counts, and 4 for those where it is largest. The noise has 5/2" in page
    _, page = send(web, keys, raw, cycle="2", matched="largest")
    assert "The noise has 4, in every cell" in page


BAD: list[tuple[str, bytes | str, dict[str, str]]] = [
    ("Choose a file first", "", {}),
    ("`your table` must be CSV in UTF-8", b"\xff\xfe\x00", {}),
    ("`your table` must have the columns", "a,b\n1,2\n", {}),
    ("`your table` must have the columns", f"{EVIL},b\n1,2\n", {}),
    ("Say by `cycle`", "pcv,ckey,pvalue\n1,0,0\n", {}),
    ("from 1 to 9999", SHARES, {"cycle": "0"}),
    ("from 1 to 9999", SHARES, {"cycle": "two"}),
    ("must sum to one. Got 0.5", SHARES.replace("1;2;0.5;1;1\n", ""), {}),
    ("must not make a count of 1 negative", SHARES.replace("1;0;0.5;-1", "1;-1;0.5;-2"), {}),
    ("every key from 0 to 1", "pcv,ckey,pvalue\n1,1,0\n", {"cycle": "1"}),
    ("every count from 0 to the largest", SHARES + "999999999;999999999;1;0;1\n", {}),
    ("every key from 0", "pcv,ckey,pvalue\n1,999999999,0\n", {"cycle": "1"}),
    ("magnitudes", "type;i;j;p;v;p_int_ub\n", {}),
]


@pytest.mark.parametrize(("words", "raw", "fields"), BAD)
def test_what_is_no_table_is_one_line(
    web: TestClient, keys: Keys, words: str, raw: bytes | str, fields: dict[str, str]
) -> None:
    status, page = send(web, keys, raw, **fields)
    assert status == 422
    assert words in problem(page)
    assert "/tmp" not in page
    assert "\n" not in problem(page)


def test_words_of_a_file_are_shown_as_words(web: TestClient, keys: Keys) -> None:
    answer = web.post(
        "/method/own",
        data={"form_key": keys.form},
        files={"table": (f"{EVIL}.csv", f"{EVIL},b\n1,2\n".encode(), "text/csv")},
        headers={"origin": HOME},
    )
    assert "<img src=x" not in answer.text
    assert "49" not in problem(html.unescape(answer.text))


def test_a_form_of_another_page_counts_for_nothing(web: TestClient, keys: Keys) -> None:
    files = {"table": ("t.csv", SHARES.encode(), "text/csv")}
    for data, headers in (
        ({"form_key": "x"}, {"origin": HOME}),
        ({}, {"origin": HOME}),
        ({"form_key": keys.form}, {"origin": "http://evil.example"}),
        ({"form_key": keys.form}, {}),
        ({"form_key": keys.form}, {"origin": HOME, "sec-fetch-site": "cross-site"}),
    ):
        assert web.post("/method/own", data=data, files=files, headers=headers).status_code == 403


def test_a_larger_file_is_taken_here_alone(web: TestClient, keys: Keys) -> None:
    """Half a megabyte is the limit elsewhere; here 4 MiB, which hold 750 counts at 256 keys."""
    large = "pcv,ckey,pvalue\n" + "1,0,0\n" * (MOST_BODY // 6)
    status, page = send(web, keys, large, cycle="1")
    assert (status, "has the key 0 of the count 1 twice" in page) == (422, True)
    assert send(web, keys, b"x" * (5 * 1024 * 1024))[0] == 413
    form = {"form_key": keys.form}
    files = {"file_a": ("a.csv", b"x" * (MOST_BODY + 1), "text/csv")}
    assert web.post("/mechanism", data=form, files=files, headers={"origin": HOME}).status_code == 413


def test_it_ends_in_time(web: TestClient, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    bounded.bounded(bool)
    monkeypatch.setattr(bounded, "SECONDS", 0.0)
    status, page = send(web, keys, SHARES)
    assert (status, "more than 0 seconds" in page) == (422, True)
