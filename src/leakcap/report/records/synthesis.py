"""What `leakcap synthesize` prints: what the file is made of, how far it is off, and what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from leakcap.policy.declared import Key
from leakcap.policy.document import Policy
from leakcap.release.columns.people import Covers
from leakcap.release.results.exposure import proven_of_spend
from leakcap.release.results.publication import Publication
from leakcap.release.results.record import KeyValue
from leakcap.report.records.base import CapRecord, Record
from leakcap.report.records.certificates import CertificateRecord
from leakcap.report.records.tables import ChoiceRecord, choice_told
from leakcap.report.records.versions import SameAsRecord
from leakcap.statement import Statement
from leakcap.statement.record import Nats, Part, Rho, StatementRecord
from leakcap.statement.risks import GameRecord, ProvenRecord, games_of_one
from leakcap.synthesis import FileRegression, Microdata, ask_file, table_errors

__all__ = [
    "ComparedCoefficientRecord",
    "FileColumnRecord",
    "FileCountRecord",
    "FileTableRecord",
    "RegressionRecord",
    "SynthesisRecord",
    "columns_of_file",
    "tables_of_file",
    "type_of_keys",
]


class FileCountRecord(Part):
    """A key of a column: the file's count, times its weight, and what was released of the exact one."""

    key: KeyValue
    file: float
    released: float
    lower: Annotated[
        float, Field(description="the exact count lies from here to `upper`, with probability 95 % or more")
    ]
    upper: float


class FileColumnRecord(Part):
    """A column of the file."""

    name: str
    type: Annotated[str, Field(description="of its values: bool, int or str")]
    keys: Annotated[int, Field(description="how many public keys it has")]
    margin: Annotated[
        tuple[FileCountRecord, ...], Field(description="its counts by key; empty in records of before")
    ] = ()


class FileTableRecord(Part):
    """A table of the file, its counts times the weight, beside the released and the exact one."""

    columns: tuple[str, ...]
    distance: Annotated[float, Field(description="Σ|file − released| over the cells")]
    bound: Annotated[
        float, Field(description="Σ|file − exact| over the cells is no more, with probability 95 % or more")
    ]
    inside: Annotated[float, Field(description="the share of the cells that lie in their released interval")]
    cramers_v: Annotated[
        float | None, Field(description="association of two columns in the file; null for other tables")
    ]


class ComparedCoefficientRecord(Part):
    """A coefficient of the file's regression beside that of released tables."""

    column: Annotated[str, Field(description="empty for the constant")]
    key: Annotated[
        KeyValue | None, Field(description="of a column of text, whose other keys count as 0; else null")
    ] = None
    file: Annotated[
        float | None, Field(description="null where the file's columns do not tell coefficients apart")
    ]
    released: Annotated[float | None, Field(description="null where the noise hides it")]
    lower: Annotated[
        float | None,
        Field(
            description="that of the exact rows lies from here to `upper`: all coefficients at once, with "
            "probability 95 % or more over the noise"
        ),
    ]
    upper: float | None


class RegressionRecord(Part):
    """Least squares on the file's rows beside the regression that released tables hold."""

    target: str
    target_key: Annotated[
        KeyValue | None,
        Field(description="of a target of two keys of text that which counts as 1; else null"),
    ] = None
    coefficients: tuple[ComparedCoefficientRecord, ...]
    inside: Annotated[
        int | None, Field(description="how many of the file's coefficients lie in their intervals")
    ]
    priced: Annotated[
        bool, Field(description="whether tables were released for it; else they are those of the file")
    ]
    rho: Annotated[Rho, Field(description="of its own price; 0 where it has none")]
    nats_person: Annotated[Nats, Field(description="of its own price; 0 where it has none")]
    entry: Annotated[int, Field(description="the charge of the tables that it is compared with")]
    repeated: bool
    about: Annotated[str, Field(description="which rows these tables are about")]

    @classmethod
    def of(cls, found: FileRegression, file: Microdata) -> Self:
        """What was compared."""
        tables, own = found.released, file.generator.released
        # What the file's question asks, too, was paid for once.
        priced = tables is not own and tables.entry != own.entry
        return cls(
            target=found.target,
            target_key=found.target_key,
            coefficients=tuple(
                ComparedCoefficientRecord(
                    column=one.column,
                    key=one.key,
                    file=one.file,
                    released=one.released,
                    lower=one.lower,
                    upper=one.upper,
                )
                for one in found.coefficients
            ),
            inside=found.inside,
            priced=priced,
            rho=tables.spend.rho if priced else 0.0,
            nats_person=tables.spend.nats_person if priced else 0.0,
            entry=tables.entry,
            repeated=tables.repeated,
            about=tables.planned.about,
        )


