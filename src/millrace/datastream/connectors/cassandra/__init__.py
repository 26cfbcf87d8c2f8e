"""Cassandra (``pip install 'millrace[cassandra]'``)."""

from __future__ import annotations

from typing import NoReturn

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
from millrace.missing_modules import missing_name

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


def __getattr__(name: str) -> NoReturn:
    """Error for a name that programs import from here and that Millrace does not have."""
    raise missing_name(__name__, name)
