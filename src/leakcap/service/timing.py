"""What the time of an answer tells at most, in nats: the logarithm of how many ends it can have.

Of a job these are its times, and that there is no answer; of an answer that is waited for they are the rungs
of its clock, and those of the clock that keeps the engine busy, which whoever waits in the queue behind it
sees. Under replace-one there is a second moment to see, because rows are read before anything is spent: the
ledger keeps the time of the spend, whoever looks into it later.

An owner who knows that few questions miss the first time knows more: see `late_nats`.
"""

from __future__ import annotations

from collections.abc import Iterator

from leakcap.errors import require
from leakcap.numeric.enclosure import Digits, Interval, enclose
from leakcap.numeric.rounding import ceil_to
from leakcap.service.configuration import Configuration
from leakcap.service.engine.calling import PATIENCE
from leakcap.service.engine.tables import governing
from leakcap.service.ticks import FASTER, rungs

__all__ = ["answer_nats", "late_nats", "timing_lines"]


def timing_lines(configuration: Configuration) -> Iterator[str]:
    """For each data set what the time of one of its answers tells at most, for its owner. Raises
    `LedgerError` where its policy was edited and not amended."""
    for name, source in configuration.data.items():
        nats = answer_nats(configuration, name, replace_one=governing(source).neighbours == "replace-one")
        times = ", ".join(f"{one:g}" for one in configuration.times_of_jobs(name).times)
        when = f"as jobs, seen after {times} s, or never" if source.answers == "as jobs" else "at once"
        yield f"{name} answers {when}: the time of an answer tells at most {ceil_to(nats, 2):g} nats."


def answer_nats(configuration: Configuration, dataset: str, *, replace_one: bool) -> float:
    """What the time of one answer about this data set can tell at most, in nats, whatever the data and the
    question; rounded up. Time is what the clocks let out: how exactly a machine under load keeps them is
    measured, not bounded."""
    as_jobs = configuration.data[dataset].answers == "as jobs"
    moments = 2 if replace_one else 1
    if as_jobs:
        ends = configuration.times_of_jobs(dataset).outcomes ** moments
    else:
        seconds = configuration.limits.seconds
        # A question is put to a second process where the first one ended.
        waited = rungs(2 * (seconds + PATIENCE), configuration.tick)
        # Of several engines one is free at a rung, or when what it held back until one is recorded.
        kinds = 2 if configuration.engines > 1 else 1
        queued = kinds * rungs(seconds, configuration.tick / FASTER) + 1
        ends = waited * queued * (rungs(seconds, configuration.tick / FASTER) + 1) ** (moments - 1)
    return enclose(lambda digits: digits.of(ends).log().size())[1]


def late_nats(outcomes: int, late: float) -> float:
    """What the time of one answer tells at most, in nats, where it is the first of so many outcomes but with
    probability `late`, whatever the data; rounded up.

    It is the radius of all rows that give the first outcome at least 1 - p. Their extreme points are that
    outcome for certain, and with probability p one of the m - 1 others: the capacity of a channel with these
    rows is ln(1 + (m - 1) p (1 - p)^((1 - p)/p)), for m = 2 the Z-channel's, or p ln(m - 1) where the certain
    row is not needed. Source: Cover & Thomas 2006, exercise 7.8 (m = 2) and the conditions of Kuhn and Tucker
    in section 7.8. Raises `InvalidParameter`.

    >>> round(late_nats(2, 0.5), 6), round(late_nats(8, 1.0), 6), late_nats(8, 0.0)
    (0.223144, 2.079442, 0.0)
    """
    require(outcomes >= 1, "outcomes", "late_nats", "be at least 1", outcomes)
    require(0.0 <= late <= 1.0, "late", "late_nats", "be a probability", late)
    if late == 0.0 or outcomes == 1:
        return 0.0
    others, rest = outcomes - 1, 1.0 - late
    share = rest ** (rest / late)
    needed = others * share <= 1.0 + others * late * share

    def formula(digits: Digits) -> Interval:
        p = digits.of(late)
        if not needed:
            return p * digits.of(others).log()
        q = 1 - p
        kept = (q.log() * q / p).exp() if late < 1.0 else digits.of(1)
        return (1 + others * p * kept).log()

    return enclose(lambda digits: formula(digits).size())[1]
