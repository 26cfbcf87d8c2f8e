"""Change data capture from PostgreSQL, through the package psycopg."""

from __future__ import annotations

from millrace.connectors.postgres_cdc.change import ChangeOperation, RowImage, TableChange
from millrace.connectors.postgres_cdc.connection import PostgresCdcError
from millrace.connectors.postgres_cdc.deserialization import (
    CdcDeserializationSchema,
    JsonDebeziumDeserializationSchema,
    RowDeserializationSchema,
)
from millrace.connectors.postgres_cdc.source import PostgresCdcSource, PostgresCdcSourceBuilder
from millrace.connectors.postgres_cdc.startup_options import StartupOptions

__all__ = [
    "CdcDeserializationSchema",
    "ChangeOperation",
    "JsonDebeziumDeserializationSchema",
    "PostgresCdcError",
    "PostgresCdcSource",
    "PostgresCdcSourceBuilder",
    "RowDeserializationSchema",
    "RowImage",
    "StartupOptions",
    "TableChange",
]
