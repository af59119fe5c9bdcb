"""Everything that leakcap can say of one channel, gathered for the terminal and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from leakcap import leakage
from leakcap.adversary import Adversary, AllPriors, AllPriorsJoint, Neighbours
from leakcap.bound import Bound
from leakcap.capacities import capacity
from leakcap.channel import Channel, as_prior
from leakcap.divergence import Divergence, Renyi, TotalVariation
from leakcap.errors import InvalidParameter
from leakcap.gain import Gain

__all__ = ["Leak", "findings"]


_FMS = "Fernandes, McIver & Sadeghi 2022"
_QIF = "Alvim et al. 2012"
_FORMULAS = {
    "ε, the largest log ratio": ("max over x, x', y of ln C_xy/C_x'y", "Dwork et al. 2006"),
    "total variation": ("max over x, x' of ½ Σ_y |C_xy − C_x'y|", "Cuff & Yu 2016"),
    "Kullback–Leibler": ("max over x, x' of Σ_y C_xy ln C_xy/C_x'y", "Cuff & Yu 2016"),
    "Rényi": ("max over x, x' of ln(Σ_y C_xy^α C_x'y^(1−α))/(α−1)", "Mironov 2017"),
    "Shannon capacity": ("sup over π of I(X;Y) = min over Q of max over x of KL(C_x‖Q)", "Shannon 1948"),
    "Sibson capacity": ("sup over π of min over Q of D_α(π×C‖π×Q)", "Sibson 1969"),
    "level-α capacity": ("sup over π of D_α(P_XY‖P_X×P_Y)", "the broken-wifi article, 2022"),
    "maximal leakage": ("ln Σ_y max over x of C_xy", "Issa, Wagner & Kamath 2020"),
    "Bayes capacity": ("Σ_y max over x of C_xy", "Braun, Chatzikokolakis & Palamidessi 2009"),
    "lift capacity (e^ε)": ("sup over π of max over x, y of C_xy/q_y", _FMS),
    "mutual information": ("Σ_xy π_x C_xy ln C_xy/q_y", "Shannon 1948"),
    "Sibson": ("α/(α−1) ln Σ_y (Σ_x π_x C_xy^α)^(1/α)", "Sibson 1969"),
    "Arimoto": ("H_α(X) − H_α(X|Y), Arimoto's conditional Rényi entropy", "Arimoto 1977"),
    "Csiszár": ("min over Q of Σ_x π_x D_α(C_x‖Q)", "Csiszár 1995"),
    "joint Rényi": ("D_α(P_XY‖P_X×P_Y)", "the broken-wifi article, 2022"),
    "lift": ("max over x, y of C_xy/q_y, π_x > 0", _FMS),
    "log-lift": ("max over x, y of ln C_xy/q_y, π_x > 0", _FMS),
    "local information privacy": ("max over x, y of |ln C_xy/q_y|, π_x > 0", "Jiang et al. 2021"),
    "Bayes risk": ("1 − Σ_y max over x of π_x C_xy", "Chatzikokolakis, Palamidessi & Panangaden 2008"),
    "guessing entropy before": ("the mean number of guesses in the best order", "Massey 1994"),
    "guessing entropy after": ("the same, the output known", "Massey 1994"),
    "change of a belief by joining": (
        "max over y, i of TV of the beliefs with and without record i; tanh(ε/2) at most",
        "Ganta, Kasiviswanathan & Smith 2008",
    ),
    "capacity": ("the supremum over the beliefs of this adversary", "docs/theory/channels.md"),
    "inferential privacy": ("max over x, x', y of ln P(y|x)/P(y|x')", "Ghosh & Kleinberg 2016"),
    "information privacy": ("max over x, y of ln p(x|y)/p(x)", "Wu, Xia & He 2017, definition 4"),
    "relative-entropy privacy": ("max over y of KL(posterior‖prior)", "Wu, Xia & He 2017, proposition 1"),
    "mutual-information privacy": ("I(X_i; Y)", "Wu, Xia & He 2017, proposition 1"),
    "vulnerability before": ("max over w of Σ_x π_x g(w, x)", _QIF),
    "vulnerability after, on average": ("Σ_y max over w of Σ_x π_x C_xy g(w, x)", _QIF),
    "vulnerability after, worst output": ("max over y of the vulnerability of the posterior", _FMS),
    "additive leakage": ("the vulnerability after less the one before", _QIF),
    "multiplicative leakage": ("the vulnerability after over the one before", _QIF),
}
"""What each measure is, and who defined it; its name up to a comma where orders or cases follow."""


@dataclass(frozen=True)
class Leak:
    """One measure of a channel: to whom it leaks, what it is called, its value and unit."""

    section: str
    name: str
    bound: Bound

    @property
    def formula(self) -> str:
        """What is measured; C_xy = P(y|x), π the belief, q = πC the law of the output."""
        return _FORMULAS[self._kind][0]

    @property
    def source(self) -> str:
        """Who defined it."""
        return _FORMULAS[self._kind][1]

    @property
    def _kind(self) -> str:
        return self.name.partition(",")[0] if self.name not in _FORMULAS else self.name


def findings(
    channel: Channel,
    prior: ArrayLike,
    gain: Gain | None,
    orders: Sequence[float],
    *,
    neighbours: Neighbours | None = None,
    adversaries: Mapping[str, Adversary] | None = None,
    individuals: bool = False,
) -> list[Leak]:
    """Capacities first, then leakages under the prior, then towards the gain.

    `adversaries` are further ones, by the name that they are shown under; `neighbours` are the secrets that
    are compared, all pairs when left out. `individuals` adds the four privacies of each person of a channel
    on databases, the others averaged as the prior correlates them. Raises `InvalidParameter` for an
    adversary whom no ruler fits, `InvalidChannel` where people are asked of a channel without databases.

    >>> from leakcap.channel import Channel
    >>> found = findings(Channel([[0.75, 0.25], [0.25, 0.75]]), [0.5, 0.5], None, [2.0])
    >>> found[0].name, round(found[0].bound.upper, 6)
    ('ε, the largest log ratio', 1.098612)
    """
    belief = as_prior(prior, channel.shape[0])
    compared = Neighbours() if neighbours is None else neighbours
    parts = [_between(channel, orders, compared), _any_belief(channel, orders)]
    parts += [_seen_by(channel, name, one, orders) for name, one in (adversaries or {}).items()]
    parts.append(_under(channel, belief, orders))
    if individuals:
        parts.append(_of_people(channel, belief))
    if gain is not None:
        parts.append(_towards(channel, belief, gain))
    return [finding for part in parts for finding in part]


def evaluated(value: float, channel: Channel, unit: str = "nats", how: str = "") -> Bound:
    """A measure that was evaluated in doubles by its definition: sums over rows and columns, each rounded.

    >>> found = evaluated(0.5, Channel([[1.0]]))
    >>> 0.5 in found, found.is_sharp
    (True, True)
    """
    method = f"evaluated as defined{how}"
    if value == 0.0 or math.isinf(value):
        return Bound.exact(value, method=method, unit=unit)
    return Bound.rounded(value, 2 * sum(channel.shape) + 32, size=1.0, method=method, unit=unit)


def _between(channel: Channel, orders: Sequence[float], compared: Neighbours) -> Iterator[Leak]:
    where = "between any two secrets" if compared.pairs is None else "between neighbouring secrets"
    yield Leak(where, "ε, the largest log ratio", capacity(channel, Renyi(math.inf), compared))
    yield Leak(where, "total variation", capacity(channel, TotalVariation(), compared))
    yield Leak(where, "Kullback–Leibler", capacity(channel, Renyi(1.0), compared))
    for alpha in orders:
        yield Leak(where, f"Rényi, α = {alpha:g}", capacity(channel, Renyi(alpha), compared))


def _seen_by(channel: Channel, name: str, who: Adversary, orders: Sequence[float]) -> Iterator[Leak]:
    """The adversary's capacities by all rulers that a definition with this adversary uses."""
    rulers: dict[str, Divergence] = {"α = 1": Renyi(1.0)}
    rulers |= {f"α = {alpha:g}": Renyi(alpha) for alpha in orders}
    rulers |= {"α = ∞": Renyi(math.inf), "total variation": TotalVariation()}
    refused: InvalidParameter | None = None
    fitting = 0
    for ruler, divergence in rulers.items():
        try:
            bound = capacity(channel, divergence, who)
        except InvalidParameter as error:
            refused = error
            continue
        fitting += 1
        yield Leak(f"seen by {name}", f"capacity, {ruler}", bound)
    if refused is not None and not fitting:
        raise refused


