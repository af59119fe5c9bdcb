"""What is sent to the curator, as the OpenAPI document has it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "AmendmentBody",
    "AskBody",
    "CertificateBody",
    "DecisionBody",
    "FitBody",
    "GrantBody",
    "NewPersonBody",
    "NewTokenBody",
    "PasswordBody",
    "PauseBody",
    "SignInBody",
    "Status",
    "WordBody",
]

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]
Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
Dataset: TypeAlias = Annotated[str, Field(min_length=1, max_length=64)]


_MOST = 2**53
"""The largest whole number that is taken for one with a point: beyond it not all are the same."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class AskBody(_Body):
    """A question: `queries`, with the fields of a query file's, or `sql` with its terms; one of the two.

    `fresh` asks for new noise, which is paid for, where the ledger knows an answer.
    """

    queries: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)] | None = None
    sql: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None
    epsilon: float | None = None
    rho: float | None = None
    error: float | list[float] | None = None
    delta: float | None = None
    weights: list[float] | None = None
    objective: Annotated[str, Field(max_length=40)] | None = None
    noise: Annotated[str, Field(max_length=40)] | None = None
    fresh: bool = False

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers_too(cls, content: Any) -> Any:
        if not isinstance(content, dict):
            return content
        names = ("epsilon", "rho", "error", "delta")
        return {
            n: float(v) if n in names and type(v) is int and abs(v) <= _MOST else v
            for n, v in content.items()
        }

    @property
    def content(self) -> dict[str, Any]:
        """What was given, for the engine."""
        return {name: value for name, value in self.model_dump().items() if value not in (None, False)}


class Status(BaseModel):
    """Whether the curator answers."""

    status: Literal["ready", "not ready"]


class SignInBody(_Body):
    """Name and password of an account of the curator's own."""

    name: Name
    password: Annotated[str, Field(min_length=1, max_length=1000)]


class PasswordBody(SignInBody):
    """A password that its person chooses in place of the one that they have; with `end_tokens` their personal
    access tokens end, too."""

    chosen: Annotated[str, Field(min_length=1, max_length=1000)]
    end_tokens: bool = False


class NewTokenBody(_Body):
    """A personal access token: what it is for, for how many days, and what it is narrowed to."""

    label: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    days: Annotated[int, Field(ge=1, le=366)] = 30
    scopes: list[Literal["read", "ask", "approve", "audit", "own"]] | None = None
    datasets: Annotated[list[Dataset], Field(max_length=100)] | None = None
    agent: bool = False


class DecisionBody(_Body):
    """What an approver decides, and why; a refusal needs a reason."""

    verdict: Literal["approve", "refuse"]
    reason: Annotated[str, Field(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


class WordBody(_Body):
    """What an administrator says of another one's request, and why; a refusal needs a reason."""

    verdict: Literal["confirm", "refuse"]
    reason: Annotated[str, Field(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""


class PauseBody(_Body):
    """Why a data set is paused; those who ask are told."""

    reason: Line


class AmendmentBody(_Body):
    """Another policy, in full, and why; with `preview` what would change."""

    policy: dict[str, Any]
    reason: Line
    preview: bool = False


class NewPersonBody(_Body):
    """Somebody new: `local:<name>`, or `<provider>:<sub>` as the provider verifies it. `password` is good for
    choosing another one."""

    subject: Name
    display: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$")] = ""
    agent: bool = False
    password: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


class CertificateBody(_Body):
    """A client's certificate, by its SHA-256: `openssl x509 -fingerprint -sha256`, in small letters and
    without colons."""

    thumbprint: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class GrantBody(_Body):
    """A role for somebody: in a data set, or for `admin` in the whole curator."""

    subject: Name
    role: Literal["owner", "analyst", "approver", "auditor", "admin"]
    dataset: Annotated[str, Field(max_length=64)] = ""


class FitBody(_Body):
    """A model, with the fields that `model` has in a file for `leakcap fit`."""

    model: dict[str, Any]
    fresh: bool = False


class TablesBody(BaseModel):
    """Tables, with the fields of a file for `leakcap tables` but for policy, data and ledger; with `choose`
    only so many of them, chosen by a private score."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    tables: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=1000)]
    choose: Annotated[int, Field(ge=1, le=10_000)] | None = None
    fresh: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """What was given, for the engine."""
        return {name: value for name, value in self.model_dump().items() if value not in (None, False)}
