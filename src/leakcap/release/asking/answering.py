"""What answers questions: a table, as a question or a batch of them needs it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from leakcap.policy import Policy
from leakcap.release.planning.queries import Query

if TYPE_CHECKING:
    from leakcap.release.asking.accuracy import Preview
    from leakcap.release.results.result import Release

__all__ = ["Answering"]


class Answering(ABC):
    """Answers queries under a policy; previews and dry runs touch no data."""

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """The policy that questions are checked against."""

    @abstractmethod
    def release(self, queries: Sequence[Query], *, fresh: bool = False) -> list[Release]:
        """Answer all of the queries, or none."""

    @abstractmethod
    def preview(self, queries: Query | Sequence[Query]) -> list[Preview]:
        """The accuracy and the price of each query."""

    @abstractmethod
    def dry_run(self, queries: Query | Sequence[Query]) -> list[Release]:
        """The queries on a dummy table."""
