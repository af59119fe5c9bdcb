"""What is true of compositions and of additive noise, without the checker's balls, lines and quadratures."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import minimize

from certificate_mutants import capacity, exact, information, number

KNOWN = mpf("1e-11")


def truth(found: dict[str, Any]) -> tuple[mpf, mpf]:
    """What the problem's number is, and how well it is known."""
    return _truth(found["kind"], json.dumps(found["problem"]))


@lru_cache(maxsize=4096)
def _truth(kind: str, text: str) -> tuple[mpf, mpf]:
    mp.dps, given = 30, json.loads(text)
    if kind == "additive-geometric":
        return _geometric(given["steps"], exact(number(given["decay"]))), KNOWN
    if kind == "additive":
        return _ends(given["noise"], exact(number(given["range"]))), KNOWN
    parts = parts_of(given["losses"])
    if kind == "renyi":
        alpha = exact(number(given["order"]))
        if any(_never(part) for part in parts):
            return mp.inf, KNOWN
        with np.errstate(over="ignore"):
            value = float(total(parts, np.array([complex(alpha - 1)]))[0].real)
        return mpf(value) / (alpha - 1), KNOWN * (1 + abs(value))
    if kind == "delta-composed":
        return delta(parts, exact(number(given["at"]))), KNOWN
    level = exact(number(given["delta"]))
    low, high = mpf(0), mpf(1)
    if delta(parts, low) <= level:
        return low, KNOWN
    while delta(parts, high) > level:
        high *= 2
        if high > 10**4:
            return mp.inf, KNOWN
    for _ in range(36):
        middle = (low + high) / 2
        low, high = (middle, high) if delta(parts, middle) > level else (low, middle)
    return high, mpf("1e-9")


def parts_of(event: dict[str, Any], count: int = 1, *, turned: bool = False) -> list[dict[str, Any]]:
    """The losses of an event as plain numbers: two rows, ε of Laplace noise, or mu, rate and side."""
    name = event["name"]
    if name == "ComposedDpEvent":
        return [part for one in event["events"] for part in parts_of(one, count, turned=turned)]
    if name == "SelfComposedDpEvent":
        return parts_of(event["event"], count * int(event["count"]), turned=turned)
    if name == "ReversedDpEvent":
        return parts_of(event["event"], count, turned=not turned)
    if name == "RowsDpEvent":
        p, q = (event["q"], event["p"]) if turned else (event["p"], event["q"])
        return [{"p": p, "q": q, "count": count}]
    if name == "LaplaceDpEvent":
        return [{"epsilon": str(1 / number(event["noise_multiplier"])), "count": count}]
    rate = "1"
    if name == "PoissonSampledDpEvent":
        rate, event = event["sampling_probability"], event["event"]
    assert event["name"] == "GaussianDpEvent"
    mu = str(1 / number(event["noise_multiplier"]))
    return [{"mu": mu, "rate": rate, "side": "added" if turned else "removed", "count": count}]


def claims_too_much(found: dict[str, Any]) -> bool:
    """Whether a certificate claims what is not true."""
    value, known = truth(found)
    low, high = (
        mp.inf if found["claim"][e] == "inf" else exact(number(found["claim"][e])) for e in ("lower", "upper")
    )
    return bool(low > value + known or high < value - known)


def delta(parts: list[dict[str, Any]], x: mpf) -> mpf:
    """δ by the midpoint rule, in doubles, along the saddle's line, in steps of a twelfth of its scale."""
    place = float(x)

    def log_size(c: float) -> float:
        return float(total(parts, np.array([c + 0j]))[0].real) - c * place - np.log(c * (c + 1.0))

    c = min((2.0 ** (k / 4) for k in range(-24, 25)), key=log_size)
    top, gap = log_size(c), c / 64
    curve = (log_size(c - gap) - 2 * top + log_size(c + gap)) / gap**2
    unit = 1.0 / np.sqrt(curve)
    step = min(unit, c) / 12
    z = c + 1j * step * (np.arange(int(14 * unit / step)) + 0.5)
    terms = np.exp(total(parts, z) - z * place - top) / (z * (z + 1))
    never = 1 - mp.fprod((1 - _never(p)) ** p["count"] for p in parts)
    return mpf(float(np.exp(top) * terms.real.sum() * step / np.pi)) + never


def total(parts: list[dict[str, Any]], z: Any) -> Any:
    """ln E[e^{zL}; L finite] of all of them, in doubles."""
    return sum(part["count"] * np.log(moment(part, z)) for part in parts)


