"""Requests made of the OpenAPI document, good ones and broken ones, by everybody; and what may not come back.

A secret text and a secret number are planted in the data: neither may stand in an answer or in the log.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pyarrow
import pyarrow.parquet
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from starlette.types import ASGIApp

from leakcap.service.api.app import create_curator, openapi_of
from leakcap.service.api.curator import Curator
from service.straight import Said, request
from service.visiting import PEOPLE, staffed

__all__ = ["SECRETS", "Fuzzed", "fuzzed", "planted"]

SECRETS = ("zq7-sentinel-zq7", "987654321")
_KEY = {"idempotency-key": "k"}
_QUESTION: dict[str, Any] = {"queries": [{"name": "n", "statistic": "count", "epsilon": 0.01}]}
_NUMBERS = (0.01, 1, 0, -1, 1e-300, 1e300, 10**400, "1", None, [], {})
_NAMES = (
    "age",
    "ward",
    "note",
    "pay",
    "id",
    "",
    "no such",
    'a"; DROP TABLE ward --',
    "\u0000",
    "\n\x1b[31m",
    7,
    None,
)
_FIELDS: Mapping[str, tuple[Any, ...]] = {
    "name": _NAMES,
    "statistic": ("count", "sum", "mean", "median", "quantile", "histogram", "top", "variance", "x", 1),
    "column": _NAMES,
    "by": ([], ["ward"], ["note"], ["ward", "ward"], "ward", [7], [["ward"]]),
    "where": (
        "age > 1", "age > 1e999", "note = 'x'", f"note = '{SECRETS[0]}'", "1/0 > 0", "age > (SELECT 1)",
        "age > 1 OR age < 1 -- x", "not not age > 1", "ward IN ('a', 'b')", "(" * 500, "\u0000", 3,
    ),
    "epsilon": _NUMBERS,
    "rho": _NUMBERS,
    "error": _NUMBERS,
    "delta": _NUMBERS,
    "level": _NUMBERS,
    "cut": ({"age": [1.0, 2.0]}, {"age": [2.0, 1.0]}, {"note": [1]}, {"age": ["x"]}, []),
    "noise": ("laplace", "gaussian", "none", ""),
}  # fmt: skip
_SQL = (
    "SELECT COUNT(*) FROM ward",
    "SELECT ward, AVG(age) FROM ward GROUP BY ward",
    "SELECT note FROM ward",
    "SELECT MAX(pay) FROM ward",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    "SELECT COUNT(*) FROM 'http://127.0.0.1:9/x.parquet'",
    "SELECT SUM(age) FROM ward; DROP TABLE ward",
    "SELECT COUNT(*) FROM ward UNION SELECT note FROM ward",
    "SELECT COUNT(*) FROM ward WHERE age > (SELECT MAX(pay) FROM ward)",
    "SELECT",
)


@dataclass
class Fuzzed:
    """How many requests were answered how, and what was wrong."""

    statuses: Counter[int] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def planted(folder: Path) -> Curator:
    """A curator whose data hold the secrets, in columns that the policy has and that it does not have."""
    more = "[limits]\nrequests_per_minute = 1000000\n"
    curator = staffed(folder, more=more, epsilon=1000.0)
    table = pyarrow.parquet.read_table(folder / "ward.parquet")
    rows = table.num_rows
    wards = ["abc"[i % 3] for i in range(rows - 1)] + [SECRETS[0]]
    table = table.set_column(table.schema.get_field_index("ward"), "ward", pyarrow.array(wards))
    table = table.append_column("note", pyarrow.array([SECRETS[0]] * rows))
    table = table.append_column("pay", pyarrow.array([float(SECRETS[1])] * rows))
    pyarrow.parquet.write_table(table, folder / "ward.parquet")
    return curator


def fuzzed(curator: Curator, *, cases: int, seed: int = 0) -> Fuzzed:
    """So many cases of each operation and kind, each by the next of the curator's people in turn."""
    found, app = Fuzzed(), create_curator(curator)
    document = json.loads(json.dumps(openapi_of(curator)))
    tokens = {"": "", **{name: _token(curator, name) for name in PEOPLE}}
    names, turns = list(tokens), count()

    chance = random.Random(seed)
    job = curator.store.jobs.create("local:ada", "ward", "release", _QUESTION, key="job", needed=9)[0].id

    def each(case: Case) -> None:
        name = names[next(turns) % len(names)]
        _aimed(case, chance, {"dataset": "ward", "number": job})
        said = _sent(app, case, tokens[name])
        if said is None:
            return
        found.statuses[said.status] += 1
        where = f"{name or 'nobody'}: {case.method} {case.path}"
        found.faults += [f"{where}: {one}" for one in _faults(said, case, document)]
        if said.status == 401 and name:
            tokens[name] = _token(curator, name)

    with _log_lines() as lines:
        for operation in schemathesis.openapi.from_dict(document).get_all_operations():
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                strategy = operation.ok().as_strategy(generation_mode=mode)
                _drawn(strategy, each, cases=cases, seed=seed)
    told = "\n".join(lines)
    found.faults += [f"the log holds {secret}" for secret in SECRETS if secret in told]
    return found


