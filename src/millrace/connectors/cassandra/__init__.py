"""Cassandra as a sink, through the package cassandra-driver."""

from __future__ import annotations

from millrace.connectors.cassandra.client import CassandraError, CassandraUnavailableError
from millrace.connectors.cassandra.cluster_builder import ClusterBuilder
from millrace.connectors.cassandra.consistency_level import ConsistencyLevel
from millrace.connectors.cassandra.failure_handler import CassandraFailureHandler
from millrace.connectors.cassandra.mapper_options import MapperOptions
from millrace.connectors.cassandra.sink import CassandraSink, CassandraSinkBuilder

__all__ = [
    "CassandraError",
    "CassandraFailureHandler",
    "CassandraSink",
    "CassandraSinkBuilder",
    "CassandraUnavailableError",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]
