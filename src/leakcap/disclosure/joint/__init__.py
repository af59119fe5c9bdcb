"""Joint laws of what is published together: cells that are perturbed by cell keys, and their margin."""

from leakcap.disclosure.joint.margin import margin_channel
from leakcap.disclosure.joint.success import margin_success

__all__ = ["margin_channel", "margin_success"]
