"""Avro with a schema registry: ids, other schemas, references, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from schema_registry import SchemaRegistry

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch
from millrace.formats.avro import AvroSchema
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.registry import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    SchemaRegistryError,
    SubjectName,
)


def schema(*fields: tuple[str, Any], name: str = "Order") -> AvroSchema:
    return AvroSchema(
        {
            "type": "record",
            "name": name,
            "namespace": "org.example",
            "fields": [{"name": field, "type": kind} for field, kind in fields],
        }
    )


OLD = schema(("id", "long"))
NEW = AvroSchema(
    {
        **OLD.definition,
        "fields": [*OLD.definition["fields"], {"name": "note", "type": "string", "default": "-"}],
    }
)


def writer(
    registry: SchemaRegistry, schema: AvroSchema, **more: Any
) -> ConfluentRegistryAvroSerializationSchema:
    return ConfluentRegistryAvroSerializationSchema.for_generic(
        SubjectName.topic("orders"), schema, registry.url, **more
    )


def reader(
    registry: SchemaRegistry, schema: AvroSchema, **properties: str
) -> ConfluentRegistryAvroDeserializationSchema:
    return ConfluentRegistryAvroDeserializationSchema.for_generic(
        schema, registry.url, {key.replace("_", "."): value for key, value in properties.items()}
    )


def test_there_and_back_with_one_request_each(registry: SchemaRegistry) -> None:
    write, read = writer(registry, OLD), reader(registry, OLD)
    write, read = pickle.loads(pickle.dumps((write, read)))
    rows = [Row(id=i) for i in range(100)]
    messages = [write.serialize(row) for row in rows[:50]] + write.serialize_batch(rows[50:])
    assert messages[0] == b"\x00\x00\x00\x00\x01\x00"
    batch = read.deserialize_batch(messages)
    assert isinstance(batch, ColumnBatch)
    assert batch.to_rows().values == rows
    assert [read.deserialize(message) for message in messages] == rows
    assert registry.requests == [
        ("POST", "/subjects/orders-value/versions"),
        ("GET", "/schemas/ids/1"),
    ]


def test_messages_of_several_schemas_side_by_side(registry: SchemaRegistry) -> None:
    old, new = writer(registry, OLD), writer(registry, NEW)
    messages = [
        old.serialize(Row(id=i)) if i % 3 else new.serialize(Row(id=i, note=f"n{i}"))
        for i in range(30)
    ]
    expected = [Row(id=i, note="-" if i % 3 else f"n{i}") for i in range(30)]
    read = reader(registry, NEW)
    assert read.deserialize_batch(messages).to_rows().values == expected
    assert [read.deserialize(message) for message in messages] == expected
    narrow = reader(registry, OLD).deserialize_batch(messages).to_rows().values
    assert narrow == [Row(id=i) for i in range(30)]


def test_a_schema_that_refers_to_others(registry: SchemaRegistry) -> None:
    place = {
        "type": "record",
        "name": "org.example.Place",
        "fields": [{"name": "x", "type": "int"}],
    }
    registry.register("place", place)
    trip = {
        "type": "record",
        "name": "org.example.Trip",
        "fields": [{"name": "from", "type": "Place"}, {"name": "to", "type": "org.example.Place"}],
    }
    references = [{"name": "org.example.Place", "subject": "place", "version": 1}]
    number = registry.register("trips-value", trip, references=references)
    whole = AvroSchema(
        {
            **trip,
            "fields": [{"name": "from", "type": place}, {"name": "to", "type": "Place"}],
        }
    )
    message = b"\x00" + number.to_bytes(4, "big") + b"\x02\x04"
    assert list(reader(registry, whole).deserialize(message)) == [Row(x=1), Row(x=2)]


def test_an_unknown_id_is_the_message_s_fault(registry: SchemaRegistry) -> None:
    """An error policy may leave it out; the registry is asked once in a while."""
    read = reader(registry, OLD)
    for _ in range(3):
        with pytest.raises(MalformedRecordError, match="no schema with the id 7") as refused:
            read.deserialize(b"\x00\x00\x00\x00\x07\x02")
        assert refused.value.raw == b"\x00\x00\x00\x00\x07\x02"
    assert len(registry.requests) == 1


@pytest.mark.parametrize("message", [b"", b"\x00\x00", b"\x01\x00\x00\x00\x01\x02", b'{"id": 1}'])
def test_messages_without_the_frame(message: bytes, registry: SchemaRegistry) -> None:
    with pytest.raises(MalformedRecordError, match="does not begin with the zero byte"):
        reader(registry, OLD).deserialize(message)
    assert registry.requests == []


def test_a_schema_of_another_kind(registry: SchemaRegistry) -> None:
    registry.register("x", "{}", kind="JSON")
    with pytest.raises(MalformedRecordError, match="JSON, where Avro is expected"):
        reader(registry, OLD).deserialize(b"\x00\x00\x00\x00\x01\x02")


def test_a_schema_that_cannot_be_resolved(registry: SchemaRegistry) -> None:
    message = writer(registry, schema(("id", "string"))).serialize(Row(id="x"))
    with pytest.raises(MalformedRecordError):
        reader(registry, OLD).deserialize(message)


def test_without_registration(registry: SchemaRegistry) -> None:
    with pytest.raises(
        SchemaRegistryError, match="not registered under the subject 'orders-value'"
    ):
        writer(registry, OLD, auto_register=False).serialize(Row(id=1))
    number = registry.register("orders-value", OLD.to_json())
    message = writer(registry, OLD, auto_register=False).serialize(Row(id=1))
    assert message[1:5] == number.to_bytes(4, "big")


def test_a_schema_that_is_not_compatible(registry: SchemaRegistry) -> None:
    registry.register("orders-value", OLD.to_json())
    registry.incompatible.add("orders-value")
    with pytest.raises(SchemaRegistryError, match="not compatible.*incompatible"):
        writer(registry, NEW).serialize(Row(id=1, note="x"))


def test_a_record_of_another_schema_is_refused(registry: SchemaRegistry) -> None:
    with pytest.raises(
        SerializationError, match="not a record of the Avro schema org.example.Order"
    ):
        writer(registry, OLD).serialize(Row(id="x"))


def test_arguments(registry: SchemaRegistry) -> None:
    with pytest.raises(JobDefinitionError, match="under a subject"):
        ConfluentRegistryAvroSerializationSchema.for_generic("", OLD, registry.url)
    with pytest.raises(JobDefinitionError, match="takes AvroSchema"):
        ConfluentRegistryAvroDeserializationSchema.for_generic(None, registry.url)  # type: ignore[arg-type]
