"""What a black box leaks, from samples of secret and output: intervals that hold, whatever the system is."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakcap.audit.attackers import Attacker, Posterior, attackers_of
from leakcap.audit.drawn import DrawnPairs, Prior, read_pairs
from leakcap.audit.sources import runner
from leakcap.audit.tails import fraction_lower, mean_lower
from leakcap.audit.upper_ends import gain_upper, information_upper
from leakcap.bound import Bound
from leakcap.errors import InvalidParameter, require
from leakcap.gain import Gain
from leakcap.numeric.logspace import Floats

__all__ = ["BlackBox", "black_box", "sample_black_box"]

_CELLS, _FLOOR = 2_000_000, 0.01
_SOURCE = "docs/theory/black-boxes.md"


@dataclass(frozen=True)
class BlackBox:
    """What samples prove of a system that was only asked: each of two intervals holds with the confidence.

    `vulnerability`, what an adversary who sees the output gets, and `prior_vulnerability`, what they get
    without it, hold together; so do the leakages made of them. `information` is the mutual information
    and holds by itself. The lower ends are what an attacker got on samples that it had not learned from;
    `attackers` names who. `notes` says what is assumed, and where an interval says little.
    """

    vulnerability: Bound
    prior_vulnerability: Bound
    information: Bound
    attackers: tuple[str, str]
    confidence: float
    samples: int
    secrets: tuple[Hashable, ...]
    outputs: int
    notes: tuple[str, ...] = ()

    @property
    def leakage(self) -> Bound:
        """By which factor the output raises what the adversary gets."""
        after, before = self.vulnerability, self.prior_vulnerability
        if before.lower <= 0.0:
            raise InvalidParameter(
                "`gain` must be worth something without the output for a ratio. Ask for `additive_leakage`."
            )
        low, high = after.lower / before.upper * (1 - 1e-15), after.upper / before.lower * (1 + 1e-15)
        return Bound(max(1.0, low), max(1.0, high), after.method, _SOURCE, "ratio")

    @property
    def min_entropy_leakage(self) -> Bound:
        """The logarithm of `leakage`, in nats."""
        of = self.leakage
        return Bound(math.log(of.lower) * (1 - 1e-15), math.log(of.upper) * (1 + 1e-15), of.method, _SOURCE)

    @property
    def additive_leakage(self) -> Bound:
        """By how much the output raises what the adversary gets."""
        after, before = self.vulnerability, self.prior_vulnerability
        low, high = after.lower - before.upper, after.upper - before.lower
        return Bound(max(0.0, low), max(0.0, high), after.method, _SOURCE, after.unit)

    @property
    def bayes_risk(self) -> Bound:
        """1 − vulnerability: how often the best guess is wrong. For one guess only."""
        of = self.vulnerability
        require(of.unit == "probability", "gain", "bayes_risk", "be of one guess", of.unit)
        return Bound(1.0 - of.upper, 1.0 - of.lower, of.method, _SOURCE, "probability")


def black_box(
    secrets: Sequence[Hashable] | NDArray[Any],
    outputs: Sequence[Any] | NDArray[Any],
    *,
    prior: Prior = None,
    gain: Gain | None = None,
    attackers: Sequence[Any] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> BlackBox:
    """What a system leaks about its secret, from pairs of a secret and the output it gave.

    With `prior` (probabilities by secret, or 'uniform') the outputs of each secret are independent draws
    of its row. Without one the pairs are independent draws, and the secrets' law is estimated too. `gain`
    is about the secrets in the order of `BlackBox.secrets`; without it one guess is asked for.
    `attackers`: 'frequencies', 'nearest', 'bins', 'forest' (needs scikit-learn), or classifiers with `fit`
    and `predict_proba` or `predict`; without them all but the forest that suit the outputs. Half of the
    samples, drawn by `seed`, is for learning.

    Raises `InvalidInput`, `InvalidPrior` or `InvalidParameter`. Source: Cherubin, Chatzikokolakis &
    Palamidessi 2019 for the attackers; docs/theory/black-boxes.md for the intervals.

    >>> draws = np.random.default_rng(0)
    >>> bits = draws.integers(2, size=4000)
    >>> found = black_box(bits, bits ^ (draws.random(4000) < 0.25), prior="uniform")
    >>> 0.75 in found.vulnerability, 0.13081203594 in found.information, found.vulnerability.width < 0.1
    (True, True, True)
    """
    require(0 < confidence < 1, "confidence", "black_box", "lie strictly between 0 and 1", confidence)
    order = None if gain is None or gain.secrets is None else gain.secrets
    pairs = read_pairs(secrets, outputs, prior, order)
    if gain is not None and gain.size != len(pairs.secrets):
        raise InvalidParameter(
            f"`gain` of `black_box` must have one column a secret. "
            f"Got {gain.size} for {len(pairs.secrets)} secrets."
        )
    generator = np.random.default_rng(seed)
    learned, fresh = pairs.divided(0.5, generator)
    chosen = _choose(attackers_of(attackers, pairs), learned, gain, generator)
    level = (1.0 - confidence) / (2.0 if pairs.prior is not None else 4.0)
    unit = "probability" if gain is None else "gain"
    before = _before(pairs, learned, fresh, gain, level, unit)
    # Who does not look at the output gets what is got before it.
    lower = max(_gain_lower(chosen, fresh, gain, level), before.lower)
    upper = max(gain_upper(pairs, gain, level), lower)
    nats = _information_lower(chosen, fresh, (1.0 - confidence) / 2.0, generator)
    most, how = information_upper(pairs, (1.0 - confidence) / 2.0, generator)
    return BlackBox(
        Bound(lower, upper, "fresh samples; the samples' own best strategy", _SOURCE, unit),
        before,
        Bound(nats, max(most, nats), f"fresh samples; {how}", _SOURCE),
        (chosen.guesser.name, chosen.teller.name),
        confidence,
        len(pairs),
        pairs.secrets,
        pairs.outputs,
        _notes(pairs),
    )


def sample_black_box(
    system: object,
    secrets: Sequence[Any],
    *,
    runs: int,
    prior: Mapping[Any, float] | str = "uniform",
    read: Callable[[Any], Any] | None = None,
    **options: Any,
) -> BlackBox:
    """`black_box` of a function, a `Command` or a mechanism, asked `runs` times about drawn secrets.

    Secrets come in random order, so that what drifts in the system is no sign of the secret. `read` is
    what the attacker sees of an answer. An exception is an answer. Other options are those of
    `black_box`.

    >>> found = sample_black_box(lambda secret: secret % 2, [0, 1, 2, 3], runs=2000, prior="uniform")
    >>> 0.5 in found.vulnerability, 2.0 in found.leakage
    (True, True)
    """
    labels = list(dict.fromkeys(secrets))
    require(len(labels) > 1, "secrets", "sample_black_box", "be two or more different ones", len(labels))
    require(runs >= 50, "runs", "sample_black_box", "be 50 or more", runs)
    if isinstance(prior, Mapping):
        law = np.array([float(prior.get(label, 0.0)) for label in labels])
    else:
        law = np.full(len(labels), 1.0 / len(labels))
    require(
        bool((law > 0).all()), "prior", "sample_black_box", "be above 0 for each secret", float(law.min())
    )
    drawn = np.random.default_rng(options.get("seed", 0)).choice(len(labels), size=runs, p=law / law.sum())
    run = runner(system)
    named = [labels[i] for i in drawn]
    answers = [run(secret, 1)[0] for secret in named]
    if any(type(one).__name__ == "Raised" for one in answers):
        answers = [repr(one) for one in answers]
    seen = answers if read is None else [read(one) for one in answers]
    return black_box(named, seen, prior=prior, **options)


@dataclass(frozen=True)
class _Chosen:
    """Who guesses and who tells beliefs, what they learned, and how far what they got was spread."""

    guesser: Attacker
    guesses: Posterior
    teller: Attacker
    tells: Posterior
    spreads: tuple[float, float]


def _choose(
    candidates: list[Attacker], learned: DrawnPairs, gain: Gain | None, generator: np.random.Generator
) -> _Chosen:
    """The best on a third of the learned samples, after learning from the others; then from all."""
    some, later = learned.divided(2 / 3, generator)
    worth = later.weights * len(later)
    tried = []
    for one in candidates:
        got, told, _ = _scores(one.learn(some), later, gain)
        tried.append((worth * got, worth * told, one))
    best = max(tried, key=lambda each: float(each[0].mean()))
    tells = max(tried, key=lambda each: float(each[1].mean()))
    posterior = best[2].learn(learned)
    return _Chosen(
        best[2],
        posterior,
        tells[2],
        posterior if best[2] is tells[2] else tells[2].learn(learned),
        (float(best[0].std()), float(tells[1].std())),
    )


def _scores(
    posterior: Posterior,
    asked: DrawnPairs,
    gain: Gain | None,
    other: NDArray[np.intp] | None = None,
    most: float = math.inf,
) -> tuple[Floats, Floats, Floats]:
    """Of each pair: what the best action gets, ln(belief/prior) of its secret, and of another secret."""
    prior = asked.belief
    table = None if gain is None else gain.table
    got, told, crossed = (np.zeros(len(asked)) for _ in range(3))
    size = max(1, min(2048, _CELLS // len(prior)))
    for start in range(0, len(asked), size):
        places = np.arange(start, min(start + size, len(asked)))
        rows = posterior(asked.of(places))
        own = asked.secret[places]
        if gain is None or table is None:
            got[places] = rows.argmax(axis=1) == own
        else:
            actions = gain.best_actions(np.ones(rows.shape[1]), rows.T)
            got[places] = table[actions, own]
        ratio = np.where(prior > 0.0, rows / np.where(prior > 0.0, prior, 1.0), 1.0)
        logs = np.minimum(np.log((1.0 - _FLOOR) * ratio + _FLOOR), most)
        told[places] = logs[np.arange(len(places)), own]
        if other is not None:
            crossed[places] = logs[np.arange(len(places)), other[places]]
    return got, told, crossed


def _bet(spread: float, draws: int, level: float, width: float) -> float:
    """The stake that is best for so wide a spread; it may be wrong, and was settled before the draws."""
    least = width / math.sqrt(draws)
    return math.sqrt(2.0 * math.log(1.0 / level) / draws) / max(spread, least, 1e-300)


def _bounded(values: Floats, ends: tuple[float, float], spread: float, level: float) -> float:
    """A lower limit of the mean of draws that lie between two ends."""
    bet = _bet(spread, len(values), level, ends[1] - ends[0])
    counts = np.concatenate([np.ones(len(values)), [0.0, 0.0]])
    return mean_lower(np.concatenate([values, ends]), counts, level, bet=bet)


def _worth(fresh: DrawnPairs) -> tuple[Floats, float, float]:
    """What a pair counts among so many; the least and the most that one may count."""
    if fresh.prior is None:
        return np.ones(len(fresh)), 1.0, 1.0
    each = len(fresh) * fresh.prior / fresh.each
    return each[fresh.secret], float(each.min()), float(each.max())


def _between(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """The ends of products of one number in [low, high] and one in [least, most] > 0."""
    return min(low * least, low * most), max(high * least, high * most)


def _gain_lower(chosen: _Chosen, fresh: DrawnPairs, gain: Gain | None, level: float) -> float:
    got, _, _ = _scores(chosen.guesses, fresh, gain)
    if gain is None and fresh.prior is None:
        return fraction_lower(int(got.sum()), len(fresh), level)
    worth, least, most = _worth(fresh)
    ends = (0.0, 1.0) if gain is None else (float(gain.table.min()), float(gain.table.max()))
    lower = _bounded(worth * got, _between(*ends, least, most), chosen.spreads[0], level)
    return max(lower, ends[0])


def _information_lower(
    chosen: _Chosen, fresh: DrawnPairs, level: float, generator: np.random.Generator
) -> float:
    """With a prior the mean of ln(belief/prior); else T(s, o) − e^T(s′, o) + 1, s′ of another pair."""
    if fresh.prior is not None:
        _, told, _ = _scores(chosen.tells, fresh, None)
        worth, least, most = _worth(fresh)
        top = math.log((1.0 - _FLOOR) / float(fresh.prior.min()) + _FLOOR)
        ends = _between(math.log(_FLOOR), top, least, most)
        return max(0.0, _bounded(worth * told, ends, chosen.spreads[1], level))
    half = len(fresh) // 2
    order = generator.permutation(len(fresh))[: 2 * half]
    other = np.zeros(len(fresh), dtype=np.intp)
    other[order[:half]], other[order[half:]] = fresh.secret[order[half:]], fresh.secret[order[:half]]
    limit = 0.5 * math.log(len(fresh))
    _, told, crossed = _scores(chosen.tells, fresh, None, other, limit)
    each = told - np.exp(crossed) + 1.0
    values = 0.5 * (each[order[:half]] + each[order[half:]])
    ends = (math.log(_FLOOR) - math.exp(limit) + 1.0, limit - _FLOOR + 1.0)
    return max(0.0, _bounded(values, ends, chosen.spreads[1], level))


def _before(
    pairs: DrawnPairs, learned: DrawnPairs, fresh: DrawnPairs, gain: Gain | None, level: float, unit: str
) -> Bound:
    """What is got without the output; exact under a given prior, but for rounding."""
    size = len(pairs.secrets)
    if pairs.prior is not None:
        column = np.ones((size, 1))
        value = float(pairs.prior.max() if gain is None else gain.best(pairs.prior, column)[0])
        if gain is None:
            return Bound.rounded(value, size, method="the prior", unit=unit)
        away = (size + 2) * 2.3e-16 * float(np.abs(gain.table).max())
        return Bound(value - away, value + away, "the prior", unit=unit)
    upper = gain_upper(pairs, gain, level, blind=True)
    if gain is None:
        hits = int((fresh.secret == int(learned.each.argmax())).sum())
        lower = fraction_lower(hits, len(fresh), level)
    else:
        column = np.ones((size, 1))
        action = int(gain.best_actions(learned.belief, column)[0])
        ends = float(gain.table.min()), float(gain.table.max())
        got = gain.table[action]
        lower = _bounded(got[fresh.secret], ends, float(got[learned.secret].std()), level)
    return Bound(lower, max(lower, upper), "fresh samples; the samples' own best guess", _SOURCE, unit)


def _notes(pairs: DrawnPairs) -> tuple[str, ...]:
    found = ["Samples are independent draws, and the system keeps no state between them."]
    if pairs.prior is None:
        found.append("The upper end of the information is for the secrets that were seen.")
    alone = np.bincount(pairs.output, minlength=pairs.outputs) == 1
    share = float(alone.sum()) / len(pairs)
    if share > 0.5:
        found.append(
            f"{share:.0%} of the samples have an output of their own: upper ends say little without "
            "more samples, or a coarser output."
        )
    return tuple(found)
