"""Sections that reports of several kinds share."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leakcap.release import Policy
from leakcap.report.plots import release as plots
from leakcap.report.records import CapRecord, PriceRecord
from leakcap.report.records.certificates import CertificateRecord
from leakcap.report.render.document import (
    Block,
    Card,
    Cards,
    Items,
    Note,
    NotedNumber,
    Paragraph,
    Plot,
    Section,
    Text,
    TextTable,
)
from leakcap.report.render.drawings import bars, crowds
from leakcap.report.words.certified import certificate_words
from leakcap.report.words.promises import (
    assumed,
    elsewhere,
    neighbours,
    not_protected,
    policy_rows,
    protects,
    used,
)
from leakcap.report.words.publication import CAPS, cap_name, may_come
from leakcap.report.words.wording import (
    at_least,
    frequency,
    in_odds,
    is_sure,
    on_average,
    reading_text,
    shared_text,
    sum_text,
    who_guesses,
)
from leakcap.statement import Reading, Statement
from leakcap.statement.wording import at_most, percent

__all__ = [
    "caps_section",
    "certificate_section",
    "gains_section",
    "headline",
    "headlined",
    "policy_section",
    "price_cells",
    "protection_section",
    "statement_section",
]

EPSILON = Note("P(E) ≤ e^ε P'(E) + δ for every event E, added up over queries", "Dwork et al. 2006")
PERSON = Note("sup over beliefs of I(X_i; Y | X^{-i}), of the noise used", "Cuff & Yu 2016, Definition 2")
RHO = Note("Rényi divergence of order α between neighbours is ≤ αρ, for every α > 1", "Bun & Steinke 2016")
TABLE = Note("sup over beliefs of I(X^n; Y)", "the broken-wifi article, 2022")
LEDGER = Note("the sum of all spends in the ledger, each rounded up to 10⁻¹²", "docs/ledger.md")
BITS = math.log2(math.e)


def note_of(line: Reading) -> Note:
    """The formula and source of a line of a statement."""
    return Note(line.formula, line.source)


def figure_of(line: Reading) -> NotedNumber:
    """A line's number with its unit, ends rounded outward."""
    return NotedNumber(reading_text(line), note_of(line))


def headline(statement: Statement) -> Cards:
    """The three figures that a board reads."""
    guess, own, family = (statement[key] for key in ("coin_flip", "information_own", "family"))
    bits = f"{at_most(own.upper * BITS)} bits" if math.isfinite(own.upper) else "no bound"
    return Cards(
        (
            _bounded(
                guess,
                "is how often a fifty-fifty guess about one person can be right, at most",
                "against a fifty-fifty guess about one person: nothing here keeps it from being sure",
            ),
            Card(
                NotedNumber(bits, note_of(own)),
                "are learned about one person on average, at most, by somebody who knows everybody else; "
                "a yes or no holds 1 bit"
                if math.isfinite(own.upper)
                else "on what is learned on average: the slack δ may tell everything",
            ),
            _bounded(
                family,
                f"is the same for what {family.detail['k']} people share, a household say",
                f"for what {family.detail['k']} people share, a household say: nothing here keeps a guess "
                "about it from being sure",
            ),
        )
    )


def headlined(statement: Statement) -> tuple[Block, ...]:
    """The same, below what has to stand above it."""
    return (*_caveat(statement), headline(statement))


def _bounded(line: Reading, caption: str, beyond: str) -> Card:
    """How often a guess is right; where that would show as 100 %, that it is no protection."""
    if is_sure(line.upper):
        return Card(NotedNumber("no protection", note_of(line)), beyond)
    return Card(NotedNumber(percent(line.upper), note_of(line)), caption)


def gains_section(statement: Statement, title: str) -> Section:
    """What an attacker gains, in odds and in people, after what has to stand above that."""
    right, of = frequency(statement["coin_flip"].upper)
    blocks: list[Block] = [*_caveat(statement)]
    drawn = of == 100 and not is_sure(statement["coin_flip"].upper)
    if drawn:
        blocks.append(crowds([("right without it", 50, 0), ("at most, with it", right, right - 50)]))
    elif not is_sure(statement["coin_flip"].upper):
        seen = "no difference" if 4 * right < 3 * of else "all of them right"
        blocks.append(
            Paragraph(
                f"A picture of a hundred guesses would show {seen}: {right:,} of {of:,} at most, "
                f"where a coin gets {of // 2:,}.",
                soft=True,
            )
        )
    family = statement["family"]
    first, *others = in_odds(statement)
    usual = on_average(statement)
    words: list[Text] = [first, *([] if usual is None else [usual]), *others, shared_text(family)]
    words.append(who_guesses(statement))
    return Section(title, (*blocks, Items(tuple(words))), halves=drawn)


def _caveat(statement: Statement) -> list[Paragraph]:
    return [Paragraph(statement.caveat)] if statement.caveat else []


