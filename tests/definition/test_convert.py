"""Routes: the best one is taken, explained, and refused where nothing follows."""

from __future__ import annotations

import itertools
import math

import pytest

from leakcap.channel import Channel
from leakcap.definition import (
    KLDP,
    MIDP,
    ApproxDP,
    Centre,
    Definition,
    DeltaDP,
    GaussianDP,
    InformationPrivacy,
    LevelCapacity,
    LocalInformationPrivacy,
    MaximalLeakage,
    Neighbourhood,
    PureDP,
    Relation,
    RenyiDP,
    ZeroConcentratedDP,
    convert,
    edges,
    graph,
    implications,
    route,
    search,
    to_replace_one,
)
from leakcap.definition.refusals import counterexample
from leakcap.errors import InvalidParameter, NoRoute

PRESENCE = Neighbourhood(Relation.ADD_REMOVE_ONE)
VALUE = Neighbourhood(Relation.REPLACE_ONE, unit="patient")
KINDS = sorted({type(d) for e in edges() for d in e.source.examples()}, key=lambda k: k.__name__)


def test_a_report_can_show_the_paper_beside_the_tight_value() -> None:
    found = {e.name: e for e in implications(PureDP, MIDP)}
    tight, paper = found["pure_to_mi"], found["pure_to_mi_by_divergence"]
    assert tight.tight
    assert not paper.tight
    assert "Cuff & Yu" in paper.citation
    assert "subset mechanism" in tight.attained_by
    values = [edge(PureDP(1.0)) for edge in (tight, paper)]
    assert [round(v.threshold, 4) for v in values if v is not None] == [0.1233, 0.4621]


def test_every_edge_says_where_it_comes_from() -> None:
    names = [e.name for e in edges()]
    assert len(set(names)) == len(names) >= 70
    for edge in edges():
        assert edge.formula
        assert edge.citation
        assert (edge.rule.__doc__ or "").strip()
        assert str(edge).startswith(f"{edge.source.__name__} → {edge.target.__name__}: ")


def test_route_prints_its_steps() -> None:
    found = route(ZeroConcentratedDP(0.1), ApproxDP, delta=1e-6)
    assert [type(s.target) for s in found.steps] == [RenyiDP, ApproxDP]
    assert found.steps[0].source == ZeroConcentratedDP(0.1)
    assert found.steps[-1].target == found.target
    text = str(found)
    for piece in ("1. ", "2. ", "Bun & Steinke", "Canonne, Kamath & Steinke", "RenyiDP(alpha=11.6"):
        assert piece in text
    assert not found.tight
    assert route(PureDP(1.0), MIDP).tight


def concentrated_optimum(rho: float, delta: float) -> float:
    """ε at the best order, from a fine grid: Canonne, Kamath & Steinke's formula with ε_α = αρ."""
    orders = [1 + math.exp(-6 + 14 * i / 200000) for i in range(200001)]
    return min(a * rho + math.log1p(-1 / a) - (math.log(delta) + math.log(a)) / (a - 1) for a in orders)


@pytest.mark.parametrize(("rho", "delta"), [(0.1, 1e-6), (1.0, 1e-9), (0.005, 1e-5)])
def test_the_free_order_is_chosen_best(rho: float, delta: float) -> None:
    got = convert(ZeroConcentratedDP(rho), ApproxDP, delta=delta).epsilon
    want = concentrated_optimum(rho, delta)
    assert got == pytest.approx(want, rel=1e-8)
    assert got < rho + 2 * math.sqrt(rho * math.log(1 / delta))


def test_through_concentration_epsilon_is_never_worse_than_itself() -> None:
    for epsilon in (0.01, 0.5, 3.0):
        assert convert(PureDP(epsilon), ApproxDP, delta=1e-9).epsilon <= epsilon
        gaussian = convert(GaussianDP(epsilon), ApproxDP, delta=1e-6).epsilon
        concentrated = convert(ZeroConcentratedDP(epsilon**2 / 2), ApproxDP, delta=1e-6).epsilon
        assert gaussian < concentrated


def test_several_steps_where_no_edge_leads() -> None:
    assert convert(LocalInformationPrivacy(0.5), MIDP) == convert(PureDP(1.0), MIDP)
    assert convert(RenyiDP(2.0, 0.1), MIDP).nats == 0.1
    assert convert(ApproxDP(0.0, 0.1), MIDP, values=5).nats == pytest.approx(0.1 * math.log(5), rel=1e-12)
    assert convert(InformationPrivacy(1.0, records=4), KLDP) == convert(PureDP(1.0), KLDP)


def test_values_only_ever_help() -> None:
    for epsilon in (0.1, 1.0, 6.0):
        any_number = convert(PureDP(epsilon), MIDP).nats
        values = [convert(PureDP(epsilon), MIDP, values=k).nats for k in (2, 3, 10, 10**6)]
        assert values == sorted(values)
        assert values[-1] <= any_number * (1 + 1e-12)
        assert all(v <= math.log(k) for v, k in zip(values, (2, 3, 10, 10**6), strict=True))


