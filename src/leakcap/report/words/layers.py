"""The layers of NIST SP 800-226's pyramid in plain words: what is asked, what is known, which hazards
there are.

Source: Near, Darais, Lefkovitz & Howarth 2025, *Guidelines for Evaluating Differential Privacy Guarantees*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leakcap.plain import counted
from leakcap.release import Policy
from leakcap.report.words.promises import caps_in_words, elsewhere, neighbours, not_counted, protects, used
from leakcap.report.words.wording import sum_text
from leakcap.statement import Statement
from leakcap.statement.record import Part
from leakcap.statement.wording import percent

__all__ = ["NOT_STATED", "Facts", "HazardRecord", "LayerRecord", "layers_of"]

NOT_STATED = "Not stated by the owner."


class HazardRecord(Part):
    """A way in which a layer fails, and how it stands here."""

    hazard: str
    here: str


class LayerRecord(Part):
    """A layer: what is asked, what policy, ledger and software answer, and the owner's word (null where it is
    not stated)."""

    key: str
    title: str
    question: str
    known: tuple[str, ...]
    owner: str | None
    hazards: tuple[HazardRecord, ...]


@dataclass(frozen=True)
class Facts:
    """What the layers are filled in from. `mechanisms` are the names of the noises used."""

    policy: Policy
    total: Statement | None
    spends: int
    mechanisms: tuple[str, ...]
    analysts: int


def layers_of(facts: Facts, stated: Mapping[str, str]) -> tuple[LayerRecord, ...]:
    """The seven layers from the top of the pyramid down, with what the owner states of each."""
    return tuple(
        LayerRecord(
            key=key,
            title=title,
            question=question,
            known=tuple(one for one in known if one),
            owner=stated.get(key),
            hazards=tuple(HazardRecord(hazard=hazard, here=here) for hazard, here in hazards),
        )
        for key, title, question, known, hazards in (
            _parameters(facts),
            _unit(facts),
            _algorithms(facts),
            _side_channels(),
            _trust(facts),
            _access(),
            _collection(facts),
        )
    )


_Layer = tuple[str, str, str, list[str], list[tuple[str, str]]]


def _parameters(facts: Facts) -> _Layer:
    told, policy = facts.total, facts.policy
    if told is None:
        known, guess = ["Nothing was published yet."], "Nothing was published yet."
        share = "Nothing was published yet."
    else:
        spent = told.exposure
        slack = f" and δ = {sum_text(spent.delta)}" if spent.delta > 0.0 else " and no δ"
        known = [f"Everything published so far has ε = {sum_text(spent.epsilon)}{slack}.", told.caveat]
        guess = f"A fifty-fifty guess about one person is right {_often(told['coin_flip'].upper)}."
        share = (
            "Nothing published has a δ."
            if spent.delta == 0.0
            else f"The δ of everything published is {sum_text(spent.delta)}: with that probability bounds "
            "may fail."
        )
    limits = ", ".join(caps_in_words(policy, _CAPPED))
    known.append(f"The policy lets no more than this ever be spent: {limits}.")
    hazards = [
        ("An ε that is large promises next to nothing.", guess),
        ("A δ that is not tiny lets everything about somebody leak.", share),
        (
            "Losses add up over publications.",
            f"The ledger counts {counted(facts.spends, 'spend')} together, also those whose answer never "
            "left. "
            f"{elsewhere(policy)}",
        ),
    ]
    question = "How much may be learned about one person?"
    return "parameters", "Privacy parameters", question, known, hazards


_CAPPED = ("epsilon", "delta", "nats_person", "nats_table", "nats_level", "rho")


def _often(probability: float) -> str:
    if probability > 0.99995:
        return "nearly always: that is no protection to speak of"
    return f"at most {percent(probability)} of the time"


def _unit(facts: Facts) -> _Layer:
    policy, told = facts.policy, facts.total
    rows = (
        "The unit is a row. Whoever has several rows is protected for one of them only; leakcap cannot see "
        "whether anybody has."
        if policy.id_column is None
        else f"The unit is all rows of one {policy.id_column}. Whoever has several ids is protected for one "
        "of them only."
    )
    family = "Nothing was published yet."
    if told is not None:
        line = told["family"]
        family = (
            f"A fifty-fifty guess about what {line.detail['k']} people share is right {_often(line.upper)}."
        )
    hazards = [
        ("A unit smaller than a person protects a part of what a person contributes.", rows),
        ("Records of several people depend on each other, as in a household.", family),
    ]
    exact = told is not None and told.exposure.exact_totals
    known = [protects(policy, exact_totals=exact), neighbours(policy), used(policy)]
    return "unit", "Unit of privacy", "Whose data, and which part of it, is protected?", known, hazards


def _algorithms(facts: Facts) -> _Layer:
    noises = ", ".join(facts.mechanisms)
    known = [
        f"Noise used: {noises}." if noises else "No noise was drawn yet.",
        "Values are clamped to the policy's bounds, rounded to a public grid and added up as whole numbers; "
        "sensitivity is exact.",
        "Every spend is committed to the ledger before its noise is drawn.",
    ]
    hazards = [
        (
            "Noise of floating-point numbers gives away what it was added to.",
            "Values and noise are whole numbers on a public grid; noise has the exact law.",
        ),
        (
            "Bounds, keys or sizes that were read off the data leak it before any noise.",
            "They are the policy's, which its owner declares to be public. leakcap cannot check that.",
        ),
        (
            "Noise and bounds bias statistics, most of all for small groups.",
            f"Each number is published with an interval for its noise. {not_counted(facts.policy)}".strip(),
        ),
    ]
    return "algorithms", "Algorithms", "Which mechanisms are used, and are they correct?", known, hazards


def _side_channels() -> _Layer:
    known = [
        "No error, warning or message depends on a value of the data by design; what can be refused is "
        "refused before the data is read.",
        "Random bytes are the operating system's, without a seed.",
    ]
    hazards = [
        (
            "How long an answer takes tells something about the data.",
            "Time and traffic are not hidden. Nobody but the owner may watch the program run.",
        ),
        ("Errors tell that somebody is there.", "Casts cannot fail and engines' own messages are withheld."),
        (
            "Random numbers that can be foreseen undo the noise.",
            "The noise is only as private as the machine's generator.",
        ),
    ]
    return "side_channels", "Side channels", "What is told beside the answers?", known, hazards


def _trust(facts: Facts) -> _Layer:
    names = f"{facts.analysts:,} {'name' if facts.analysts == 1 else 'names'}"
    known = [
        "Central: the owner holds the data as collected, and noise is added before an answer leaves.",
        f"Answers so far were asked for under {names}.",
    ]
    hazards = [
        ("Whoever holds the data is trusted with all of it.", "Differential privacy protects answers only."),
        (
            "Analysts put their answers together.",
            "The caps on everything count all analysts' answers together. Names are not checked.",
        ),
    ]
    return "trust_model", "Trust model", "Who must be trusted, and with what?", known, hazards


def _access() -> _Layer:
    known = ["leakcap is no access control: whoever may read the data's file needs no answer."]
    hazards = [
        (
            "Data at rest, copies and backups are not protected by noise.",
            "They are outside of what leakcap does. The owner says who may read them.",
        ),
        (
            "Whoever may write the ledger can rewrite it.",
            "Its rows are chained by hashes. The anchor below, kept elsewhere, shows a rewritten chain.",
        ),
    ]
    return "access", "Data security and access", "Who can reach the data and the ledger?", known, hazards


def _collection(facts: Facts) -> _Layer:
    columns = len(facts.policy.columns) + sum(len(one.columns) for one in facts.policy.tables.values())
    known = [f"The policy lets {columns:,} {'column' if columns == 1 else 'columns'} be asked about."]
    hazards = [
        (
            "People are exposed when data is collected and kept, whatever is published later.",
            "leakcap sees data that is already there. The owner says how it was collected and how long it is "
            "kept.",
        ),
        (
            "More is collected than the publication needs.",
            "A query can name the policy's columns and no others.",
        ),
    ]
    return "collection", "Data collection", "How did the data come to be there?", known, hazards
