"""The states of a job.

awaiting approval ─▶ queued ─▶ running ─▶ done, failed
        │               └─ cancelled ─┘
        └─▶ refused, cancelled
"""

from __future__ import annotations

from enum import StrEnum

__all__ = ["UNFINISHED", "JobState"]


class JobState(StrEnum):
    """How far a job is."""

    AWAITING_APPROVAL = "awaiting approval"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"


UNFINISHED = frozenset({JobState.AWAITING_APPROVAL, JobState.QUEUED, JobState.RUNNING})
"""States that a job may still leave."""
