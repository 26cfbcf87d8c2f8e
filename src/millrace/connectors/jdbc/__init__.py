"""Databases as sources and sinks, through SQLAlchemy."""

from __future__ import annotations

from millrace.connectors.jdbc.client import JdbcError
from millrace.connectors.jdbc.connection_options import JdbcConnectionOptions
from millrace.connectors.jdbc.execution_options import JdbcExecutionOptions
from millrace.connectors.jdbc.lookup import JdbcLookupFunction, JdbcLookupFunctionBuilder
from millrace.connectors.jdbc.sink import JdbcSink, JdbcSinkBuilder
from millrace.connectors.jdbc.source import JdbcSource, JdbcSourceBuilder

__all__ = [
    "JdbcConnectionOptions",
    "JdbcError",
    "JdbcExecutionOptions",
    "JdbcLookupFunction",
    "JdbcLookupFunctionBuilder",
    "JdbcSink",
    "JdbcSinkBuilder",
    "JdbcSource",
    "JdbcSourceBuilder",
]
