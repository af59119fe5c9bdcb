"""The curator asked at random: `python benchmarks/curator_fuzzed.py [N [SEED]]`.

About N requests (50,000) that schemathesis draws from the OpenAPI document, good ones and broken ones, and
questions near to what can be asked, by people of every role and by nobody. Target: no 5xx, no answer that the
document does not have, and neither of two secrets that are planted in the data in an answer or in the log.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from service.fuzzing import Fuzzed, fuzzed, planted

_ROUND = 60


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    told, started = Fuzzed(), time.monotonic()
    while sum(told.statuses.values()) < wanted:
        with tempfile.TemporaryDirectory() as folder:
            curator = planted(Path(folder))
            found = fuzzed(curator, cases=_ROUND, seed=seed)
            curator.store.close()
        told.statuses += found.statuses
        told.faults += found.faults
        seed += 1
    print(f"{sum(told.statuses.values()):,} requests in {time.monotonic() - started:.0f} s")
    print("answers by status", dict(sorted(told.statuses.items())))
    for fault in dict.fromkeys(told.faults):
        print(fault)
    sys.exit(1 if told.faults else 0)


if __name__ == "__main__":
    main()
