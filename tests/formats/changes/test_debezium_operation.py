"""Debezium's operations: the same whether messages are JSON or Avro."""

from __future__ import annotations

import json
from typing import Any

import pytest

from millrace.common.types.typeinfo import Types
from millrace.formats.changes import DebeziumJsonDeserializationSchema
from millrace.formats.changes.debezium_avro import DebeziumAvroDeserializationSchema
from millrace.formats.json_row import JsonRowDeserializationSchema
from millrace.formats.malformed_record import MalformedRecordError

ROW = Types.ROW_NAMED(["id"], [Types.LONG()])
ENVELOPE = Types.ROW_NAMED(["before", "after", "op"], [ROW, ROW, Types.STRING()])
# what reads the envelope does not matter to the operations
SCHEMAS = [
    DebeziumJsonDeserializationSchema(ROW),
    DebeziumAvroDeserializationSchema(
        JsonRowDeserializationSchema.builder().type_info(ENVELOPE).build()
    ),
]


def message(op: str, before: Any = None, after: Any = None) -> bytes:
    return json.dumps({"before": before, "after": after, "op": op}).encode()


@pytest.mark.parametrize("schema", SCHEMAS, ids=["json", "avro"])
def test_operations_are_kinds_of_rows(schema: Any) -> None:
    """Truncated tables, messages of the log and tombstones are no rows."""
    old, new = {"id": 1}, {"id": 2}
    messages = [
        message("c", None, new),
        message("r", None, new),
        message("t"),
        message("u", old, new),
        message("m"),
        b"",
        message("d", old),
    ]
    batch, origins = schema.deserialize_flat(messages)
    rows = [(row.get_row_kind().name, row.id) for row in batch.to_rows().values]
    assert rows == [
        ("INSERT", 2),
        ("INSERT", 2),
        ("UPDATE_BEFORE", 1),
        ("UPDATE_AFTER", 2),
        ("DELETE", 1),
    ]
    assert origins == [0, 1, 3, 3, 6]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["json", "avro"])
def test_what_is_no_change(schema: Any) -> None:
    for broken, reason in (
        (message("x"), "its op 'x' is not one of c, r, u and d"),
        (message("c"), "its 'after' is null, although its op is 'c'"),
        (message("u", None, {"id": 1}), "'before' is null.*REPLICA IDENTITY FULL"),
    ):
        with pytest.raises(MalformedRecordError, match=reason):
            schema.deserialize_flat([broken])
