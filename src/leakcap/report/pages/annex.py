"""The annex of a publication: risks as games, the layers of NIST's pyramid, and what is on record."""

from __future__ import annotations

import math
from datetime import datetime

from leakcap.plain import counted
from leakcap.report.pages.amended import amended_section, amendment_section
from leakcap.report.pages.games import games_section, require_sound_games
from leakcap.report.pages.revised import revised_section
from leakcap.report.records.annex import AnnexRecord
from leakcap.report.render.document import (
    Audience,
    Document,
    Items,
    Paragraph,
    Section,
    Text,
    TextTable,
)
from leakcap.report.sections import caps_section, policy_section
from leakcap.report.words.certified import hash_words
from leakcap.report.words.layers import NOT_STATED, LayerRecord
from leakcap.statement.statement import OF_THE_NOISE

__all__ = ["annex_page"]


def annex_page(record: AnnexRecord, audience: Audience) -> Document:
    """The page of `leakcap annex`; for the reviewer with caps, policy and every formula."""
    full = audience == "reviewer"
    _require_sound(record)
    sections = [_risks(record), *(_layer(layer) for layer in record.layers), *_missing(record)]
    sections += [_on_record(record), *revised_section(record.revisions)]
    if full:
        sections += [*map(amendment_section, record.amendments)]
        sections += [caps_section(record.caps), policy_section(record.policy)]
    else:
        sections += amended_section(record.amendments)
    when = datetime.fromisoformat(record.time)
    return Document(
        title=record.dataset,
        subtitle=f"Annex on privacy: {counted(record.spends, 'spend')}, {when:%-d %B %Y %H:%M} UTC",
        kind="annex",
        audience=audience,
        sections=tuple(sections),
    )


def _require_sound(record: AnnexRecord) -> None:
    """Raise `ValueError` where a game's numbers do not follow from the bounds that the record has."""
    policy = record.policy
    told = None if record.so_far is None else record.so_far.exposure.nats_person.upper
    if record.nats not in (None, told):
        raise ValueError("its nats are not those of its statement")
    nats = math.inf if record.nats is None else record.nats
    require_sound_games(record.games, record.proven, policy, nats, exact_totals=_exact_totals(record))


def _exact_totals(record: AnnexRecord) -> bool:
    return record.so_far is not None and record.so_far.exposure.exact_totals


def _risks(record: AnnexRecord) -> Section:
    title = "What an impact assessment asks: singling out, linkability, inference"
    if not record.games:
        return Section(title, (Paragraph("Nothing was published yet, so nothing can be won."),))
    return games_section(
        record.games,
        title,
        "with all that is published, at most",
        "Each is a game that is defined to the last detail. Its bound holds whatever the attacker computes, "
        f"and for everything in the ledger together{_for_whom(record)}; no attack on this data was run.",
        OF_THE_NOISE if _exact_totals(record) else "",
    )


def _for_whom(record: AnnexRecord) -> str:
    """Answers asked one after another are weighed by the sums that they came to."""
    composed = None if record.so_far is None else record.so_far.exposure.composed
    if composed is None or composed.at_once or record.spends < 2:
        return ""
    return ", for whoever keeps to what was spent and does not stop when an answer suits them"


def _layer(layer: LayerRecord) -> Section:
    told: Text = f"The owner: {layer.owner}" if layer.owner is not None else NOT_STATED
    return Section(
        layer.title,
        (
            Paragraph(layer.question, soft=True),
            Items(layer.known),
            Paragraph(told),
            TextTable(
                ("hazard", "how it stands here"), tuple((one.hazard, one.here) for one in layer.hazards)
            ),
        ),
    )


def _missing(record: AnnexRecord) -> tuple[Section, ...]:
    if not record.not_stated:
        return ()
    return (Section("Not stated by the owner", (Items(record.not_stated, caution=True),)),)


def _on_record(record: AnnexRecord) -> Section:
    who = "; ".join(
        f"{one.analyst or '(unnamed)'}, {counted(one.spends, 'spend')}, {one.first[:10]} to {one.last[:10]}"
        for one in record.asked_by
    )
    reasons = "; ".join(
        f"{one.time[:10]}, {one.by or '(unnamed)'}: {one.reason}" for one in record.amendments
    )
    noises = ", ".join(f"{one.mechanism} ({one.answers:,})" for one in record.mechanisms)
    rows: tuple[tuple[Text, ...], ...] = (
        ("software", f"leakcap {', '.join(record.software)}"),
        ("ledger", f"{record.anchor.rows:,} rows, read from the first; the chain holds"),
        ("anchor", record.anchor.head),
        *([("certificate", hash_words(record.anchor.certificate))] if record.anchor.certificate else []),
        ("policy", record.fingerprint),
        ("who asked", who or "nobody yet"),
        ("noise", noises or "none drawn yet"),
        ("randomness", record.randomness),
        ("changes of the policy, and why", reasons or "none"),
    )
    return Section("On record", (TextTable(("what", "as recorded"), rows),))
