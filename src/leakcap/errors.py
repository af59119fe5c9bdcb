"""Every error that leakcap raises on purpose.

    LeakcapError
    ├── InvalidInput            what was given breaks a rule (also a ValueError)
    │   ├── InvalidParameter    a number or an option
    │   ├── InvalidChannel      a matrix that is no channel
    │   ├── InvalidPrior        a vector that is no distribution
    │   ├── InvalidPolicy       the owner's policy file
    │   ├── InvalidQuery        the analyst's query
    │   └── NotFitted           a model asked before it was fitted
    ├── NoRoute                 a conversion that does not follow
    ├── DataError               the table cannot be read as the policy says
    ├── BudgetExceeded          a cap would be passed; nothing was spent
    ├── LedgerError             the ledger cannot be used
    │   ├── LedgerUnavailable   its file or server cannot be used just now
    │   └── RequestReused       a request's key, under which something else was asked before
    └── SourceError             the source of random bytes is broken; nothing was drawn

A message names the value, the rule and the remedy, and never a value of private data, a password or a
token. "Nothing was spent" stands only where nothing can have been committed before: see `after_commit`.
The command line prints it as one line and exits with code 2.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Rational, Real
from pathlib import Path
from typing import Self

from leakcap.credentials import without_credentials

__all__ = [
    "BudgetExceeded",
    "DataError",
    "InvalidChannel",
    "InvalidInput",
    "InvalidParameter",
    "InvalidPolicy",
    "InvalidPrior",
    "InvalidQuery",
    "LeakcapError",
    "LedgerError",
    "LedgerUnavailable",
    "NoRoute",
    "NotFitted",
    "Passed",
    "RequestReused",
    "SourceError",
    "after_commit",
    "require",
    "require_number",
]


class LeakcapError(Exception):
    """Root of all errors that leakcap raises on purpose. None of them repeats a password.

    `committed` says whether a spend was committed before it, which stays in the ledger.
    """

    committed: bool = False

    def __init__(self, *told: object) -> None:
        super().__init__(*(without_credentials(one) if isinstance(one, str) else one for one in told))

    def _render_traceback_(self) -> list[str]:
        """What IPython prints in place of a traceback: the line that asked, and the message.

        >>> try:
        ...     raise InvalidQuery("No such column.")
        ... except InvalidQuery as error:
        ...     print(error._render_traceback_()[-1])
        InvalidQuery: No such column.
        """
        from traceback import extract_tb

        asked: list[str] = []
        for frame in extract_tb(self.__traceback__):
            if Path(frame.filename).is_relative_to(Path(__file__).parent):
                break
            asked = [without_credentials(f"line {frame.lineno}: {frame.line}")] if frame.line else []
        return [*asked, f"{type(self).__name__}: {self}"]

    def saying(self, text: str) -> Self:
        """The same error, with its fields, in other words.

        >>> error = InvalidQuery("No such column.")
        >>> error.start = 4
        >>> again = error.saying("No such column. Declare it.")
        >>> again.start, str(again)
        (4, 'No such column. Declare it.')
        """
        said = copy.copy(self)
        said.args = (without_credentials(text),)
        return said


class InvalidInput(LeakcapError, ValueError):
    """What was given breaks a rule."""


class InvalidParameter(InvalidInput):
    """A number or option outside its range."""


class InvalidChannel(InvalidInput):
    """A matrix that is not a channel: its rows must be distributions."""


class InvalidPrior(InvalidInput):
    """A vector that is not a distribution over the channel's inputs."""


class InvalidPolicy(InvalidInput):
    """A policy that cannot be used."""


class InvalidQuery(InvalidInput):
    """A query that the policy does not allow or that does not parse.

    `start` says where in the text of a condition the refused part begins, when that is known.
    """

    start: int | None = None


class NotFitted(InvalidInput, AttributeError):
    """A model that was asked for something before it was fitted."""


class NoRoute(LeakcapError):
    """A guarantee that does not follow from the one given."""


class DataError(LeakcapError):
    """A table that cannot be read as the policy says."""