def _of_people(channel: Channel, prior: ArrayLike) -> Iterator[Leak]:
    joining = leakage.joining_change(channel)
    yield Leak("about any person, whatever is believed", "change of a belief by joining", joining)
    people = leakage.each_individual(leakage.privacies, channel, prior)
    for person, found in enumerate(people):
        for name, value in (
            ("inferential privacy", found.inferential),
            ("information privacy", found.information),
            ("relative-entropy privacy", found.relative_entropy),
            ("mutual-information privacy", found.mutual_information),
        ):
            bound = evaluated(value, channel, how=", the others averaged by the prior")
            yield Leak(f"about person {person}, under the prior", name, bound)


def _any_belief(channel: Channel, orders: Sequence[float]) -> Iterator[Leak]:
    where = "at most, whatever is believed"
    yield Leak(where, "Shannon capacity", capacity(channel, Renyi(1.0), AllPriors()))
    for alpha in orders:
        yield Leak(where, f"Sibson capacity, α = {alpha:g}", capacity(channel, Renyi(alpha), AllPriors()))
        joint = capacity(channel, Renyi(alpha), AllPriorsJoint())
        yield Leak(where, f"level-α capacity, α = {alpha:g}", joint)
    yield Leak(where, "maximal leakage", capacity(channel, Renyi(math.inf), AllPriors()))
    yield Leak(where, "Bayes capacity", leakage.bayes_capacity(channel))
    yield Leak(where, "lift capacity (e^ε)", leakage.lift_capacity(channel))


