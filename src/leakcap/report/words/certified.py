"""How whoever doubts a release can check it, in words."""

from __future__ import annotations

from leakcap.report.records.certificates import CertificateRecord

__all__ = ["certificate_words", "hash_words"]


def hash_words(sha256: str) -> str:
    """A certificate's hash, as every page writes it.

    >>> hash_words("ab12")
    'SHA-256 ab12'
    """
    return f"SHA-256 {sha256}"


def certificate_words(record: CertificateRecord) -> tuple[str, str]:
    """What the certificate says, and how it is checked."""
    return (
        f"The certificate {record.file} ({hash_words(record.sha256)}) says what all answers told together, "
        "and that no cap was passed.",
        f"In its folder {record.check} says whether that is proved: a program of its own, which needs "
        "neither leakcap nor the data nor the ledger.",
    )
