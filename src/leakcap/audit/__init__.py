"""Audits: what samples prove about a mechanism that says it is private.

audit(mechanism, x, x')            certified lower bounds on ε, δ(ε), information; a verdict on a claim
audit_pairs(mechanism, pairs)      the same for the pair that tells most
audit_samples(outputs, outputs')   the same from outputs that are there already
black_box(secrets, outputs)        what anything that can be sampled leaks, between two ends that hold
sample_black_box(system, secrets)  the same, asking a function
audit_canaries(scores, included)   one run of a training algorithm: its (ε, δ)
audit_gaussian_canaries(…)         the same for a training that is claimed to be Gaussian: its μ
members_recognised(…)              true positives at a rate of false alarms, with exact limits
"""

from __future__ import annotations

from leakcap.audit.asked_system import BlackBox, black_box, sample_black_box
from leakcap.audit.canaries import CanaryAudit, audit_canaries, canary_p_value
from leakcap.audit.gaussian_canaries import GaussianCanaryAudit, audit_gaussian_canaries
from leakcap.audit.outcomes import Raised
from leakcap.audit.roc import RecognisedMembers, members_recognised
from leakcap.audit.run import audit, audit_samples
from leakcap.audit.search import answer_patterns, audit_pairs
from leakcap.audit.sources import Batched, Command
from leakcap.audit.value import Audit, CurvePoint, Evidence, Judgement, Verdict

__all__ = [
    "Audit",
    "Batched",
    "BlackBox",
    "CanaryAudit",
    "Command",
    "CurvePoint",
    "Evidence",
    "GaussianCanaryAudit",
    "Judgement",
    "Raised",
    "RecognisedMembers",
    "Verdict",
    "answer_patterns",
    "audit",
    "audit_canaries",
    "audit_gaussian_canaries",
    "audit_pairs",
    "audit_samples",
    "black_box",
    "canary_p_value",
    "members_recognised",
    "sample_black_box",
]
