"""Channels from a text box or an upload: small ones, read by leakcap's own reader.

What is too large for a page is refused before it is parsed.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from leakcap import gain as gains
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.gain import Gain

__all__ = [
    "EXAMPLES",
    "MOST_ENTRIES",
    "MOST_GOAL",
    "MOST_SIDE",
    "MOST_TEXT",
    "as_text",
    "read_channel",
    "read_gain",
    "read_prior",
]

MOST_TEXT = 128 * 1024
MOST_GOAL = 32 * 1024
MOST_SIDE = 128
MOST_ENTRIES = 2048
_MOST_CELL = 64
_MOST_DEPTH = 4

EXAMPLES = {
    "geometric": ",no,maybe,yes\nno,2/3,1/6,1/6\nmaybe,1/3,1/3,1/3\nyes,1/6,1/6,2/3\n",
    "response": ",no,maybe,yes\nno,3/5,1/5,1/5\nmaybe,1/5,3/5,1/5\nyes,1/5,1/5,3/5\n",
}
"""The survey that Fernandes, McIver & Sadeghi 2022 begin with: truncated geometric, randomised response."""


def read_channel(text: str, name: str) -> Channel:
    """The channel in a text, CSV or JSON; `name` stands in messages. Raises `InvalidChannel`.

    >>> read_channel("1/2,1/2\\n1/4,3/4", "A").shape
    (2, 2)
    """
    _look_through(text, name)
    ending = ".json" if text.lstrip()[:1] in ("[", "{") else ".csv"
    with tempfile.TemporaryDirectory(prefix="leakcap-") as folder:
        file = Path(folder) / f"{name}{ending}"
        file.write_text(text, encoding="utf-8")
        channel = Channel.load(file)
    rows, columns = channel.shape
    if max(rows, columns) > MOST_SIDE or rows * columns > MOST_ENTRIES:
        raise InvalidChannel(
            f"`{name}` must have at most {MOST_ENTRIES:,} entries, {MOST_SIDE} a side, on this page. "
            f"Got {rows}×{columns}. Use `leakcap channel` for a larger one."
        )
    return channel


def _look_through(text: str, name: str) -> None:
    if not text.strip():
        raise InvalidChannel(f"`{name}` must hold a matrix. Got an empty text.")
    if len(text) > MOST_TEXT:
        raise InvalidChannel(
            f"`{name}` must be at most {MOST_TEXT // 1024} KiB. Got {len(text) // 1024} KiB."
        )
    if "\0" in text:
        raise InvalidChannel(f"`{name}` must be text. Got a binary file.")
    if text.lstrip()[:1] in ("[", "{"):
        _look_through_json(text, name)
    else:
        cells = re.split(r"[,\n\r]", text)
        _short(cells, name)
        if text.count("\n") + text.count("\r") > MOST_ENTRIES + 2:
            raise InvalidChannel(f"`{name}` must have at most {MOST_ENTRIES:,} lines on this page.")


def _look_through_json(text: str, name: str) -> None:
    if text.count("[") + text.count("{") > 4 * MOST_ENTRIES or _depth(text) > _MOST_DEPTH:
        raise InvalidChannel(f"`{name}` must be one matrix. Got lists within lists within lists.")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidChannel(f"`{name}` must be CSV or JSON. Got something else.") from None
    flat = [content]
    for _ in range(_MOST_DEPTH + 1):
        flat = [part for whole in flat for part in _parts(whole)]
    _short([leaf for leaf in flat if isinstance(leaf, str)], name)


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else [value]


def _depth(text: str) -> int:
    depth = deepest = 0
    for character in text:
        depth += (character in "[{") - (character in "]}")
        deepest = max(deepest, depth)
    return deepest


def _short(cells: list[str], name: str) -> None:
    if any(len(cell.strip()) > _MOST_CELL for cell in cells):
        raise InvalidChannel(f"cells of `{name}` must have at most {_MOST_CELL} characters.")


def read_prior(text: str, size: int) -> list[float]:
    """A belief from a text: `uniform`, or numbers with commas between.

    >>> read_prior("uniform", 2), read_prior("0.25, 0.75", 2)
    ([0.5, 0.5], [0.25, 0.75])
    """
    if text.strip() in ("", "uniform"):
        return [1.0 / size] * size
    parts = [part.strip() for part in text[: 32 * MOST_SIDE].split(",")]
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        raise InvalidParameter("the prior must be `uniform` or numbers with commas between.") from None
    if len(numbers) != size:
        raise InvalidParameter(f"the prior must have one number a secret. Got {len(numbers)} for {size}.")
    return numbers


def read_gain(text: str, channel: Channel) -> Gain:
    """A goal from a text: a line for each thing that the attacker may do, with a number for each secret.

    >>> read_gain("1,0\\n0,1\\n0.6,0.6", read_channel("1/2,1/2\\n1/4,3/4", "A")).actions
    (0, 1, 2)
    """
    secrets = channel.inputs
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or len(lines) > MOST_SIDE or len(lines) * len(secrets) > MOST_ENTRIES:
        raise InvalidParameter(
            f"a goal of your own must have 1 to {MOST_SIDE} lines, one for each thing that the attacker may "
            f"do. Got {len(lines):,}."
        )
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = [float(cell) for cell in line.split(",")]
        except ValueError:
            raise InvalidParameter(
                f"line {number} of your goal must be numbers with commas between: what is gained from each "
                "secret. Write no labels."
            ) from None
        if len(row) != len(secrets):
            raise InvalidParameter(
                f"line {number} of your goal must have one number a secret. "
                f"Got {len(row)} for {len(secrets)}."
            )
        rows.append(row)
    return gains.matrix(rows, secrets=secrets)


def as_text(raw: bytes, name: str) -> str:
    """An upload as text. Raises `InvalidChannel`.

    >>> as_text(b"1,0", "A")
    '1,0'
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidChannel(f"`{name}` must be CSV or JSON in UTF-8. Got something else.") from None
