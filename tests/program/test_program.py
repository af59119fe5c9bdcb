"""Programs as channels: published protocols against their closed forms and against brute force."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from leakcap import capacity, leakage
from leakcap.adversary import AllPriors
from leakcap.channel import Channel
from leakcap.divergence import Renyi
from leakcap.errors import InvalidChannel, InvalidPrior
from leakcap.program import Program, Run
from leakcap.program import run as room

HALF = Fraction(1, 2)


def early_exit(password: str, run: Run) -> int | None:
    return next(
        (at for at, (one, other) in enumerate(zip(password, "abcde", strict=True)) if one != other), None
    )


def test_a_password_checker_that_stops_at_the_first_wrong_letter() -> None:
    """Permutations of five letters (Gibbons et al. 2020): how many begin with i right letters."""
    secrets = ["".join(letters) for letters in permutations("abcde")]
    hyper = Program(early_exit, secrets).posteriors()
    counts = {at: math.factorial(5 - at) - math.factorial(4 - at) for at in range(4)}  # 96, 18, 4, 1
    assert sorted(int(p * 120) for p, _ in hyper) == sorted([*counts.values(), 1])
    for p, inner in hyper:
        assert set(inner.values()) == {1 / (p * 120)}
    plain = Program(lambda password, run: password == "abcde", secrets)
    assert [p for p, _ in plain.posteriors()] == [Fraction(119, 120), Fraction(1, 120)]
    assert leakage.bayes_capacity(Program(early_exit, secrets).channel()).upper == 5.0
    assert leakage.bayes_capacity(plain.channel()).upper == 2.0


def dining(heads: Fraction) -> Any:
    def protocol(payer: int, run: Run) -> tuple[bool, ...]:
        coins = [run.flip(heads) for _ in range(4)]
        return tuple((coins[at] != coins[at - 1]) != (payer == at) for at in range(4))

    return protocol


def test_dining_cryptographers() -> None:
    """Fair coins tell nothing about who paid (Chaum 1988); biased ones what brute force over coins says."""
    fair = Program(dining(HALF), range(4)).channel()
    assert fair.exact is not None
    assert fair.shape == (4, 8)
    assert (fair.exact == Fraction(1, 8)).all()
    heads = Fraction(2, 3)
    biased = Program(dining(heads), range(4))
    for payer, law in enumerate(biased.laws):
        expected: Counter[Any] = Counter()
        for coins in product((False, True), repeat=4):
            said = tuple((coins[at] ^ coins[at - 1]) ^ (payer == at) for at in range(4))
            expected[(said,)] += math.prod(heads if coin else 1 - heads for coin in coins)
        assert law == expected
    assert leakage.bayes_capacity(biased.channel()).lower > 1.0


def crowds(members: int, corrupt: int, forward: Fraction) -> Any:
    honest = members - corrupt

    def body(holder: int, run: Run) -> Any:
        receiver = run.uniform(range(members))
        if receiver >= honest:
            return run.stop(("seen", holder))
        return receiver if run.flip(forward) else run.stop("delivered")

    return lambda initiator, run: run.loop(body, initiator)


@pytest.mark.parametrize(("members", "corrupt", "forward"), [(6, 1, Fraction(3, 4)), (20, 5, HALF)])
def test_crowds_is_its_closed_form_to_the_last_digit(members: int, corrupt: int, forward: Fraction) -> None:
    """Reiter & Rubin 1998; the matrix of Chatzikokolakis, Palamidessi & Panangaden 2008, §4."""
    honest = members - corrupt
    program = Program(crowds(members, corrupt, forward), range(honest))
    other = Fraction(corrupt, members) * forward / (members - forward * honest)
    own = Fraction(corrupt, members) + other
    for initiator, law in enumerate(program.laws):
        for holder in range(honest):
            assert law[(("seen", holder),)] == (own if holder == initiator else other)
        assert law[("delivered",)] == 1 - own - (honest - 1) * other
    symmetric = capacity(program.channel(), Renyi(1.0), AllPriors())
    caught = own + (honest - 1) * other
    rows = [float(own / caught)] + [float(other / caught)] * (honest - 1)
    known = float(caught) * (math.log(honest) + sum(p * math.log(p) for p in rows))
    assert symmetric.lower - 1e-9 <= known <= symmetric.upper + 1e-9


def test_crowds_with_a_bound_says_what_is_left() -> None:
    def bounded(initiator: int, run: Run) -> Any:
        def body(holder: int, run: Run) -> Any:
            receiver = run.uniform(range(6))
            if receiver == 5:
                return run.stop(holder)
            return receiver if run.flip() else run.stop("delivered")

        return run.loop(body, initiator, most=10, unfinished="cut")

    law = Program(bounded, range(5)).laws[0]
    assert law[("cut",)] == Fraction(5, 12) ** 10
    assert sum(law.values()) == 1


def squared(bits: tuple[int, ...], run: Run) -> None:
    for bit in bits:
        run.observe("SM" if bit else "S")


def divided(exponent: int, run: Run) -> None:
    while exponent:
        divisor = run.uniform((2, 3, 5))
        run.observe(exponent % divisor != 0)
        exponent //= divisor


def test_side_channels_of_exponentiation() -> None:
    """Square and multiply tells all (Kocher 1996); by total time alone, the number of ones."""
    secrets = list(product((0, 1), repeat=6))
    steps, total = Program(squared, secrets), Program(lambda bits, run: sum(bits), secrets)
    assert leakage.bayes_capacity(steps.channel()).upper == 64.0
    assert leakage.bayes_capacity(total.channel()).upper == 7.0
    hyper = total.posteriors()
    assert sorted(p for p, _ in hyper) == sorted(Fraction(math.comb(6, ones), 64) for ones in range(7))
    entropy = sum(float(p) * math.log(len(inner)) for p, inner in hyper)
    mean = sum(math.comb(6, k) / 64 * math.log(math.comb(6, k)) for k in range(7))
    assert entropy == pytest.approx(mean, rel=1e-14)


def test_random_divisors_by_brute_force() -> None:
    """Kuifje's exponentiation with divisors 2, 3 and 5 drawn anew each round (Gibbons et al. 2020)."""

    def brute(exponent: int) -> dict[tuple[bool, ...], Fraction]:
        if not exponent:
            return {(): Fraction(1)}
        law: dict[tuple[bool, ...], Fraction] = {}
        for d in (2, 3, 5):
            for rest, p in brute(exponent // d).items():
                key = (exponent % d != 0, *rest)
                law[key] = law.get(key, Fraction(0)) + p / 3
        return law

    program = Program(divided, range(16))
    assert list(program.laws) == [brute(exponent) for exponent in range(16)]
    risks = [
        leakage.bayes_vulnerability(c, [1 / 16] * 16)
        for c in (program.channel(), Program(binary, range(16)).channel())
    ]
    assert risks[0] < risks[1] == 1.0


def binary(exponent: int, run: Run) -> None:
    while exponent:
        run.observe(exponent % 2 != 0)
        exponent //= 2


def test_posteriors_are_the_hyper_of_the_channel() -> None:
    program = Program(divided, range(1, 9))
    prior = {x: Fraction(x, 36) for x in range(1, 9)}
    exact = program.posteriors(prior)
    dense = leakage.Hyper(program.channel(), [x / 36 for x in range(1, 9)])
    ours = sorted((float(p), [float(inner.get(x, 0)) for x in range(1, 9)]) for p, inner in exact)
    theirs = sorted((p, inner.tolist()) for p, inner in dense)
    assert len(ours) == len(theirs)
    for (p, one), (q, other) in zip(ours, theirs, strict=True):
        assert p == pytest.approx(q, rel=1e-12)
        assert one == pytest.approx(other, abs=1e-12)
    assert sum(p for p, _ in exact) == 1


def test_mutable_state_starts_anew_on_each_path() -> None:
    def shuffled(order: str, run: Run) -> str:
        left, taken = list(order), []
        while left:
            taken.append(left.pop(run.uniform(range(len(left)))))
        return "".join(taken)

    law = Program(shuffled, ["abcd"]).laws[0]
    assert set(law.values()) == {Fraction(1, 24)}
    assert len(law) == 24


def test_a_program_that_counts_a_path_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: probabilities that are not multiplied; rows no longer sum to one, no channel comes of it."""
    plain = room.Course.mass

    def forgetful(self: room.Course) -> Fraction:
        return max(plain(self), HALF)

    monkeypatch.setattr(room.Course, "mass", forgetful)
    with pytest.raises(InvalidChannel, match="sum to exactly one"):
        Program(dining(HALF), range(4)).channel()


def test_a_hundred_thousand_secrets_and_as_many_outputs() -> None:
    size = 100_000
    channel = Channel.of_function(lambda x: (7 * x) % size, range(size))
    assert channel.sparse is not None
    assert channel.sparse.nnz == size
    few = Program(lambda x, run: (x + run.uniform(range(2))) % 3_000, range(3_000)).channel()
    assert few.sparse is not None
    assert few.sparse.nnz == 6_000
    assert leakage.bayes_capacity(few).upper == pytest.approx(1_500.0, rel=1e-12)


COUNT: list[int] = []


def leaves_traces(secret: int, run: Run) -> int:
    COUNT.append(secret)
    return len(COUNT)


def drifts(secret: int, run: Run) -> Any:
    COUNT.append(secret)
    return run.flip(Fraction(1, 2 + len(COUNT)))


def endless(secret: int, run: Run) -> None:
    while run.flip():
        pass


def inside(secret: int, run: Run) -> Any:
    return run.loop(lambda state, other: run.flip(), 0)


def seen_inside(secret: int, run: Run) -> Any:
    return run.loop(lambda state, other: other.observe(1), 0)


def random_source(secret: int, run: Run) -> float:
    return random.random()


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda x, run: run.choose({0: 0.5, 1: 0.4}), "sum to one. Got 9/10"),
        (lambda x, run: run.choose({0: 1 / 3, 1: 1 / 3, 2: 1 / 3}), "thirds"),
        (lambda x, run: run.choose({0: 1.5, 1: -0.5}), "from 0 to 1. Got -0.5"),
        (lambda x, run: run.choose({0: math.nan}), "Got nan"),
        (lambda x, run: run.choose([0, 1]), "Got list"),
        (lambda x, run: run.flip(2), "up to 1"),
        (lambda x, run: run.uniform([]), "no option"),
        (lambda x, run: [1], "hashable"),
        (lambda x, run: math.nan, "equal to itself"),
        (lambda x, run: run.uniform([1, True]), "two types"),
        (lambda x, run: run.loop(lambda s, r: s, 0), "never leaves"),
        (lambda x, run: run.loop(lambda s, r: s + 1, 0), "at most 300 states"),
        (lambda x, run: run.loop(lambda s, r: s + 1, 0, most=9), "after its 9 steps"),
        (lambda x, run: run.loop(lambda s, r: r.stop(s), 0, most=0), "at least 1"),
        (lambda x, run: run.loop(lambda s, r: [s], 0), "must be hashable"),
        (lambda x, run: [run.flip() for _ in range(20)] and None, "at most 1000 paths"),
        (endless, "at most 500 choices"),
        (lambda x, run: run.flip([1]), "Got list"),
        (leaves_traces, "do the same"),
        (drifts, "do the same"),
        (random_source, "do the same"),
        (inside, "the run that it is handed"),
        (seen_inside, "outside of `loop`"),
    ],
)
def test_what_is_refused_in_one_line(program: Any, words: str) -> None:
    with pytest.raises(InvalidChannel, match=words) as caught:
        Program(program, [0, 1], most_paths=1000).channel()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("prior", [{0: 0.5, 1: 0.4}, {0: 1.5, 1: -0.5}, {7: 1}, [0.5, 0.5], {0: "x"}])
def test_priors_that_are_refused(prior: Any) -> None:
    with pytest.raises(InvalidPrior):
        Program(lambda x, run: x, [0, 1]).posteriors(prior)


def test_a_program_has_a_function_and_secrets() -> None:
    with pytest.raises(InvalidChannel, match="must be a function"):
        Program(7, [0])  # type: ignore[arg-type]
    with pytest.raises(InvalidChannel, match="at least one secret"):
        Program(lambda x, run: x, [])


def test_numbers_of_numpy_are_what_they_say() -> None:
    law = Program(lambda x, run: run.flip(np.float64(0.1)), [0]).laws[0]
    assert law[(True,)] == Fraction(1, 10)
