"""An entry for OpenDP's registry of deployments, in the fields of `opendp/deployments-registry-data`.

Source: Ghazi, Nanayakkara & Vadhan, the schema of that registry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from leakcap.errors import InvalidQuery
from leakcap.plain import counted, plain
from leakcap.policy.caps import EachPeriod
from leakcap.release import Policy
from leakcap.release.asking.owner import OwnerAnswers, Sector
from leakcap.report.records.annex import AnnexRecord
from leakcap.report.records.base import Record
from leakcap.report.words.promises import caps_in_words, neighbours, protects, unit, used
from leakcap.report.words.wording import sum_text
from leakcap.statement.record import Delta, Epsilon, Part

__all__ = ["RegistryEntry", "RegistryEntryRecord", "slug_of"]

_BASIC = ("curators", "description", "intended_use", "region")


class BasicPart(Part):
    """What the data product is, and whose."""

    name: str
    data_curators: Annotated[tuple[str, ...], Field(min_length=1)]
    intended_use: str
    data_product_type: Literal["Summary statistics", "Machine learning model"]
    data_product_region: str
    description: str
    publication_date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    data_product_sector: Sector | None = None


class VariantPart(Part):
    """Which differential privacy."""

    variant_name: Literal["Pure DP", "Approximate DP", "Zero-concentrated DP", "Custom"]
    data_domain: str
    unprotected_quantities: str


class ParametersPart(Part):
    """What all publications together may have at most; of ε and ρ at least one."""

    epsilon: Epsilon | None = None
    delta: Delta | None = None
    rho: float | None = None


class LossPart(Part):
    """Whose loss is bounded, and by how much."""

    privacy_unit: str
    privacy_unit_details: str
    privacy_parameters: ParametersPart
    privacy_parameters_details: str


class ModelPart(Part):
    """Who holds the data, and how answers are given."""

    model_name: Literal["Central"]
    model_name_details: str
    actors: str | None = None
    release_type: Literal["One release", "Many releases"]
    release_type_details: str
    data_source_type: Literal["Static", "Dynamic"] | None = None
    access_type: Literal["Interactive", "Non-interactive"] | None = None
    access_type_details: str


class AccountingPart(Part):
    """How losses add up, and what is computed afterwards."""

    post_processing: str
    composition: str


class ImplementationPart(Part):
    """How it was built, and why so."""

    preprocessing_and_hyperparameter_tuning: str | None = None
    mechanisms: str
    justification: str | None = None


class AdministrativePart(Part):
    """Sources, notes, and who wrote the entry."""

    sources: str | None = None
    notes: str | None = None
    registry_authors: Annotated[tuple[str, ...], Field(min_length=1)]


class DeploymentPart(Part):
    """The deployment, in the registry's own sections."""

    basic: BasicPart
    dp_variant: VariantPart
    privacy_loss: LossPart
    deployment_model: ModelPart
    accounting: AccountingPart
    implementation: ImplementationPart
    administrative: AdministrativePart


class RegistryEntry(Part):
    """An entry as the registry's file has it; a draft, which the registry reviews."""

    url_slug: Annotated[str, Field(pattern=r"^\S+$")]
    status: Literal["Draft"] = "Draft"
    tier: Literal[1, 2, 3]
    deployment: DeploymentPart


