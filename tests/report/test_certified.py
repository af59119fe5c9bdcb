"""A report carries its certificate: beside it, by name and hash, in record, pages and terminal."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import leakcap_verify as verify
from leakcap.errors import InvalidParameter
from leakcap.ledger import certifying
from leakcap.release import PrivateTable, Release
from leakcap.report import ReleaseRecord, read_record, write_report
from leakcap.report.certified import certificate_beside, certificate_file, certificate_hash
from leakcap.report.records import BudgetRecord
from leakcap.report.render.html import render_html
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of
from leakcap.report.terminal.certified import print_certificate

POLICY: dict[str, Any] = {
    "dataset": "ward", "neighbours": "add-remove-one", "caps": {"epsilon": 1.0},
    "columns": {"age": {"bounds": [0.0, 120.0]}},
}  # fmt: skip


def ward(data: Any = None) -> tuple[PrivateTable, Release]:
    table = PrivateTable(data or pa.table({"age": [31.0, 72.0]}), policy=POLICY, ledger="sqlite://")
    return table, table.count(where="age >= 65", epsilon=0.5)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["html", "md", "xlsx"])
def test_a_report_names_the_certificate_that_stands_beside_it(kind: str, tmp_path: Path) -> None:
    """Also after more was spent: it is of what stood in the ledger then."""
    table, old = ward()
    target = tmp_path / f"ward.{kind}"
    write_report(table, old, target)
    beside = tmp_path / f"ward.{kind}.certificate.json"
    assert certificate_beside(target) == beside
    table.count(epsilon=0.1)
    told = [verify.check(one) for one in verify.read(beside.read_bytes())]
    assert [(one.kind, one.verdict) for one in told] == [("filter", "proved"), ("price", "proved")]
    assert told[0].claim == "0.0 ≤ truth ≤ 0.5 nats"
    if kind != "xlsx":
        text = target.read_text(encoding="utf-8")
        assert sha256(beside) in text
        assert f"leakcap-verify ward.{kind}.certificate.json" in text


def test_reports_of_one_name_have_a_certificate_each(tmp_path: Path) -> None:
    """That of the HTML was made before more was spent; that of the Markdown leaves it as it was."""
    table, old = ward()
    write_report(table, old, tmp_path / "ward.html")
    table.count(epsilon=0.1)
    write_report(table, old, tmp_path / "ward.md")
    for page in (tmp_path / "ward.html", tmp_path / "ward.md"):
        text = page.read_text(encoding="utf-8")
        (said,) = set(re.findall(r"The certificate (\S+) \(SHA-256 [0-9a-f]{64}\)", text))
        assert sha256(tmp_path / said) in text
    claims = [
        verify.check(verify.read((tmp_path / f"ward.{kind}.certificate.json").read_bytes())[0]).claim
        for kind in ("html", "md")
    ]
    # 0.5 + 0.1 lies between two doubles; a claim ends at the upper one.
    assert claims == ["0.0 ≤ truth ≤ 0.5 nats", "0.0 ≤ truth ≤ 0.6000000000000001 nats"]


def test_values_alone_have_none(tmp_path: Path) -> None:
    table, old = ward()
    write_report(table, old, tmp_path / "ward.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["ward.csv"]


def test_record_pages_and_terminal_say_the_same(tmp_path: Path) -> None:
    """Of a release and of a budget; a page that is drawn from the record again says it too."""
    table, old = ward()
    proved = certificate_file(table.ledger, tmp_path / "my ward.json", releases=[old])
    proved.write()
    assert proved.record.sha256 == sha256(tmp_path / "my ward.json")
    assert proved.record.check == "leakcap-verify 'my ward.json'"
    record = ReleaseRecord.of(
        table.policy, [old], table.statement(), table.budget(), certificate=proved.record
    )
    (tmp_path / "r.json").write_text(json.dumps(record.to_dict()))
    again = read_record(tmp_path / "r.json")
    budget = BudgetRecord.of_ledger(table.ledger, certificate=proved.record)
    console = Console(record=True, width=400)
    print_certificate(console, proved.record)
    shown = [console.export_text()]
    for audience in ("board", "reviewer"):
        for one in (record, again, budget):
            page = page_of(one, audience)  # type: ignore[arg-type]
            shown += [render_html(page), render_markdown(page)]
    for text in shown:
        assert proved.record.sha256 in text
        assert "leakcap-verify" in text
    without = ReleaseRecord.of(table.policy, [old], table.statement(), table.budget())
    assert "certificate" not in without.to_dict()
    assert "leakcap-verify" not in render_html(page_of(without, "reviewer"))


def test_a_ledger_without_a_certificate_has_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, old = ward()
    monkeypatch.setattr(certifying, "_MOST_ROWS", 1)
    write_report(table, old, tmp_path / "ward.md")
    assert [path.name for path in tmp_path.iterdir()] == ["ward.md"]
    assert "leakcap-verify" not in (tmp_path / "ward.md").read_text(encoding="utf-8")
    assert certificate_hash(table.ledger) is None


def test_a_certificate_replaces_nothing_that_the_table_rests_on(tmp_path: Path) -> None:
    ledger = f"sqlite:///{tmp_path}/ward.html.certificate.json"
    with PrivateTable(pa.table({"age": [31.0, 72.0]}), policy=POLICY, ledger=ledger) as table:
        old = table.count(epsilon=0.1)
        with pytest.raises(InvalidParameter, match="certificate may not replace"):
            write_report(table, old, tmp_path / "ward.html")
        assert table.ledger.totals().entries == 1
    assert not (tmp_path / "ward.html").exists()
