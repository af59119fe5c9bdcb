"""How many of our files one call goes through: `PrivateTable.count`, and `capacity` of a matrix.

python benchmarks/crossed.py
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pyarrow

import leakcap as lc
from leakcap.release import PrivateTable

SOURCE = Path(lc.__file__).parent
POLICY = {
    "dataset": "ward",
    "neighbours": "add-remove-one",
    "caps": {"epsilon": 5.0},
    "columns": {"age": {"bounds": [0.0, 120.0]}},
}


def crossed(call: Callable[[], object]) -> set[str]:
    """The files of the functions that run; a second call, so that nothing is loaded any more."""
    call()
    found: set[str] = set()

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(SOURCE):
                found.add(path.relative_to(SOURCE).as_posix())

    sys.setprofile(see)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def cases() -> dict[str, tuple[int, Callable[[], object]]]:
    """Each call by its name, with the number of files that it should stay within."""
    table = PrivateTable(pyarrow.table({"age": [31.0, 45.0, 72.0]}), policy=POLICY, ledger="sqlite://")
    channel = lc.Channel([[0.75, 0.25], [0.25, 0.75]])
    return {
        "PrivateTable.count": (30, lambda: table.count(where="age >= 65", epsilon=0.5, fresh=True)),
        "capacity of a matrix": (8, lambda: lc.capacity(channel, lc.Renyi(1.0), lc.AllPriors())),
    }


def main() -> None:
    for name, (target, call) in cases().items():
        found = crossed(call)
        rooms = Counter(file.partition("/")[0] for file in found)
        words = ", ".join(f"{room} {count}" for room, count in rooms.most_common())
        print(f"{name}: {len(found)} files (target {target}): {words}")


if __name__ == "__main__":
    main()