def statement_section(statement: Statement, title: str, caps: Sequence[CapRecord] = ()) -> Section:
    """Every line of the statement with its number, below what has to stand above them, and the pictures.

    What would come after more of the same is told only where the caps allow it.
    """
    ahead = may_come(statement, [(cap.cap, cap.left) for cap in caps])
    lines = [line for line in statement.lines if line.key != "more" or ahead]
    blocks: list[Block] = [
        *_caveat(statement),
        Paragraph(who_guesses(statement)),
        Items(tuple((f"{line.sentence} ", figure_of(line)) for line in lines)),
        Plot("guess", plots.guess(statement), "How sure a guess can become, by how sure it was"),
        Plot("information", plots.information_bars(statement), "Information about one person in bits"),
    ]
    if ahead:
        blocks.append(Plot("future", plots.future(statement), "What more releases like this would do"))
    return Section(title, tuple(blocks))


def caps_section(caps: Sequence[CapRecord], title: str = "The budget", *, full: bool = True) -> Section:
    """What is spent and what is left of each cap."""
    capped = [cap for cap in caps if cap.limit is not None]
    if not capped:
        return Section(title, (Paragraph("Nothing is capped."),))
    drawn = [
        (cap_name(c.cap, c.unit), _share(c), f"{at_least(c.left or 0.0)} left of {at_least(c.limit or 0.0)}")
        for c in capped
    ]
    if not full:
        return Section(title, (bars(drawn),))
    rows = tuple(
        (
            cap_name(cap.cap, cap.unit),
            at_least(cap.limit or 0.0),
            NotedNumber(sum_text(math.inf if cap.spent is None else cap.spent), LEDGER),
            at_least(cap.left or 0.0),
            cap.unit,
        )
        for cap in capped
    )
    return Section(title, (bars(drawn), TextTable(("cap", "of", "spent", "left", "unit"), rows, (1, 2, 3))))


def certificate_section(record: CertificateRecord | None) -> tuple[Section, ...]:
    """How whoever doubts it checks it; nothing where no certificate was written."""
    if record is None:
        return ()
    return (Section("For whoever doubts it", tuple(map(Paragraph, certificate_words(record)))),)


def _share(cap: CapRecord) -> float:
    if cap.spent is None or not cap.limit:
        return float(cap.spent is None or cap.spent > 0)
    return min(cap.spent / cap.limit, 1.0)


def price_cells(price: PriceRecord) -> tuple[Text, ...]:
    """ε, δ, nats about a person and about the table, rounded up."""
    person = math.inf if price.nats_person is None else price.nats_person
    table = math.inf if price.nats_table is None else price.nats_table
    return (
        NotedNumber(sum_text(price.epsilon), EPSILON),
        sum_text(price.delta),
        NotedNumber(sum_text(person), PERSON),
        NotedNumber(sum_text(table), TABLE),
    )


def protection_section(
    policy: Policy, *, full: bool, exact_totals: bool = False, rows: str = ""
) -> tuple[Section, ...]:
    """Who is protected, and from what not where totals are exact; for the reviewer also what is assumed and
    what is not protected. `rows` are those that count, where they are not those of other answers.
    """
    promise, rows = protects(policy, exact_totals=exact_totals), rows or used(policy)
    if not full:
        kept = [f"Not protected: {_small(text)}" for text in not_protected(policy)[:2]]
        if policy.neighbours == "add-remove-one":
            kept += not_protected(policy)[5:]
        return (
            Section(
                "Who is protected, and from what not",
                (
                    Paragraph(promise),
                    Items(tuple(kept), True),
                    Paragraph(elsewhere(policy), soft=True),
                ),
            ),
        )
    return (
        Section(
            "Who is protected",
            tuple(Paragraph(told) for told in (promise, rows, neighbours(policy)) if told),
        ),
        Section("What is assumed", (Items(tuple(assumed(policy))),)),
        Section("What is not protected", (Items(tuple(not_protected(policy)), caution=True),)),
    )


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def policy_section(policy: Policy) -> Section:
    """The owner's public facts, and the caps."""
    caps = policy.caps.limits
    rows = "1 row" if policy.rows_per_unit == 1 else f"{policy.rows_per_unit:,} rows"
    facts: list[tuple[Text, ...]] = [
        ("neighbours", policy.neighbours),
        ("unit", "a row" if policy.id_column is None else f"{policy.id_column}, {rows}"),
        ("people", "no public number" if policy.units is None else f"{policy.units:,}"),
    ]
    facts += [
        (f"cap: {CAPS.get(name, name)}", f"{cap:.12g}") for name, cap in caps.items() if cap is not None
    ]
    if policy.caps.each_person:
        levels = ", ".join(f"{level:.12g}" for level in policy.caps.each_person)
        facts.append(("cap: people's own ε", f"in column {policy.caps_column}, at the levels {levels}"))
    facts += [(f"column {name}", known) for name, known in policy_rows(policy)]
    return Section("The policy", (TextTable(("field", "what it says"), tuple(facts)),))
