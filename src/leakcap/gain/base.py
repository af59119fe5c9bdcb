"""What a gain function is, and the one given by its table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.channel import Channel
from leakcap.errors import InvalidParameter
from leakcap.numeric.logspace import Floats

__all__ = ["Gain", "Table", "sparse_columns"]


def sparse_columns(columns: Any) -> bool:
    """Whether the columns are a SciPy sparse matrix.

    >>> sparse_columns(np.eye(2))
    False
    """
    return hasattr(columns, "tocsr")


class Gain(ABC):
    """g(w, x): what action w is worth to the adversary when the secret is x.

    Source: Alvim, Chatzikokolakis, Palamidessi & Smith 2012.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of secrets."""

    @property
    @abstractmethod
    def secrets(self) -> tuple[Hashable, ...] | None:
        """The labels of the secrets, None for any labels."""

    @property
    @abstractmethod
    def actions(self) -> tuple[Hashable, ...]:
        """The labels of the actions."""

    @property
    @abstractmethod
    def table(self) -> Floats:
        """g as a matrix of shape (w, x)."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether g ≥ 0, which the multiplicative theorems need."""

    @abstractmethod
    def best(self, weights: Floats, columns: Any) -> Floats:
        """max_w Σ_x g(w, x) weights_x columns_xy for each y: the worth of the best action after y."""

    def worst(self, weights: Floats, columns: Any, centre: Floats) -> float:
        """The largest `best` over an output's own probability, max over y with centre_y > 0."""
        best, seen = self.best(weights, columns), centre > 0
        return float(np.max(best[seen] / centre[seen]))

    @abstractmethod
    def best_actions(self, weights: Floats, columns: Floats) -> NDArray[np.intp]:
        """The index of a best action for each y."""

    def check(self, channel: Channel) -> None:
        """Raise `InvalidParameter` unless this gain is about the inputs of `channel`."""
        if self.size != channel.shape[0]:
            raise InvalidParameter(
                f"a gain must have one column a secret. Got {self.size} for {channel.shape[0]} secrets."
            )
        if self.secrets is not None and self.secrets != channel.inputs:
            raise InvalidParameter(
                "a gain must name the secrets as the channel does, in the same order. "
                "Got other labels. Build the gain from `channel.inputs`."
            )

    def require_nonnegative(self, owner: str) -> None:
        """Raise `InvalidParameter` unless g ≥ 0."""
        if not self.nonnegative:
            raise InvalidParameter(
                f"`gain` of `{owner}` must be non-negative: the theorem needs g ≥ 0. Got a negative entry. "
                "Add a constant to every entry, or ask for the additive leakage."
            )


@dataclass(frozen=True, eq=False)
class Table(Gain):
    """A gain given by its matrix of shape (w, x).

    >>> Table(np.eye(2), ("a", "b")).best(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    array([0.45, 0.4 ])
    """

    entries: Floats
    action_labels: tuple[Hashable, ...]
    secret_labels: tuple[Hashable, ...] | None = None

    @property
    def size(self) -> int:
        """The number of secrets."""
        return int(self.entries.shape[1])

    @property
    def secrets(self) -> tuple[Hashable, ...] | None:
        """The labels of the secrets, None for any labels."""
        return self.secret_labels

    @property
    def actions(self) -> tuple[Hashable, ...]:
        """The labels of the actions."""
        return self.action_labels

    @property
    def table(self) -> Floats:
        """g as a matrix of shape (w, x)."""
        return self.entries

    @property
    def nonnegative(self) -> bool:
        """Whether g ≥ 0."""
        return bool((self.entries >= 0).all())

    def best(self, weights: Floats, columns: Any) -> Floats:
        """One matrix product, then the largest entry of each column."""
        return np.asarray(((self.entries * weights) @ columns).max(axis=0))

    def best_actions(self, weights: Floats, columns: Floats) -> NDArray[np.intp]:
        """The index of a best action for each y."""
        return np.asarray(((self.entries * weights) @ columns).argmax(axis=0))
