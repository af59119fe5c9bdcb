"""Channels, audits, attacks and conversions: one record each, and all that is shown is drawn from it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import leakcap as lc
from leakcap.attack import reused_noise
from leakcap.audit import audit_samples
from leakcap.channel import Channel
from leakcap.definition import MIDP, PureDP, implications, route
from leakcap.disclosure.beside import noise_of_error
from leakcap.disclosure.group_description import read_group, weigh_group
from leakcap.disclosure.joint.published import TableSet
from leakcap.disclosure.rounding import RandomRounding
from leakcap.disclosure.weighing import different_cells, mean_squared_error
from leakcap.disclosure.whole_set import WholeSet
from leakcap.leakage import Hyper
from leakcap.leakage.findings import findings
from leakcap.leakage.findings_about import correlated_findings
from leakcap.report.records import (
    AttackRecord,
    AuditRecord,
    ChannelRecord,
    ConvertRecord,
    DaleniusRecord,
    Record,
)
from leakcap.report.records.disclosure import DisclosureRecord
from leakcap.report.records.disclosure_groups import DisclosureGroupRecord
from leakcap.report.records.disclosure_sets import TableSetRecord
from leakcap.report.render.markdown import render_markdown
from leakcap.report.sources import page_of, record_of
from leakcap.report.terminal.audit import print_audit
from leakcap.report.terminal.disclosure import print_disclosure
from leakcap.report.terminal.disclosure_groups import print_group
from leakcap.report.terminal.disclosure_sets import print_table_set
from leakcap.report.terminal.theory import print_attacks, print_channel, print_dalenius, print_route

SURVEY = Channel([[0.75, 0.25], [0.2, 0.8]], inputs=["no", "yes"])
HALF = [0.5, 0.5]


def channel() -> ChannelRecord:
    found = findings(SURVEY, HALF, lc.gain.identity(SURVEY.inputs), [2.0])
    hyper = Hyper(SURVEY, HALF)
    return ChannelRecord.of(
        "s.csv", SURVEY, found, prior=HALF, gain="identity", neighbours="all", hyper=hyper
    )


def dalenius() -> DaleniusRecord:
    about = Channel([[0.9, 0.1], [0.2, 0.8]], outputs=["no", "yes"])
    found = correlated_findings(SURVEY, about, HALF, lc.gain.identity(about.inputs))
    return DaleniusRecord.of(("s.csv", "d.csv"), SURVEY, about, found, prior=HALF, gain="identity")


def audited() -> AuditRecord:
    coins = np.random.default_rng(3)
    first, second = (coins.random(4000) < p for p in (0.7, 0.3))
    found = audit_samples(first.astype(int), second.astype(int), claim=PureDP(0.5), seed=1)
    return AuditRecord.of("coin", ("0", "1"), found)


def attacked() -> AttackRecord:
    return AttackRecord.of_pairs([(reused_noise(2), reused_noise(2, fresh=True))])


def converted() -> ConvertRecord:
    loose = [edge for edge in implications(PureDP, MIDP) if edge.loose]
    return ConvertRecord.of(route(PureDP(1.0), MIDP), loose)


def weighed() -> DisclosureRecord:
    method = RandomRounding(3)
    error = mean_squared_error(method)
    assert error is not None
    return DisclosureRecord.of(
        method,
        different_cells(method),
        squared_error=float(error),
        noise=noise_of_error(error),
        endless=True,
        file="m.toml",
        title="Census",
    )


def weighed_together() -> TableSetRecord:
    by = (("sex",), ())
    tables = TableSet.of_columns([3, 1], {"sex": "fm"}, by)
    risks = WholeSet(RandomRounding(3), tables).worst()
    return TableSetRecord.of(
        risks,
        [{"sex": "f"}, {"sex": "m"}],
        by=by,
        published=tables.cells_counted,
        method="random rounding",
        title="Census",
    )


def weighed_group() -> DisclosureGroupRecord:
    group = read_group(Path("examples/disclosure/household.toml"))
    method = RandomRounding(3)
    return DisclosureGroupRecord.of(group, weigh_group(group, method), method=method.words)


KINDS: dict[str, tuple[Callable[[], Record], Callable[[Console, Any], None]]] = {
    "channel": (channel, print_channel),
    "dalenius": (dalenius, print_dalenius),
    "audit": (audited, lambda console, record: print_audit(console, record.mechanism, record)),
    "attack": (attacked, print_attacks),
    "convert": (converted, print_route),
    "disclosure": (weighed, print_disclosure),
    "disclosure of tables": (weighed_together, print_table_set),
    "disclosure about a group": (weighed_group, print_group),
}


def shown(show: Callable[[Console, Any], None], record: Record) -> str:
    out = io.StringIO()
    show(Console(file=out, width=300), record)
    return out.getvalue()


@pytest.fixture(params=KINDS, scope="module")
def kind(request: pytest.FixtureRequest) -> tuple[Record, Callable[[Console, Any], None]]:
    make, show = KINDS[request.param]
    return make(), show


def test_every_kind_of_theory_is_here() -> None:
    made = {type(make()) for make, _ in KINDS.values()}
    rooms = (
        "channels",
        "audits",
        "attacks",
        "conversions",
        "disclosure",
        "disclosure_sets",
        "disclosure_groups",
    )
    assert made == {kind for kind in Record.__subclasses__() if kind.__module__.rpartition(".")[2] in rooms}


def test_what_is_read_back_is_shown_alike(kind: tuple[Record, Callable[[Console, Any], None]]) -> None:
    record, show = kind
    again = record_of(json.loads(json.dumps(record.to_dict(), allow_nan=False)))
    assert again == record
    assert len(shown(show, record)) > 100
    assert shown(show, again) == shown(show, record)
    assert render_markdown(page_of(again, "reviewer")) == render_markdown(page_of(record, "reviewer"))


def test_a_record_cannot_be_changed(kind: tuple[Record, Callable[[Console, Any], None]]) -> None:
    record, _ = kind
    with pytest.raises(ValueError, match="frozen"):
        record.schema_ = "another"  # type: ignore[attr-defined]


PLANTED = {
    ChannelRecord: ("measures", 0, "upper"),
    DaleniusRecord: ("measures", 0, "upper"),
    AuditRecord: ("epsilon",),
    AttackRecord: ("findings", 0, "at_most"),
    ConvertRecord: ("steps", 0, "formula"),
    DisclosureRecord: ("title",),
    TableSetRecord: ("title",),
    DisclosureGroupRecord: ("title",),
}
"""One number, or formula, of each record that is shown everywhere."""


def test_another_number_is_shown_as_another(kind: tuple[Record, Callable[[Console, Any], None]]) -> None:
    record, show = kind
    told = record.to_dict()
    place: Any = told
    *way, last = PLANTED[type(record)]  # type: ignore[index]
    for step in way:
        place = place[step]
    place[last] = "ε = 777.25" if isinstance(place[last], str) else 777.25
    other = record_of(told)
    assert "777.25" not in shown(show, record)
    assert re.search(r"777\.25", shown(show, other))
    assert re.search(r"777\.25", render_markdown(page_of(other, "reviewer")))
