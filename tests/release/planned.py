"""Every statistic under every shape of policy: planned, and where it is not refused, run on a small table.

python -m release.planned CASES SEED MEGABYTES
"""

from __future__ import annotations

import functools
import json
import random
import re
import resource
import sys
import traceback
from pathlib import Path
from typing import Any

import pyarrow

from leakcap.errors import InvalidQuery, LeakcapError
from leakcap.release import PrivateTable, Query, load_policy
from leakcap.release.planning.plan import plan_query
from release.asked import contents
from release.world import COLUMNS, table
from seeded import SeededSource

MANY = 20_000
MEGABYTES = 1024
"""So much memory a release may take beside what the libraries have."""
BOUNDS: dict[str, list[float]] = {
    "usual": [-3.0, 10.0],
    "huge": [-1e90, 1e90],
    "wide": [0.0, 1e15],
    "tiny": [0.0, 1e-90],
    "narrow": [1.0, 1.0000000000000002],
    "far": [1e17, 1e17 + 32.0],
}
SHAPES: dict[str, tuple[Any, ...]] = {
    "content": tuple(contents()),
    "relation": ("add-remove-one", "replace-one"),
    "unit": (
        "row",
        {"id": "id", "max_rows": 1},
        {"id": "id", "max_rows": 3, "max_groups": 2},
        {"id": "id", "max_rows": 10**6},
        {"id": "id", "max_rows": 10**6, "max_groups": 10**6},
        {"id": "id", "max_rows": 3, "caps": "y"},
        {"caps": "y"},
    ),
    "units": (None, 1, 4, 2_000_000, 10**12),
    "bounds": tuple(BOUNDS),
    "fill": (False, True),
    "by": ((), ("d",), ("k", "d"), ("many",), ("many", "d"), ("w",), ("n",), ("w", "d")),
    "where": (None, "x > 1.5", "k = 1 AND d <> 'a'"),
    "epsilon": (5e-324, 1e-300, 1e-13, 1e-6, 0.1, 1.0, 700.0, 1e6, 1e7, 1e300),
    "delta": (None, 5e-324, 1e-100, 1e-9, 0.4999),
    "caps": ({}, {"alpha": 2.0}, {"alpha": 1e6, "nats_level": 1e6}, {"nats_table": 1e6}, {"coin_flip": 0.9}),
    "rows": (0, 1, 4, 60),
}
# What most cases keep, so that not everything is refused for its ε.
USUAL: dict[str, Any] = {
    "epsilon": 1.0,
    "bounds": "usual",
    "caps": {},
    "unit": "row",
    "where": None,
    "by": (),
}


def cases(count: int, seed: int) -> list[dict[str, Any]]:
    """Each statistic as usual; then one choice that is not, and many at random: the first `count` of them."""
    chance = random.Random(seed)
    usual = {name: options[0] for name, options in SHAPES.items()} | USUAL | {"rows": 60}
    plain = [usual | {"content": content} for content in SHAPES["content"]]
    found = []
    for case in filter(_fits, plain):
        found += [case | {name: option} for name in SHAPES.keys() - {"content"} for option in SHAPES[name]]
        for by in SHAPES["by"]:
            found += [case | {"by": by, "delta": 1e-6}, case | {"by": by, "units": 2_000_000}]
        for _ in range(100):
            mixed = {name: chance.choice(options) for name, options in SHAPES.items()}
            mixed |= {name: value for name, value in USUAL.items() if chance.random() < 0.7}
            if chance.random() < 0.9:
                mixed["delta"] = 1e-6 if {"w", "n"} & {*mixed["by"]} else None
            found.append(mixed | {"content": case["content"]})
    found.sort(key=repr)
    chance.shuffle(found)
    return [*plain, *found][:count]


def _fits(case: dict[str, Any]) -> bool:
    """Whether the usual policy lets this be asked."""
    try:
        plan_query(Query(name="q", epsilon=1.0, **case["content"]), policy_of(case))
    except InvalidQuery:
        return False
    return True