def _never(part: dict[str, Any]) -> mpf:
    if "p" not in part:
        return mpf(0)
    p, q = ([exact(number(cell)) for cell in part[row]] for row in "pq")
    return mp.fsum(a for a, b in zip(p, q, strict=True) if not b) / mp.fsum(p)


def moment(part: dict[str, Any], z: Any) -> Any:
    """E[e^{zL}; L finite], in doubles: sums over losses, or over a fine grid of what the noise can be."""
    if "p" in part:
        p, q = (np.array([float(number(cell)) for cell in part[row]]) for row in "pq")
        p, q = p / p.sum(), q / q.sum()
        both = (p > 0) & (q > 0)
        return (p[both] * (p[both] / q[both]) ** z[:, None]).sum(axis=1)
    if "epsilon" in part:
        e = float(number(part["epsilon"]))
        nodes, weights = np.polynomial.legendre.leggauss(200)
        y, w = e * (nodes + 1) / 2, e * weights / 2
        density = (w * np.exp(-y + z[:, None] * (e - 2 * y)) / 2).sum(axis=1)
        return np.exp(z * e) / 2 + np.exp(-e - z * e) / 2 + density
    mu, rate = float(number(part["mu"])), float(number(part["rate"]))
    if rate == 1.0:
        return np.exp(mu * mu / 2 * z * (z + 1))
    w = -z if part["side"] == "added" else z + 1
    u = np.arange(-12.0, 12.0 + max(float(w.real.max()), 0.0) * mu, 1 / 16) + 1 / 32
    logs = np.logaddexp(np.log1p(-rate), np.log(rate) + mu * u - mu * mu / 2)
    return np.concatenate(
        [
            (np.exp(w[k : k + 256, None] * logs - u * u / 2) / 16 / np.sqrt(2 * np.pi)).sum(axis=1)
            for k in range(0, len(w), 256)
        ]
    )


def gaussian_delta(mu: mpf, x: mpf) -> mpf:
    """Balle and Wang's closed form."""
    return mp.ncdf(mu / 2 - x / mu) - mp.exp(x) * mp.ncdf(-mu / 2 - x / mu)


def one_step_delta(mu: mpf, rate: mpf, x: mpf) -> mpf:
    """δ of two sampled steps: the mean over the first one's loss of the second one's δ."""

    def one(level: mpf) -> mpf:
        gamma = 1 + (mp.exp(level) - 1) / rate
        return rate * gaussian_delta(mu, mp.log(gamma)) if gamma > 0 else 1 - mp.exp(level)

    def inside(u: mpf) -> mpf:
        ratio = 1 - rate + rate * mp.exp(mu * u - mu * mu / 2)
        return mp.npdf(u) * ratio * one(x - mp.log(ratio))

    return mp.quad(inside, range(-12, 14))


def _geometric(steps: int, decay: mpf) -> mpf:
    """By Blahut and Arimoto's iteration on outputs that go far beyond both ends."""
    s, beyond = mp.exp(-decay), int(40 / decay) + 1
    rows = [
        [(1 - s) / (1 + s) * s ** abs(y - x) for y in range(-beyond, steps + beyond + 1)]
        for x in range(steps + 1)
    ]
    rows = [[cell / mp.fsum(row) for cell in row] for row in rows]
    if steps == 1:
        return capacity(rows, mpf(1))
    return information(_best(rows), rows, mpf(1))


def _best(rows: list[list[mpf]]) -> list[mpf]:
    """A prior from SLSQP in doubles: information is flat there, so that its error is of second order."""
    cells = np.array(rows, dtype=float)

    def told(prior: Any) -> float:
        q = prior @ cells
        return -float(np.sum(prior[:, None] * cells * np.log(cells / q)))

    start = np.full(len(rows), 1.0 / len(rows))
    limits = [(0.0, 1.0)] * len(rows)
    sums = {"type": "eq", "fun": lambda prior: prior.sum() - 1.0}
    found = minimize(
        told, start, bounds=limits, constraints=[sums], options={"ftol": 1e-15, "maxiter": 500}
    ).x
    found = np.maximum(found, 0.0) / np.maximum(found, 0.0).sum()
    return [mpf(float(p)) for p in found]


def _ends(noise: str, scales: mpf) -> mpf:
    """What both ends alike tell, from the densities."""
    low, high = -scales / 2, scales / 2

    def density(z: mpf) -> mpf:
        return mp.exp(-abs(z)) / 2 if noise == "laplace" else mp.npdf(z)

    def term(y: mpf) -> mpf:
        p, q = density(y - low), (density(y - low) + density(y - high)) / 2
        return p * mp.log(p / q)

    reach = 60 if noise == "laplace" else 14
    return mp.quad(term, [-reach, -8, low, 0, high, 8, reach])