def _under(channel: Channel, prior: ArrayLike, orders: Sequence[float]) -> Iterator[Leak]:
    where = "under the prior"

    def plain(name: str, value: float, unit: str = "nats") -> Leak:
        return Leak(where, name, evaluated(value, channel, unit))

    yield plain("mutual information", leakage.mutual_information(channel, prior))
    for alpha in orders:
        yield plain(f"Sibson, α = {alpha:g}", leakage.sibson(channel, prior, alpha=alpha))
        yield plain(f"Arimoto, α = {alpha:g}", leakage.arimoto(channel, prior, alpha=alpha))
        yield Leak(where, f"Csiszár, α = {alpha:g}", leakage.csiszar(channel, prior, alpha=alpha))
        yield plain(f"joint Rényi, α = {alpha:g}", leakage.joint_renyi(channel, prior, alpha=alpha))
    yield plain("lift", leakage.lift(channel, prior), "ratio")
    yield plain("log-lift", leakage.log_lift(channel, prior))
    yield plain("local information privacy", leakage.local_information_privacy(channel, prior))
    yield plain("Bayes risk", leakage.bayes_risk(channel, prior), "probability")
    yield plain("guessing entropy before", leakage.guessing_entropy(prior), "guesses")
    yield plain("guessing entropy after", leakage.posterior_guessing_entropy(channel, prior), "guesses")


def _towards(channel: Channel, prior: ArrayLike, gain: Gain) -> Iterator[Leak]:
    where = "towards the gain"

    def plain(name: str, value: float, unit: str) -> Leak:
        return Leak(where, name, evaluated(value, channel, unit))

    yield plain("vulnerability before", leakage.g_vulnerability(prior, gain), "worth")
    for case, max_case in (("on average", False), ("worst output", True)):
        after = leakage.posterior_vulnerability(channel, prior, gain, max_case=max_case)
        yield plain(f"vulnerability after, {case}", after, "worth")
        rise = leakage.g_leakage(channel, prior, gain, max_case=max_case, additive=True)
        yield plain(f"additive leakage, {case}", rise, "worth")
        if gain.nonnegative:
            ratio = leakage.g_leakage(channel, prior, gain, max_case=max_case)
            yield plain(f"multiplicative leakage, {case}", ratio, "ratio")
