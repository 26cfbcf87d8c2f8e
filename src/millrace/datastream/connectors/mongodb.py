"""MongoDB (``pip install 'millrace[mongodb]'``)."""

from __future__ import annotations

from millrace.connectors.mongodb import (
    MongoError,
    MongoSink,
    MongoSinkBuilder,
    MongoSource,
    MongoSourceBuilder,
    MongoUnavailableError,
    PartitionStrategy,
)

__all__ = [
    "MongoError",
    "MongoSink",
    "MongoSinkBuilder",
    "MongoSource",
    "MongoSourceBuilder",
    "MongoUnavailableError",
    "PartitionStrategy",
]
