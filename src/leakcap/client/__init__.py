"""Ask a curator: what a colleague, a script or an agent does who does not hold the data.

connect            a connection to a curator, under a token
Connection         who asks, data sets, tokens and jobs
RemoteTable        a data set, with the methods of `PrivateTable`
RemoteJob          a question that waits, and its answers once it is done
AwaitingApproval   raised where somebody has to approve first; it has the job
NoAnswer           the curator could not be reached; it has the key to ask again with
NotSignedIn, NotAllowed, NotThere, TryLater, PasswordNotChosen   what a curator refuses
IssuedToken        a new token, whose secret is told once

httpx is imported with the first connection (`pip install 'leakcap[client]'`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leakcap.lazily import lazily

if TYPE_CHECKING:
    from leakcap.client.connection import Connection, connect
    from leakcap.client.errors import (
        NoAnswer,
        NotAllowed,
        NotSignedIn,
        NotThere,
        PasswordNotChosen,
        TryLater,
    )
    from leakcap.client.jobs import AwaitingApproval, RemoteJob
    from leakcap.client.table import RemoteTable
    from leakcap.client.tokens import IssuedToken

__all__ = [
    "AwaitingApproval",
    "Connection",
    "IssuedToken",
    "NoAnswer",
    "NotAllowed",
    "NotSignedIn",
    "NotThere",
    "PasswordNotChosen",
    "RemoteJob",
    "RemoteTable",
    "TryLater",
    "connect",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "leakcap.client.connection": ("Connection", "connect"),
        "leakcap.client.errors": (
            "NoAnswer",
            "NotAllowed",
            "NotSignedIn",
            "NotThere",
            "PasswordNotChosen",
            "TryLater",
        ),
        "leakcap.client.jobs": ("AwaitingApproval", "RemoteJob"),
        "leakcap.client.table": ("RemoteTable",),
        "leakcap.client.tokens": ("IssuedToken",),
    },
)
