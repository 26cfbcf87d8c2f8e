"""Row changes of databases as JSON messages of Debezium, Canal, Maxwell and GoldenGate."""

from __future__ import annotations

from millrace.formats.changes.canal_json import (
    CanalJsonDeserializationSchema,
    CanalJsonSerializationSchema,
)
from millrace.formats.changes.debezium_json import (
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
)
from millrace.formats.changes.maxwell_json import (
    MaxwellJsonDeserializationSchema,
    MaxwellJsonSerializationSchema,
)
from millrace.formats.changes.ogg_json import (
    OggJsonDeserializationSchema,
    OggJsonSerializationSchema,
)

__all__ = [
    "CanalJsonDeserializationSchema",
    "CanalJsonSerializationSchema",
    "DebeziumJsonDeserializationSchema",
    "DebeziumJsonSerializationSchema",
    "MaxwellJsonDeserializationSchema",
    "MaxwellJsonSerializationSchema",
    "OggJsonDeserializationSchema",
    "OggJsonSerializationSchema",
]
