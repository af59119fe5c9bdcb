"""What a channel leaks: under a given prior, or at most over priors and gains.

A verb that evaluates a functional of (channel, prior) returns a float, evaluated as it stands; a verb
that maximises or minimises over something returns a `Bound`. Measures of information are in nats,
vulnerabilities and risks are probabilities or worths, multiplicative leakages and lifts are ratios.
"""

from leakcap.leakage.additive import additive_bayes_capacity
from leakcap.leakage.augustin import csiszar
from leakcap.leakage.correlated import (
    dalenius,
    dalenius_capacity,
    dalenius_g_leakage,
    dalenius_lift,
    factorise,
)
from leakcap.leakage.guessing import (
    bayes_risk,
    bayes_vulnerability,
    guessing_entropy,
    posterior_guessing_entropy,
)
from leakcap.leakage.hyper import Hyper
from leakcap.leakage.individuals import (
    Privacies,
    each_individual,
    individual,
    inferential_privacy,
    information_privacy,
    mutual_information_privacy,
    privacies,
    relative_entropy_privacy,
    worst_individual,
)
from leakcap.leakage.information import arimoto, joint_renyi, mutual_information, sibson
from leakcap.leakage.joining import belief_change, joining_change
from leakcap.leakage.lifts import lift, local_information_privacy, log_lift, pointwise_maximal_leakage
from leakcap.leakage.limits import additive_gain_capacity, bayes_capacity, gain_capacity, lift_capacity
from leakcap.leakage.over_priors import g_capacity
from leakcap.leakage.vulnerability import g_leakage, g_vulnerability, posterior_vulnerability

__all__ = [
    "Hyper",
    "Privacies",
    "additive_bayes_capacity",
    "additive_gain_capacity",
    "arimoto",
    "bayes_capacity",
    "bayes_risk",
    "bayes_vulnerability",
    "belief_change",
    "csiszar",
    "dalenius",
    "dalenius_capacity",
    "dalenius_g_leakage",
    "dalenius_lift",
    "each_individual",
    "factorise",
    "g_capacity",
    "g_leakage",
    "g_vulnerability",
    "gain_capacity",
    "guessing_entropy",
    "individual",
    "inferential_privacy",
    "information_privacy",
    "joining_change",
    "joint_renyi",
    "lift",
    "lift_capacity",
    "local_information_privacy",
    "log_lift",
    "mutual_information",
    "mutual_information_privacy",
    "pointwise_maximal_leakage",
    "posterior_guessing_entropy",
    "posterior_vulnerability",
    "privacies",
    "relative_entropy_privacy",
    "sibson",
    "worst_individual",
]
