"""The drawings of the manual. Every number in them is computed by leakcap when they are drawn.

`python manual/drawings.py` writes them to docs/figures; a test compares the files with what this says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import leakcap as lc
from canvas import Canvas, Plot
from leakcap import gain, leakage
from leakcap.accounting import PrivacyLoss
from leakcap.attack import copies_curve
from leakcap.definition import meaning
from offices import census_tables, census_tree, public_use_file, series, three_ways

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
SURVEY = lc.Channel([[2 / 3, 1 / 6, 1 / 6], [1 / 3, 1 / 3, 1 / 3], [1 / 6, 1 / 6, 2 / 3]])
RESPONSE = lc.Channel([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
SIXTHS = {4: "2/3", 2: "1/3", 1: "1/6"}


def channel() -> Canvas:
    """Secrets to outputs, as wide as they are likely."""
    c = Canvas("channel", 560, 300, "A channel: a survey with three answers",
               "Three true answers on the left, three reported ones on the right. A line from each to each, as wide "
               "as its probability: yes becomes yes with 2/3, unsure and no with 1/6 each; unsure becomes each with "
               "1/3; no becomes no with 2/3, the others with 1/6 each.")  # fmt: skip
    names, heights = ["yes", "unsure", "no"], [70.0, 160.0, 250.0]
    c.text(120, 26, "secret x", "small mid")
    c.text(440, 26, "what is seen, y", "small mid")
    for i, row in enumerate(SURVEY.matrix):
        for j, p in enumerate(row):
            kind = "accent" if i == 0 else "warm" if i == 2 else "soft"
            c.line(140, heights[i], 420, heights[j], kind, 9 * float(p))
        label = " · ".join(SIXTHS[round(6 * float(p))] for p in row)
        c.text(100, heights[i] + 5, names[i], "end bold")
        c.text(100, heights[i] + 22, label, "end small")
    for x, kind in ((130, "fill-ink"), (430, "fill-ink")):
        for y in heights:
            c.dot(x, y, 9, kind)
    for name, y in zip(names, heights, strict=True):
        c.text(450, y + 5, name, "bold")
    return c


def adversary() -> Canvas:
    """Beliefs before and after one output."""
    priors = [("knows nothing", [1 / 3, 1 / 3, 1 / 3]), ("fairly sure of no", [0.1, 0.2, 0.7])]
    c = Canvas("adversary", 560, 290, "Two adversaries see the same answer, yes",
               "Bars of belief in yes, unsure and no before and after the reported answer yes. Somebody who knew "
               "nothing goes from a third each to 57, 29 and 14 percent. Somebody 70 percent sure of no goes from 10, "
               "20 and 70 to 27, 27 and 47 percent: still no.")  # fmt: skip
    for panel, (who, prior) in enumerate(priors):
        left = 30 + 270 * panel
        joint = np.array(prior) * SURVEY.matrix[:, 0]
        after = joint / joint.sum()
        c.text(left, 26, who, "bold")
        for side, (when, belief) in enumerate((("before", prior), ("after “yes”", after))):
            base = left + 125 * side
            c.text(base + 48, 268, when, "small mid")
            c.line(base, 232, base + 100, 232)
            for k, p in enumerate(belief):
                height = 180 * float(p)
                kind = ("fill-line", "fill-accent")[side]
                c.rect(base + 5 + 32 * k, 232 - height, 26, height, kind)
                c.text(base + 18 + 32 * k, 226 - height, f"{100 * float(p):.0f} %", "small mid")
                c.text(base + 18 + 32 * k, 248, ("yes", "uns.", "no")[k], "small mid")
    return c


def capacity() -> Canvas:
    """Information against the prior, and its peak."""
    flip = lc.mechanism.RandomisedResponse(2, 1.0).channel()
    tilt = lc.mechanism.ZChannel(0.7).channel()
    c = Canvas("capacity", 560, 330, "Capacity is the peak over beliefs",
               "Mutual information in nats against the prior probability of the first of two secrets, for randomised "
               "response with epsilon 1, which peaks at 0.111 nats in the middle, and for a Z channel that keeps the "
               "second secret with probability 0.3, which peaks off the middle.")  # fmt: skip
    plot = Plot(c, (60, 40, 470, 230), (0.0, 1.0), (0.0, 0.15))
    plot.ticks(
        {0: "0", 0.25: "¼", 0.5: "½", 0.75: "¾", 1: "1"}, {0: "0", 0.05: "0.05", 0.1: "0.1", 0.15: "0.15"}
    )
    plot.titles("belief in the first secret, before", "information, nats")
    xs = [k / 100 for k in range(101)]
    for name, one, kind, words in (
        ("randomised response, ε = 1", flip, "accent", (0.33, 0.055)),
        ("Z channel, flip 0.7", tilt, "warm", (0.03, 0.135)),
    ):
        ys = [leakage.mutual_information(one, [x, 1 - x]) if 0 < x < 1 else 0.0 for x in xs]
        plot.curve(xs, ys, kind)
        bound = lc.capacity(one, lc.Renyi(1), lc.AllPriors())
        best = float(np.asarray(bound.witness)[0])
        c.dot(*plot.at(best, bound.lower), 5, f"fill-{kind}")
        x, y = plot.at(*words)
        c.text(x, y, name, f"{kind}-text")
        c.text(x, y + 16, f"capacity {bound.upper:.4f} at {best:.2f}", "small")
    return c


def diameter() -> Canvas:
    """Rows as points of the triangle of distributions."""
    c = Canvas("diameter", 560, 400, "Rows are points; epsilon is their diameter, capacity their radius",
               "A triangle of all distributions over three outputs. The rows of the survey's channel are three points "
               "in it. Between yes and no the largest log ratio is ln 4, between unsure and either ln 2. The capacity "
               "is the distance to the centre of the three, 0.1606 nats.")  # fmt: skip
    corners = np.array([[60.0, 350.0], [500.0, 350.0], [280.0, 350.0 - 220 * math.sqrt(3)]])[[0, 2, 1]]
    corners[1, 1] = 40.0
    c.path([tuple(p) for p in corners], "axis", close=True)
    for name, (x, y), kind in zip(
        ("y = yes", "y = unsure", "y = no"), corners, ("mid", "mid", "mid"), strict=True
    ):
        c.text(x, y + (22 if y > 100 else -10), f"surely {name}", f"small {kind}")
    spots = SURVEY.matrix @ corners
    worst = np.array([[lc.Renyi(math.inf).between(p, q) for q in SURVEY.matrix] for p in SURVEY.matrix])
    under = np.array([0.0, 34.0])
    c.line(*(spots[0] + under), *(spots[2] + under), "warm", 2.5)
    for spot in (spots[0], spots[2]):
        c.line(*(spot + under - [0, 5]), *(spot + under + [0, 5]), "warm", 2)
    c.line(*spots[0], *spots[1], "axis", 1.5)
    c.line(*spots[1], *spots[2], "axis", 1.5)
    bound = lc.capacity(SURVEY, lc.Renyi(1), lc.AllPriors())
    centre = np.asarray(bound.witness) @ SURVEY.matrix @ corners
    c.line(*centre, *spots[0], "accent dash", 1.6)
    c.line(*centre, *spots[2], "accent dash", 1.6)
    c.dot(*centre, 4, "fill-accent")
    for name, (x, y), shift in zip(
        ("yes", "unsure", "no"), spots, ((-22, -12), (0, -12), (22, -12)), strict=True
    ):
        c.dot(x, y, 6, "fill-ink")
        c.text(x + shift[0], y + shift[1], f"row of {name}", "mid bold")
    middle = (spots[0] + spots[2]) / 2
    c.text(middle[0], middle[1] + 52, f"diameter: ε = ln 4 = {worst[0, 2]:.3f}", "mid warm-text")
    c.text(376, 90, f"radius: {bound.upper:.4f} nats", "accent-text")
    c.text(376, 107, "the capacity: from the centre", "small")
    c.text(376, 124, "to the farthest rows", "small")
    return c


def orders() -> Canvas:
    """Three rulers against the order."""
    c = Canvas("orders", 560, 360, "From the average case to the worst, in one parameter",
               "For the survey's channel, against the order alpha from 1 to 64: the Sibson radius rises from 0.161 to "
               "0.51, the level-alpha capacity from 0.161 to 1.386, and the Rényi diameter from 0.69 to 1.386, which "
               "is epsilon.")  # fmt: skip
    plot = Plot(c, (56, 40, 385, 262), (0.0, 6.0), (0.0, 1.5))
    plot.ticks({k: str(2**k) for k in range(7)}, {0: "0", 0.5: "0.5", 1: "1", math.log(4): "ε"})
    plot.titles("order α (logarithmic)", "nats")
    xs = [k / 4 for k in range(25)]
    rows = [
        ("diameter (RDP)", lc.Neighbours(), "warm"),
        ("level-α capacity", lc.AllPriorsJoint(), "accent"),
        ("radius (Sibson)", lc.AllPriors(), "soft"),
    ]
    for name, who, kind in rows:
        ys = [lc.capacity(SURVEY, lc.Renyi(2.0**x), who).upper for x in xs]
        plot.curve(xs, ys, kind)
        x, y = plot.at(6.0, ys[-1])
        c.text(
            x + 6,
            y + (12 if kind == "accent" else -2),
            name.split(" (")[0],
            f"{kind}-text" if kind != "soft" else "",
        )
        if "(" in name:
            c.text(
                x + 6,
                y + (26 if kind == "accent" else 12 if kind == "soft" else -16),
                "(" + name.split("(")[1],
                "small",
            )
    x, y = plot.at(0.0, lc.capacity(SURVEY, lc.Renyi(1), lc.AllPriors()).upper)
    c.dot(x, y, 4, "fill-accent")
    c.text(x + 12, y + 20, "Shannon capacity 0.1606", "small")
    return c


def lift() -> Canvas:
    """The table of lifts and its column maxima."""
    c = Canvas("lift", 560, 300, "Lift: how much each answer speaks for each secret",
               "A table of the lift of each secret and output of the survey's channel under the uniform prior: 1.71, "
               "0.75 and 0.43 for yes; 0.86, 1.5 and 0.86 for unsure; 0.43, 0.75 and 1.71 for no. The largest, 12/7, is "
               "the lift; the column maxima weighed by the outputs' probabilities give 5/3, whose logarithm is the "
               "maximal leakage.")  # fmt: skip
    marginal = SURVEY.matrix.mean(axis=0)
    lifts = SURVEY.matrix / marginal
    for j, name in enumerate(("yes", "unsure", "no")):
        c.text(165 + 110 * j, 36, f"y = {name}", "mid")
        c.text(165 + 110 * j, 262, f"P(y) = {marginal[j]:.3f}", "small mid")
        c.text(165 + 110 * j, 282, f"largest {lifts[:, j].max():.3f}", "small mid")
    for i, name in enumerate(("yes", "unsure", "no")):
        c.text(96, 88 + 66 * i, f"x = {name}", "end")
        for j in range(3):
            value = float(lifts[i, j])
            x, y = 112 + 110 * j, 54 + 66 * i
            c.rect(
                x,
                y,
                104,
                60,
                "fill-accent" if value > 1 else "fill-warm",
                0.22 * abs(math.log(value)) / 0.55 + 0.06,
            )
            c.text(x + 52, y + 35, f"{value:.2f}", "mid bold")
    sure = leakage.lift(SURVEY, [1 / 3] * 3)
    c.text(446, 90, f"lift {sure:.4f}", "warm-text")
    c.text(446, 107, "the largest entry", "small")
    c.text(446, 160, f"Σ max = {leakage.bayes_capacity(SURVEY).upper:.4f}", "accent-text")
    c.text(446, 177, "maxima, weighed", "small")
    c.text(446, 194, "by P(y)", "small")
    return c


def g_leakage() -> Canvas:
    """Two mechanisms against several goals: no order."""
    flat = [1 / 3] * 3
    rows: list[tuple[str, Callable[[lc.Channel], float], float]] = [
        ("worst case, ε (nats)", lambda m: lc.capacity(m, lc.Renyi(math.inf)).upper, 1.5),
        ("Shannon capacity (nats)", lambda m: lc.capacity(m, lc.Renyi(1), lc.AllPriors()).upper, 0.2),
        ("one guess, on average (×)", lambda m: leakage.g_leakage(m, flat, gain.identity(3)), 2.0),
        ("one guess, worst answer (×)", lambda m: leakage.g_leakage(m, flat, gain.identity(3), max_case=True), 2.0),
        ("yes or no, on average (×)",
         lambda m: leakage.g_leakage(m, flat, gain.matrix([[1, 0, 0], [0, 0, 1]])), 2.0),
    ]  # fmt: skip
    c = Canvas("g-leakage", 560, 300, "Which mechanism leaks less depends on the goal",
               "Five measures of the survey's two mechanisms. The geometric one has the larger epsilon and Shannon "
               "capacity, randomised response the larger leakage to one guess, on average and at worst; towards telling "
               "yes from no the geometric one leaks more on average.")  # fmt: skip
    c.text(240, 26, "● geometric, ε = ln 4", "accent-text")
    c.text(400, 26, "● randomised, ε = ln 3", "warm-text")
    for k, (name, measure, full) in enumerate(rows):
        y = 66 + 48 * k
        c.text(222, y + 5, name, "end")
        c.line(240, y, 520, y)
        for mechanism, kind in ((SURVEY, "accent"), (RESPONSE, "warm")):
            value = measure(mechanism)
            start = 1.0 if full == 2.0 else 0.0
            x = 240 + 280 * (value - start) / (full - start)
            c.dot(x, y, 6.5, f"fill-{kind}")
            c.text(x, y + (-12 if kind == "accent" else 22), f"{value:.3f}", f"small mid {kind}-text")
    return c


def composition() -> Canvas:
    """ε of k queries: the sum, and what is true at a small δ."""
    c = Canvas("composition", 560, 340, "What a thousand queries add up to",
               "Epsilon of k Laplace queries of epsilon 0.1 each. The plain sum reaches 100 at a thousand queries; at "
               "delta one in a million the truth is 18.95.")  # fmt: skip
    counts = [1, 5, 10, 25, *range(50, 1001, 50)]
    loss = PrivacyLoss.of_mechanism(lc.mechanism.Laplace(10.0))
    exact = [(loss**k).epsilon(1e-6).upper for k in counts]
    plot = Plot(c, (56, 40, 400, 242), (0.0, 1000.0), (0.0, 40.0))
    plot.ticks({k: str(k) for k in (0, 250, 500, 750, 1000)}, {k: str(k) for k in (0, 10, 20, 30, 40)})
    plot.titles("queries of ε = 0.1", "ε of all of them")
    plot.curve([0, 400], [0, 40], "warm")
    plot.curve([0.0, *map(float, counts)], [0.0, *exact], "accent")
    x, y = plot.at(400, 40)
    c.text(x + 8, y + 12, "the sum, δ = 0: 100 at the end", "warm-text")
    x, y = plot.at(1000, exact[-1])
    c.text(x + 6, y + 4, f"{exact[-1]:.2f}", "accent-text")
    c.text(x + 6, y + 19, "at δ = 10⁻⁶", "small")
    return c


def groups() -> Canvas:
    """Copies of one coin in a noisy sum."""
    sizes = [1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 200, 500, 1000]
    found = [f.got for f in copies_curve(sizes, 0.1)]
    c = Canvas("groups", 560, 330, "When records depend on each other, one answer can tell everything",
               "Information about one person in a noisy sum of n equal records at epsilon 0.1, against n from 1 to 1000. "
               "It rises from 0.0012 nats to the whole bit, 0.693 nats, while the bound for independent records stays at "
               "0.0012.")  # fmt: skip
    plot = Plot(c, (56, 40, 400, 230), (0.0, 3.0), (0.0, 0.75))
    plot.ticks(
        {0: "1", 1: "10", 2: "100", 3: "1000"}, {0: "0", 0.25: "0.25", 0.5: "0.5", math.log(2): "ln 2"}
    )
    plot.titles("records that are all equal", "information about one, nats")
    plot.curve([math.log10(n) for n in sizes], found, "warm")
    plot.curve([0, 3], [found[0], found[0]], "accent")
    x, y = plot.at(3, found[-1])
    c.text(x + 6, y + 4, "all equal", "warm-text")
    x, y = plot.at(3, found[0])
    c.text(x + 6, y - 2, "independent", "accent-text")
    return c


def odds() -> Canvas:
    """Of 100 people with an even chance, how many can be guessed right."""
    c = Canvas("odds", 560, 240, "What ε lets an attacker do with a coin flip",
               "Four squares of a hundred people each. Of a hundred yes-or-no guesses, fifty are right by chance; at most "
               "53 at epsilon 0.1, 63 at 0.5, 74 at 1 and 96 at 3.")  # fmt: skip
    for panel, epsilon in enumerate((0.1, 0.5, 1.0, 3.0)):
        right = math.ceil(100 * meaning.posterior_bound(epsilon, 0.5) - 1e-9)
        left = 24 + 134 * panel
        for k in range(100):
            kind = "fill-line" if k < 50 else "fill-warm" if k < right else "fill-wash"
            c.dot(left + 5.5 + 11 * (k % 10), 150 - 11 * (k // 10), 4.3, kind)
        c.text(left + 55, 30, f"ε = {epsilon:g}", "mid bold")
        c.text(left + 55, 178, f"at most {right} of 100", "mid")
        c.text(left + 55, 195, f"{100 * meaning.posterior_bound(epsilon, 0.5):.1f} %", "small mid")
    c.dot(60, 224, 4.3, "fill-line")
    c.text(70, 228, "right by tossing a coin", "small")
    c.dot(240, 224, 4.3, "fill-warm")
    c.text(250, 228, "right because of the answer, at most", "small")
    return c


DRAWINGS: tuple[Callable[[], Canvas], ...] = (
    channel, adversary, capacity, diameter, orders, lift, g_leakage, composition, groups, odds, series,
    census_tables, census_tree, public_use_file, three_ways,
)  # fmt: skip


def main() -> None:
    """Write them all."""
    FIGURES.mkdir(exist_ok=True)
    for draw in DRAWINGS:
        canvas = draw()
        (FIGURES / f"{canvas.name}.svg").write_text(canvas.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
