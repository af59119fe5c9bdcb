"""What a person gets: the private values with their intervals, the noise, and the price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.cards import card
from leakcap.errors import InvalidQuery
from leakcap.policy.declared import Key
from leakcap.release.columns.people import TABLE, Coverage, counted_words
from leakcap.release.numbers.answers import Number, Row, Rows
from leakcap.release.planning.price import Price
from leakcap.release.query import QueryFields
from leakcap.release.results.exposure import exposure_of
from leakcap.release.results.noisy_totals import Covariances, NoisyTotals, missing
from leakcap.release.results.pivot import FLAG, Layout, layout_named
from leakcap.release.results.record import PriceRecord, ReleasedRecord
from leakcap.release.results.showing import between, card_cells, laid_out_lines
from leakcap.release.results.tables import arrow_of, pandas_of, polars_of
from leakcap.release.statistics import statistic_of
from leakcap.statement import Statement, statement_of
from leakcap.uncollected import uncollected

_MOST = 20
"""So many rows are printed."""

__all__ = ["Number", "Release", "Row", "Rows"]


@dataclass(frozen=True, repr=False)
class Release:
    """One private statistic. A count is an integer and keeps its sign: a negative one is honest noise.

    `noise_scale` is the scale of the noise (of Gaussian noise σ) of the sum, or of the count where there is
    only that, in the unit of the column; `price.noise_scales` has both for a mean. For quantiles it is how
    many rows further from the wanted rank make a bin e times less likely to stay in the draw. `repeated` says
    that the ledger remembered the answer, which cost nothing. `drawn` are the noisy integers that it was made
    of, where they are kept. Where people have caps of their own, only those of `people_from` or more were
    counted. Intervals hold the figure that `coverage.covers` names: the table's, or that of the rows kept,
    where the policy limits how many rows of a person are used; that of a survey's row `population` holds the
    population's. `arranged` says how SQL ordered and cut the
    groups, and `left_out` how many of them it left out. `totals` says for each column that rows sum over what
    stands there in place of a key. `layout` says which keys go down and which across, where `pivot` did.
    `columns` says of which column the keys are that SQL shows under another name. `places` is how many digits
    after the point values and ends have at most, where they are exact decimals.
    """

    name: str
    query: QueryFields
    text: str
    rows: Rows
    noise_scale: float
    price: Price
    repeated: bool = False
    drawn: NoisyTotals | None = None
    people_from: float | None = None
    coverage: Coverage = TABLE
    arranged: str = ""
    left_out: int = 0
    totals: Mapping[str, Key] = field(default_factory=dict)
    layout: Layout | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    places: int | None = None

    def at(self, **keys: Key) -> Release:
        """The release of one group alone, by its keys. Raises `InvalidQuery` unless there is exactly one."""
        places = self.rows.places(keys)
        if len(places) != 1:
            raise InvalidQuery(f"`{self.name}` has {len(places)} groups with these keys; name one.")
        (place,) = places
        kept = self.drawn
        one = kept is not None and all(len(part.numbers) == len(self.rows) for part in kept.parts)
        alone = replace(
            self,
            rows=self.rows[place : place + 1],
            drawn=kept.at(place) if kept is not None and one else None,
        )
        # The flag may follow from a row beside it, which is gone.
        vars(alone)["_marked"] = self._marked[place : place + 1]
        return alone

    def pivot(self, *, across: str | Sequence[str] = (), down: str | Sequence[str] = ()) -> Release:
        """The release laid out with the keys of these columns `across` and `down`; those that are not named
        go the other way. Print, notebook, reports and data frames then show rows and columns.

        Raises `InvalidQuery` unless each column goes one way, and at least one goes each.
        """
        return replace(self, layout=layout_named(list(self.rows.labels), self.name, across, down))

    def covariance(self) -> Covariances:
        """How the noise of this one number's parts varies together: of a mean with its sum and its count."""
        if (
            self.query.statistic not in ("count", "distinct", "histogram", "sum", "mean")
            or len(self.rows) != 1
        ):
            raise InvalidQuery(
                "`covariance` needs one count, sum or mean. Name a group: `release.at(ward=...)`."
            )
        if self.drawn is None:
            raise missing(self.name)
        return self.drawn.covariances(self.query.statistic)

    def certificate(self) -> dict[str, Any]:
        """That this answer's noise tells no more than its price: JSON for `leakcap-verify`. That of all
        answers together is `PrivateTable.certificate`."""
        return self.price.certificate()

    @property
    def grouped(self) -> bool:
        """Whether the answer has a row for each group, rather than one number."""
        return not self.rows or bool(self.rows.labels)

    @property
    def value(self) -> Number | Rows:
        """The number; for a grouped statistic its rows."""
        return self.rows if self.grouped else self.rows[0].value

    @property
    def interval(self) -> tuple[float, float] | tuple[tuple[float, float], ...]:
        """The 95 % interval of the figure that `coverage` names; for a grouped statistic one for each row."""
        return tuple(row.interval for row in self.rows) if self.grouped else self.rows[0].interval

    @property
    def post_processing(self) -> str | None:
        """What was done to the noisy numbers afterwards, which costs nothing; None where nothing was."""
        said = (statistic_of(self.query).post_processing(self.query), self.arranged)
        return "; ".join(one for one in said if one) or None

    @property
    def counted(self) -> str:
        """Of whose own caps nothing was counted any more; empty where people have no caps of their own."""
        return counted_words(self.people_from)

    def statement(self) -> Statement:
        """What this answer tells, to whom, in words and numbers."""
        return statement_of(exposure_of(self.price, self.name))

    @cached_property
    def _marked(self) -> NDArray[np.bool_]:
        """For each row whether its noise is as large as a count or a sum, which may be of nothing."""
        return statistic_of(self.query).drowned(self.rows)

    @cached_property
    def _drowned(self) -> frozenset[int]:
        """The places of those rows."""
        return frozenset(self._marked.nonzero()[0].tolist())

    @cached_property
    def record(self) -> ReleasedRecord:
        """The release as a record: values with their keys and 95 % intervals, noise, price and statement."""
        price = self.price
        known: dict[str, Any] = {
            "name": self.name,
            "query": self.text,
            "confidence": 0.95,
            "covers": self.coverage.covers,
            "noise": {"mechanism": price.mechanism, "scales": price.noise_scales}
            | ({} if price.chosen is None else {"chosen": price.chosen}),
            "price": PriceRecord.of(price),
            "repeated": self.repeated,
            "statement": self.statement().record(),
        }
        if self.rows.labels:
            known["columns"] = tuple(self.rows.labels)
        if self.post_processing is not None:
            known["post_processed"] = self.post_processing
        if self.totals:
            known["totals"] = dict(self.totals)
        if self.layout is not None:
            known["layout"] = self.layout
        if self.places is not None:
            known["places"] = self.places
        if self.left_out:
            known["left_out"] = self.left_out
        if self.counted:
            known["counted"] = self.counted
        if self.coverage.about:
            known["about"] = self.coverage.about
        with uncollected():
            values = self.rows.told()
            for place in self._drowned:
                values[place]["drowned"] = True
            for place in statistic_of(self.query).of_population(self.rows).nonzero()[0].tolist():
                values[place]["covers"] = "population"
            return ReleasedRecord.model_validate(known | {"values": values})

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it, and as `leakcap release --json` prints it. Information is in nats; None
        stands for no bound."""
        return self.record.to_dict()

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame` with a row for each group: the keys' columns, then `value`, `lower`, `upper`
        and `flag`.

        `lower` and `upper` are the ends of the 95 % interval of the figure that `coverage` names. `flag` is
        "u" where the noise is as large as a count or a sum, and otherwise empty.

        A name that a column of keys bears gets an underscore. Raises `InvalidParameter` without pandas.
        """
        return pandas_of(self.rows, self._marked, self.layout)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table` of the columns of `to_pandas`. Raises `InvalidParameter` without PyArrow."""
        return arrow_of(self.rows, self._marked, self.layout)

    def to_polars(self) -> Any:
        """A `polars.DataFrame` of the columns of `to_pandas`. Raises `InvalidParameter` without Polars."""
        return polars_of(self.rows, self._marked, self.layout)

    def to_excel(self, path: str | Path) -> None:
        """Write an Excel workbook (.xlsx) with one sheet: what was asked, and the columns of `to_pandas`.

        Text keys stay text, whatever they begin with: none is run as a formula. Raises `InvalidParameter`
        without openpyxl, and for another ending.
        """
        from leakcap.release.results.workbook import write_excel

        write_excel([self.record], path)

    def __repr__(self) -> str:
        """As in a list of releases: the name, the statistic and what it cost; no numbers."""
        return f"<Release {self.name!r}: {self.text}, ε = {self.price.epsilon:.6g}>"

    def __str__(self) -> str:
        """Values with their intervals, a line each or as they are laid out, and what was paid."""
        cost = "repeated for free" if self.repeated else f"for ε = {self.price.epsilon:.6g}"
        cost += "".join(f". {said.rstrip('.')}" for said in self._told)
        if not self.grouped:
            return f"{self.name}: {self._line(0)}, {cost}"
        if self.layout is not None:
            size, shown = laid_out_lines(self.rows, self._line, self.layout, most=_MOST)
        else:
            keys = (", ".join(map(str, row.keys.values())) for row in self.rows[:_MOST])
            size, shown = len(self.rows), [f"{key}: {self._line(place)}" for place, key in enumerate(keys)]
        more = [f"… {size - _MOST:,} more"] if size > _MOST else []
        return "\n  ".join([f"{self.name}, {cost}", *shown, *more])

    def _repr_html_(self) -> str:
        """For notebooks: values with their intervals, and what they cost."""
        paid = "repeated from the ledger, for free" if self.repeated else f"ε = {self.price.epsilon:.6g}"
        note = " ".join([f"{self.text}. Noise: {self.price.mechanism}; {paid}.", *self._told])
        values = [self._shown(place) for place in range(len(self.rows))]
        heads, rows = card_cells(self.rows, values, self.layout, self.totals)
        return card(self.name, rows, heads=heads, note=note)

    @property
    def _told(self) -> list[str]:
        """What a reader has to know of the values, a sentence each."""
        done, drowned = self.post_processing, len(self._drowned)
        several = f", {drowned:,} of {len(self.rows):,} values" if self.grouped else ""
        said = (
            self.counted,
            self.coverage.about,
            done and f"Post-processing, which costs nothing: {done.rstrip('.')}.",
            drowned and f"{FLAG}: unreliable, because the noise is as large as the value{several}.",
        )
        return [one for one in said if one]

    def _shown(self, place: int) -> str:
        """The value of a row, with the flag where its noise drowns it."""
        value = self.rows[place].value
        text = f"{value:,d}" if isinstance(value, int) else f"{value:,.6g}"
        return f"{text} {FLAG}" if place in self._drowned else text

    def _line(self, place: int) -> str:
        return f"{self._shown(place)} (95 %: {between(self.rows[place].interval)})"
