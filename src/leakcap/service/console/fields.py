"""The fields of a form, read with suspicion."""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from leakcap.errors import InvalidParameter

__all__ = ["Fields", "body_of", "read_fields"]

_MOST = 200
B = TypeVar("B", bound=BaseModel)


class Fields(dict[str, str]):
    """Fields by name, of several with one name the last; `every` has all of them."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def every(self, name: str) -> list[str]:
        """All values of a name, in order.

        >>> Fields([("a", "1"), ("b", "2"), ("a", "3")]).every("a")
        ['1', '3']
        """
        return [value for key, value in self._pairs if key == name]

    def text(self, name: str) -> str:
        """A field without the spaces around it; empty where it is missing."""
        return self.get(name, "").strip()


def read_fields(body: bytes) -> Fields:
    """The fields of an urlencoded body. Raises `InvalidParameter` for anything else.

    >>> read_fields(b"a=1&b=%C3%A4")
    {'a': '1', 'b': 'ä'}
    """
    try:
        text = body.decode("ascii")
        return Fields(parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST, errors="strict"))
    except ValueError:
        raise InvalidParameter(
            "The form cannot be read. Load its page again, and send it from there."
        ) from None


def body_of(kind: type[B], content: dict[str, object]) -> B:
    """What `/v1` would be sent, checked by the same rules. `InvalidParameter` says the first broken one.

    >>> from leakcap.service.api.bodies import PauseBody
    >>> body_of(PauseBody, {"reason": ""})
    Traceback (most recent call last):
    leakcap.errors.InvalidParameter: `reason`: String should have at least 1 character.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        found = error.errors()[0]
        where = ".".join(str(part)[:80] for part in found["loc"]) or "form"
        raise InvalidParameter(f"`{where[:80]}`: {found['msg'][:200]}.") from None
