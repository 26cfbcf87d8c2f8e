"""Settings of a MongoDB source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from millrace.common.types.composite_types import RowTypeInfo
from millrace.connectors.mongodb.client import MongoConnection
from millrace.connectors.mongodb.partition_strategy import PartitionStrategy

__all__ = ["MongoReading"]

_PARTITION_BYTES = 64 << 20


@dataclass(frozen=True)
class MongoReading:
    """Settings of a MongoDB source: collection, selection, and the division into parts."""

    connection: MongoConnection = field(default_factory=MongoConnection)
    fields: tuple[str, ...] = ()
    """Fields of the documents to read; empty for all."""
    filter: Mapping[str, Any] | None = None
    limit: int | None = None
    fetch_size: int = 2_048
    strategy: PartitionStrategy = PartitionStrategy.DEFAULT
    partition_bytes: int = _PARTITION_BYTES
    partition_records: int | None = None
    type_info: RowTypeInfo | None = None
    function: Callable[[dict[str, Any]], Any] | None = None
