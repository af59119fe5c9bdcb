"""What the owner writes for a curator: `curator.toml`, checked; no file or server is touched here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator

from leakcap.errors import InvalidParameter
from leakcap.policy.validation import Strict, complaints, read_toml
from leakcap.service.job_times import JobTimes, default_job_times
from leakcap.web.serving.settings import is_loopback

__all__ = [
    "ApprovalRule",
    "ClientCertificates",
    "Configuration",
    "DataSource",
    "OidcSettings",
    "RequestLimits",
    "TelemetrySettings",
    "TlsFiles",
    "load_configuration",
    "proxy_secret",
]

_ALIAS = re.compile(r"[a-z][a-z0-9-]{0,31}")
_PROXY_SECRET = re.compile(r"[A-Za-z0-9_-]{32,200}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LONGEST = 86_400.0
LOCAL = "local"
"""The alias of the curator's own accounts, which no other provider may have."""


class ApprovalRule(Strict):
    """Which questions wait for somebody's approval.

    Those with which somebody, or a group of the policy that they are in, would have asked for more than
    `above_epsilon` or `above_rho` without approval within `days`; all of them where neither is given. What is
    known costs nothing and counts nothing. `approvers` is how many different people have to approve, none of
    them the one who asked.
    """

    above_epsilon: float | None = Field(default=None, ge=0.0)
    above_rho: float | None = Field(default=None, ge=0.0)
    days: int = Field(default=30, ge=1, le=3660)
    approvers: int = Field(default=1, ge=1, le=10)

    @property
    def limits(self) -> dict[str, float]:
        """The thresholds by currency; empty where every question waits."""
        both = {"epsilon": self.above_epsilon, "rho": self.above_rho}
        return {name: limit for name, limit in both.items() if limit is not None}


class DataSource(Strict):
    """One data set: its `policy` (a file), its `ledger` and where the data is.

    `source` is a path to Parquet or CSV, a DuckDB file with its `table`, or the URL of a PostgreSQL server or
    a Spark session. `tables` are those that the policy declares for joins.

    `answers` says whether a question is answered at once, when it is done, or as a job, which may be seen to
    have ended at its `job_times` alone: seconds after its start, the last of which is as long as it may take.
    """

    policy: str = Field(min_length=1)
    source: str = Field(min_length=1, repr=False)
    ledger: str = Field(min_length=1, repr=False)
    table: str | None = None
    tables: dict[str, str] = Field(default_factory=dict, repr=False)
    approval: ApprovalRule | None = None
    title: str = ""
    answers: Literal["at once", "as jobs"] = "at once"
    job_times: list[float] = Field(default_factory=list, max_length=20)

    @field_validator("job_times")
    @classmethod
    def _ever_later(cls, value: list[float]) -> list[float]:
        if any(not before < one <= _LONGEST for before, one in zip([0.0, *value], value, strict=False)):
            raise ValueError(f"must be seconds, each later than the one before, at most {_LONGEST:g}")
        return value


class OidcSettings(Strict):
    """An OpenID Connect provider: its `issuer`, the `audience` that its access tokens must name, and the
    `client_id` with which terminals sign in.

    With `console_client_id` people sign in there at the console, too; `console_secret` is a file with that
    client's secret, where the provider gave it one. `title` is what the button says. Where the provider has
    not vouched for somebody for `token_days`, their personal access tokens rest until they sign in there.
    """

    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    client_id: str = Field(min_length=1)
    algorithms: list[str] = Field(default_factory=lambda: ["RS256", "ES256", "EdDSA"], min_length=1)
    console_client_id: str = ""
    console_secret: str = ""
    title: str = Field(default="", max_length=80)
    token_days: int = Field(default=30, ge=1, le=366)

    @field_validator("issuer")
    @classmethod
    def _secure(cls, value: str) -> str:
        parts = urlsplit(value)
        plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if not (parts.scheme == "https" or plain) or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an https address without a query; http is for loopback alone")
        return value

    @field_validator("algorithms")
    @classmethod
    def _asymmetric(cls, value: list[str]) -> list[str]:
        known = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
        if not set(value) <= known:
            raise ValueError(f"must be among {', '.join(sorted(known))}: signatures by a public key")
        return value

    @model_validator(mode="after")
    def _whose_secret(self) -> OidcSettings:
        if self.console_secret and not self.console_client_id:
            raise ValueError("`console_secret` is of a client: give its `console_client_id`")
        if self.audience in (self.client_id, self.console_client_id):
            raise ValueError(
                "`audience` must be another name than the clients': what names a client is an ID token, "
                "which lets nobody in. Register the curator as an API of its own"
            )
        return self