class SynthesisRecord(Record):
    """Microdata that agree with released tables: rows about nobody, which tell what the tables tell."""

    commands: ClassVar = ("synthesize",)

    schema_: Literal["leakcap/synthesis/1"] = Field(alias="schema")
    dataset: str
    name: str
    file: Annotated[str, Field(description="the name under which it was written, without its folder")]
    rows: int
    weight: Annotated[float, Field(description="how many rows of the data one row of the file counts for")]
    seed: int
    columns: tuple[FileColumnRecord, ...]
    impossible: Annotated[
        tuple[dict[str, tuple[KeyValue, ...]], ...], Field(description="combinations that no row has")
    ]
    rho: Rho
    nats_person: Nats
    nats_table: Nats
    entry: Annotated[int, Field(description="the charge of the tables that the file agrees with")]
    repeated: Annotated[bool, Field(description="whether the tables were known, so that nothing was paid")]
    misfit: Annotated[
        float, Field(description="the squared distance of the fitted law from the tables, over the variance")
    ]
    freedom: Annotated[int, Field(description="what that distance is on average for the exact tables")]
    tables: Annotated[tuple[FileTableRecord, ...], Field(description="those that were asked for")]
    regression: Annotated[
        RegressionRecord | None,
        Field(description="a regression of the file beside that of released tables, where one was asked for"),
    ] = None
    covers: Annotated[Covers, Field(description="whose table the bounds are about")]
    about: Annotated[
        str, Field(description="which rows the tables are about, and what a reader has to know of `covers`")
    ]
    statement: Annotated[StatementRecord, Field(description="what the file tells")]
    proven: Annotated[
        tuple[ProvenRecord, ...],
        Field(description="bounds on the file, each by itself; empty in records of before"),
    ] = ()
    games: Annotated[
        tuple[GameRecord, ...], Field(description="what the file adds to an attacker's games, at most")
    ] = ()
    so_far: Annotated[StatementRecord, Field(description="what everything in the ledger tells")]
    caps: tuple[CapRecord, ...]
    policy: Policy
    publication: Publication | None = None
    source: Annotated[str, Field(description="what its owner called the data; empty for a data frame")] = ""
    same_as: SameAsRecord | None = None
    weights: Annotated[
        bool, Field(description="whether the file has a column `weight`, with that number in each row")
    ] = False
    from_record: Annotated[
        str,
        Field(
            description="the record that the tables were taken from, without its folder: its numbers agree "
            "with each other, and its word is taken for the rest; empty where a ledger knows the tables"
        ),
    ] = ""
    choice: Annotated[
        ChoiceRecord | None,
        Field(
            description="how the tables were chosen by a private score; absent where all were released. "
            "Bounds and intervals hold for all tables to choose from at once"
        ),
    ] = None
    question: Annotated[
        dict[str, Any] | None,
        Field(description="the tables' question as `TablesQuestion` reads it; null in records of before"),
    ] = None
    certificate: CertificateRecord | None = None

    @classmethod
    def of(
        cls,
        file: Microdata,
        named: str,
        own: Statement,
        total: Statement,
        caps: Sequence[CapRecord],
        publication: Publication | None = None,
        *,
        source: str = "",
        same_as: SameAsRecord | None = None,
        from_record: str = "",
        weights: bool = False,
        regression: FileRegression | None = None,
        certificate: CertificateRecord | None = None,
    ) -> Self:
        """What was made; `own` is about the file, `total` about everything in the ledger."""
        generator, found = file.generator, file.generator.released
        planned, nats = found.planned, found.spend.nats_person
        proven = proven_of_spend(planned.question.name, found.spend, planned.policy)
        return cls.made(
            dataset=planned.policy.dataset,
            name=planned.question.name,
            file=named,
            rows=len(file),
            weight=file.weight,
            seed=file.seed,
            columns=columns_of_file(file),
            impossible=file.impossible,
            rho=found.spend.rho,
            nats_person=found.spend.nats_person,
            nats_table=found.spend.nats_table,
            entry=found.entry,
            repeated=found.repeated,
            misfit=generator.misfit,
            freedom=generator.freedom,
            tables=tables_of_file(file),
            **({} if regression is None else {"regression": RegressionRecord.of(regression, file)}),
            covers=planned.counted.coverage.covers,
            about=planned.about,
            statement=own.record(),
            proven=proven,
            games=games_of_one(proven, planned.policy.neighbours, planned.policy.units, nats),
            so_far=total.record(),
            caps=tuple(caps),
            policy=planned.policy.model_dump(mode="json"),
            **({} if publication is None else {"publication": publication}),
            **({"source": source} if source else {}),
            **({} if same_as is None else {"same_as": same_as}),
            **({"weights": True} if weights else {}),
            **choice_told(found),
            question=planned.question.model_dump(mode="json", exclude_none=True),
            **({"from_record": from_record} if from_record else {}),
            **({} if certificate is None else {"certificate": certificate}),
        )


def columns_of_file(file: Microdata) -> tuple[FileColumnRecord, ...]:
    """The columns of a file, with their counts beside the released ones."""
    return tuple(
        FileColumnRecord(
            name=name,
            type=type_of_keys(file.keys(name)),
            keys=len(file.keys(name)),
            margin=_margin(file, name),
        )
        for name in file.codes
    )


def tables_of_file(file: Microdata) -> tuple[FileTableRecord, ...]:
    """How far the tables of a file are off."""
    return tuple(
        FileTableRecord(
            columns=one.columns,
            distance=one.distance,
            bound=one.bound,
            inside=one.inside,
            cramers_v=one.cramers_v,
        )
        for one in table_errors(file)
    )


def _margin(file: Microdata, column: str) -> tuple[FileCountRecord, ...]:
    return tuple(
        FileCountRecord(key=keys[0], file=count, released=told.value, lower=told.low, upper=told.high)
        for keys, count, told in ask_file(file, column).cells
        if told is not None
    )


def type_of_keys(keys: Sequence[Key]) -> str:
    """The type of a column of the file: that of its keys, and text where they are of several types."""
    types = {type(key).__name__ for key in keys}
    return types.pop() if len(types) == 1 else "str"
