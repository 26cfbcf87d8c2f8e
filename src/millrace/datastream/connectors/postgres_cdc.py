"""Changes of PostgreSQL (``pip install 'millrace[postgres-cdc]'``)."""

from __future__ import annotations

from millrace.connectors.postgres_cdc import (
    CdcDeserializationSchema,
    ChangeOperation,
    JsonDebeziumDeserializationSchema,
    PostgresCdcError,
    PostgresCdcSource,
    PostgresCdcSourceBuilder,
    RowDeserializationSchema,
    RowImage,
    StartupOptions,
    TableChange,
)

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
