"""What `leakcap annex` prints: what a publication's documents must say of privacy, layer by layer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.ledger import Amendment, Balance, Entry, Head, Revision
from leakcap.release import Policy, exposure_so_far
from leakcap.release.asking.owner import OwnerAnswers
from leakcap.release.results.exposure import proven_so_far
from leakcap.report.records.amendments import AmendmentRecord
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.revisions import RevisionRecord
from leakcap.report.words.layers import Facts, LayerRecord, layers_of
from leakcap.statement import statement_of
from leakcap.statement.record import Delta, Epsilon, Part, StatementRecord
from leakcap.statement.risks import GameRecord, ProvenRecord, games_of

__all__ = ["AnchorRecord", "AnnexRecord", "AskedByRecord", "MechanismRecord"]

RANDOMNESS = (
    "The operating system's generator of random bytes for secrets (os.urandom), asked anew for every draw; "
    "no seed. Noise is drawn from the bytes in whole numbers, with the exact law."
)


class AnchorRecord(Part):
    """The end of a chain that was read from its beginning and holds."""

    rows: int
    head: str
    certificate: Annotated[
        str | None,
        Field(description="SHA-256 of the file that `leakcap budget --certificate` writes of this chain"),
    ] = None


class MechanismRecord(Part):
    """A kind of noise, and how many answers have it."""

    mechanism: str
    answers: int


class AskedByRecord(Part):
    """Who asked, how often, and from when to when; the name is as it was given and is not checked."""

    analyst: str
    spends: int
    first: str
    last: str


class AnnexRecord(Record):
    """A publication's annex: layers with their hazards, risks as games, and what is on record."""

    commands: ClassVar = ("annex",)

    schema_: Literal["leakcap/annex/1"] = Field(alias="schema")
    dataset: str
    time: str
    policy: Policy
    fingerprint: str
    spends: int
    publications: Annotated[int, Field(description="how often answers were asked for, together or alone")]
    epsilon: Epsilon
    delta: Delta
    so_far: StatementRecord | None
    caps: tuple[CapRecord, ...]
    proven: Annotated[
        tuple[ProvenRecord, ...],
        Field(description="bounds on all that was published, each by itself; the first: losses added up"),
    ]
    games: tuple[GameRecord, ...]
    nats: Annotated[
        float | None,
        Field(
            ge=0.0,
            description="bound on the nats about one person that the guessing games use; null: no bound",
        ),
    ] = None
    layers: tuple[LayerRecord, ...]
    not_stated: tuple[str, ...]
    mechanisms: tuple[MechanismRecord, ...]
    asked_by: tuple[AskedByRecord, ...]
    amendments: tuple[AmendmentRecord, ...]
    revisions: tuple[RevisionRecord, ...] = ()
    software: tuple[str, ...]
    anchor: AnchorRecord
    randomness: str

    @classmethod
    def of(
        cls,
        policy: Policy,
        entries: Sequence[Entry],
        balances: Sequence[Balance],
        head: Head,
        *,
        amendments: Sequence[Amendment] = (),
        revisions: Sequence[Revision] = (),
        answers: OwnerAnswers | None = None,
        certificate: str | None = None,
        version: str,
    ) -> Self:
        """The annex of everything in a ledger; `head` is what `Ledger.verify` returned, `certificate` the
        SHA-256 of the file of its certificate."""
        said = answers or OwnerAnswers()
        exposure = exposure_so_far(entries, policy) if entries else None
        total = None if exposure is None else statement_of(exposure)
        proven = proven_so_far(entries, policy) if entries else ()
        nats = math.inf if exposure is None else exposure.nats.upper
        mechanisms = _mechanisms(entries)
        facts = Facts(policy, total, len(entries), tuple(mechanisms), _analysts(entries))
        layers = layers_of(facts, said.stated)
        return cls.made(
            dataset=policy.dataset,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            policy=policy.model_dump(mode="json"),
            fingerprint=policy.fingerprint(),
            spends=len(entries),
            publications=len({entry.batch for entry in entries if entry.id}),
            epsilon=0.0 if exposure is None else exposure.epsilon,
            delta=0.0 if exposure is None else exposure.delta,
            so_far=None if total is None else total.record(),
            caps=tuple(map(CapRecord.of, balances)),
            proven=proven,
            games=()
            if exposure is None
            else games_of(proven, policy.neighbours, policy.units, nats, exact_totals=exposure.exact_totals),
            nats=nats if math.isfinite(nats) else None,
            layers=layers,
            not_stated=tuple(layer.title for layer in layers if layer.owner is None),
            mechanisms=tuple(MechanismRecord(mechanism=one, answers=n) for one, n in mechanisms.items()),
            asked_by=_asked_by(entries),
            amendments=tuple(map(AmendmentRecord.of, amendments)),
            revisions=tuple(map(RevisionRecord.of, revisions)),
            software=tuple(sorted({version, *(entry.version for entry in entries)})),
            anchor=AnchorRecord(rows=head.rows, head=head.hash, certificate=certificate),
            randomness=RANDOMNESS,
        )


def _mechanisms(entries: Sequence[Entry]) -> dict[str, int]:
    """How many answers have which noise; plans have none of their own."""
    named = (str(entry.details.get("mechanism", "not named")) for entry in entries if entry.id)
    return dict(sorted(Counter(named).items()))


def _analysts(entries: Sequence[Entry]) -> int:
    return len({entry.analyst for entry in entries if entry.id})


def _asked_by(entries: Sequence[Entry]) -> tuple[AskedByRecord, ...]:
    asked = [entry for entry in entries if entry.id]
    found = []
    for name in sorted({entry.analyst for entry in asked}):
        times = sorted(entry.time for entry in asked if entry.analyst == name)
        first, last = (one.isoformat(timespec="seconds") for one in (times[0], times[-1]))
        found.append(AskedByRecord(analyst=name, spends=len(times), first=first, last=last))
    return tuple(found)