def _drawn(strategy: Any, each: Callable[[Case], None], *, cases: int, seed: int) -> None:
    """Put so many cases to a function; an operation that takes nothing has none that are broken."""
    quick = settings(
        max_examples=cases,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with suppress(Unsatisfiable):
        seeded(seed)(quick(given(strategy)(each)))()


def _aimed(case: Case, chance: random.Random, places: Mapping[str, str]) -> None:
    """Three times of four at what is there, and half of the questions near to what can be asked."""
    for name in set(case.path_parameters or {}) & set(places):
        if chance.random() < 0.75:
            case.path_parameters[name] = places[name]
    if case.path.endswith(("/releases", "/previews")) and chance.random() < 0.5:
        fields = {name: chance.choice(values) for name, values in _FIELDS.items() if chance.random() < 0.4}
        case.body = {"queries": [{**_QUESTION["queries"][0], **fields}]}
        if chance.random() < 0.3:
            case.body = {"sql": chance.choice(_SQL), "epsilon": chance.choice(_NUMBERS)}


def _token(curator: Curator, name: str) -> str:
    issued = curator.store.tokens.issue(f"local:{name}", kind="session", lifetime=timedelta(hours=12))
    return f"Bearer {issued.secret}"


def _sent(app: ASGIApp, case: Case, token: str) -> Said | None:
    """The answer; None for a case that no client could send."""
    headers = {**_KEY, **{name: str(value) for name, value in dict(case.headers or {}).items()}}
    if token:
        headers["authorization"] = token
    path = case.formatted_path
    try:
        query = urlencode(dict(case.query or {}), doseq=True)
        body: Any = None if isinstance(case.body, type(schemathesis.core.NOT_SET)) else case.body
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if content is None and case.method.upper() == "POST":
            content = b""
        headers = {name: value for name, value in headers.items() if _sendable(name, value)}
        return asyncio.run(request(app, case.method.upper(), f"{path}?{query}", headers, content))
    except (TypeError, UnicodeEncodeError):
        return None


def _sendable(name: str, value: str) -> bool:
    return name.isascii() and value.isascii() and not any(one in value for one in "\r\n\0")


def _faults(said: Said, case: Case, document: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with an answer: a secret, a failure, or something that the document does not say."""
    text = said.content.decode("utf-8", "replace") + json.dumps(dict(said.headers))
    yield from (f"the secret {one} is in the answer" for one in SECRETS if one in text)
    told = document["paths"][case.path][case.method.lower()]["responses"].get(str(said.status))
    if said.status >= 500 or told is None:
        yield f"{said.status}: {text[:300]}"
        return
    media = said.headers.get("content-type", "").partition(";")[0]
    contents = told.get("content", {})
    if said.content and media not in contents:
        yield f"{said.status} as {media!r}, documented as {list(contents)}"
    elif said.content and media.endswith("json"):
        schema = {**contents[media]["schema"], "components": document["components"]}
        for error in jsonschema.Draft202012Validator(schema).iter_errors(json.loads(said.content)):
            yield f"{said.status}: {error.message[:200]} at {error.json_path}"


@contextmanager
def _log_lines() -> Iterator[list[str]]:
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, logger = Lines(), logging.getLogger()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