class RegistryEntryRecord(Record):
    """What `leakcap annex --registry` prints."""

    commands: ClassVar = ("annex",)

    schema_: Literal["leakcap/registry-entry/1"] = Field(alias="schema")
    entry: RegistryEntry

    @classmethod
    def of(cls, annex: AnnexRecord, said: OwnerAnswers, source: str) -> Self:
        """The entry of an annex; `InvalidQuery` where the owner has not said what the registry asks for."""
        if not annex.asked_by:
            raise InvalidQuery(f"Nothing of `{source}` was published yet, so there is no entry to write.")
        missing = [name for name in (*_BASIC, "authors") if getattr(said, name) is None]
        if missing:
            listed = ", ".join(f"`{name}`" for name in missing)
            raise InvalidQuery(f"`annex` of `{source}` must say {listed} for an entry in the registry.")
        caps, basic = annex.policy.caps, _basic(annex, said)
        if caps.epsilon is None and caps.rho is None:
            raise InvalidQuery(
                f"The policy of `{source}` caps neither `epsilon` nor `rho`, and an entry in the registry "
                "gives one of them. Add a cap on it."
            )
        deployment = {
            "basic": basic,
            "dp_variant": _variant(annex, said),
            "privacy_loss": _loss(annex),
            "deployment_model": _model(annex, said),
            "accounting": _accounting(annex.policy),
            "implementation": _implementation(annex, said),
            "administrative": _stated(
                sources=said.sources, notes=said.notes, registry_authors=tuple(said.authors or ())
            ),
        }
        named = said.name or annex.dataset
        if not any(one.isalnum() for one in named):
            raise InvalidQuery(
                f"`annex.name` of `{source}` must have letters or digits: they are the entry's address."
            )
        slug = slug_of(named, said.curators or (), str(basic["publication_date"]))
        tier = 3 if _is_full(said) else 2 if said.data_source and said.access_type else 1
        return cls.made(entry={"url_slug": slug, "status": "Draft", "tier": tier, "deployment": deployment})


def slug_of(name: str, curators: Sequence[str], published: str) -> str:
    """The address of an entry, letter for letter as the registry's test builds it: name, curators, year.

    Source: `scripts/update_slug.py` of `opendp/deployments-registry-data`.

    >>> slug_of("Hospital stays", ["Ministry of Health", "U.S. Census Bureau"], "2026-03-01")
    'hospital-stays-ministry-of-health-u-s-census-bureau-2026'
    >>> slug_of("FLEX (2018)", ["Zürich & Co."], "2026-03-01")  # a sign at an end is a hyphen, too
    'flex-2018--zürich-co--2026'
    """
    parts = name, "-".join(curators), published.partition("-")[0]
    # As the file has them: what nobody sees is written out there.
    return "_".join(re.sub(r"\W+", "_", plain(part).lower()) for part in parts).replace("_", "-")


def _is_full(said: OwnerAnswers) -> bool:
    """Whether the owner has said what only the owner knows of the registry's third tier."""
    needed = (said.data_source, said.access_type, said.trust_model, said.preparation, said.parameters)
    return all(one is not None for one in needed)


