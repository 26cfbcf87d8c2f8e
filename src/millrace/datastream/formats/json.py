"""JSON messages and files."""

from __future__ import annotations

from millrace.formats.json_row import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
