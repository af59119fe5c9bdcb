"""What a notebook shows: the numbers are there, ends round outward, and nothing from outside is markup."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leakcap.attack import guessing_game
from leakcap.audit import audit_samples
from leakcap.bound import Bound
from leakcap.cards import bar, card, interval
from leakcap.channel import Channel
from leakcap.definition import ApproxDP, Neighbourhood, PureDP, Relation
from leakcap.ledger import Caps, Charge, Ledger, Spend
from leakcap.statement import Exposure, statement_of

EVIL = '<script>alert("1")</script>'
SURVEY = Channel([[2 / 3, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 6, 2 / 3]])


class Balanced(HTMLParser):
    """Tags that open and close in order, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def ledger() -> Ledger:
    book = Ledger.open("sqlite://", dataset=EVIL, policy="0" * 8, caps=Caps(epsilon=0.9))
    book.reserve([Charge("q", "count", Spend(epsilon=0.1))])
    return book


CARDS = [
    (Bound(0.1, 0.2, method=EVIL), ["0.1 to 0.2 nats", "bits", EVIL]),
    (Bound.exact(math.inf, method="m"), ["inf nats"]),
    (PureDP(1.0), ["PureDP", "epsilon", "1"]),
    (ApproxDP(1.0, 0.1, neighbours=Neighbourhood(Relation.REPLACE_ONE, EVIL)), ["replace-one", EVIL]),
    (SURVEY, ["0.666667", "3 secrets"]),
    (Channel([[1.0], [1.0]], inputs=[EVIL, "b"]), [EVIL]),
    (guessing_game(SURVEY, [1 / 3] * 3), ["got", "at most", "stopped by"]),
    (
        audit_samples([0, 1] * 300, [1] * 600, claim=PureDP(1.0), seed=1),
        ["ε (pure DP)", "violated", "PureDP"],
    ),
    (
        statement_of(Exposure(EVIL, 0.1, 0.1, Bound.exact(0.001, method="m"), 1.0, "replace-one")),
        ["52.50 %", EVIL],
    ),
]


@pytest.mark.parametrize(("value", "parts"), CARDS, ids=lambda v: type(v).__name__)
def test_each_shows_itself(value: object, parts: list[str]) -> None:
    page = Balanced(value._repr_html_())
    assert "script" not in page.seen
    for part in parts:
        assert part in page.text, page.text


def test_a_ledger_shows_its_balances() -> None:
    with ledger() as book:
        page = Balanced(book._repr_html_())
    assert "script" not in page.seen
    for part in (EVIL, "epsilon", "0.1", "0.8", "1 spend"):
        assert part in page.text


def test_a_large_channel_shows_its_corner() -> None:
    page = Balanced(Channel([[1 / 50] * 50] * 40)._repr_html_())
    assert page.text.count("0.02") == 80
    assert "…" in page.text


@given(a=st.floats(0.0, 1e12), b=st.floats(0.0, 1e12))
@example(a=999999999999.0, b=1000000000000.0)
@example(a=999999999998.0, b=1000000000000.0)
def test_ends_round_outward(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    words = interval(low, high, "nats").split()
    if high - low <= 1e-12 * high:
        # Twelve digits agree: one number, of ten.
        assert words == [f"{high:.10g}", "nats"]
        return
    assert float(words[0]) <= low
    assert float(words[2]) >= high


@given(share=st.floats(0.0, 2.0))
def test_bars_are_full_or_empty_only_where_it_is_so(share: float) -> None:
    assert ("width:100%;height:100%" in bar(share)) == (share >= 1.0)
    assert ("width:0%" in bar(share)) == (share <= 0.0)


def test_text_that_looks_like_a_bar_is_still_text() -> None:
    assert (
        "<div" not in card("t", [("a", str(bar(0.5)[:0]) + "<div>")]).split("<td", 1)[1].split("</table")[0]
    )