class TlsFiles(Strict):
    """The files of a certificate and its key, in PEM."""

    certificate: str = Field(min_length=1)
    key: str = Field(min_length=1)


class ClientCertificates(Strict):
    """That people show certificates of their own to the proxy, beside what they sign in with.

    `secret` is a file with the text by which the proxy proves that the certificate is its word and nobody
    else's.
    """

    secret: str = Field(min_length=1)


class TelemetrySettings(Strict):
    """Where spans of requests go: the `endpoint` of the owner's collector, OTLP over HTTP.

    With `parents` a trace begins where a request's header `traceparent` says: for a proxy that writes it.
    """

    endpoint: str = Field(min_length=1)
    parents: bool = False

    @field_validator("endpoint")
    @classmethod
    def _collector(cls, value: str) -> str:
        parts = urlsplit(value)
        plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if not (parts.scheme == "https" or plain) or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an https address without a query; http is for loopback alone")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must be without a name and password: set OTEL_EXPORTER_OTLP_HEADERS")
        return value


class RequestLimits(Strict):
    """What one request may take: bytes of its body, seconds, MiB of memory of an engine's process; and how
    many requests a person may send in a minute. `job_seconds` is the last time of a job where its data set
    has no `job_times`; `jobs_per_person` is how many jobs of one person may be queued or running, and
    `approvals_per_person` how many may wait for approval."""

    body_kib: int = Field(default=512, ge=1, le=64 * 1024)
    seconds: float = Field(default=30.0, gt=0.0, le=600.0)
    job_seconds: float = Field(default=3600.0, gt=0.0, le=_LONGEST)
    memory_mib: int = Field(default=4096, ge=256, le=1024 * 1024)
    requests_per_minute: int = Field(default=6000, ge=1, le=10**6)
    jobs_per_person: int = Field(default=8, ge=1, le=1000)
    approvals_per_person: int = Field(default=32, ge=1, le=1000)


class Configuration(Strict):
    """The whole of `curator.toml`.

    `listen` is an address and a port; `public` the address under which people reach it, where that is another
    one; `store` the database of people, grants and jobs. `jobs` is how many jobs are done at a time. `tick`
    is the least time, in seconds, after which an answer leaves that is waited for: it hides how long those
    take that are quicker. `behind_proxy` is the owner's word that TLS ends at a proxy on this machine. With
    `second_administrator` roles, one-time passwords, certificates, amendments and the end of a pause wait for
    another administrator's word.
    """

    name: str = Field(default="leakcap curator", min_length=1, max_length=80)
    listen: str = "127.0.0.1:8422"
    public: str = ""
    store: str = Field(default="sqlite:///curator.db", min_length=1, repr=False)
    workers: int = Field(default=1, ge=1, le=64)
    engines: int = Field(default=1, ge=1, le=64)
    jobs: int = Field(default=1, ge=1, le=64)
    tick: float = Field(default=0.1, gt=0.0, le=60.0)
    behind_proxy: bool = False
    local_accounts: bool = True
    second_administrator: bool = False
    tls: TlsFiles | None = None
    client_certificates: ClientCertificates | None = None
    telemetry: TelemetrySettings | None = None
    limits: RequestLimits = RequestLimits()
    identity: dict[str, OidcSettings] = Field(default_factory=dict)
    data: dict[str, DataSource] = Field(min_length=1)

    @field_validator("listen")
    @classmethod
    def _address(cls, value: str) -> str:
        _split(value)
        return value

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers_too(cls, content: Any) -> Any:
        """`tick = 1` and `above_epsilon = 1` are numbers as good as 1.0."""
        return _floats(content)

    @model_validator(mode="after")
    def _consistent(self) -> Configuration:
        for alias in self.identity:
            if not _ALIAS.fullmatch(alias) or alias in (LOCAL, "shell"):
                raise ValueError(
                    f"`identity.{alias[:40]}` must be a short word of small letters, digits and hyphens "
                    f"other than `{LOCAL}`, which are the curator's own accounts, and `shell`, which is "
                    "whoever is at the machine's terminal"
                )
        for name in self.data:
            if not _NAME.fullmatch(name):
                raise ValueError(
                    f"`data.{name[:40]}` must be a word of small letters, digits, `_` and `-`: it is "
                    "a part of addresses"
                )
        if not self.identity and not self.local_accounts:
            raise ValueError(
                "nobody could sign in: give an `identity`, or leave out `local_accounts = false`"
            )
        self._check_secure()
        self._check_public()
        if self.client_certificates is not None and (not self.behind_proxy or self.tls is not None):
            raise ValueError(
                "`client_certificates` are asked for by a proxy on this machine, which ends TLS: give "
                "`behind_proxy = true`, and leave out `tls`"
            )
        return self

    def _check_secure(self) -> None:
        host, _ = self.address
        if is_loopback(host) or self.tls is not None:
            return
        raise ValueError(
            f"`listen` is {self.listen}, which other machines reach, and `tls` is missing: tokens and "
            "answers would cross the network in the open. Give `tls`, or listen on 127.0.0.1 behind a proxy"
        )

    def _check_public(self) -> None:
        if not self.public:
            return
        parts = urlsplit(self.public)
        plain = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if not (parts.scheme == "https" or plain) or not parts.hostname or parts.path.strip("/"):
            raise ValueError("`public` must be an https address without a path; http is for loopback alone")
        if not plain and self.tls is None and not self.behind_proxy:
            raise ValueError(
                "`public` is https, and neither `tls` nor `behind_proxy = true` says who ends it"
            )

    def times_of_jobs(self, dataset: str) -> JobTimes:
        """When jobs of this data set may be seen to have ended."""
        own = self.data[dataset].job_times
        if own:
            return JobTimes(tuple(own))
        last = self.limits.job_seconds
        if self.data[dataset].answers == "as jobs":
            return JobTimes(default_job_times(last))
        # Answers leave on the rungs of a ladder; so does what is too long to be waited for, on fewer of them.
        return JobTimes(default_job_times(last, self.tick, 1.25))

    @property
    def address(self) -> tuple[str, int]:
        """The address and the port to listen on."""
        return _split(self.listen)

    @property
    def origin(self) -> str:
        """The address that people's browsers and clients have."""
        return (self.public or f"{'http' if self.tls is None else 'https'}://{self.listen}").rstrip("/")