@dataclass(frozen=True)
class Passed:
    """A cap that a spend would pass, in the unit of the cap.

    `cap` is the ledger's currency (`epsilon`, `delta`, `nats_person`, `nats_table`, `nats_level`, `rho`,
    `queries`),
    or the definition that a `Filter` caps, such as `PureDP`; `limit` what it allows in all; `left` what may
    still be asked, rounded down; `asked` what was, None where no bound on it is known. `analyst`, `group`
    or `period` is the account where it is the cap of one, `people` the level where people set it themselves;
    all four are None where it is the cap on everything.
    """

    cap: str
    limit: float
    left: float
    asked: float | None
    analyst: str | None = None
    period: str | None = None
    people: str | None = None
    group: str | None = None


class BudgetExceeded(LeakcapError):
    """A spend that would pass a cap. Nothing was spent and no noise was drawn.

    `passed` are all caps that it would pass, at least one; `cap`, `left`, `asked`, `analyst`, `group` and
    `period` are the first one's: see `Passed`.

    >>> error = BudgetExceeded("Too much.", passed=[Passed("epsilon", limit=0.5, left=0.25, asked=0.3)])
    >>> error.cap, error.left, error.asked, error.analyst
    ('epsilon', 0.25, 0.3, None)
    """

    def __init__(self, *told: object, passed: Sequence[Passed] = ()) -> None:
        super().__init__(*told)
        self.passed = tuple(passed)

    @property
    def cap(self) -> str:
        """The first cap that would be passed."""
        return self.passed[0].cap

    @property
    def left(self) -> float:
        """What is left under it, rounded down."""
        return self.passed[0].left

    @property
    def asked(self) -> float | None:
        """What was asked of it; None where no bound is known."""
        return self.passed[0].asked

    @property
    def analyst(self) -> str | None:
        """The analyst whose cap it is."""
        return self.passed[0].analyst

    @property
    def period(self) -> str | None:
        """The calendar period whose cap it is, such as `2026-11`."""
        return self.passed[0].period

    @property
    def group(self) -> str | None:
        """The group of analysts whose cap it is."""
        return self.passed[0].group


class LedgerError(LeakcapError):
    """A ledger that cannot be used. Where a spend was committed before, the message says so."""


class LedgerUnavailable(LedgerError):
    """A ledger whose file or server cannot be used just now. Where that was found while something was being
    written, only the ledger tells whether it was: whoever asks again under the same request's key pays once.
    """


class RequestReused(LedgerError):
    """A request whose key stands for another one: under one key one thing is asked. Nothing was spent.

    `key` is the request's key, and `entries` are the numbers of what was answered under it.
    """

    def __init__(self, *told: object, key: str = "", entries: Sequence[int] = ()) -> None:
        super().__init__(*told)
        self.key = key
        self.entries = tuple(entries)


class SourceError(LeakcapError):
    """A source of random bytes that does not return random bytes. Nothing was drawn."""


def after_commit(error: LeakcapError) -> LeakcapError:
    """The same error where the spend was committed before it, which its message and `committed` then say.

    >>> error = after_commit(LedgerError("The disk is full."))
    >>> str(error), error.committed
    ('The disk is full. The spend was committed before and stays in the ledger.', True)
    """
    said = error.saying(f"{error} The spend was committed before and stays in the ledger.")
    said.committed = True
    return said


def require(holds: bool, name: str, owner: str, rule: str, got: object, remedy: str = "") -> None:
    """Raise `InvalidParameter` in the one shape all messages have, unless `holds`.

    >>> require(False, "sigma", "Gaussian", "be positive", -1.0)
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `sigma` of `Gaussian` must be positive. Got -1.0.

    A fraction is shown as it is written, -1/2.
    """
    if not holds:
        shown = str(got) if isinstance(got, Rational) else repr(got)
        text = f"`{name}` of `{owner}` must {rule}. Got {shown}."
        raise InvalidParameter(f"{text} {remedy}".rstrip())


def require_number(name: str, owner: str, got: object) -> None:
    """Raise `InvalidParameter` for what is not a real number: text, None, a list, true and false.

    >>> require_number("alpha", "Renyi", "2")
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `alpha` of `Renyi` must be a real number. Got '2'.
    """
    if type(got) is float or type(got) is int:  # the usual, and asked a million times in a search
        return
    require(isinstance(got, Real) and not isinstance(got, bool), name, owner, "be a real number", got)
