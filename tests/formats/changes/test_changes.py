"""Debezium, Canal and Maxwell: messages as rows with their kinds, and rows as messages."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row, RowKind
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.typeinfo import Types
from millrace.formats.changes import (
    CanalJsonDeserializationSchema,
    CanalJsonSerializationSchema,
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
    MaxwellJsonDeserializationSchema,
    MaxwellJsonSerializationSchema,
)
from millrace.formats.changes.change_schema import ChangeDeserializationSchema
from millrace.formats.malformed_record import MalformedRecordError

PRODUCT = Types.ROW_NAMED(["id", "name", "weight"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
INSERT, BEFORE, AFTER, DELETE = RowKind
ONE = {"id": 1, "name": "ball", "weight": 0.5}
OTHER = {"id": 1, "name": "ball", "weight": 0.75}


def row(kind: RowKind, fields: dict[str, Any]) -> Row:
    return Row.of_kind(kind, **fields)


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


def debezium(op: str, before: Any = None, after: Any = None) -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"table": "t"}, "op": op, "ts_ms": 7}


def read(schema: ChangeDeserializationSchema, *messages: bytes) -> list[Row]:
    schema = pickle.loads(pickle.dumps(schema))
    return schema.deserialize_batch(list(messages)).to_rows().values


DEBEZIUM = [
    (debezium("c", None, ONE), [row(INSERT, ONE)]),
    (debezium("r", None, ONE), [row(INSERT, ONE)]),
    (debezium("u", ONE, OTHER), [row(BEFORE, ONE), row(AFTER, OTHER)]),
    (debezium("d", ONE), [row(DELETE, ONE)]),
    (debezium("t"), []),
]
CANAL = [
    ({"data": [ONE, OTHER], "type": "INSERT"}, [row(INSERT, ONE), row(INSERT, OTHER)]),
    ({"data": [ONE], "old": None, "type": "DELETE"}, [row(DELETE, ONE)]),
    (
        {"data": [OTHER], "old": [{"weight": 0.5}], "type": "UPDATE"},
        [row(BEFORE, ONE), row(AFTER, OTHER)],
    ),
    (
        {"data": [ONE], "old": [{"name": None}], "type": "UPDATE"},
        [row(BEFORE, {**ONE, "name": None}), row(AFTER, ONE)],
    ),
    ({"data": None, "type": "CREATE", "isDdl": True}, []),
    ({"data": None, "type": "ALTER", "isDdl": True}, []),
    (
        {"data": [{"id": "1", "name": "ball", "weight": "0.5"}], "type": "INSERT"},
        [row(INSERT, ONE)],
    ),
]
MAXWELL = [
    ({"type": "insert", "data": ONE, "ts": 7}, [row(INSERT, ONE)]),
    ({"type": "bootstrap-insert", "data": ONE}, [row(INSERT, ONE)]),
    ({"type": "bootstrap-start", "data": {}}, []),
    ({"type": "delete", "data": ONE}, [row(DELETE, ONE)]),
    (
        {"type": "update", "data": OTHER, "old": {"weight": 0.5}},
        [row(BEFORE, ONE), row(AFTER, OTHER)],
    ),
    ({"type": "table-alter", "sql": "..."}, []),
]
CASES = [
    *((DebeziumJsonDeserializationSchema(PRODUCT), *case) for case in DEBEZIUM),
    *((CanalJsonDeserializationSchema(PRODUCT), *case) for case in CANAL),
    *((MaxwellJsonDeserializationSchema(PRODUCT), *case) for case in MAXWELL),
]


@pytest.mark.parametrize(("schema", "message", "rows"), CASES)
def test_messages(schema: Any, message: Any, rows: list[Row]) -> None:
    assert read(schema, text(message)) == rows


@pytest.mark.parametrize(
    ("schema", "cases"),
    [
        (DebeziumJsonDeserializationSchema(PRODUCT), DEBEZIUM),
        (CanalJsonDeserializationSchema(PRODUCT), CANAL),
        (MaxwellJsonDeserializationSchema(PRODUCT), MAXWELL),
    ],
)
def test_many_messages_with_tombstones(schema: Any, cases: Any) -> None:
    """Every row knows which message it is of, which gives it its time."""
    messages = [b"" if message is None else text(message) for message, _ in [*cases, (None, 0)]]
    batch, origins = schema.deserialize_flat(messages)
    assert batch.to_rows().values == [row for _, rows in cases for row in rows]
    assert origins == [place for place, (_, rows) in enumerate(cases) for _ in rows]


def test_rows_are_columns_with_kinds() -> None:
    schema = DebeziumJsonDeserializationSchema(PRODUCT)
    batch = schema.deserialize_batch([text(message) for message, _ in DEBEZIUM])
    assert isinstance(batch, ColumnBatch)
    assert batch.row_kinds is not None
    assert batch.row_kinds.to_pylist() == [0, 0, 1, 2, 3]


def test_the_schema_of_the_envelope() -> None:
    schema = DebeziumJsonDeserializationSchema(PRODUCT, schema_include=True)
    message = {"schema": {"type": "struct"}, "payload": debezium("d", ONE)}
    assert read(schema, text(message), text({"schema": None, "payload": None})) == [
        row(DELETE, ONE)
    ]
    with pytest.raises(MalformedRecordError, match="payload"):
        read(schema, text(debezium("d", ONE)))


@pytest.mark.parametrize(
    ("schema", "message", "says"),
    [
        (DebeziumJsonDeserializationSchema, b"{", "DebeziumJson"),
        (DebeziumJsonDeserializationSchema, text(debezium("x")), "op 'x'"),
        (DebeziumJsonDeserializationSchema, text(debezium("u", None, ONE)), "REPLICA IDENTITY"),
        (DebeziumJsonDeserializationSchema, text(debezium("c")), "'after' is null"),
        (DebeziumJsonDeserializationSchema, text(debezium("c", None, [1])), "not JSON of type"),
        (DebeziumJsonDeserializationSchema, text(ONE), "op"),
        (CanalJsonDeserializationSchema, text({"type": "INSERT"}), "has no data"),
        (CanalJsonDeserializationSchema, text({"type": "X", "data": []}), "not one of INSERT"),
        (CanalJsonDeserializationSchema, text({"type": "UPDATE", "data": [ONE]}), "old"),
        (
            CanalJsonDeserializationSchema,
            text({"type": "UPDATE", "data": [ONE, ONE], "old": [ONE]}),
            "old",
        ),
        (CanalJsonDeserializationSchema, text({"type": "INSERT", "data": [None]}), "null"),
        (MaxwellJsonDeserializationSchema, text({"type": "insert"}), "has no data"),
        (MaxwellJsonDeserializationSchema, text({"type": "x", "data": ONE}), "not one of insert"),
        (MaxwellJsonDeserializationSchema, text({"type": "update", "data": ONE}), "old"),
    ],
)
def test_broken_messages(schema: Any, message: bytes, says: str) -> None:
    with pytest.raises(MalformedRecordError, match=says) as refused:
        schema(PRODUCT).deserialize_batch([message])
    assert refused.value.raw == message
    good = {
        DebeziumJsonDeserializationSchema: debezium("c", None, ONE),
        CanalJsonDeserializationSchema: {"type": "INSERT", "data": [ONE]},
        MaxwellJsonDeserializationSchema: {"type": "insert", "data": ONE},
    }[schema]
    lenient = schema(PRODUCT, ignore_parse_errors=True)
    assert read(lenient, message) == []
    batch, origins = lenient.deserialize_flat([text(good), message, text(good)])
    assert batch.to_rows().values == [row(INSERT, ONE)] * 2
    assert origins == [0, 2]


def test_only_some_databases_and_tables() -> None:
    schema = CanalJsonDeserializationSchema(PRODUCT, "shop", "product.*")
    messages = [
        text({"type": "INSERT", "data": [ONE], "database": database, "table": table})
        for database, table in (
            ("shop", "products"),
            ("shop", "orders"),
            ("workshop", "products"),
            (None, None),
        )
    ]
    assert schema.deserialize_flat(messages)[1] == [0]
    with pytest.raises(JobDefinitionError, match="not a regular expression"):
        CanalJsonDeserializationSchema(PRODUCT, table_include="(")


PAIRS: list[tuple[Any, Any]] = [
    (DebeziumJsonSerializationSchema, DebeziumJsonDeserializationSchema),
    (CanalJsonSerializationSchema, CanalJsonDeserializationSchema),
    (MaxwellJsonSerializationSchema, MaxwellJsonDeserializationSchema),
]


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
@given(
    kinds=st.lists(st.sampled_from(list(RowKind)), max_size=10),
    name=st.none() | st.text(),
    id=st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_there_and_back(writer: Any, reader: Any, kinds: Any, name: Any, id: Any) -> None:
    """As Flink writes them: an update is a row that is gone, and one that is there."""
    fields = {"id": id, "name": name, "weight": 0.5}
    messages = writer(PRODUCT).serialize_batch([row(kind, fields) for kind in kinds])
    there = {INSERT: INSERT, AFTER: INSERT, BEFORE: DELETE, DELETE: DELETE}
    assert read(reader(PRODUCT), *messages) == [row(there[kind], fields) for kind in kinds]


def test_what_other_programs_read() -> None:
    one = row(DELETE, ONE)
    assert json.loads(DebeziumJsonSerializationSchema(PRODUCT).serialize(one)) == {
        "before": ONE,
        "after": None,
        "op": "d",
    }
    assert json.loads(CanalJsonSerializationSchema(PRODUCT).serialize(one)) == {
        "data": [ONE],
        "type": "DELETE",
    }
    assert json.loads(MaxwellJsonSerializationSchema(PRODUCT).serialize(one)) == {
        "data": ONE,
        "type": "delete",
    }


def test_arguments() -> None:
    with pytest.raises(
        JobDefinitionError, match="DebeziumJsonDeserializationSchema needs the type"
    ):
        DebeziumJsonDeserializationSchema(Types.INT())
    with pytest.raises(SerializationError, match="may be several rows"):
        DebeziumJsonDeserializationSchema(PRODUCT).deserialize(b"")
    assert DebeziumJsonDeserializationSchema(PRODUCT).get_produced_type() == PRODUCT
