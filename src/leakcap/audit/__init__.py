"""Audits: what samples prove about a mechanism that says it is private.

audit(mechanism, x, x')            certified lower bounds on ε, δ(ε), information; a verdict on a claim
audit_samples(outputs, outputs')   the same from outputs that are there already
"""

from __future__ import annotations

from leakcap.audit.outcomes import Raised
from leakcap.audit.run import audit, audit_samples
from leakcap.audit.sources import Batch, Command
from leakcap.audit.value import Audit, CurvePoint, Evidence, Judgement, Verdict

__all__ = [
    "Audit",
    "Batch",
    "Command",
    "CurvePoint",
    "Evidence",
    "Judgement",
    "Raised",
    "Verdict",
    "audit",
    "audit_samples",
]
