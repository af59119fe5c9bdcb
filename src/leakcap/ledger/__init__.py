"""What has been spent, durably: caps that hold across processes, crashes and years.

    Spend, Caps, Limits, Charge    what an answer gives away, the most that may be, one query's price
    Group                          the most that several analysts may be told together
    Ledger                         open or read it; check, reserve, mark_released; balances, entries, verify
    answer_once, Paid              the one way to pay: recall, or commit, compute and record
    unpaid_places                  what it would pay for just now
    answer_steps, PaidSteps        the same for a stream: one charge, and each of its steps once
    Request, RecordedRequest       what is asked under a key, and is paid for once however often it is asked
    Proposed, Planned, Amendment   another policy for the same accounts: asked for, previewed, made
    move, backup, restore          all of a ledger to another database, to a file, and back
    admit_dataset                  another data set about the same people pays from the ledger
    CustodyEvent                   that a ledger was moved, restored, closed, or shared
    Anchor                         what a ledger was at one moment, kept elsewhere
    Slot, SlotPlan, PlannedDescent answers fixed beforehand, paid for together: ledger.plan
    Revision                       an answer that was replaced or withdrawn: what, why, who
    PublishedVersion, DataVersion  what was published as what, about which data, and what became of it
    Edition                        what an answer is published as: title, reference period, version
    OutsideSpend, outside_event    what other software spent, as ledger.spend charges it
    Entry, Balance, ...            what it gives back
    export                         the audit trail as CSV or JSON

SQLAlchemy is imported with the ledger itself, when it is first asked for.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.ledger.admission import admit_dataset
    from leakcap.ledger.amending import Planned, Proposed
    from leakcap.ledger.anchors import Anchor
    from leakcap.ledger.caps import MOST_GROUPS, MOST_LEVELS, Caps, Group, Limits
    from leakcap.ledger.custody import backup, move, restore
    from leakcap.ledger.editions import Edition
    from leakcap.ledger.exporting import export
    from leakcap.ledger.gaussian_laws import PlannedDescent
    from leakcap.ledger.incoming import OutsideSpend, OutsideSpends, read_spends
    from leakcap.ledger.ledger import Ledger
    from leakcap.ledger.limits import Balance
    from leakcap.ledger.odometer import OdometerReading
    from leakcap.ledger.outside import as_dp_event, outside_event, profile_event, trade_off_event
    from leakcap.ledger.paying import Paid, answer_once, unpaid_places
    from leakcap.ledger.paying_steps import PaidSteps, answer_steps
    from leakcap.ledger.requests import RecordedRequest, Request
    from leakcap.ledger.slots import Slot, SlotPlan, SlotUse
    from leakcap.ledger.told import (
        Account,
        Amendment,
        Answer,
        Change,
        DatasetSpending,
        DataVersion,
        Head,
        ProgressStep,
        PublishedVersion,
        Revision,
        SaidSame,
        Totals,
    )
    from leakcap.ledger.transfers import BackedUp, CustodyEvent, Moved, Restored
    from leakcap.ledger.values import Charge, Entry, Spend

__all__ = [
    "MOST_GROUPS",
    "MOST_LEVELS",
    "Account",
    "Amendment",
    "Anchor",
    "Answer",
    "BackedUp",
    "Balance",
    "Caps",
    "Change",
    "Charge",
    "CustodyEvent",
    "DataVersion",
    "DatasetSpending",
    "Edition",
    "Entry",
    "Group",
    "Head",
    "Ledger",
    "Limits",
    "Moved",
    "OdometerReading",
    "OutsideSpend",
    "OutsideSpends",
    "Paid",
    "PaidSteps",
    "Planned",
    "PlannedDescent",
    "ProgressStep",
    "Proposed",
    "PublishedVersion",
    "RecordedRequest",
    "Request",
    "Restored",
    "Revision",
    "SaidSame",
    "Slot",
    "SlotPlan",
    "SlotUse",
    "Spend",
    "Totals",
    "admit_dataset",
    "answer_once",
    "answer_steps",
    "as_dp_event",
    "backup",
    "export",
    "move",
    "outside_event",
    "profile_event",
    "read_spends",
    "restore",
    "trade_off_event",
    "unpaid_places",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.ledger.admission": ("admit_dataset",),
        "leakcap.ledger.amending": ("Planned", "Proposed"),
        "leakcap.ledger.anchors": ("Anchor",),
        "leakcap.ledger.caps": ("MOST_GROUPS", "MOST_LEVELS", "Caps", "Group", "Limits"),
        "leakcap.ledger.custody": ("backup", "move", "restore"),
        "leakcap.ledger.editions": ("Edition",),
        "leakcap.ledger.exporting": ("export",),
        "leakcap.ledger.gaussian_laws": ("PlannedDescent",),
        "leakcap.ledger.incoming": ("OutsideSpend", "OutsideSpends", "read_spends"),
        "leakcap.ledger.ledger": ("Ledger",),
        "leakcap.ledger.limits": ("Balance",),
        "leakcap.ledger.odometer": ("OdometerReading",),
        "leakcap.ledger.outside": ("as_dp_event", "outside_event", "profile_event", "trade_off_event"),
        "leakcap.ledger.paying": ("Paid", "answer_once", "unpaid_places"),
        "leakcap.ledger.paying_steps": ("PaidSteps", "answer_steps"),
        "leakcap.ledger.requests": ("RecordedRequest", "Request"),
        "leakcap.ledger.slots": ("Slot", "SlotPlan", "SlotUse"),
        "leakcap.ledger.told": (
            "Account",
            "Amendment",
            "Answer",
            "Change",
            "DataVersion",
            "DatasetSpending",
            "Head",
            "ProgressStep",
            "PublishedVersion",
            "Revision",
            "SaidSame",
            "Totals",
        ),
        "leakcap.ledger.transfers": ("BackedUp", "CustodyEvent", "Moved", "Restored"),
        "leakcap.ledger.values": ("Charge", "Entry", "Spend"),
    },
)

# What a library logs is shown where the program says so, and nowhere else.
logging.getLogger("leakcap").addHandler(logging.NullHandler())