def _stated(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def _basic(annex: AnnexRecord, said: OwnerAnswers) -> dict[str, object]:
    first = min(one.first for one in annex.asked_by)[:10]
    return _stated(
        name=said.name or annex.dataset,
        data_curators=tuple(said.curators or ()),
        intended_use=said.intended_use,
        data_product_type=said.product,
        data_product_region=said.region,
        description=said.description,
        publication_date=first if said.first_published is None else said.first_published.isoformat(),
        data_product_sector=said.sector,
    )


def _variant(annex: AnnexRecord, said: OwnerAnswers) -> dict[str, object]:
    policy = annex.policy
    most = "" if policy.units is None else f" about {policy.units:,} units at most"
    public = (
        [f"The number of units, {policy.rows:,}, is public and exact."]
        if policy.neighbours == "replace-one"
        else []
    )
    public.append("Bounds, keys and caps of the policy are public; they are declared, not read off the data.")
    return {
        "variant_name": _variant_name(annex),
        "data_domain": f"All tables{most} with the columns {', '.join(policy.columns)}.",
        "unprotected_quantities": " ".join([*public, *([said.unprotected] if said.unprotected else [])]),
    }


def _variant_name(annex: AnnexRecord) -> str:
    if annex.policy.caps.epsilon is None:
        return "Custom" if _delta(annex) else "Zero-concentrated DP"
    return "Approximate DP" if _delta(annex) else "Pure DP"


def _delta(annex: AnnexRecord) -> float:
    """The δ of all publications: the cap, or what was spent where none is capped."""
    cap = annex.policy.caps.delta
    return annex.delta if cap is None else max(cap, annex.delta)


def _loss(annex: AnnexRecord) -> dict[str, object]:
    policy, delta = annex.policy, _delta(annex)
    slack = f" and δ = {sum_text(annex.delta)}" if annex.delta else ""
    # The registry has no name for ρ with a δ, and asks what a custom variant is.
    custom = " ρ is that of zero-concentrated DP; δ adds up beside it." * (_variant_name(annex) == "Custom")
    exact = annex.so_far is not None and annex.so_far.exposure.exact_totals
    details = (protects(policy, exact_totals=exact), neighbours(policy), used(policy))
    return {
        "privacy_unit": unit(policy),
        "privacy_unit_details": " ".join(filter(None, details)),
        "privacy_parameters": _stated(
            epsilon=policy.caps.epsilon, delta=delta if delta else None, rho=policy.caps.rho
        ),
        "privacy_parameters_details": "These are caps on everything that is ever published from the table "
        f"under this ledger. Published so far: ε = {sum_text(annex.epsilon)}{slack}.{custom}",
    }


def _model(annex: AnnexRecord, said: OwnerAnswers) -> dict[str, object]:
    caps, names = annex.policy.caps, len(annex.asked_by)
    shared = "Caps hold for all analysts together, so that analysts may put their answers together."
    own = " Analysts have caps of their own beside them." if caps.each_analyst or caps.analysts else ""
    own += " So have groups of analysts, together." if caps.groups else ""
    period = "The budget does not reset: caps hold for good." + (
        f" Beside them a cap holds for each {_period(caps.each_period)}." if caps.each_period else ""
    )
    return _stated(
        model_name="Central",
        model_name_details="The owner holds the data as collected; noise is added before an answer leaves.",
        actors=said.trust_model,
        release_type="One release" if annex.publications == 1 and not annex.policy.plan else "Many releases",
        release_type_details=period,
        data_source_type=said.data_source,
        access_type=said.access_type,
        access_type_details=f"{shared}{own} Answers were asked for under {names:,} "
        f"name{'s' * (names != 1)} so far.",
    )


def _period(caps: EachPeriod) -> str:
    return f"reference {caps.length}" if caps.by == "reference" else caps.length


def _accounting(policy: Policy) -> dict[str, object]:
    caps = caps_in_words(policy)
    how = (
        "Rényi divergences at fixed orders are added up and read as (ε, δ) by a filter, which allows any "
        "question after any answer."
        if policy.caps.ledger_caps().delta_together
        else "Losses are added up over all answers, whatever was asked after whatever was seen."
    )
    plan = " Planned answers are composed beforehand and paid for as one." if policy.plan else ""
    return {
        "post_processing": "Intervals, means and totals are computed from noisy numbers alone. Counts may "
        "come out negative and are kept as they are, unless answers are made to add up.",
        "composition": f"{how}{plan} Within one answer disjoint groups cost once under add-remove-one, and "
        f"twice under replace-one. A spend is committed before its noise is drawn. Caps: {', '.join(caps)}.",
    }


def _implementation(annex: AnnexRecord, said: OwnerAnswers) -> dict[str, object]:
    noises = ", ".join(f"{one.mechanism} ({counted(one.answers, 'answer')})" for one in annex.mechanisms)
    known = [
        f"- Mechanisms: {noises}.",
        f"- Software: leakcap {', '.join(annex.software)}.",
        "- Floating point: values are rounded to a public grid and added up as whole numbers, noise is "
        "drawn in whole numbers with the exact law.",
        f"- Randomness: {annex.randomness}",
        "- Timing: how long an answer takes is not hidden. No error or message depends on a value of the "
        "data.",
        f"- Access: {said.access}" if said.access else "- Access: not stated by the owner.",
        f"- Ledger: {annex.anchor.rows:,} rows in a hash chain, head {annex.anchor.head}.",
    ]
    return _stated(
        preprocessing_and_hyperparameter_tuning=said.preparation,
        mechanisms="\n".join(known),
        justification=said.parameters,
    )
