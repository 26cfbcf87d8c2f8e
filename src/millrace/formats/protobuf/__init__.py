"""Protobuf messages as rows (``pip install 'millrace[protobuf]'``)."""

from __future__ import annotations

from millrace.formats.protobuf.protobuf_row import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)

__all__ = ["ProtobufRowDeserializationSchema", "ProtobufRowSerializationSchema"]
