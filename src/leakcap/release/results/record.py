"""One private statistic as a record: what terminal, JSON, pages, CSV and data frames are made of.

Nothing stands in it but what was released and what is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field

from leakcap.release.columns.people import Covers
from leakcap.release.numbers.answers import Answers, Rows
from leakcap.release.numbers.exact_integers import objects
from leakcap.release.planning.price import Price
from leakcap.release.results.pivot import FLAG, Layout
from leakcap.release.results.tables import arrow_of, pandas_of, polars_of
from leakcap.statement.record import Delta, Epsilon, Nats, Number, Part, Rho, StatementRecord

__all__ = [
    "KeyValue",
    "NoiseRecord",
    "PriceRecord",
    "ReleasedRecord",
    "RowRecord",
    "figure_held",
    "population_held",
]

KeyValue: TypeAlias = bool | int | float | str


def figure_held(covers: Covers) -> str:
    """Which figure intervals hold, after "the figure that".

    >>> figure_held("rows kept")
    "the rows kept give under the policy's bounds"
    """
    return (
        f"the {'rows kept give' if covers == 'rows kept' else 'table itself gives'} under the policy's bounds"
    )


def population_held(releases: Sequence[ReleasedRecord]) -> str:
    """What stands after `figure_held` where rows of a survey are about the population; empty elsewhere.

    >>> population_held([])
    ''
    """
    some = any(row.covers is not None for release in releases for row in release.values)
    return "; that of a row called population holds the population's, over noise and sampling" if some else ""


class RowRecord(Part):
    """A group's value, and the interval that holds the figure that the row `covers`, else the release."""

    keys: dict[str, KeyValue] | None = None
    value: Number
    interval: tuple[Number, Number]
    drowned: Annotated[
        bool,
        Field(
            description="whether the noise is as large as the value, so that the true figure may be 0; "
            "counts and sums only"
        ),
    ] = False
    covers: Annotated[
        Literal["population"] | None,
        Field(
            description="where the interval holds another figure than what the release `covers`: that of the "
            "population of a survey, over noise and sampling"
        ),
    ] = None


class NoiseRecord(Part):
    """The noise: its law, and the scale of each noisy part in the column's unit or in rows."""

    mechanism: str
    scales: dict[str, float]
    chosen: Annotated[
        str | None, Field(description="which noise was chosen and why, where the query left it open")
    ] = None


class PriceRecord(Part):
    """What a query costs, at most."""

    epsilon: Epsilon
    delta: Delta
    nats_person: Nats
    nats_table: Nats
    rho: Rho = None

    @classmethod
    def of(cls, price: Price) -> Self:
        """The upper end of everything."""
        return cls(
            epsilon=price.epsilon,
            delta=price.delta,
            nats_person=price.nats_person.upper,
            nats_table=price.nats_table,
            rho=price.rho,
        )


class ReleasedRecord(Part):
    """One private statistic."""

    name: str
    query: str
    columns: Annotated[
        tuple[str, ...], Field(description="the columns of the keys; none where the answer is one number")
    ] = ()
    values: tuple[RowRecord, ...]
    confidence: float
    covers: Annotated[
        Covers | None,
        Field(
            description="whose figure the intervals hold: the table's, or that of the rows kept, where an "
            "answer uses so many rows of a person; null in records of before this was said"
        ),
    ] = None
    about: Annotated[str | None, Field(description="what a reader has to know of `covers`, in words")] = None
    post_processed: Annotated[
        str | None, Field(description="what was done to the noisy numbers afterwards, which costs nothing")
    ] = None
    totals: Annotated[
        dict[str, KeyValue] | None,
        Field(
            description="the columns that some of the values are sums over, each with what stands there in "
            "place of a key; null where there are no margins"
        ),
    ] = None
    layout: Annotated[
        Layout | None, Field(description="how keys go down and across, where whoever asked said so")
    ] = None
    places: Annotated[
        int | None,
        Field(description="how many digits after the point values and ends have, where they are decimals"),
    ] = None
    left_out: Annotated[
        int, Field(description="how many groups HAVING, LIMIT and OFFSET of SQL left out")
    ] = 0
    counted: Annotated[
        str | None, Field(description="whom it counts, where people have caps of their own")
    ] = None
    noise: NoiseRecord
    price: PriceRecord
    repeated: bool = False
    statement: StatementRecord

    @property
    def grouped(self) -> bool:
        """Whether the answer has a row for each group, rather than one number."""
        return not self.values or bool(self.values[0].keys)

    @property
    def drowned(self) -> int:
        """How many values are no larger than their noise."""
        return sum(row.drowned for row in self.values)

    @property
    def cells(self) -> tuple[RowRecord, ...]:
        """The values that are no margins."""
        words = self.totals or {}
        return tuple(
            row
            for row in self.values
            if all((row.keys or {}).get(name) != word for name, word in words.items())
        )

    @property
    def flags(self) -> list[str | None]:
        """For each value the flag where its noise drowns it."""
        return [FLAG if row.drowned else None for row in self.values]

    @property
    def _marked(self) -> list[bool]:
        return [row.drowned for row in self.values]

    def rows(self) -> Rows:
        """The values column by column."""
        keys = [row.keys or {} for row in self.values]
        names = self.columns or (keys[0] if keys else ())
        labels = {name: objects([key[name] for key in keys]) for name in names}
        return Rows(labels, Answers.of((row.value, row.interval) for row in self.values))

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`, as `Release.to_pandas` gives it."""
        return pandas_of(self.rows(), self._marked, self.layout)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`, as `Release.to_arrow` gives it."""
        return arrow_of(self.rows(), self._marked, self.layout)

    def to_polars(self) -> Any:
        """A `polars.DataFrame`, as `Release.to_polars` gives it."""
        return polars_of(self.rows(), self._marked, self.layout)
