"""Databases (``pip install 'millrace[jdbc]'``)."""

from __future__ import annotations

from millrace.common.functions.base import SinkFunction
from millrace.common.types.composite_types import RowTypeInfo
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
    "RowTypeInfo",
    "SinkFunction",
]
