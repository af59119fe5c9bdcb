"""Why credentials were refused: for the log alone, and by kind alone."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Refusal", "Refused"]


class Refusal(StrEnum):
    """A kind of reason; none says anything of what was presented."""

    NOTHING = "nothing presented"
    MALFORMED = "malformed"
    PASSWORD = "name or password"
    TOKEN = "unknown, ended or revoked token"
    KIND = "a token in place of a session"
    ISSUER = "unknown issuer"
    ALGORITHM = "algorithm"
    TYPE = "not an access token"
    KEY = "unknown key"
    KEYS = "keys of the issuer cannot be fetched"
    SIGNATURE = "signature"
    AUDIENCE = "audience"
    EXPIRED = "expired"
    EARLY = "not yet valid"
    CLAIMS = "claims"
    SUBJECT = "subject"
    REMOVED = "removed person"
    STATE = "not the sign-in that this browser began"
    CODE = "the provider gave no tokens for the code"
    NONCE = "an ID token of another sign-in"
    PROVIDER = "session of a provider that is no longer trusted"
    VOUCHED = "a token whose person's provider has not vouched for them lately"
    CERTIFICATE = "no verified certificate of the person's own"


class Refused(Exception):
    """Inside this room, before it becomes `Unauthenticated`."""

    def __init__(self, kind: Refusal) -> None:
        super().__init__(kind.value)
        self.kind = kind
