"""The OpenAPI document of the curator, which is the same whatever it serves."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

from leakcap.service.api.app import openapi_of
from leakcap.service.api.curator import Curator
from leakcap.service.configuration import Configuration, DataSource
from leakcap.service.engine.calling import EngineClient
from leakcap.service.identity.providers import Providers
from leakcap.service.store.store import Store

__all__ = ["document"]


def document() -> dict[str, Any]:
    """OpenAPI 3.1, as `GET /v1/openapi.json` answers it."""
    data = {"example": DataSource(policy="policy.toml", source="data.parquet", ledger="ledger.db")}
    with TemporaryDirectory() as folder, Store.open(f"sqlite:///{folder}/store.db") as store:
        configuration = Configuration(data=data)
        return openapi_of(Curator(configuration, store, EngineClient("", seconds=1.0), Providers()))