def policy_of(case: dict[str, Any]) -> Any:
    """The policy of a case; its units are those of the table under replace-one."""
    bounds = BOUNDS[case["bounds"]]
    number: dict[str, Any] = {"bounds": bounds} | ({"fill": bounds[0]} if case["fill"] else {})
    columns = {
        **COLUMNS,
        "x": number,
        "w": {"keys": "private", "type": "text"},
        "n": {"keys": "private", "type": "integer"},
    }
    if "many" in case["by"]:  # to read and to hash so many keys takes longer than all else
        columns["many"] = {"keys": list(range(MANY))}
    caps: dict[str, Any] = {"epsilon": 1e6, "delta": 0.9, **case["caps"]}
    if "coin_flip" in caps:
        caps = {"coin_flip": caps["coin_flip"]}
    content: dict[str, Any] = {
        "dataset": "t", "neighbours": case["relation"], "unit": case["unit"], "columns": columns, "caps": caps
    }  # fmt: skip
    if "caps" in case["unit"]:
        caps["each_person"] = [3.0, 5.0, 1e6]
    if case["relation"] == "replace-one":
        rows = case["rows"] if case["unit"] == "row" else -(-case["rows"] // 2)
        content["rows"] = max(1, rows if case["units"] in (None, 1, 4) else case["units"])
    elif case["units"] is not None:
        content["max_rows"] = case["units"]
    return _loaded(json.dumps(content))


@functools.cache
def _loaded(content: str) -> Any:
    return load_policy(json.loads(content))


def data(rows: int) -> pyarrow.Table:
    made = [
        {"id": i // 2, "x": i / 7, "y": 2.0 + i % 6, "d": "abc"[i % 3], "k": 1 + i % 2, "f": i % 2 == 0}
        for i in range(rows)
    ]
    more = {
        "w": pyarrow.array([["one", "two", "three"][i % 3] for i in range(rows)], pyarrow.string()),
        "n": pyarrow.array([i % 2 for i in range(rows)], pyarrow.int64()),
        "many": pyarrow.array([i % MANY for i in range(rows)], pyarrow.int64()),
    }
    found = table(made)
    for name, column in more.items():
        found = found.append_column(name, column)
    return found


_INTERNAL = re.compile(
    r"\b(Spend|Charge|Measurement|Contribution|Plan|Bound|Axis|Cells|numpy|array|NoneType)\b"
)


def outcome(case: dict[str, Any], tables: dict[int, pyarrow.Table]) -> str:
    """``answered`` or ``refused``; anything else is what is wrong."""
    try:
        policy = policy_of(case)
    except LeakcapError:
        return "no policy"
    private = PrivateTable(tables[case["rows"]], policy=policy, ledger="sqlite://", source=SeededSource(1))
    head = private.ledger.head()
    try:
        query = Query(
            name="q", epsilon=case["epsilon"], where=case["where"], by=case["by"], delta=case["delta"],
            **case["content"],
        )  # fmt: skip
        private.preview(query)
        (release,) = private.release([query])
        str(release), release.statement()
        again = private.release([query])[0]
    except LeakcapError as error:
        text = str(error)
        if private.ledger.head() != head:
            return f"committed, then refused: {text}"
        good = "\n" not in text and "`" in text and text.endswith((".", "?")) and not _INTERNAL.search(text)
        return "refused" if good else f"refused badly: {text}"
    except Exception as error:
        spent = "committed, then " if private.ledger.head() != head else ""
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{spent}{type(error).__name__}: {error} ({last.filename.rpartition('/')[2]}:{last.lineno})"
    finally:
        private.ledger.close()
    if not again.repeated or len(again.rows) != len(release.rows):
        return "not repeated"
    return "answered"


def main(count: int, seed: int, megabytes: int) -> dict[str, Any]:
    """How many cases had which outcome, and the first of each that is wrong."""
    tables = {rows: data(rows) for rows in SHAPES["rows"]}
    outcome(cases(1, 0)[0], tables)  # loads everything before memory is limited
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    used = int(re.search(r"VmSize:\s+(\d+)", status)[1])
    resource.setrlimit(resource.RLIMIT_AS, ((used + megabytes * 1024) * 1024,) * 2)
    counts: dict[str, int] = {}
    first: dict[str, Any] = {}
    walked = cases(count, seed)
    for case in walked:
        found = outcome(case, tables)
        kind = re.sub(r"[\d.e+-]{3,}", "#", found)
        counts[kind] = counts.get(kind, 0) + 1
        if kind not in first:
            first[kind] = {**case, "said": found}
            print(json.dumps(first[kind]), file=sys.stderr, flush=True)
    statistics = {case["content"]["statistic"] for case in walked}
    return {"counts": counts, "first": first, "statistics": sorted(statistics)}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))))
