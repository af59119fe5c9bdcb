"""What a fit does before it differs: parameters are checked, data is read, and the account is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray

from leakcap.errors import require
from leakcap.ledger import Ledger, Request, Spend
from leakcap.models.budget import FitAccount, FitAnswer
from leakcap.models.estimator import Estimator
from leakcap.models.examples import Examples, of_arrays, of_table
from leakcap.release import Policy, PrivateTable
from leakcap.sampling import ByteSource, system_bytes

__all__ = ["PrivateModel"]


@dataclass(kw_only=True, eq=False, repr=False)
class PrivateModel(Estimator, ABC):
    """An estimator whose fit is paid from a ledger, or from a `slot` of a plan of the policy. After it:
    `spend_`, `entry_`, `repeated_`."""

    policy: Policy | str | Path | Mapping[str, Any] | None = None
    ledger: Ledger | str | Path | None = None
    n_features: int | None = None
    analyst: str = ""
    slot: str = ""
    source: ByteSource = system_bytes

    spend_: Spend = field(init=False)
    entry_: int = field(init=False)
    repeated_: bool = field(init=False)

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, version: str | None = None, fresh: bool = False
    ) -> Self:
        """Fit to arrays whose rows are the privacy units. Rows with NaN or ±∞ are left out, unseen.

        `X` is a NumPy array of numbers or objects, a table of pandas, Polars or Arrow, or a list of rows, for
        which the model must know `n_features`: the rows are no public fact. Each value is read by itself;
        what is no number, or no label of the public classes, is missing.
        With `version`, a public name for the state of the arrays, the ledger repeats for free what it
        answered about them before, unless `fresh`.
        """
        self._check()
        examples = self._read(X, y, version)
        with self._account(examples) as account:
            return self._run(account, examples, fresh=fresh)

    def fit_table(
        self,
        table: PrivateTable,
        *,
        features: Sequence[str],
        target: str,
        where: str | None = None,
        fresh: bool = False,
        request: Request | None = None,
    ) -> Self:
        """Fit to a table behind a policy, which with its ledger counts instead of the model's.

        Rows come from its engine, bounded as the policy says. Features, and a target that is a number, are
        scaled by their bounds to [−1, 1], and the model's parameters are in these units; what it has found is
        told in the columns' units. The same fit to the same state of the table is repeated from the ledger
        for free, unless `fresh`. With a `request` a fit is paid for once, however often it is asked.
        """
        self._check()
        account, examples = self._behind(table, features, target, where)
        return self._run(replace(account, request=request), examples, fresh=fresh)

    @abstractmethod
    def _check(self) -> None:
        """Refuse parameters that are wrong whatever the data."""

    @abstractmethod
    def _run(self, account: FitAccount, examples: Examples, *, fresh: bool) -> Self:
        """Reserve, fit, release."""

    def _read(self, X: ArrayLike, y: ArrayLike | None, version: str | None) -> Examples:
        """Arrays as examples; what cannot be read is refused here, before it costs."""
        owner, labels = type(self).__name__, self._kind() == "classifier"
        examples = of_arrays(X, y, owner, version, width=self._width(), labels=labels)
        return examples.with_targets(self._targets)

    def _width(self) -> int | None:
        """How many features are declared."""
        count = self.n_features
        good = count is None or (isinstance(count, int) and not isinstance(count, bool) and count >= 1)
        require(good, "n_features", type(self).__name__, "be a whole number from 1 on, or None", count)
        return count

    def _targets(self, y: NDArray[Any]) -> NDArray[Any]:
        """Targets as the model wants them: here as they are."""
        return y

    @contextmanager
    def _account(self, examples: Examples) -> Iterator[FitAccount]:
        """The account that pays for a fit to arrays."""
        with FitAccount.opened(
            self.policy, self.ledger, self.analyst, type(self).__name__, self.slot
        ) as account:
            account.check_rows(examples.read()[0].shape[0])
            yield account

    def _behind(
        self, table: PrivateTable, features: Sequence[str], target: str, where: str | None
    ) -> tuple[FitAccount, Examples]:
        """The account of a table behind a policy, and its examples, unread."""
        account = FitAccount.of_table(table, self.analyst, self.slot)
        labels = self._kind() == "classifier"
        examples = of_table(table, features, target, where, classes=labels, centred=self._centred())
        return account, examples

    def _centred(self) -> bool:
        """Whether a table's features are moved to the middle of their bounds: not without an intercept."""
        return True

    def _note(self, spend: Spend, found: FitAnswer) -> None:
        """What the fit cost, and where the ledger says so."""
        self.spend_, self.entry_, self.repeated_ = spend, found.entry, found.repeated
