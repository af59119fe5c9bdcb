"""Upper ends of what a black box leaks, from the law that the samples themselves have.

The best strategy against the samples gets no less on them than the best one against the system does, so that
what it gets is an upper end once the luck of the latter is allowed for. Proofs: docs/theory/black-boxes.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leakcap.audit.drawn import DrawnPairs
from leakcap.audit.tails import fraction_upper
from leakcap.gain import Gain
from leakcap.numeric.search import bisect

__all__ = ["gain_upper", "information_upper", "mean_upper"]

_CELLS = 4_000_000
_UP = 1.0 + 1e-9
_EULER = 0.5772156649015329
_FEWEST = (1, 2, 3, 5, 10, 20, 50)


def mean_upper(mean: float, draws: float, level: float) -> float:
    """An upper limit of the mean of independent draws in [0, 1], not of one law perhaps, that have this mean.

    Where draws·kl(mean ‖ p) = ln(1/level). Source: Hoeffding 1963, theorem 1.

    >>> 0.538 < mean_upper(0.5, 1000, 0.05) < 0.539
    True
    """
    mean = min(max(mean, 0.0), 1.0)
    if mean >= 1.0:
        return 1.0

    def excess(p: float) -> float:
        wins = mean * math.log(mean / p) if mean > 0.0 else 0.0
        return draws * (wins + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - p))) - math.log(1.0 / level)

    top = 1.0 - 1e-15
    return 1.0 if excess(top) <= 0.0 else min(1.0, bisect(excess, max(mean, 1e-300), top) * _UP)


def gain_upper(pairs: DrawnPairs, gain: Gain | None, level: float, *, blind: bool = False) -> float:
    """An upper limit of the vulnerability after the output; `blind`: before it. None: to one guess.

    The samples' own vulnerability is no less than what the best strategy against the system gets on them, and
    that is a mean of independent draws.
    """
    joint = pairs.joint()
    if blind:
        joint = joint.sum(axis=0).reshape(1, -1)
    if gain is None and pairs.prior is None:
        # Whole numbers, and a binomial law: Clopper & Pearson.
        hits = round(_best(joint, None) * len(pairs))
        return fraction_upper(hits, len(pairs), level)
    least, most = (0.0, 1.0) if gain is None else (float(gain.table.min()), float(gain.table.max()))
    if most <= least:
        return most
    got = (_best(joint, gain) - least) / (most - least)
    size, each = len(pairs), pairs.each
    if pairs.prior is None:
        return least + (most - least) * mean_upper(got, size, level)
    worth = size * pairs.prior / each
    largest = float(worth.max())
    limits = (
        largest * mean_upper(got / largest, size, level),
        got + math.sqrt(0.5 * math.log(1.0 / level) * float((pairs.prior**2 / each).sum())),
    )
    return least + (most - least) * min(1.0, *limits)


def _best(joint: Any, gain: Gain | None) -> float:
    """Σ over outputs of what the best action gets."""
    total, size = 0.0, max(1, _CELLS // joint.shape[1])
    for start in range(0, joint.shape[0], size):
        part = joint[start : start + size]
        rows = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype=np.float64)
        total += float(
            rows.max(axis=1).sum() if gain is None else gain.best(np.ones(rows.shape[1]), rows.T).sum()
        )
    return total * (1.0 + 1e-12)


def information_upper(pairs: DrawnPairs, level: float, generator: np.random.Generator) -> tuple[float, str]:
    """An upper limit of the mutual information, in nats, and how it was found.

    The least of the entropy of the secret, the information of the samples with what luck may hide, and
    that of outputs named by a fifth of the samples, with an estimate of H(output | secret) that is never
    too high in the mean.
    """
    belief = pairs.belief
    most = -float((belief * np.log(belief)).sum()) if pairs.prior is not None else math.log(len(belief))
    found = [(most, "the secret's own information"), (_plain(pairs, level / 4.0), "the samples' information")]
    if len(pairs) >= 500:
        named = _named(pairs, level, generator)
        found.append((named, "the samples' information, corrected for its bias"))
    upper, how = min(found)
    return upper * _UP, how


def _luck(pairs: DrawnPairs, level: float, more: float) -> float:
    """How far below its mean a statistic may be: McDiarmid's inequality, by how far one pair moves it."""
    size = len(pairs)
    if pairs.prior is None:
        return (2.0 * (1.0 + math.log(size)) + more) * math.sqrt(0.5 * math.log(1.0 / level) / size)
    mass = pairs.prior / pairs.each
    moves = mass * (np.log(1.0 / mass) + math.log(2.0) + 1.0 + more)
    return math.sqrt(0.5 * math.log(1.0 / level) * float((pairs.each * moves**2).sum()))


