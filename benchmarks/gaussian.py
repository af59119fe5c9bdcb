"""Gaussian noise beside Laplace noise: people in m groups each, counted by group.

    python benchmarks/gaussian.py

The 95 % error of `distinct` by a key of 100 groups, as previews say it: alone at one (ε, δ), and beside other
answers for as much of a cap on all of them (ε = 3, δ = 10⁻⁶). Target: 0.55 at most for sixteen groups.
"""

from __future__ import annotations

from typing import Any

from leakcap.release import Query, preview

GROUPS = (1, 4, 16, 64)
ALONE = ((0.05, 1e-5), (0.1, 1e-5), (0.5, 1e-6), (1.0, 1e-6))
BESIDE = (3.0, 1e-6)
TARGET = 0.55


def errors(groups: int, epsilon: float, delta: float, *, cap: float = 50.0) -> dict[str, float]:
    """The 95 % error by the law of the noise: `best` for as much of the cap as Laplace noise takes."""
    policy: dict[str, Any] = {
        "dataset": "d",
        "neighbours": "add-remove-one",
        "unit": {"id": "id", "max_rows": groups, "max_groups": groups},
        "columns": {"group": {"keys": [f"g{place}" for place in range(100)]}},
        "caps": {"epsilon": cap, "delta": delta},
    }
    asked: dict[str, Any] = {"statistic": "distinct", "by": ("group",), "epsilon": epsilon}
    noises = ("laplace", "gaussian", "best")
    found = preview([Query(name=noise, noise=noise, **asked) for noise in noises], policy=policy)
    return {one.name: one.error for one in found}


def main() -> None:
    for epsilon, delta in ALONE:
        for groups in GROUPS:
            found = errors(groups, epsilon, delta)
            told = f"±{found['laplace']:g} and ±{found['gaussian']:g}"
            ratio = found["gaussian"] / found["laplace"]
            print(f"alone, ε {epsilon:g}, δ {delta:g}, {groups} groups: {told}, {ratio:.3f} of Laplace's")
    cap, delta = BESIDE
    for epsilon in (0.05, 0.1, 0.3):
        for groups in GROUPS:
            found = errors(groups, epsilon, delta, cap=cap)
            told = f"±{found['laplace']:g} and ±{found['best']:g}"
            ratio = found["best"] / found["laplace"]
            print(f"for as much of the cap, ε {epsilon:g}, {groups} groups: {told}, {ratio:.3f} of Laplace's")
    found = errors(16, *ALONE[0])
    ratio = found["gaussian"] / found["laplace"]
    kept = "kept" if ratio <= TARGET else "MISSED"
    print(f"sixteen groups at ε {ALONE[0][0]:g}, δ {ALONE[0][1]:g}: {ratio:.3f}, target {TARGET}: {kept}")


if __name__ == "__main__":
    main()
