"""The accountant: what many queries tell together, in every algebra."""

from leakcap.accounting.loss import PrivacyLoss

__all__ = ["PrivacyLoss"]
