"""Found by attacking reports: files that are no records, files that should not be written over, and pages
that would call home."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from browser import browse
from command_line import leakcap
from leakcap.report.render.html import render_html
from leakcap.report.sources import page_of, read_record

KEPT = Path(__file__).parents[1] / "report" / "version_1"


def finding(**more: object) -> dict[str, object]:
    plain = {"attack": "a", "got": 1.0, "at_most": 1.0, "ratio": 1.0, "unit": "nats", "stopped_by": "s"}
    return {"schema": "leakcap/attack/1", "findings": [{**plain, **more}]}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100000,
        '{"schema": "leakcap/attack/1", "findings": ' + "[" * 900 + "]" * 900 + "}",
        '{"schema": "leakcap/attack/1", "findings": []}',
        '{"schema": "leakcap/channel/1", "file": "f", "shape": [0, 0], "prior": [], "gain": "g", '
        '"measures": []}',
        '{"schema": ' + "9" * 5000 + "}",
        '{"schema": ["leakcap/attack/1"]}',
        "\ufeff{}",
        '"\\ud800"',
        "1e999999999",
    ],
)
def test_what_is_no_record_is_said_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    done = leakcap("report", "record.json", "-o", "page.html", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("name", ["release.json", "channel.json", "attack.json"])
@pytest.mark.parametrize("audience", ["board", "reviewer"])
def test_a_page_sends_nothing_and_runs_only_its_own(name: str, audience: str) -> None:
    page = render_html(page_of(read_record(KEPT / name), audience))  # type: ignore[arg-type]
    policy = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert len(policy) == 1
    assert policy[0].startswith("default-src &#39;none&#39;")
    assert "script-src &#39;unsafe-inline" not in policy[0]
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy[0].replace("&#43;", "+").replace("&#47;", "/")
    assert len(scripts) == policy[0].count("sha256-")


def test_a_browser_runs_the_pages_own_scripts_and_no_other(tmp_path: Path) -> None:
    page = render_html(page_of(read_record(KEPT / "attack.json"), "reviewer"))
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    shown = browse(tmp_path / "page.html", tmp_path / "profile", "--dump-dom")
    assert "<svg" in shown.partition('id="figure-0"')[2]
    planted = page.replace("</main>", "</main><script>document.title = 'taken'</script>")
    planted = planted.replace("<footer>", "<footer><img src='x' onerror=\"document.title = 'taken'\">")
    (tmp_path / "planted.html").write_text(planted, encoding="utf-8")
    with pytest.raises(AssertionError, match="Content Security Policy"):
        browse(tmp_path / "planted.html", tmp_path / "profile", "--dump-dom")


@pytest.mark.parametrize(
    "name", ["=1+1", "../../x", "<b>", "|a|b|", "[x](http://evil.example)", "${1}{{7*7}}"]
)
def test_names_are_names(name: str, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(json.dumps(finding(attack=name, joint=name, unit=name)))
    done = leakcap("report", "record.json", "-o", "page.html", "-o", "page.md", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["page.html", "page.md", "record.json"]
    page, text = (tmp_path / "page.html").read_text(), (tmp_path / "page.md").read_text()
    assert "<b>" not in page.partition("<main>")[2].replace("<b><span", "")
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "49" not in text