def _plain(pairs: DrawnPairs, level: float) -> float:
    """The plug-in estimate with what luck may hide of the truth."""
    joint = pairs.joint().tocoo()
    marginal = np.bincount(joint.row, joint.data, pairs.outputs)
    found = float((joint.data * np.log(joint.data / (pairs.belief[joint.col] * marginal[joint.row]))).sum())
    if pairs.prior is not None:
        # Two bounds of one chance, so that the better one may be taken.
        limit = _density_upper(max(found, 0.0), pairs.prior, pairs.each, level)
        return min(limit, max(found, 0.0) + _luck(pairs, level, 0.0))
    drawn = math.log1p((len(pairs.secrets) - 1) / len(pairs))
    return max(found, 0.0) + drawn + _luck(pairs, level, 0.0)


def _density_upper(mean: float, prior: Any, each: Any, level: float) -> float:
    """The largest information I such that the mean of its density ln(P(o|s)/P(o)) may be so small.

    A secret's density X has E e^−X ≤ 1 and X ≤ b = ln(1/prior), so that with φ(x) = e^−x − 1 + x its mean is
    at least E φ(X), and e^−λx − 1 + λx ≤ ρφ(x) for x ≤ b, where ρ is their ratio at b. Hence P(mean ≤ x) is
    exp(n(λx − (λ − ρ)I)) at most, for each λ.
    """
    size = float(each.sum())
    worth = size * prior / each
    bound = np.maximum(np.log(1.0 / prior), 0.05)
    stakes = np.geomspace(1e-3, 0.9, 60)[:, None] / worth.max()
    scaled = stakes * worth * bound
    ratio = 1.0001 * (scaled + np.expm1(-scaled)) / (bound + np.expm1(-bound))
    rate = (stakes - ratio / worth).min(axis=1)
    limits = (stakes[:, 0] * mean + math.log(1.0 / level) / size) / np.where(rate > 0.0, rate, 1e-300)
    return float(limits.min())


def _named(pairs: DrawnPairs, level: float, generator: np.random.Generator) -> float:
    """Outputs by name that a first part has often enough; the others are one, which tells ln |secrets|."""
    from scipy.special import digamma

    first, rest = pairs.divided(0.2, generator)
    names, size = _names(first, len(rest), math.log(len(pairs.secrets)))
    code = names[rest.output]
    other = float(rest.weights[code == size].sum())
    if rest.prior is None:
        beyond = fraction_upper(int((code == size).sum()), len(rest), level / 4.0)
        bias = math.log1p(size / len(rest))
    else:
        worth = float((len(rest) * rest.prior / rest.each).max())
        beyond = min(1.0, worth * mean_upper(other / worth, len(rest), level / 4.0))
        bias = float((rest.prior / rest.each).max()) * (size + 1)
    each, secrets = rest.each, len(rest.secrets)
    # Whole counts, so that equal ones are equal.
    cells, counts = np.unique(code * secrets + rest.secret, return_counts=True)
    marginal = np.bincount(code, rest.weights, size + 1)
    seen = marginal[marginal > 0.0]
    of_output = -float((seen * np.log(seen)).sum())
    inner = np.bincount(cells % secrets, counts * digamma(counts), secrets)
    live = each > 0
    share = rest.belief if rest.prior is not None else each / len(rest)
    of_noise = float((share[live] * (digamma(each[live]) - inner[live] / each[live])).sum())
    lucky = _luck(rest, level / 2.0, _EULER)
    return max(of_output - of_noise, 0.0) + bias + lucky + beyond * math.log(secrets)


def _names(first: DrawnPairs, others: int, each: float) -> tuple[np.ndarray[Any, Any], int]:
    """Of each output its name, and how many there are: those that cost least, as the first part has it."""
    counts = np.bincount(first.output, minlength=first.outputs)

    def cost(fewest: int) -> float:
        # An output that came `fewest` times would not be named had this one sample not been there.
        return float((counts >= fewest).sum()) / others + each * float(
            counts[counts <= fewest].sum() / len(first)
        )

    named = counts >= min(_FEWEST, key=cost)
    size = int(named.sum())
    return np.where(named, np.cumsum(named) - 1, size), size
