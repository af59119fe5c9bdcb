"""What an ε means, and which ε is enough: the numbers behind the explorer's pages."""

from leakcap.choosing.gaussian import GaussianMeaning, meaning_of
from leakcap.choosing.meaning import Meaning, Scenario
from leakcap.choosing.needs import Choice, Need, choice

__all__ = ["Choice", "GaussianMeaning", "Meaning", "Need", "Scenario", "choice", "meaning_of"]
