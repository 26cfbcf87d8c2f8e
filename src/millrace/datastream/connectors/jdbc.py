"""Databases (``pip install 'millrace[jdbc]'``)."""

from __future__ import annotations

from millrace.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcError,
    JdbcExecutionOptions,
    JdbcLookupFunction,
    JdbcLookupFunctionBuilder,
    JdbcSink,
    JdbcSinkBuilder,
    JdbcSource,
    JdbcSourceBuilder,
)

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
