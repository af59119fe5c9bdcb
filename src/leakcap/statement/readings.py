"""The lines of a leakage statement, each from one formula of the theory.

All are about the contents of one unit's data (is it this record or that one, or none at all), given an
attacker who may know everything else. Where totals were published exactly, they are about the noise alone.
"""

from __future__ import annotations

from leakcap.statement import amounts, shares
from leakcap.statement.exposure import Exposure
from leakcap.statement.reading import Reading

__all__ = ["readings"]


def readings(exposure: Exposure, *, family: int, guesses: int, more: int) -> tuple[Reading, ...]:
    """Every line, in the order in which a board reads them.

    Beside exact totals nothing is said of whether somebody is in the table: tables with a person and without
    never agree in such a total, which tells.
    """
    within = exposure.relation == "add-remove-one"
    told = within and exposure.exact_totals
    lines = [
        shares.coin_flip(exposure),
        shares.one_in_k(exposure, guesses),
        amounts.odds(exposure),
        *([] if told else [shares.joining_line(exposure)]),
        amounts.epsilon(exposure),
        amounts.own_information(exposure),
        amounts.tight_information(exposure),
        *([] if exposure.delta_contents > 0.0 else [amounts.published_information(exposure)]),
        amounts.average_and_worst(exposure),
        shares.advantage(exposure),
        shares.power_of_tests(exposure),
        shares.family(exposure, family),
    ]
    if within and not told:
        lines.insert(3, shares.presence(exposure))
    if exposure.units is not None:
        lines.append(shares.everybody(exposure, exposure.units))
    lines.append(amounts.table(exposure))
    lines.append(amounts.more(exposure, more))
    return tuple(lines)
