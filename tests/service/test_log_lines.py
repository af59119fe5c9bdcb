"""Each line of the log is one JSON object, whatever is in the message, and no exception's text is in it."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from leakcap.service.running.log_lines import JsonLines


def line(message: str, **fields: object) -> str:
    return JsonLines().format(logging.makeLogRecord({"msg": message, "levelname": "INFO", **fields}))


@pytest.mark.parametrize("message", ["it's", 'a "b"\n{', "{", "{'a': 1}", '{"a": NaN', "\u2028\x00", "[1]"])
def test_text_stays_text(message: str) -> None:
    text = line(message)
    assert "\n" not in text
    assert json.loads(text)["log"] == message


def test_object_is_an_object() -> None:
    assert json.loads(line('{"request": "ab", "status": 200}'))["log"] == {"request": "ab", "status": 200}


def test_exception_is_told_without_its_text() -> None:
    try:
        raise ValueError("age 41")
    except ValueError:
        text = line("failed", exc_info=sys.exc_info())
    told = json.loads(text)
    assert told["error"] == "ValueError"
    assert told["at"][0].startswith("test_log_lines.py:")
    assert "41" not in told["error"] + told["log"]
    assert "age" not in text
