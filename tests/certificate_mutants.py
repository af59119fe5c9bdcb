"""Certificates with one thing changed, and what is true of them by a route apart from the checker's.

mpmath in 40 digits: closed forms by their definitions, capacities of two secrets by a search over the one
probability that a prior has; a linear program for refinement.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import mp, mpf
from scipy.optimize import linprog

import leakcap_verify as verify

HEX = "0123456789abcdef"


def said(found: Any) -> verify.Verdict | str:
    """What the checker says of it, or why it is no certificate."""
    try:
        (one,) = verify.read(json.dumps(found).encode())
        return verify.check(one)
    except verify.Malformed as error:
        return str(error)


def verdict(found: Any) -> str:
    """The verdict alone, `refused` where it is no certificate."""
    told = said(found)
    return "refused" if isinstance(told, str) else told.verdict


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where each value stands."""
    if isinstance(node, dict | list):
        for name, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield (*path, name)
            yield from places(value, (*path, name))


def at(node: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        node = node[name]
    return node


def changed(found: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    other = copy.deepcopy(found)
    at(other, path[:-1])[path[-1]] = value
    return other


def without(found: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    other = copy.deepcopy(found)
    del at(other, path[:-1])[path[-1]]
    return other


def mutants(found: dict[str, Any], kinds: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Each field gone, null, twice as long, of another kind; each digit and each sign another one."""
    for path in places(found):
        value = at(found, path)
        yield without(found, path)
        for other in (None, [], {}, "", "0x0.0p+0", "inf", "-1/2", "nan", 1, True, [value]):
            yield changed(found, path, other)
        if isinstance(value, str):
            for place, sign in enumerate(value):
                for other in alternatives(sign):
                    yield changed(found, path, value[:place] + other + value[place + 1 :])
        elif isinstance(value, list) and value:
            yield changed(found, path, value[::-1])
            yield changed(found, path, [*value, value[-1]])
    for kind in kinds:
        yield changed(found, ("kind",), kind)


def alternatives(sign: str) -> tuple[str, ...]:
    """Digits next to this one, and far from it."""
    if sign in HEX:
        place = HEX.index(sign)
        return tuple(dict.fromkeys(HEX[(place + step) % 16] for step in (1, 15, 8)))
    return {"-": ("+",), "+": ("-",), "/": ("1",), ".": ("1",)}.get(sign, ("?",))


def number(text: str) -> Fraction:
    return Fraction(float.fromhex(text)) if "x" in text else Fraction(text)


def exact(value: Fraction) -> mpf:
    return mpf(value.numerator) / mpf(value.denominator)


def rows_of(listed: list[list[str]]) -> list[list[mpf]]:
    rows = [[number(cell) for cell in row] for row in listed]
    return [[exact(cell / sum(row, Fraction(0))) for cell in row] for row in rows]


def divergence(p: list[mpf], q: list[mpf], alpha: mpf) -> mpf:
    if alpha >= 1 and any(a and not b for a, b in zip(p, q, strict=True)):
        return mp.inf
    if alpha == 1:
        return mp.fsum(a * mp.log(a / b) for a, b in zip(p, q, strict=True) if a)
    total = mp.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True) if a and b)
    return mp.log(total) / (alpha - 1) if total else mp.inf


def information(prior: list[mpf], rows: list[list[mpf]], alpha: mpf) -> mpf:
    columns = [
        [(p, c) for p, c in zip(prior, column, strict=True) if p and c] for column in zip(*rows, strict=True)
    ]
    if mp.isinf(alpha):
        return mp.log(mp.fsum(max((c for _, c in column), default=0) for column in columns))
    if alpha == 1:
        sums = [mp.fsum(p * c for p, c in column) for column in columns]
        return mp.fsum(
            p * c * mp.log(c / q) for column, q in zip(columns, sums, strict=True) for p, c in column
        )
    each = (mp.fsum(p * c**alpha for p, c in column) for column in columns)
    return alpha / (alpha - 1) * mp.log(mp.fsum(total ** (1 / alpha) for total in each))


def capacity(rows: list[list[mpf]], alpha: mpf) -> mpf:
    """Of two secrets: the largest information over one probability, which has no other hills."""
    if mp.isinf(alpha):
        return information([mpf(1)] * len(rows), rows, alpha)
    low, high = mpf(0), mpf(1)
    for _ in range(110):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if information([left, 1 - left], rows, alpha) < information([right, 1 - right], rows, alpha):
            low = left
        else:
            high = right
    return information([low, 1 - low], rows, alpha)


def apart(a: list[list[mpf]], b: list[list[mpf]]) -> mpf:
    """min over R of max |AR − B|, by a linear program."""
    first, second = np.array(a, dtype=float), np.array(b, dtype=float)
    middle, last = first.shape[1], second.shape[1]
    fit = np.kron(first, np.eye(last))
    slack = -np.ones((fit.shape[0], 1))
    above = np.vstack([np.hstack([fit, slack]), np.hstack([-fit, slack])])
    limits = np.concatenate([second.ravel(), -second.ravel()])
    sums = np.hstack([np.kron(np.eye(middle), np.ones((1, last))), np.zeros((middle, 1))])
    cost = np.zeros(middle * last + 1)
    cost[-1] = 1
    done = linprog(cost, A_ub=above, b_ub=limits, A_eq=sums, b_eq=np.ones(middle))
    return mpf(done.fun)


def truth(found: dict[str, Any]) -> tuple[mpf, mpf]:
    """What the problem's number is, and how well it is known."""
    return problem_truth(found["kind"], json.dumps(found["problem"]))


@lru_cache(maxsize=4096)
def problem_truth(kind: str, problem: str) -> tuple[mpf, mpf]:
    """The same, worked out once for each problem."""
    mp.dps, given = 40, json.loads(problem)
    if kind == "refines":
        return apart(rows_of(given["a"]), rows_of(given["b"])), mpf("1e-8")
    rows, known = rows_of(given["rows"]), mpf("1e-28")
    alpha = mp.inf if given.get("order") == "inf" else exact(number(given.get("order", "1")))
    if kind in ("shannon", "sibson"):
        return capacity(rows, alpha), known
    if kind == "information":
        prior = [number(p) for p in given["prior"]]
        return information([exact(p / sum(prior)) for p in prior], rows, alpha), known
    pairs = given["pairs"]
    pairs = (
        list(itertools.permutations(range(len(rows)), 2))
        if pairs == "all"
        else pairs + [p[::-1] for p in pairs]
    )
    both = [(rows[x], rows[y]) for x, y in pairs]
    if kind == "ratio":
        ratios = [mp.inf if not b else a / b for p, q in both for a, b in zip(p, q, strict=True) if a]
        return mp.log(max([*ratios, mpf(1)])), known
    if kind == "hockey-finite":
        gamma = exact(number(given["gamma"]))
        sums = (mp.fsum(max(a - gamma * b, 0) for a, b in zip(p, q, strict=True)) for p, q in both)
        return max([*sums, mpf(0)]), known
    return max([*(divergence(p, q, alpha) for p, q in both), mpf(0)]), known


def too_much(found: dict[str, Any]) -> bool:
    """Whether a certificate claims what is not true."""
    value, known = truth(found)
    claim = found["claim"]
    low, high = (mp.inf if claim[e] == "inf" else exact(number(claim[e])) for e in ("lower", "upper"))
    return bool(low > value + known or high < value - known)
