"""How far an answer moves beliefs: from before to after, and from without a person's record to with it.

For one output y let r(x) be the factor by which it weighs the state x: P(y|x) against a constant for the
first, P(y|x) against P(y|x without the record) for the second. A belief p becomes r·p divided by its sum, and
the total variation between the two is E_p|r/E_p[r] − 1|/2. It is convex in r for a fixed sum, hence largest
where r takes two values only, a < b, the larger one with probability s: s(1−s)(b−a)/(sb+(1−s)a). At
s = √a/(√a+√b) that is (√b−√a)/(√b+√a) = tanh(¼ ln(b/a)): so the least and the largest factor decide. Under
ε-DP they are e^{−ε} and e^ε for the second, which gives tanh(ε/2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction

from leakcap.bound import Bound
from leakcap.channel import Channel
from leakcap.errors import InvalidChannel, InvalidParameter
from leakcap.numeric.rounding import float_down, float_up

__all__ = ["belief_change", "joining_change"]

Pair = tuple[Fraction, Fraction]

_METHOD = "tanh(¼ ln of the ratio of the largest and the least factor), in fractions"
_SOURCE = "Ganta, Kasiviswanathan & Smith 2008; Tu 2013, theorem 3, sharpened"
_BITS = 120


def belief_change(channel: Channel) -> Bound:
    """The farthest that an output moves any belief: sup over priors and outputs of TV(posterior, prior).

    It is tanh(ε/4), where ε is the largest log-ratio of two rows; 1 where an output rules a secret out.
    Attained by a belief that gives one of two secrets the probability 1/(1+e^{ε/2}).

    >>> found = belief_change(Channel([[0.75, 0.25], [0.25, 0.75]]))
    >>> round(found.lower, 9), round(math.tanh(math.log(3) / 4), 9)
    (0.267949192, 0.267949192)
    """
    one = Fraction(1)
    rows = _rows(channel)
    # An output that no secret has moves nobody.
    seen = [y for y in range(channel.shape[1]) if any(row[y] for row in rows)]
    return _largest([(row[y], one) for row in rows] for y in seen)


def joining_change(channel: Channel, default: Hashable | None = None) -> Bound:
    """The farthest that one person's joining moves any belief, whatever is believed: in total variation.

    Two people see the same output of a channel on databases and believed the same before: one takes the
    record of a person into account, the other puts `default` in its place (any record, when it is left out).
    Their beliefs about the database differ by at most this much. Raises `InvalidChannel` where inputs are no
    databases, `InvalidParameter` where nobody has the record `default`.
    Source: Ganta, Kasiviswanathan & Smith 2008.

    >>> flip = Fraction(1, 4)
    >>> xor = Channel([[1 - flip, flip], [flip, 1 - flip], [flip, 1 - flip], [1 - flip, flip]],
    ...     inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> joining_change(xor).lower, round(math.tanh(math.log(3) / 2), 12)
    (0.5, 0.5)
    """
    inputs = channel.inputs
    people = {len(x) if isinstance(x, tuple) else 0 for x in inputs}
    if len(people) != 1 or people == {0}:
        raise InvalidChannel(
            "inputs of a channel on databases must be tuples of equal length, one entry a person. "
            "Use `Channel.relabelled`."
        )
    rows = dict(zip(inputs, _rows(channel), strict=True))
    return _largest(_weighed(rows, people.pop(), default, channel.shape[1]))


def _weighed(
    rows: dict[Hashable, Sequence[Fraction]], people: int, default: Hashable | None, outputs: int
) -> Iterator[list[Pair]]:
    """For each person, each record in the place of theirs and each output: what with and without it weigh."""
    databases = [x for x in rows if isinstance(x, tuple)]
    found = False
    for i in range(people):
        records = {x[i] for x in databases}
        for record in records if default is None else records & {default}:
            pairs = [(x, (*x[:i], record, *x[i + 1 :])) for x in databases]
            known = [(rows[x], rows[other]) for x, other in pairs if other in rows]
            found = True
            yield from ([(mine[y], other[y]) for mine, other in known] for y in range(outputs))
    if not found:
        raise InvalidParameter(
            f"`default` of `joining_change` must be a record of the channel. Got {default!r}."
        )


def _rows(channel: Channel) -> list[Sequence[Fraction]]:
    if channel.exact is not None:
        return list(channel.exact)
    # Rows of doubles hardly ever sum to one: what is meant is the row divided by its sum.
    rows = [[Fraction(entry) for entry in row] for row in channel.matrix.tolist()]
    return [[entry / total for entry in row] for row, total in zip(rows, map(sum, rows), strict=True)]


def _largest(weighed: Iterable[list[Pair]]) -> Bound:
    spread = Fraction(1)
    for pairs in weighed:
        possible = [pair for pair in pairs if any(pair)]
        if any(0 in pair for pair in possible):
            return Bound.exact(1.0, method=_METHOD, unit="probability")
        factors = [mine / other for mine, other in possible]
        if factors:
            spread = max(spread, max(factors) / min(factors))
    low, high = _ends(spread)
    return Bound(float_down(low), float_up(high), _METHOD, _SOURCE, unit="probability")


def _ends(spread: Fraction) -> tuple[Fraction, Fraction]:
    """(√ρ−1)/(√ρ+1), enclosed."""
    scale = 1 << _BITS
    root = math.isqrt(spread.numerator * spread.denominator * scale * scale)
    under = Fraction(root, spread.denominator * scale)
    over = under if under * under == spread else Fraction(root + 1, spread.denominator * scale)
    return (under - 1) / (under + 1), (over - 1) / (over + 1)
