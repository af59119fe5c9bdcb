"""The words of a report: numbers rounded outward, and sentences in odds, which people understand best.

Source for the choice of words: Nanayakkara et al. 2023, *What Are the Chances?*
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction

from leakcap.definition.meaning import fano_guess, posterior_bound
from leakcap.report.render.noted import Note, NotedNumber, Text
from leakcap.statement import Reading, Statement
from leakcap.statement.wording import at_most, percent

__all__ = [
    "CHANCE",
    "at_least",
    "few_of",
    "frequency",
    "in_odds",
    "in_short",
    "is_sure",
    "most_digits",
    "number",
    "on_average",
    "outward_text",
    "quantity",
    "reading_text",
    "shared_text",
    "signed",
    "sum_text",
    "to_its_noise",
    "who_guesses",
]

CHANCE: dict[bool | None, str] = {
    True: "above the limit, which may be chance: the 99 % interval holds the limit",
    False: "above the limit, and not by chance: the 99 % interval lies above it",
}
"""What is said of a figure that was played and is above its limit, by `above_by_chance`."""

_BITS = math.log2(math.e)
_MILLION = 1e6
_SURE = 0.9999
"""Beyond this a percentage with two decimals may show as 100."""
_TICK = Fraction(1, 10**12)
# After the point: a double that is no short decimal has more.
_MOST_DIGITS = 12
_PLACES = 15
_GUESS = Note("(A+δ)/(1+A), A = e^ε", "Tu 2013, guessing game, sharpened; Kairouz, Oh & Viswanath 2015")
_FANO = Note("the largest s with ln 2 − h(s) ≤ I", "Fano's inequality; Cuff & Yu 2016 for I")
_ODDS = Note("posterior odds / prior odds ≤ e^ε", "Bayes' rule; Dwork et al. 2006")
_SLACK = Note(
    "posterior odds / prior odds ≤ e^{2ε}, but for δ(1+e^{−2ε})/(1−e^{−ε})", "Kasiviswanathan & Smith 2014"
)
_BELIEF = Note("pA/(pA+1−p), A = e^ε", "Tu 2013, guessing game, sharpened")


def frequency(probability: float) -> tuple[int, int]:
    """How many guesses of how many are right at most, in whole numbers that tell it from a coin's and from
    all of them.

    >>> frequency(0.525), frequency(0.5), frequency(0.50000025), frequency(1.0)
    ((53, 100), (50, 100), (5000003, 10000000), (100, 100))
    >>> frequency(0.996)
    (996, 1000)
    """
    exact = Fraction(probability)
    of = 100
    while exact > Fraction(1, 2) and (exact - Fraction(1, 2)) * of < 1 and of < 10**9:
        of *= 10
    while exact < 1 and math.ceil(exact * of) == of and of < 10**9:
        of *= 10
    return min(math.ceil(exact * of), of), of


def who_guesses(statement: Statement) -> str:
    """To whom the lines about one person apply."""
    return (
        "The lines about one person hold against anybody who knows everybody else's data, or takes people's "
        "data to be independent of each other, with any computing power and whatever they believed of the "
        "person before. For an attacker who knows that people's data depend on each other, the lines about "
        "several people hold."
    )


def in_odds(statement: Statement) -> list[Text]:
    """What an attacker gains about one person, as frequencies and as odds."""
    shown = statement.exposure
    right, of = frequency(statement["coin_flip"].upper)
    sentences: list[Text] = [
        "Nothing here keeps somebody who knows everybody else's data from being sure of a yes/no fact about "
        "one person."
        if is_sure(statement["coin_flip"].upper)
        else (
            "Somebody who knows everybody else's data guesses a yes/no fact about one person at even odds: "
            f"{of // 2:,} of {of:,} such guesses are right without this. With it at most ",
            NotedNumber(f"{right:,} of {of:,}", _GUESS),
            " are right on average.",
        )
    ]
    odds = statement["odds"]
    slack = odds.detail["exception"] > 0.0
    if odds.upper > _MILLION:
        sentences.append("Nothing here keeps odds of 1 to 1 from becoming a million to 1.")
    else:
        seldom = _SLACK if shown.composed is None else Note(odds.formula, odds.source)
        factor, note = at_most(odds.upper), seldom if slack else _ODDS
        rare = at_most(odds.detail["exception"])
        tail = f", except with probability {rare} at most." if slack else "."
        sentences.append(
            (
                "Odds of 1 to 1 become at most ",
                NotedNumber(f"{factor} to 1", note),
                ", odds of 1 to 99 at most ",
                NotedNumber(f"{factor} to 99", note),
                tail,
            )
        )
    if not slack:
        belief = posterior_bound(shown.epsilon_contents, 0.01)
        sentences.append(
            "Nothing here keeps a suspicion held with probability 1 % from becoming a certainty."
            if is_sure(belief)
            else (
                "A suspicion held with probability 1 % can be held with at most ",
                NotedNumber(percent(belief), _BELIEF),
                " afterwards.",
            )
        )
    return sentences


def is_sure(probability: float) -> bool:
    """Whether two decimals of a percentage may show it as 100, which is no bound to speak of.

    >>> is_sure(0.9999), is_sure(0.99995)
    (False, True)
    """
    return probability > _SURE


def shared_text(line: Reading) -> Text:
    """What several people share, whose records move together; in words where no number is left to tell."""
    told = percent(line.upper)
    shared = f"What up to {line.detail['k']:,} people share whose records move together (a household, say)"
    if is_sure(line.upper):
        return f"{shared} has next to no protection."
    before, _, after = line.sentence.partition(told)
    return before, NotedNumber(told, Note(line.formula, line.source)), after


def on_average(statement: Statement) -> Text | None:
    """How often the same guess is right with this very noise, where that says more than the worst case."""
    own, worst = statement["information_own"].upper, statement["coin_flip"].upper
    usual = fano_guess(own, 2) if math.isfinite(own) else 1.0
    if usual >= worst:
        return None
    return (
        "That is the worst case, of any noise with this ε. With the noise used here no more than ",
        NotedNumber(percent(usual), _FANO),
        " of such guesses are right on average, whatever the attacker knows of others.",
    )


def in_short(statement: Statement) -> list[str]:
    """The four sentences that a person needs first, each number once."""
    guess, odds = statement["coin_flip"].upper, statement["odds"]
    family, own = statement["family"], statement["information_own"].upper
    told = [
        "Somebody who knows everybody else's data, and would toss a coin about a yes/no fact of one person, "
        f"guesses right at most {percent(guess)} of the time, instead of 50 %."
        if guess <= _SURE
        else "Nothing here keeps somebody who knows everybody else's data from being sure of a yes/no fact "
        "of one person."
    ]
    if odds.upper <= _MILLION:
        rare = at_most(odds.detail["exception"])
        tail = f", except with probability {rare} at most" if odds.detail["exception"] > 0.0 else ""
        told.append(
            f"Odds about one person are multiplied or divided by at most {at_most(odds.upper)}{tail}."
        )
    shared = f"What up to {family.detail['k']:,} people share whose records move together (a household, say)"
    told.append(
        f"{shared} is guessed right at most {percent(family.upper)} of the time."
        if family.upper <= _SURE
        else f"{shared} has next to no protection."
    )
    told.append(
        f"On average at most {at_most(own * _BITS)} bits are learned about one person "
        "(a yes or no holds 1 bit)."
        if math.isfinite(own)
        else "What is learned on average about one person has no bound: what δ allows may tell everything."
    )
    if (guess_line := statement["coin_flip"]).holds == "spent":
        more = guess_line.stopping
        caps = " if the caps were fixed beforehand" if guess_line.under_caps else ""
        told.append(
            "This holds for whoever keeps to what was spent"
            + (
                ", and not for whoever stops when it suits them."
                if more is None or more > _SURE
                else "; whoever stops when it suits them guesses right at most "
                f"{percent(more)} of the time{caps}."
            )
        )
    return told


def at_least(value: float, digits: int = 6) -> str:
    """`value` ≥ 0 rounded down to so many significant digits, without needless zeros.

    >>> at_least(0.123456789), at_least(0.7), at_least(0.0), at_least(1234567.0)
    ('0.123456', '0.7', '0', '1234560')
    """
    return _cut(value, digits, upward=False)


def sum_text(value: float, digits: int = 6) -> str:
    """`value` ≥ 0 rounded up to so many significant digits, without needless zeros; ∞ is `no bound`.

    >>> sum_text(0.1234561), sum_text(0.7), sum_text(math.inf)
    ('0.123457', '0.7', 'no bound')
    """
    return _cut(value, digits, upward=True)


def outward_text(low: float, high: float, digits: int = 6) -> tuple[str, str]:
    """The ends of an interval at six digits or fewer, the lower rounded down and the upper up.

    >>> outward_text(-0.12345678, 3.0), outward_text(0.12345678, 3.0, 2)
    (('-0.123457', '3'), ('0.12', '3'))
    """
    return signed(low, upward=False, digits=digits), signed(high, upward=True, digits=digits)


def signed(value: float, *, upward: bool, digits: int = 6) -> str:
    """A number of either sign at six significant digits or fewer, rounded as asked; thousands apart.

    >>> signed(1234567.0, upward=True), signed(-1.5, upward=True)
    ('1,234,570', '-1.5')
    """
    text = _cut(abs(value), digits, upward=upward == (value >= 0))
    whole, point, rest = text.partition(".")
    if whole.isdigit():
        text = f"{int(whole):,}{point}{rest}"
    return f"-{text}" if value < 0 and text != "0" else text


def to_its_noise(value: float, low: float, high: float, places: int | None = None) -> tuple[str, str, str]:
    """A value and its interval to the digits that its noise leaves: two of half the interval's width.

    The value is rounded to the nearest, the ends outward, so that the interval still covers. Whole numbers
    get no decimals, decimals no more than their `places`, and a minus that spreadsheets read.

    >>> to_its_noise(0.0479895, -26.31, 26.4)
    ('0', '-27', '27')
    >>> to_its_noise(14.127291, 13.9, 14.33)
    ('14.13', '13.90', '14.33')
    >>> to_its_noise(106842, 26841.0, 186843.0)
    ('107,000', '26,000', '187,000')
    >>> to_its_noise(12.34, 12.28, 12.4, places=2)
    ('12.34', '12.28', '12.40')
    >>> to_its_noise(12345.678, 12345.678, 12345.678, places=3)
    ('12,345.678', '12,345.678', '12,345.678')
    """
    half = (high - low) / 2
    whole, least = (True, 0) if isinstance(value, int) else (places is not None, -(places or 0))
    place = math.floor(math.log10(half)) - 1 if 0.0 < half < math.inf else least
    place = max(place, least) if whole else place
    if not (whole or half > 0.0) or not half < math.inf or abs(place) > _PLACES:
        return number(value), *outward_text(low, high)
    step = Fraction(10) ** place
    nearest, ends = round(Fraction(value) / step), [Fraction(repr(end)) / step for end in (low, high)]
    return _stepped(nearest, place), _stepped(math.floor(ends[0]), place), _stepped(math.ceil(ends[1]), place)


def most_digits(numbers: Iterable[float]) -> int | None:
    """The most digits after the point that any of these recorded numbers has, so that no page makes up more:
    a sum of amounts in cents has two. None where some are as long as doubles get.

    >>> most_digits([12.3, 12.25, 7]), most_digits([0.1 + 0.2]), most_digits([])
    (2, None, 0)
    """
    ends = (Decimal(str(one)) for one in numbers if math.isfinite(one))
    most = max([0, *(-int(one.as_tuple().exponent) for one in ends)])
    return most if most <= _MOST_DIGITS else None


def _stepped(count: int, place: int) -> str:
    return f"{Decimal(count).scaleb(place):,.{max(-place, 0)}f}"


def number(value: float) -> str:
    """A released number: whole numbers as they are, others at six significant digits.

    >>> number(212), number(14.127291), number(-3)
    ('212', '14.1273', '-3')
    """
    whole = isinstance(value, int) or (float(value).is_integer() and abs(value) < 1e15)
    return f"{int(value):,d}" if whole else f"{value:,.6g}"


def _cut(value: float, digits: int, *, upward: bool) -> str:
    if not math.isfinite(value):
        return "no bound" if upward else "∞"
    if value == 0.0:
        return "0"
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    place = math.floor(math.log10(value)) + 1 - digits
    if exact / Fraction(10) ** place < 10 ** (digits - 1):  # log10 was rounded up to a whole number
        place -= 1
    step = Fraction(10) ** place  # below the least double it is no double itself
    # One part in 10¹², the ledger's tick, so that sums of decimals stay decimals: 0.1 + 0.2 shows as 0.3.
    exact *= 1 - _TICK if upward else 1 + _TICK
    count = math.ceil(exact / step) if upward else math.floor(exact / step)
    result = count * step
    if 1e-6 <= result < 10**12:
        decimals = max(0, -place)
        text = f"{int(result * 10**decimals):0{decimals + 1}d}"
        if not decimals:
            return text
        return f"{text[:-decimals]}.{text[-decimals:]}".rstrip("0").rstrip(".")
    power = len(str(count)) - 1
    mantissa = f"{str(count)[0]}.{str(count)[1:]}".rstrip("0").rstrip(".")
    return f"{mantissa}e{power + place:+d}"


def quantity(lower: float, upper: float, unit: str) -> str:
    """A quantity with its unit: one number where the ends agree to six digits, else both, rounded outward.

    >>> quantity(0.1, 0.1, "nats"), quantity(0.1, 0.25, "nats"), quantity(0.0, math.inf, "nats")
    ('0.1 nats', '0.1 to 0.25 nats', 'no bound')
    """
    if not math.isfinite(upper):
        return "no bound"
    if upper - lower <= 1e-6 * abs(upper):
        return f"{signed(upper, upward=True)} {unit}"
    return f"{signed(lower, upward=False)} to {signed(upper, upward=True)} {unit}"


def reading_text(line: Reading) -> str:
    """The number of a line of a statement, with its unit."""
    if line.unit == "probability":
        return f"p ≤ {percent(line.upper)}"
    if not math.isfinite(line.upper):
        return "no bound"
    if line.unit == "ratio":
        return f"factor ≤ {at_most(line.upper)}"
    bits = quantity(line.lower * _BITS, line.upper * _BITS, "bits")
    return f"{quantity(line.lower, line.upper, 'nats')} ({bits})"


def few_of(words: Sequence[str], most: int = 12) -> str:
    """The first of them, and how many more there are.

    >>> few_of(["a", "b", "c"], 2)
    'a; b; and 1 more'
    """
    shown = list(words[:most])
    return "; ".join([*shown, f"and {len(words) - most:,} more"] if len(words) > most else shown)
