"""Utility beside privacy: distortion, information kept, and the best mechanisms for both.

Source: Wu, Xia & He 2017, section 3.2.
"""

from leakcap.utility import synthesis
from leakcap.utility.curve import TradeoffPoint, tradeoff_curve
from leakcap.utility.distortion import expected_distortion, information, least_distortion
from leakcap.utility.least import least_bayes_capacity, least_bayes_vulnerability
from leakcap.utility.rate import least_mutual_information
from leakcap.utility.synthesis import least_epsilon, optimal_mechanism

__all__ = [
    "TradeoffPoint",
    "expected_distortion",
    "information",
    "least_bayes_capacity",
    "least_bayes_vulnerability",
    "least_distortion",
    "least_epsilon",
    "least_mutual_information",
    "optimal_mechanism",
    "synthesis",
    "tradeoff_curve",
]
