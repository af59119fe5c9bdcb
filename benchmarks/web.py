"""How long the explorer takes to answer a slider, on the server: the whole request, from query to page."""

from __future__ import annotations

import gc
import itertools
import os
import statistics
import time

from starlette.testclient import TestClient

from leakcap.web import Settings, create_app

TARGET = 100.0
GRID = {
    "mechanism": ("laplace", "continuous", "gaussian", "response", "any"),
    "eps": ("0.01", "0.1", "1", "10"),
    "queries": ("1", "7", "100", "1000"),
    "values": ("2", "128", "10000"),
    "prior": ("10",),
}


def main() -> None:
    web = TestClient(create_app(Settings()), base_url="http://127.0.0.1:8421")
    part = {"hx-request": "true"}
    web.get("/epsilon", headers=part)
    gc.freeze()  # as the server does when it starts
    taken: dict[str, float] = {}
    first: dict[str, float] = {}
    settings = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    settings = [
        query | ({"delta": delta} if delta else {})
        for query in settings
        for delta in (("1e-12", "1e-6", "1e-2") if query["mechanism"] == "gaussian" else ("",))
    ]
    for query in settings:
        times = []
        for family in ("3", "4", "5"):
            before = time.process_time()
            answer = web.get("/epsilon", params=query | {"family": family}, headers=part)
            times.append((time.process_time() - before) * 1e3)
            assert answer.status_code == 200
        name = " ".join(query.values())
        taken[name], first[name] = min(times), times[0]
    gc.unfreeze()
    slowest = max(taken, key=lambda name: taken[name])
    cold = max(first, key=lambda name: first[name])
    print(f"slider redraw, server side, CPU ms (best of 3, {len(taken)} settings, {os.cpu_count()} cores)")
    for mechanism in GRID["mechanism"]:
        own = [time for name, time in taken.items() if name.startswith(mechanism)]
        print(f"  {mechanism}: median {statistics.median(own):.0f}, slowest {max(own):.0f}")
    print(f"  all: median {statistics.median(taken.values()):.0f}, slowest {taken[slowest]:.0f} ({slowest})")
    print(f"  slowest where nothing of the setting is remembered {first[cold]:.0f} ({cold})")
    print(f"  target {TARGET:.0f}: {'kept' if max(taken[slowest], first[cold]) <= TARGET else 'MISSED'}")


if __name__ == "__main__":
    main()
