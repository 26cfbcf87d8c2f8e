"""Cassandra as a sink, through the package cassandra-driver."""

from __future__ import annotations

from millrace.connectors.cassandra.client import CassandraError, CassandraUnavailableError
from millrace.connectors.cassandra.consistency_level import ConsistencyLevel
from millrace.connectors.cassandra.sink import CassandraSink, CassandraSinkBuilder

__all__ = [
    "CassandraError",
    "CassandraSink",
    "CassandraSinkBuilder",
    "CassandraUnavailableError",
    "ConsistencyLevel",
]