def _floats(content: Any) -> Any:
    names = ("tick", "above_epsilon", "above_rho", "seconds", "job_seconds")
    if not isinstance(content, dict):
        return content
    return {
        name: float(value) if name in names and type(value) is int
        else [float(one) if type(one) is int else one for one in value]
        if name == "job_times" and isinstance(value, list)
        else _floats(value)
        for name, value in content.items()
    }  # fmt: skip


def _split(listen: str) -> tuple[str, int]:
    host, colon, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError("must be an address and a port, as in 127.0.0.1:8422")
    return host, int(port)


def load_configuration(path: str | Path) -> Configuration:
    """The configuration in a TOML file; relative paths in it are those beside the file.

    Raises `InvalidParameter`, one line for each broken rule.
    """
    file = Path(path)
    content = read_toml(file, InvalidParameter)
    try:
        found = Configuration.model_validate(content)
    except ValidationError as error:
        raise InvalidParameter(complaints(error, str(path))) from None
    return _beside(found, file.resolve().parent)


def proxy_secret(configuration: Configuration) -> str:
    """The text by which the proxy proves itself. Raises `InvalidParameter` for one that could be guessed, or
    that a configuration of nginx would not hold as it stands."""
    assert configuration.client_certificates is not None
    file = Path(configuration.client_certificates.secret)
    try:
        secret = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        secret = ""
    if not _PROXY_SECRET.fullmatch(secret):
        raise InvalidParameter(
            "`client_certificates.secret` must be a file with 32 to 200 letters, digits, `_` and `-`. Got "
            f"`{file}`. Make one: openssl rand -hex 32"
        )
    return secret


def _beside(found: Configuration, folder: Path) -> Configuration:
    """With the paths of files made absolute."""
    data = {
        name: one.model_copy(
            update={
                "policy": str(folder / one.policy),
                "source": _placed(one.source, folder),
                "ledger": _placed_url(one.ledger, folder),
                "tables": {table: _placed(where, folder) for table, where in one.tables.items()},
            }
        )
        for name, one in found.data.items()
    }
    tls = found.tls and TlsFiles(
        certificate=str(folder / found.tls.certificate), key=str(folder / found.tls.key)
    )
    certificates = found.client_certificates and ClientCertificates(
        secret=str(folder / found.client_certificates.secret)
    )
    identity = {
        alias: one.model_copy(update={"console_secret": str(folder / one.console_secret)})
        if one.console_secret
        else one
        for alias, one in found.identity.items()
    }
    return found.model_copy(
        update={
            "identity": identity,
            "data": data,
            "tls": tls,
            "client_certificates": certificates,
            "store": _placed_url(found.store, folder),
        },
    )


def _placed(where: str, folder: Path) -> str:
    return where if "://" in where else str(folder / where)


def _placed_url(url: str, folder: Path) -> str:
    """An SQLite file's URL with its whole path; other URLs as they are."""
    if "://" not in url:
        return f"sqlite:///{folder / url}"
    scheme, _, path = url.partition(":///")
    return f"{scheme}:///{folder / path}" if scheme == "sqlite" and path else url
