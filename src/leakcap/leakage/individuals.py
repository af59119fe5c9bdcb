"""The four privacies of an individual: inferential, information, relative-entropy, mutual-information.

Each is written for a channel on one secret; `worst_individual` takes it to a channel on whole databases,
where the secret is one person's record and everybody else's is part of the noise and of the correlation.
Source: Wu, Xia & He 2017, definition 4 and propositions 1 and 2.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from leakcap.adversary import Neighbours
from leakcap.capacities.diameter import diameter
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Renyi
from leakcap.errors import InvalidChannel, require
from leakcap.leakage.cells import allowed, joint_cells
from leakcap.leakage.information import mutual_information
from leakcap.leakage.lifts import log_lift
from leakcap.numeric.logspace import Floats

__all__ = [
    "Privacies",
    "each_individual",
    "individual",
    "inferential_privacy",
    "information_privacy",
    "mutual_information_privacy",
    "privacies",
    "relative_entropy_privacy",
    "worst_individual",
]

Measured = TypeVar("Measured")
Measure = Callable[[Channel, Floats], float]


def inferential_privacy(channel: Channel, prior: ArrayLike) -> float:
    """The least ε that caps every change of odds: p(x|y)/p(x'|y) ≤ e^ε p(x)/p(x'); in nats, ∞ allowed.

    The largest log-ratio of two rows that the prior allows. Source: Ghosh & Kleinberg 2016; Wu, Xia & He
    2017, (13).

    >>> round(inferential_privacy(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5]), 12)
    1.098612288668
    """
    live, _ = allowed(channel, prior)
    return diameter(Neighbours(), live, Renyi(float("inf"))).upper


def information_privacy(channel: Channel, prior: ArrayLike) -> float:
    """The least ε with p(x|y)/p(x) ≤ e^ε for all x and y, the log-lift I_∞(X; Y); in nats.

    Source: Wu, Xia & He 2017, definition 4.

    >>> round(information_privacy(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5]), 12)
    0.405465108108
    """
    return log_lift(channel, prior)


def relative_entropy_privacy(channel: Channel, prior: ArrayLike) -> float:
    """The least ε with D(posterior given y ‖ prior) ≤ ε for every output y that can happen; in nats.

    Source: Wu, Xia & He 2017, proposition 1.

    >>> round(relative_entropy_privacy(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5]), 12)
    0.130812035941
    """
    cells = joint_cells(channel, prior)
    centre = cells.centre[cells.y]
    posterior, gone = cells.weight * cells.chance / centre, cells.chance / centre
    # post·ln(post/π) − post + π has terms ≥ 0 only, and they add up to the same.
    terms = posterior * (np.log(gone) - 1.0) + cells.weight
    missing = 1.0 - cells.sums(cells.weight)
    return max(float(np.max((cells.sums(terms) + missing)[cells.centre > 0])), 0.0)


def mutual_information_privacy(channel: Channel, prior: ArrayLike) -> float:
    """The least ε with I(X; Y) ≤ ε; in nats.

    Source: Wu, Xia & He 2017, after proposition 1.

    >>> round(mutual_information_privacy(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5]), 12)
    0.130812035941
    """
    return mutual_information(channel, prior)


@dataclass(frozen=True)
class Privacies:
    """The four privacies of one secret, in nats, strongest notion (largest number) first."""

    inferential: float
    information: float
    relative_entropy: float
    mutual_information: float


def privacies(channel: Channel, prior: ArrayLike) -> Privacies:
    """All four at once; each is at most the one before it (Wu, Xia & He 2017, proposition 2).

    >>> privacies(Channel([[1.0, 0.0], [0.0, 1.0]]), [0.5, 0.5]).inferential
    inf
    """
    return Privacies(
        inferential_privacy(channel, prior),
        information_privacy(channel, prior),
        relative_entropy_privacy(channel, prior),
        mutual_information_privacy(channel, prior),
    )


def individual(channel: Channel, prior: ArrayLike, person: int) -> tuple[Channel, Floats]:
    """What a channel on databases shows about one person's record, and the belief about that record.

    The channel's inputs are tuples with one entry a person. P(y | x_i) = Σ p(x_{−i} | x_i) C(y | x):
    everybody else is averaged as the prior correlates them. Records that cannot happen are left out.
    Raises `InvalidChannel`, `InvalidParameter`.

    >>> both = Channel([[1, 0], [0, 1], [0, 1], [1, 0]], inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> individual(both, [0.25] * 4, 0)[0].matrix.tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    rows = channel.matrix
    weights = as_prior(prior, rows.shape[0])
    require(
        0 <= person < _people(channel), "person", "individual", f"be from 0 to {_people(channel) - 1}", person
    )
    values = [_record(label, person) for label in channel.inputs]
    names = list(dict.fromkeys(values))
    member = np.array([[v == name for v in values] for name in names], dtype=np.float64) * weights
    marginal = member.sum(axis=1)
    live = marginal > 0
    kept = [name for name, alive in zip(names, live, strict=True) if alive]
    share = member[live] / marginal[live, None]
    marginal = marginal[live]
    return Channel(share @ rows, inputs=kept, outputs=channel.outputs), marginal / marginal.sum()


def each_individual(
    measure: Callable[[Channel, Floats], Measured], channel: Channel, prior: ArrayLike
) -> tuple[Measured, ...]:
    """`measure` for every person of a channel on databases: the personal budgets that it keeps.

    Source: Wu, Xia & He 2017, definition 5.

    >>> both = Channel([[1, 0], [0, 1], [0, 1], [1, 0]], inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> each_individual(information_privacy, both, [0.25] * 4)
    (0.0, 0.0)
    """
    return tuple(measure(*individual(channel, prior, i)) for i in range(_people(channel)))


def worst_individual(measure: Measure, channel: Channel, prior: ArrayLike) -> float:
    """The largest `measure` over the people of a channel on databases.

    Source: Wu, Xia & He 2017, definition 4.

    >>> both = Channel([[1, 0], [0, 1], [0, 1], [1, 0]], inputs=[(0, 0), (0, 1), (1, 0), (1, 1)])
    >>> round(worst_individual(information_privacy, both, [0.5, 0, 0.25, 0.25]), 12)
    0.69314718056
    """
    return max(each_individual(measure, channel, prior))


def _people(channel: Channel) -> int:
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in channel.inputs}
    if len(lengths) != 1 or lengths == {0}:
        raise InvalidChannel(
            "the inputs of a channel on databases must be tuples with one entry a person, all of one length. "
            f"Got lengths {sorted(lengths)} (0: not a tuple). Label the inputs with their records."
        )
    return lengths.pop()


def _record(label: Hashable, person: int) -> Hashable:
    return label[person] if isinstance(label, tuple) else label
