"""What an ε means, which ε is enough, what offices' methods tell: the numbers behind the explorer's pages."""

from leakcap.choosing.gaussian import GaussianMeaning, meaning_of
from leakcap.choosing.meaning import Meaning, Scenario
from leakcap.choosing.methods import MethodTells, OfficeMethod, told_by
from leakcap.choosing.needs import Choice, Need, choice

__all__ = [
    "Choice",
    "GaussianMeaning",
    "Meaning",
    "MethodTells",
    "Need",
    "OfficeMethod",
    "Scenario",
    "choice",
    "meaning_of",
    "told_by",
]
