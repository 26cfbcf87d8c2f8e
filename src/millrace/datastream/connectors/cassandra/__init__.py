"""Cassandra (``pip install 'millrace[cassandra]'``)."""

from __future__ import annotations

from millrace.common.time.amounts import Duration
from millrace.connectors.cassandra import (
    CassandraError,
    CassandraFailureHandler,
    CassandraSink,
    CassandraSinkBuilder,
    CassandraUnavailableError,
    ClusterBuilder,
    ConsistencyLevel,
    MapperOptions,
)
from millrace.missing_modules import explain_missing_names

__all__ = [
    "CassandraError",
    "CassandraFailureHandler",
    "CassandraSink",
    "CassandraSinkBuilder",
    "CassandraUnavailableError",
    "ClusterBuilder",
    "ConsistencyLevel",
    "Duration",
    "MapperOptions",
]

explain_missing_names(__name__)
