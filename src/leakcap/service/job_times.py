"""When what a job did may be seen: at few times after its start, which hang on nothing that it reads.

A process does one job after another, and the next begins when the one before may be seen to have ended. So a
start is public too, and how long a question took is told by which of these times it ends at, and by nothing
else: neither the record in the ledger nor the queue behind it moves before. A question that has no answer by
the last time has none at all, which is told a moment later (`given_up`). Source: Askarov, Zhang & Myers 2010,
*Predictive black-box mitigation of timing channels* (outputs at predicted times); Haeberlen, Pierce & Narayan
2011, *Differential privacy under fire*, §3 (time as a channel beside the answer).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["JobClock", "JobTimes", "LastTimePassed", "default_job_times"]

_FACTOR = 4.0
_GRACE = 5.0
_BOOKED = 0.5


class LastTimePassed(Exception):
    """The last of the times has passed: there is no answer any more."""


def default_job_times(last: float, first: float = 1.0, factor: float = _FACTOR) -> tuple[float, ...]:
    """One second, and ever four times as long, up to the last, in seconds; or another first time and factor.

    >>> default_job_times(100.0)
    (1.0, 4.0, 16.0, 64.0, 100.0)
    >>> default_job_times(1.0, 0.5, 1.25)
    (0.5, 0.625, 0.78125, 0.9765625, 1.0)
    """
    times = [first]
    while times[-1] * factor < last:
        times.append(times[-1] * factor)
    return (*(one for one in times if one < last), last)


@dataclass(frozen=True)
class JobTimes:
    """The seconds after a job's start at which it may be seen to have ended, ever later ones."""

    times: tuple[float, ...]

    @property
    def last(self) -> float:
        """After so many seconds nothing is answered any more."""
        return self.times[-1]

    @property
    def given_up(self) -> float:
        """When it is told that there is no answer: late enough to have recorded one that came at the last
        time, and for a process that was ended to be started again."""
        return self.last + min(_GRACE, self.last)

    @property
    def outcomes(self) -> int:
        """How many ends can be told apart by when they come: one at each time, and none."""
        return len(self.times) + 1

    def after(self, elapsed: float, share: float = 1.0) -> float | None:
        """The first of the times, or of that share of each, at or after so many seconds; None after the last.

        >>> JobTimes((5.0, 60.0)).after(7.0), JobTimes((5.0, 60.0)).after(60.5)
        (60.0, None)
        """
        return next((one * share for one in self.times if one * share >= elapsed), None)

    def reached(self, elapsed: float) -> float:
        """The latest of the times that have passed, told in the job as its end.

        >>> JobTimes((5.0, 60.0)).reached(5.02), JobTimes((5.0, 60.0)).reached(66.0)
        (5.0, 65.0)
        """
        if elapsed >= self.given_up:
            return self.given_up
        return max((one for one in self.times if one <= elapsed), default=self.times[0])

    def told(self, elapsed: float) -> str:
        """What may be said of a job that is under way so many seconds after its start: when its end may show,
        which hangs on nothing that it reads.

        >>> JobTimes((5.0, 60.0)).told(2.0)
        'Under way. Its end may show 5 s after its start, 60 s at the latest.'
        >>> JobTimes((5.0, 60.0)).told(6.0)
        'Under way. Its end may show 60 s after its start.'
        """
        following = self.after(elapsed)
        if following is None:
            return f"No answer in time, which shows {self.given_up:.4g} s after its start."
        latest = "" if following == self.last else f", {self.last:.4g} s at the latest"
        return f"Under way. Its end may show {following:.4g} s after its start{latest}."


class JobClock:
    """One job's clock, from its start on the system's monotonic clock, which all processes read alike.

    `watch` is told after how many seconds to end this process, whatever it is doing.
    """

    def __init__(
        self, times: JobTimes, begun: float, *, watch: Callable[[float], None] = lambda seconds: None
    ) -> None:
        self._times, self._begun, self._watch = times, begun, watch
        self.has_waited = False
        """Whether an answer was held back until one of the times."""

    def start(self) -> None:
        """From here on the process ends at the last time. Raises `LastTimePassed` where that has passed."""
        left = self._times.last - self.elapsed
        if left <= 0.0:
            raise LastTimePassed
        self._watch(left)

    def before_spend(self) -> None:
        """Hold back what is spent, where rows were read before it: until half of one of the times, so that
        the other half is left for the answer. Raises `LastTimePassed`."""
        self._wait(_BOOKED)

    def before_release(self) -> None:
        """Hold back an answer that was computed until one of the times. Raises `LastTimePassed`."""
        self._wait(1.0)
        self.has_waited = True

    def before_end(self) -> None:
        """Hold back that it has ended, without an answer or with one that was known, until one of the times;
        after the last until `given_up`."""
        # What is to be said is known: nobody who waits to say it is ended, by the watch that `start` set.
        self._watch(self._times.given_up + min(_GRACE, self._times.last) - self.elapsed)
        wanted = self._times.after(self.elapsed)
        time.sleep(max(0.0, (self._times.given_up if wanted is None else wanted) - self.elapsed))

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begun

    def _wait(self, share: float) -> None:
        wanted = self._times.after(self.elapsed, share)
        if wanted is None:
            raise LastTimePassed
        # What was computed is not lost to the watch while it waits, nor while it is recorded.
        ends = self._times.given_up if share == 1.0 else self._times.last
        self._watch(ends - self.elapsed)
        time.sleep(max(0.0, wanted - self.elapsed))
