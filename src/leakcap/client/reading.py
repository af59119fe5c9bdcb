"""What a curator says, checked before anything is made of it: it may be broken, or somebody else.

Whatever has not the shape it should have is one `DataError`. Nothing of it is run, and nothing is written
where it says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from leakcap.client.errors import NotAllowed, NotSignedIn, NotThere, PasswordNotChosen, TryLater
from leakcap.errors import BudgetExceeded, DataError, InvalidQuery, LeakcapError, Passed
from leakcap.plain import plain
from leakcap.wire import PREFIX, error_of

__all__ = ["error_in", "json_of", "mapping", "objects_in", "read", "text_in"]

_MOST = 2000
_KINDS: Mapping[int, type[LeakcapError]] = {
    401: NotSignedIn,
    403: NotAllowed,
    404: NotThere,
    429: TryLater,
}


def json_of(body: bytes) -> Any:
    """JSON of RFC 8259: no NaN, no infinity."""
    with read("JSON"):
        return json.loads(body, parse_constant=_refuse)


def mapping(found: object, what: str) -> dict[str, Any]:
    """An object. Raises `DataError`."""
    if not isinstance(found, dict):
        raise _malformed(what)
    return found


def objects_in(found: object, name: str, what: str) -> list[dict[str, Any]]:
    """The objects that an object lists under a name. Raises `DataError`."""
    several = mapping(found, what).get(name)
    if not isinstance(several, list) or not all(isinstance(one, dict) for one in several):
        raise _malformed(what)
    return several


def text_in(found: Mapping[str, Any], name: str, what: str, *, most: int = _MOST) -> str:
    """A text of an object, safe for a terminal. Raises `DataError`."""
    value = found.get(name)
    if not isinstance(value, str) or len(value) > most:
        raise _malformed(what)
    return plain(value)


@contextmanager
def read(what: str) -> Iterator[None]:
    """While something is made of what a curator said: whatever fails, its answer is at fault."""
    try:
        yield
    except LeakcapError as error:
        told = " ".join(plain(str(error)).split())[:300]
        raise _malformed(what, f" {told}") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError):
        raise _malformed(what) from None


def error_in(status: int, found: object) -> LeakcapError:
    """The exception that an answer with an error's status stands for.

    >>> type(error_in(404, {"detail": "There is no data set `ward`."})).__name__
    'NotThere'
    """
    problem = found if isinstance(found, dict) else {}
    kind = str(problem.get("type", ""))[:100]
    told = problem.get("detail")
    detail = plain(told[:_MOST]) if isinstance(told, str) and told else f"The curator refused ({status})."
    if kind == f"{PREFIX}one-time-password":
        return PasswordNotChosen(detail)
    if status in _KINDS:
        return _KINDS[status](detail)
    if not kind.startswith(PREFIX):
        return DataError(f"What answered (status {status}) is no curator. Check the address.")
    if kind == f"{PREFIX}invalid-request":
        return InvalidQuery(detail)
    with read("problem"):
        error = error_of({**problem, "detail": detail})
        if isinstance(error, BudgetExceeded) and not all(map(_sound, error.passed)):
            raise ValueError("a cap that is none")
        return error


def _sound(passed: Passed) -> bool:
    """Whether a cap is a name with numbers."""
    numbers = (passed.limit, passed.left, 0.0 if passed.asked is None else passed.asked)
    return isinstance(passed.cap, str) and all(isinstance(one, int | float) for one in numbers)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _malformed(what: str, more: str = "") -> DataError:
    return DataError(
        f"The curator's {what} cannot be read: it is broken, or of another version than this leakcap.{more}"
    )