def test_centres_of_the_level_capacity() -> None:
    marginal = convert(PureDP(1.0), LevelCapacity, alpha=2)
    assert marginal.centre is Centre.MARGINAL
    sibson = convert(PureDP(1.0), LevelCapacity, alpha=2, centre="sibson")
    assert sibson.centre is Centre.SIBSON
    assert sibson.nats == marginal.nats
    assert convert(marginal, LevelCapacity, alpha=2, centre=Centre.SIBSON).nats == marginal.nats
    with pytest.raises((NoRoute, InvalidParameter)):
        convert(sibson, LevelCapacity, alpha=2, centre=Centre.MARGINAL)
    binary = convert(PureDP(1.0), LevelCapacity, alpha=2, values=2, centre=Centre.SIBSON)
    p = math.e / (1 + math.e)
    assert binary.nats == pytest.approx(math.log(2) + math.log(p * p + (1 - p) ** 2), rel=1e-12)


@pytest.mark.parametrize("neighbours", [None, VALUE])
def test_neighbours_are_carried_through(neighbours: Neighbourhood | None) -> None:
    found = route(ZeroConcentratedDP(0.1, neighbours=neighbours), ApproxDP, delta=1e-6)
    assert found.target.neighbours == neighbours
    assert all(s.source.neighbours == s.target.neighbours == neighbours for s in found.steps)


def test_under_add_remove_one_the_secret_has_two_values() -> None:
    got = convert(PureDP(1.0, neighbours=PRESENCE), MIDP)
    assert got == MIDP(convert(PureDP(1.0), MIDP, values=2).nats, neighbours=PRESENCE)
    with pytest.raises(InvalidParameter, match="must be 2 under add/remove-one"):
        convert(PureDP(1.0, neighbours=PRESENCE), MIDP, values=5)


def test_add_remove_to_replace_is_explicit() -> None:
    replaced = Neighbourhood(Relation.REPLACE_ONE)
    cases = [
        (PureDP(0.5, neighbours=PRESENCE), PureDP(1.0, neighbours=replaced)),
        (DeltaDP(0.25, neighbours=PRESENCE), DeltaDP(0.5, neighbours=replaced)),
        (ZeroConcentratedDP(0.5, neighbours=PRESENCE), ZeroConcentratedDP(2.0, neighbours=replaced)),
        (GaussianDP(0.5, neighbours=PRESENCE), GaussianDP(1.0, neighbours=replaced)),
        (RenyiDP(4.0, 0.4, neighbours=PRESENCE), RenyiDP(2.0, 1.0, neighbours=replaced)),
    ]
    for source, want in cases:
        assert to_replace_one(source) == want
    approximate = to_replace_one(ApproxDP(0.5, 0.01, neighbours=PRESENCE))
    assert approximate.epsilon == 1.0
    assert approximate.delta == pytest.approx(0.01 * (1 + math.exp(0.5)), rel=1e-15)
    for impossible in (MIDP(0.1, neighbours=PRESENCE), KLDP(0.1, neighbours=PRESENCE)):
        with pytest.raises(NoRoute, match=r"Ex\. 5\.1"):
            to_replace_one(impossible)
    with pytest.raises(InvalidParameter, match="must be stated for add/remove-one"):
        to_replace_one(PureDP(1.0))


def test_two_steps_of_renyi_hold_on_channels() -> None:
    """Rows in a line, neighbours adjacent: the ends are two steps apart."""
    tested = 0
    for shift in (0.05, 0.2):
        rows = [[0.5 - shift, 0.3, 0.2 + shift], [0.5, 0.3, 0.2], [0.5 + shift, 0.3, 0.2 - shift / 2]]
        rows = [[v / sum(r) for v in r] for r in rows]
        for kind in (
            RenyiDP(6.0, 0.0),
            PureDP(0.0),
            ZeroConcentratedDP(0.0),
            GaussianDP(0.0),
            ApproxDP(0.1, 0.0),
        ):
            near = [kind.tightest(Channel([rows[i], rows[j]])) for i, j in ((0, 1), (1, 2))]
            worst = kind.with_threshold(max(n.threshold for n in near))
            far = to_replace_one(type(worst)(**{**vars(worst), "neighbours": PRESENCE}))
            assert far.measure(Channel([rows[0], rows[2]])).lower <= far.threshold * (1 + 1e-9)
            tested += 1
    assert tested == 10


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (MIDP(0.1), PureDP),
        (MIDP(0.1), KLDP),
        (DeltaDP(0.1), PureDP),
        (ApproxDP(1.0, 1e-6), ZeroConcentratedDP),
        (MaximalLeakage(0.1), GaussianDP),
        (GaussianDP(1.0), PureDP),
        (RenyiDP(2.0, 0.1), PureDP),
        (LevelCapacity(math.inf, 1.0, centre=Centre.SIBSON), PureDP),
    ],
)
def test_what_does_not_follow_is_refused_with_a_counterexample(
    source: Definition, target: type[Definition]
) -> None:
    with pytest.raises(NoRoute) as caught:
        convert(source, target)
    text = str(caught.value)
    assert target.__name__ in text
    assert repr(source) in text
    assert "Ask for `ApproxDP`" in text
    assert "reveals the secret" in text or "Gaussian mechanism" in text


