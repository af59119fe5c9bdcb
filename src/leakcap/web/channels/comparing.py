"""One or two channels of the reader's own: what each leaks, and whether one never leaks more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from leakcap import gain as gains
from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, LeakcapError
from leakcap.gain import Gain
from leakcap.leakage.findings import Leak, findings
from leakcap.refinement import Refinement, refines
from leakcap.report.words.wording import quantity
from leakcap.statement.wording import at_most
from leakcap.web.channels.matrices import EXAMPLES, MOST_GOAL, read_channel, read_gain, read_prior
from leakcap.web.figures import Figure, Spec, chart
from leakcap.web.reading import chosen

__all__ = ["GAINS", "PLAIN", "ChannelComparison", "Pasted", "compare", "given", "shown_bound"]

GAINS: Mapping[str, str] = {
    "identity": "one guess at the secret",
    "k_guesses": "two guesses",
    "first": "whether it is the first secret",
    "reciprocal": "the more surprising, the better",
    "own": "a goal of my own",
}
PLAIN: Mapping[str, str] = {
    "ε, the largest log ratio": "The odds between two secrets move by e^ε at most; this is ε",
    "Shannon capacity": "Told on average, at most, whatever is believed before",
    "Bayes capacity": "One guess is right so many times as often, at most, whatever is believed before",
    "mutual information": "Told on average, under the belief above",
    "vulnerability before": "What the attacker reaches before",
    "vulnerability after, on average": "… and after, on average",
    "vulnerability after, worst output": "… and after what gives most away",
}
"""The measures that a reader meets first, in words."""

_ORDERS = (2.0, 8.0)
_MOST_LP = 400
_WHO = ("on average", "in the worst case")
_LESS_IS_MORE = ("Bayes risk", "guessing entropy")
BITS = math.log2(math.e)


@dataclass(frozen=True)
class Pasted:
    """What the reader gave: one or two matrices as text, a belief, a goal."""

    a: str
    b: str
    prior: str
    gain: str
    goal: str = ""

    @property
    def query(self) -> dict[str, str]:
        """The same as a query string says it."""
        goal = {"goal": self.goal} if self.goal else {}
        return {"a": self.a, "b": self.b, "prior": self.prior, "gain": self.gain, **goal}


def given(query: Mapping[str, str]) -> Pasted:
    """What a query string or a form gave; the survey of Fernandes, McIver & Sadeghi where it gave nothing."""
    if not query.get("a", "").strip():
        return Pasted(EXAMPLES["geometric"], EXAMPLES["response"], "uniform", "identity")
    gain = chosen(query, "gain", list(GAINS))
    goal = query.get("goal", "")[:MOST_GOAL].strip()
    return Pasted(query["a"], query.get("b", ""), query.get("prior", "uniform")[:4096], gain, goal)


@dataclass(frozen=True)
class MeasureRow:
    """One measure, of one or both channels, as it is shown; `more` is the one that leaks more by it."""

    section: str
    name: str
    unit: str
    a: str
    b: str
    more: str

    @property
    def plain(self) -> str:
        """The measure in words; nothing for one that only its name describes."""
        return PLAIN.get(self.name, "")


@dataclass(frozen=True)
class RefinementClaim:
    """One refinement: is `first` never leakier than `second` asks, in words."""

    claim: str
    verdict: str
    holds: bool | None


@dataclass(frozen=True)
class ChannelComparison:
    """The tables and the picture."""

    shape_a: tuple[int, int]
    shape_b: tuple[int, int] | None
    rows: list[MeasureRow]
    orders: list[RefinementClaim]
    verdicts: list[str]
    note: str
    figures: list[Figure]


def compare(asked: Pasted) -> ChannelComparison:
    """Read, measure and compare. Raises `LeakcapError` for what cannot be read."""
    first = read_channel(asked.a, "A")
    second = read_channel(asked.b, "B") if asked.b.strip() else None
    if second is not None and second.inputs != first.inputs:
        raise InvalidChannel(
            "A and B must be about the same secrets: give both the same row labels, in the same order."
        )
    prior = read_prior(asked.prior, first.shape[0])
    gain = read_gain(asked.goal, first) if asked.gain == "own" else _gain(asked.gain, first, prior)
    found = findings(first, prior, gain, _ORDERS)
    others = None if second is None else findings(second, prior, gain, _ORDERS)
    orders, note = ([], "") if second is None else _orders(first, second)
    return ChannelComparison(
        first.shape,
        None if second is None else second.shape,
        [_row(f, None if others is None else others[i]) for i, f in enumerate(found)],
        orders,
        [_verdict(who, *pair) for who, pair in zip(_WHO, (orders[:2], orders[2:]), strict=True) if pair],
        note,
        [_picture(found, others)],
    )


def _gain(name: str, channel: Channel, prior: list[float]) -> Gain:
    secrets = channel.inputs
    if name == "k_guesses":
        return gains.k_guesses(secrets, min(2, len(secrets)))
    if name == "first":
        return gains.property_of({s: "first" if i == 0 else "another" for i, s in enumerate(secrets)})
    return gains.distribution_reciprocal(prior) if name == "reciprocal" else gains.identity(secrets)


def shown_bound(bound: Bound) -> str:
    """Six digits, rounded outward; one number where both ends agree to six digits, as the report has it.

    >>> shown_bound(Bound.exact(1 / 3, method="m")), shown_bound(Bound(0.1, 0.2, "m"))
    ('0.333334', '0.1 to 0.2')
    """
    return "∞" if bound.lower == math.inf else quantity(bound.lower, bound.upper, "").rstrip()


def _row(first: Leak, second: Leak | None) -> MeasureRow:
    unit = first.bound.unit
    a = shown_bound(first.bound)
    if second is None:
        return MeasureRow(first.section, first.name, unit, a, "", "")
    # An attacker who errs less, or guesses fewer times, was told more.
    names = ("B", "A") if first.name.startswith(_LESS_IS_MORE) else ("A", "B")
    more = ""
    if first.bound.lower > second.bound.upper + 1e-12:
        more = names[0]
    elif second.bound.lower > first.bound.upper + 1e-12:
        more = names[1]
    return MeasureRow(first.section, first.name, unit, a, shown_bound(second.bound), more)


def _orders(first: Channel, second: Channel) -> tuple[list[RefinementClaim], str]:
    if max(math.prod(first.shape), math.prod(second.shape)) > _MOST_LP:
        return [], f"The refinement order is decided for matrices of up to {_MOST_LP} entries on this page."
    found = []
    try:
        for max_case, who in zip((False, True), _WHO, strict=True):
            found.append(_order("B", "A", who, refines(first, second, max_case=max_case)))
            found.append(_order("A", "B", who, refines(second, first, max_case=max_case)))
    except LeakcapError as error:
        return [], f"The refinement order is not shown: {error}"
    return found, ""


def _verdict(who: str, b_below: RefinementClaim, a_below: RefinementClaim) -> str:
    """Which of the two leaks more, in one sentence."""
    start = who.capitalize()
    if b_below.holds and a_below.holds:
        return f"{start} both leak the same, whatever is believed and wanted."
    for safe, other, order in (("B", "A", b_below), ("A", "B", a_below)):
        if order.holds:
            return f"{start} {safe} never leaks more than {other}, whatever is believed and wanted."
    if b_below.holds is False and a_below.holds is False:
        return f"{start} neither is always the safer one: some attackers gain more from A, others from B."
    return f"{start} which of them is safer is not decided."


def _order(first: str, second: str, who: str, found: Refinement) -> RefinementClaim:
    claim = f"{first} never leaks more than {second}, {who}"
    if found.holds:
        how = "proved exactly" if found.tolerance == 0.0 else "a witness rebuilds it within 10⁻⁹ an entry"
        return RefinementClaim(claim, f"True, for every belief and every goal: {how}.", True)
    if found.holds is False:
        more = f"some goal gains about {found.margin:.3g} more from {first}."
        text = f"False: with all secrets equally likely, {more}"
        return RefinementClaim(claim, text, False)
    return RefinementClaim(claim, "Not decided: the evidence either way is within rounding.", None)


def _picture(found: list[Leak], others: list[Leak] | None) -> Figure:
    rows: list[Spec] = []
    names: list[str] = []
    for i, finding in enumerate(found):
        pairs = [("A", finding)] + ([("B", others[i])] if others is not None else [])
        ordered = ", α = " in finding.name
        if ordered or finding.bound.unit != "nats" or any(not math.isfinite(f.bound.upper) for _, f in pairs):
            continue
        name = f"{finding.name} ({_short(finding.section)})"
        names.append(name)
        rows += [{"measure": name, "which": which, "bits": f.bound.upper * BITS} for which, f in pairs]
    spec = chart(
        21 * max(len(names), 1),
        data={"values": rows},
        mark={"type": "point", "filled": True, "size": 100, "opacity": 0.95},
        encoding={
            "y": {
                "field": "measure",
                "type": "nominal",
                "sort": names,
                "title": None,
                "axis": {"grid": True, "labelLimit": 280, "domain": False, "ticks": False},
            },
            "x": {
                "field": "bits",
                "type": "quantitative",
                "title": "bits, at most",
                "axis": {"format": "~g", "tickCount": 8},
            },
            "color": {
                "field": "which",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["A", "B"], "range": ["@accent", "@warm"]},
            },
            "shape": {
                "field": "which",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["A", "B"], "range": ["circle", "diamond"]},
            },
            "tooltip": [
                {"field": "which", "type": "nominal", "title": "mechanism"},
                {"field": "measure", "type": "nominal"},
                {"field": "bits", "type": "quantitative", "format": ".5g"},
            ],
        },
    )
    epsilon = next(f for f in found if f.name.startswith("ε"))
    text = (
        f"The measures without an order α, in bits; ∞ is left out. A's ε is {at_most(epsilon.bound.upper)}."
    )
    return Figure("leakage", "What leaks, by measure", text, text, spec, wide=True)


def _short(section: str) -> str:
    names = {"between any two secrets": "any two", "at most, whatever is believed": "any belief"}
    return names.get(section, "this belief")
