"""The accountant: what many queries tell together, in every algebra."""

from leakcap.accounting.algebra import (
    best_orders,
    compose,
    compose_approximate,
    dominating_loss,
    whole_table,
)
from leakcap.accounting.answers import guess_success, odds_quantile, shannon_capacity, trade_off
from leakcap.accounting.bins import balls_in_bins, shuffled
from leakcap.accounting.bracket import LossBracket
from leakcap.accounting.calibrate import Calibrated, calibrate
from leakcap.accounting.events import from_event, to_event
from leakcap.accounting.loss import PrivacyLoss
from leakcap.accounting.partition import Partition, group, parallel
from leakcap.accounting.personal import Filter, Odometer, PersonalBudgets
from leakcap.accounting.price import InformationPrice, information_price, information_total
from leakcap.accounting.profile import Profile, Values
from leakcap.accounting.sampled_steps import SampledSteps
from leakcap.accounting.table import LossTable, from_pld, loss_table, to_pld
from leakcap.accounting.telling import guess_among, most_telling

__all__ = [
    "Calibrated",
    "Filter",
    "InformationPrice",
    "LossBracket",
    "LossTable",
    "Odometer",
    "Partition",
    "PersonalBudgets",
    "PrivacyLoss",
    "Profile",
    "SampledSteps",
    "Values",
    "balls_in_bins",
    "best_orders",
    "calibrate",
    "compose",
    "compose_approximate",
    "dominating_loss",
    "from_event",
    "from_pld",
    "group",
    "guess_among",
    "guess_success",
    "information_price",
    "information_total",
    "loss_table",
    "most_telling",
    "odds_quantile",
    "parallel",
    "shannon_capacity",
    "shuffled",
    "to_event",
    "to_pld",
    "trade_off",
    "whole_table",
]
