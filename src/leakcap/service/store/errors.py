"""What the curator refuses: each message names the value, the rule and the remedy, never a secret.

LeakcapError
├── StoreError          the store cannot be used
├── NotFound            not there, or not to be seen by who asks: both say the same
├── Forbidden           there, and not allowed
├── NameTaken           a name that somebody has or had
├── StateConflict       what is asked does not fit the state in which it was found
├── KeyReused           one idempotency key for two different jobs
├── OneTimePassword     a password that is only good for choosing another one
├── TooManyAttempts     a password may be tried again later
└── TooManyJobs         as many jobs of one person as may wait
"""

from __future__ import annotations

from leakcap.errors import LeakcapError

__all__ = [
    "Forbidden",
    "KeyReused",
    "NameTaken",
    "NotFound",
    "OneTimePassword",
    "StateConflict",
    "StoreError",
    "TooManyAttempts",
    "TooManyJobs",
]


class StoreError(LeakcapError):
    """A store that cannot be used."""


class NotFound(LeakcapError):
    """What is not there, or not to be seen by who asks for it."""


class Forbidden(LeakcapError):
    """What who asks may see and may not do."""


class NameTaken(LeakcapError):
    """A name that somebody has, or had: names are never given out again."""


class StateConflict(LeakcapError):
    """What does not fit the state in which it was found: a decision on a job that is done."""


class KeyReused(LeakcapError):
    """An idempotency key that came with another job before."""


class OneTimePassword(LeakcapError):
    """The right password, which somebody else gave and knows: it lets in nobody, only its person choose one.

    >>> print(OneTimePassword())
    This password is good for one thing: choosing your own. Do so, on the page `/password` of the ...
    """

    def __init__(self) -> None:
        super().__init__(
            "This password is good for one thing: choosing your own. Do so, on the page `/password` of the "
            "console or with `leakcap password`."
        )


class TooManyJobs(LeakcapError):
    """One more job of somebody who has as many as the owner allows."""


class TooManyAttempts(LeakcapError):
    """A password that may be tried again in `seconds`.

    >>> TooManyAttempts(7).seconds
    7
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many failed attempts. Try again in {seconds} second{'s' * (seconds != 1)}.")
        self.seconds = seconds
