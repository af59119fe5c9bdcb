"""Every statistic × every kind of key × filters: leakcap beside the SQL that a person would write.

One line is three actions that take turns in one process: the query by hand, leakcap's statement, and all of a
release. Medians, in wall and in CPU time; a verdict is by CPU time, of all of a release, so that it does not
hang on what else the machine does. A long line whose verdict is clear is measured three times.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from json import dumps, loads
from pathlib import Path
from typing import Any

import duckdb
from measuring.beside_duckdb import SEED, plain
from measuring.by_hand import FILTERS, KEYS, TABLE, Case, cases, rules
from measuring.process import Action, turns

from leakcap.release import PrivateTable, Query, attach
from leakcap.release.planning.plan import plan_query
from leakcap.release.planning.statements import select_of

__all__ = ["Line", "kept_file", "lines_of", "read", "table_of", "walk", "written"]

RUNS, FEW = 5, 3
# A turn of all three that takes longer is long; a verdict is clear if each turn had it by this much.
_LONG, _CLEARLY = 0.3, 0.15


@dataclass(frozen=True)
class Line:
    """What was measured: seconds of wall and of CPU time, and the most that the ratio may be."""

    statistic: str
    key: str
    where: str
    rows: int
    runs: int
    target: float
    by_hand: tuple[float, float]
    statement: tuple[float, float]
    release: tuple[float, float]

    @property
    def title(self) -> str:
        """What a person reads."""
        by = "" if self.key == "none" else f" by {self.key}"
        return f"{self.statistic}{by}{f' where {self.where}' if self.where else ''}"

    def ratio(self, of: str, clock: int = 1) -> float:
        """To the query by hand: in wall time (0) or in CPU time (1)."""
        return float(getattr(self, of)[clock]) / self.by_hand[clock]

    @property
    def kept(self) -> bool:
        """Whether all of a release keeps the target, in CPU time."""
        return self.ratio("release") <= self.target

    def text(self) -> str:
        """The line as it is printed while the walk goes on."""
        shown = [self.ratio(of, clock) for of in ("statement", "release") for clock in (0, 1)]
        figures = "".join(f"{ratio:8.2f}" for ratio in shown)
        verdict = "kept" if self.kept else "missed"
        return f"{self.title:44}{self.by_hand[1] * 1e3:7.0f}{figures}{self.target:8.2f}  {verdict}"


HEAD = f"{'':44}{'by hand':>7}{'statement':>16}{'release':>16}{'target':>8}\n" + (
    f"{'':44}{'CPU ms':>7}" + f"{'wall':>8}{'CPU':>8}" * 2
)


def kept_file(folder: Path, rows: int) -> Path:
    """The Parquet file of so many rows, made where it is not there yet."""
    path = folder / f"people-{rows}.parquet"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        duckdb.execute(f"COPY ({TABLE.format(rows=rows)}) TO '{unfinished}' (FORMAT parquet)")
        unfinished.rename(path)
    return path


def lines_of(only: Sequence[str] = (), keys: Sequence[str] = ()) -> Iterator[tuple[str, Case, str, str]]:
    """Statistic, case, kind of key and filter: of all or `only` these statistics, by all or these `keys`.

    Filters go with an integer key; "filters" stands among the keys for all of them.
    """
    known = cases()
    for name in only or known:
        for kind in KEYS:
            if not keys or kind in keys:
                yield name, known[name], kind, ""
        for filter_ in filter(None, FILTERS):
            if not keys or "filters" in keys:
                yield name, known[name], "integer", filter_


def walk(
    path: Path, rows: int, only: Sequence[str] = (), keys: Sequence[str] = (), *, json: Path | None = None
) -> list[Line]:
    """Measure each line and print it; then how many were kept, and which were missed.

    What was measured so far is in `json` after every line, so that a walk may be stopped.
    """
    todo = list(lines_of(only, keys))
    start, found = time.perf_counter(), list[Line]()
    print(HEAD)
    for place, (name, case, kind, filter_) in enumerate(todo, 1):
        line = _measured(str(path), rows, name, case, kind, filter_)
        found.append(line)
        if json is not None:
            written(found, json)
        spent = time.perf_counter() - start
        print(f"{line.text():108} {place:>3}/{len(todo)} {spent:5.0f} s", flush=True)
    missed = [line for line in found if not line.kept]
    print(f"\nkept {len(found) - len(missed)} of {len(found)} in CPU time", end="")
    print(f", {sum(line.ratio('release', 0) <= line.target for line in found)} in wall time")
    for line in sorted(missed, key=lambda one: one.target / one.ratio("release")):
        print(f"  missed: {line.title}, {line.ratio('release'):.2f} for {line.target}")
    return found


def _measured(path: str, rows: int, name: str, case: Case, kind: str, filter_: str) -> Line:
    where, policy, by = FILTERS[filter_], rules(people=case.people), KEYS[kind]
    query = Query(name="q", statistic=name, epsilon=1.0, by=by, where=where, **case.asked)
    engine = attach(path)
    written = engine.write(select_of([plan_query(query, policy)], SEED))
    with tempfile.TemporaryDirectory() as folder:
        table = PrivateTable(path, policy=policy, ledger=f"{folder}/ledger.db")
        actions: dict[str, Action] = {
            "by hand": plain(path, case.sql(by, where)),
            "statement": lambda: engine.run(written),
            "release": lambda: table.release([query], fresh=True),
        }
        times = _turns(actions, case.target(by))
        table.ledger.close()
    medians = [
        tuple(statistics.median(one[clock] for one in turned) for clock in (0, 1))
        for turned in zip(*times, strict=True)
    ]
    hand, ours, all_of_it = ((wall, used) for wall, used in medians)
    return Line(name, kind, filter_, rows, len(times), case.target(by), hand, ours, all_of_it)


def _turns(actions: Mapping[str, Action], target: float) -> list[list[tuple[float, float]]]:
    """Wall and CPU seconds of each, turn by turn, after one turn that does not count."""
    turns(actions)
    found: list[list[tuple[float, float]]] = []
    while len(found) < RUNS:
        found.append(turns(actions))
        long = sum(used for _, used in found[-1]) > _LONG
        ratios = [last[1] / (target * first[1]) for first, _, last in found]
        clear = max(ratios) <= 1.0 - _CLEARLY or min(ratios) >= 1.0 + _CLEARLY
        if len(found) >= FEW and long and clear:
            break
    return found


def table_of(lines: Sequence[Line]) -> str:
    """Markdown: a statistic a row, a kind of key a column, "statement, release" in CPU time; missed are bold.

    Of the filters the worst is shown.
    """
    titles = [f"by {key}" if key != "none" else "no key" for key in KEYS]
    rows = [["statistic", *titles, "worst filter", "target"]]
    for name in dict.fromkeys(line.statistic for line in lines):
        own = [line for line in lines if line.statistic == name]
        plain_lines = {line.key: line for line in own if not line.where}
        filtered = [line for line in own if line.where]
        cells = [plain_lines.get(key) for key in KEYS]
        cells.append(max(filtered, key=lambda line: line.ratio("release"), default=None))
        targets = dict.fromkeys(f"{line.target:g}" for line in own)
        rows.append([name.replace("_", " "), *map(_cell, cells), " / ".join(targets)])
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(line: Line | None) -> str:
    if line is None:
        return "–"
    release = f"{line.ratio('release'):.2f}"
    return f"{line.ratio('statement'):.2f}, {release if line.kept else f'**{release}**'}"


def written(lines: Sequence[Line], path: Path) -> None:
    """As JSON."""
    rounded: list[dict[str, Any]] = []
    for line in lines:
        fields = asdict(line)
        for name in ("by_hand", "statement", "release"):
            fields[name] = [round(seconds, 4) for seconds in fields[name]]
        rounded.append(fields)
    path.write_text("[\n" + ",\n".join(dumps(one) for one in rounded) + "\n]\n")


def read(path: Path) -> list[Line]:
    """What was written."""
    found = []
    for one in loads(path.read_text()):
        times = {name: tuple(one.pop(name)) for name in ("by_hand", "statement", "release")}
        found.append(Line(**one, **times))
    return found