def test_what_may_follow_with_one_more_fact_says_so() -> None:
    with pytest.raises(NoRoute, match="It may with `values=`"):
        convert(MIDP(0.1), LevelCapacity, alpha=1.5)
    assert convert(MIDP(0.1), LevelCapacity, alpha=1.5, values=3, centre="sibson").nats < math.log(3)
    with pytest.raises(NoRoute, match="ApproxDP does not follow"):
        convert(ApproxDP(1.0, 1e-3), ApproxDP, delta=1e-5)


def test_the_counterexamples_are_real() -> None:
    """Erasure keeps MI-DP, δ-DP and maximal leakage with an infinite ε."""
    channel = Channel([[0.1, 0.0, 0.9], [0.0, 0.1, 0.9]])
    assert PureDP(0.0).tightest(channel).epsilon == math.inf
    assert KLDP(0.0).tightest(channel).nats == math.inf
    assert GaussianDP(0.0).tightest(channel).mu == math.inf
    assert ZeroConcentratedDP(0.0).tightest(channel).rho == math.inf
    assert MIDP(0.0).tightest(channel).nats == pytest.approx(0.1 * math.log(2), rel=1e-8)
    assert DeltaDP(0.0).tightest(channel).delta == pytest.approx(0.1, rel=1e-12)
    assert MaximalLeakage(0.0).tightest(channel).nats == pytest.approx(math.log(1.1), rel=1e-12)


def test_no_counterexample_contradicts_an_edge() -> None:
    tested = 0
    frees = {"alpha": 1.5, "epsilon": 0.5, "delta": 0.01, "values": 3}
    for edge in edges():
        for source in edge.source.examples():
            result = edge(source, **{n: frees[n] for n in edge.required})
            if result is not None and math.isfinite(result.threshold):
                assert not counterexample(source, edge.target), (edge.name, source)
                tested += 1
    assert tested > 200


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: convert(PureDP(1.0), LevelCapacity), "needs `alpha=`"),
        (lambda: convert(MIDP(0.1), ApproxDP), "needs `delta=` or `epsilon=`"),
        (lambda: convert(GaussianDP(1.0), ApproxDP), "needs `delta=` or `epsilon=`"),
        (lambda: convert(DeltaDP(0.1), MIDP), "needs `values=`"),
        (lambda: convert(PureDP(1.0), MIDP, k=2), "Those that fit: values"),
        (lambda: convert(PureDP(1.0), KLDP, alpha=2), "`alpha` is not a parameter"),
        (lambda: convert(PureDP(1.0), PureDP, alpha=2), "`alpha` is not a parameter"),
        (lambda: convert(PureDP(1.0), MIDP, values=1), "integer ≥ 2"),
        (lambda: convert(PureDP(1.0), MIDP, values=2.5), "integer ≥ 2"),
        (lambda: convert(PureDP(1.0), RenyiDP, alpha=-1), "`alpha` of `RenyiDP` must be positive"),
        (lambda: convert(PureDP(1.0), ApproxDP, delta=2.0), "`delta`"),
        (lambda: convert(1.0, MIDP), "`source` of `convert`"),
        (lambda: convert(PureDP(1.0), float), "`target` of `convert`"),
        (lambda: implications(PureDP, int), "between definitions"),
    ],
)
def test_bad_questions_get_one_clear_line(call: object, words: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_what_is_given_is_given_back(kind: type[Definition]) -> None:
    for source in kind.examples():
        found = route(source, kind)
        assert found.target == source
        assert found.steps == ()


def test_stronger_sources_never_give_weaker_results() -> None:
    asked: dict[type[Definition], dict[str, float]] = {
        ApproxDP: {"epsilon": 0.3},
        RenyiDP: {"alpha": 1.5},
        LevelCapacity: {"alpha": 0.7},
    }
    tested = 0
    for start, target in itertools.product(KINDS, KINDS):
        source = start.examples()[1]
        try:
            weak = convert(source, target, **asked.get(target, {}))
            strong = convert(source.with_threshold(0.5 * source.threshold), target, **asked.get(target, {}))
        except (NoRoute, InvalidParameter):
            continue
        assert strong.threshold <= weak.threshold * (1 + 1e-9), (source, target)
        tested += 1
    assert tested > 60


def test_an_edge_that_is_added_later_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths through the graph are kept, but not beyond the graph that they are of."""
    monkeypatch.setattr(graph, "_EDGES", list(graph._EDGES))
    before = convert(PureDP(1.0), MIDP, values=2).nats

    @graph.implies(formula="none", citation="planted")
    def planted(source: PureDP) -> MIDP:
        return MIDP(source.epsilon / 1e6)

    try:
        assert convert(PureDP(1.0), MIDP, values=2).nats < 1e-5 < before
    finally:
        search._paths.cache_clear()
