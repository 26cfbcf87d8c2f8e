"""Changes of a database's rows as messages: Debezium's, Canal's and Maxwell's JSON."""

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

__all__ = [
    "CanalJsonDeserializationSchema",
    "CanalJsonSerializationSchema",
    "DebeziumJsonDeserializationSchema",
    "DebeziumJsonSerializationSchema",
    "MaxwellJsonDeserializationSchema",
    "MaxwellJsonSerializationSchema",
]
