"""Questions that wait: for somebody's approval, or for their turn."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leakcap.client.errors import NotThere
from leakcap.client.http import CuratorHttp
from leakcap.client.reading import error_in, mapping, objects_in, text_in
from leakcap.errors import DataError, LeakcapError

if TYPE_CHECKING:
    from leakcap.release import Release

__all__ = ["AwaitingApproval", "Jobs", "RemoteJob"]

_ENDED = ("done", "failed", "refused", "cancelled")
_PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
_NUMBER = re.compile(r"[A-Za-z0-9_-]{1,80}")
_READ = "job"


class RemoteJob:
    """One job, as it was when it was last looked at; `wait` and `result` look again."""

    def __init__(
        self,
        http: CuratorHttp,
        told: Mapping[str, Any],
        answers: Callable[[Mapping[str, Any]], list[Release]],
    ) -> None:
        self._http, self._answers = http, answers
        self._told = _checked(told)

    @property
    def id(self) -> str:
        """Its number at the curator."""
        return text_in(self._told, "id", _READ, most=80)

    @property
    def state(self) -> str:
        """``awaiting approval``, ``queued``, ``running``, ``done``, ``failed``, ``refused`` or
        ``cancelled``."""
        return text_in(self._told, "state", _READ, most=40)

    @property
    def ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in _ENDED

    @property
    def needed(self) -> int:
        """How many people have to approve of it."""
        needed = self._told.get("needed")
        return needed if isinstance(needed, int) else 0

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Who approved or refused, when and why."""
        return list(self._told.get("decisions") or [])

    @property
    def told(self) -> dict[str, Any]:
        """All that the curator says of it."""
        return dict(self._told)

    def refresh(self) -> RemoteJob:
        """Look again."""
        self._told = _checked(self._http.get(_path(self.id)))
        return self

    def wait(self, seconds: float = 60.0) -> RemoteJob:
        """Wait until it has ended, for so long at most; look at `state` for whether it has."""
        deadline, turn = time.monotonic() + seconds, 0
        while not self.refresh().ended and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_PAUSES[min(turn, len(_PAUSES) - 1)], left))
            turn += 1
        return self

    def result(self) -> list[Release]:
        """Its answers, which cost nothing more. Raises what it ended with, or `LeakcapError` where it has not
        ended."""
        self.refresh()
        if self.state == "done":
            return self._answers(mapping(self._http.get(f"{_path(self.id)}/answer"), "answer"))
        problem = self._told.get("problem")
        if self.state == "failed" and isinstance(problem, dict):
            status = problem.get("status")
            raise error_in(status if isinstance(status, int) else 500, problem)
        raise LeakcapError(f"Job {self.id} is {self.state}: it has no answer.{self._reasons()}")

    def cancel(self) -> RemoteJob:
        """End it; what it has spent by then stays spent."""
        self._told = _checked(self._http.delete(_path(self.id)))
        return self

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.state}>"

    def _reasons(self) -> str:
        given = [one.get("reason") for one in self.decisions if isinstance(one, dict)]
        reasons = [str(one)[:500] for one in given if one]
        return f" {' '.join(reasons)}" if reasons else ""


class AwaitingApproval(LeakcapError):
    """The question waits: somebody has to approve of it, and nothing was spent; or it is a job that took
    longer than the connection waits.

    `job.wait()` waits for it, and `job.result()` gives the answers once it is done; so does the same question
    under the same key, which is `request`.
    """

    def __init__(self, told: str, *, job: RemoteJob | None = None, request: str = "") -> None:
        super().__init__(told)
        self.job, self.request = job, request

    @classmethod
    def of(cls, job: RemoteJob, request: str) -> AwaitingApproval:
        """What is said of a job that has not ended."""
        people = "One person has" if job.needed == 1 else f"{job.needed} people have"
        spent, waits = ", and nothing was spent", f"{people} to approve of it"
        if not job.needed:
            spent, waits = "", "It works as a job, and is paid for once"
        return cls(
            f"There is no answer yet{spent}: job {job.id} ({job.state}). {waits}. Later "
            f'ask again with request="{request}", or in Python `error.job.wait()` and `error.job.result()`.',
            job=job,
            request=request,
        )


class Jobs:
    """One's own jobs, the newest first; one of them by its number."""

    def __init__(self, http: CuratorHttp, answers: Callable[[Mapping[str, Any]], Callable[..., Any]]) -> None:
        self._http, self._answers = http, answers

    def __iter__(self) -> Iterator[RemoteJob]:
        found = objects_in(self._http.get("/v1/jobs"), "jobs", "list of jobs")
        return iter([self._job(one) for one in found])

    def __getitem__(self, number: str) -> RemoteJob:
        if not isinstance(number, str) or not _NUMBER.fullmatch(number):
            raise NotThere(f"There is no job {str(number)[:80]!r}.")
        return self._job(mapping(self._http.get(_path(number)), _READ))

    def __repr__(self) -> str:
        return f"<Jobs at {self._http.url}>"

    def _job(self, told: Mapping[str, Any]) -> RemoteJob:
        return RemoteJob(self._http, told, self._answers(told))


def _checked(told: object) -> dict[str, Any]:
    found = mapping(told, _READ)
    decided = found.get("decisions", [])
    number, state = found.get("id"), found.get("state")
    fine = isinstance(number, str) and _NUMBER.fullmatch(number) and isinstance(state, str)
    if not fine or not isinstance(decided, list):
        raise DataError("The curator's job cannot be read: it is broken, or of another version.")
    return found


def _path(number: str) -> str:
    return f"/v1/jobs/{quote(number, safe='')}"
