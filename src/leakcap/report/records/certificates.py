"""What a record says of the certificate that was written beside it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakcap.statement.record import Part

__all__ = ["CertificateRecord"]


class CertificateRecord(Part):
    """A file that says what all answers told together and that no cap was passed, with what proves it."""

    file: Annotated[str, Field(description="its name, beside the report or where it was asked for")]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of its bytes")]
    check: Annotated[
        str, Field(description="what checks it, in its folder, without leakcap, the data or the ledger")
    ]
