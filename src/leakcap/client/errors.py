"""What a curator, or the way to it, refuses: beside the library's own exceptions, which cross as they are."""

from __future__ import annotations

from leakcap.errors import LeakcapError

__all__ = ["NoAnswer", "NotAllowed", "NotSignedIn", "NotThere", "PasswordNotChosen", "TryLater"]


class NotSignedIn(LeakcapError):
    """The curator does not know who asks: no token, or one that has expired or was revoked."""


class NotAllowed(LeakcapError):
    """Who asks is known and may not do this."""


class PasswordNotChosen(NotAllowed):
    """The password is right, and somebody else gave it: its person chooses their own before they sign in."""


class NotThere(LeakcapError):
    """There is no such data set, job or token, or none that this person may see."""


class TryLater(LeakcapError):
    """More requests than the curator takes in a minute, or too many attempts to sign in."""


class NoAnswer(LeakcapError):
    """The curator could not be reached, or its answer was lost.

    `request` is the idempotency key of what was asked, empty where nothing can have been paid: asked again
    with it, an answer that was paid for is given for free.
    """

    def __init__(self, *told: object, request: str = "") -> None:
        super().__init__(*told)
        self.request = request
