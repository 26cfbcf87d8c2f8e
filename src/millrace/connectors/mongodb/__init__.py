"""MongoDB as a sink and a bounded source, through the package pymongo."""

from __future__ import annotations

from millrace.connectors.mongodb.client import MongoError, MongoUnavailableError
from millrace.connectors.mongodb.partition_strategy import PartitionStrategy
from millrace.connectors.mongodb.sink import MongoSink, MongoSinkBuilder
from millrace.connectors.mongodb.source import MongoSource, MongoSourceBuilder

__all__ = [
    "MongoError",
    "MongoSink",
    "MongoSinkBuilder",
    "MongoSource",
    "MongoSourceBuilder",
    "MongoUnavailableError",
    "PartitionStrategy",
]
