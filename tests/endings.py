"""How a command that the manual shows must end: with its code, without an error, and with an answer."""

from __future__ import annotations

from leakcap.audit import Verdict

__all__ = ["NO_ANSWER", "complaint"]

NO_ANSWER = (Verdict.UNDECIDED.value, "The samples are too few to tell", "Traceback (most recent call last)")
"""What leakcap says where it has no answer; the words of a verdict are its own."""


def complaint(code: int, stated: int, told: str) -> str:
    """What is wrong with the end of a command whose stated exit is `stated`; nothing where all is well.

    >>> complaint(0, 0, "PureDP(epsilon=1) is consistent"), complaint(1, 0, "")
    ('', 'exit 1, not 0')
    >>> complaint(0, 0, "PureDP(epsilon=1): not enough samples to tell; about 40,751 would be")
    'ends without an answer: not enough samples to tell'
    """
    if code != stated:
        return f"exit {code}, not {stated}"
    if stated == 0 and any(line.startswith("leakcap: ") for line in told.splitlines()):
        return "ends with an error"
    found = [words for words in NO_ANSWER if words in told]
    return f"ends without an answer: {found[0]}" if found else ""
