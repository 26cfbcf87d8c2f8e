"""Protobuf and JSON with a schema registry."""

from __future__ import annotations

import base64
import pickle
from typing import Any

import pytest
from google.protobuf import struct_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st
from schema_registry import SchemaRegistry

from millrace.common import Types
from millrace.common.errors import SerializationError
from millrace.common.types import Row
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.registry import (
    ConfluentRegistryJsonDeserializationSchema,
    ConfluentRegistryJsonSerializationSchema,
    ConfluentRegistryProtobufDeserializationSchema,
    ConfluentRegistryProtobufSerializationSchema,
    SchemaRegistryError,
)
from millrace.formats.registry.registry_protobuf import content_of, index_bytes, indexes_of

INT64, MESSAGE = 3, 11


def classes() -> dict[str, Any]:
    """``trip.proto``, which imports ``place.proto``."""
    place = FileDescriptorProto(name="place.proto", package="p", syntax="proto3")
    place.message_type.add(name="Place").field.add(name="x", number=1, type=INT64, label=1)
    trip = FileDescriptorProto(name="trip.proto", package="p", syntax="proto3")
    trip.dependency.append("place.proto")
    trip.message_type.add(name="Other")
    outer = trip.message_type.add(name="Trip")
    kind = {"type": MESSAGE, "type_name": ".p.Place", "label": 1}
    outer.field.add(name="to", number=1, **kind)
    outer.nested_type.add(name="Leg").field.add(name="at", number=1, **kind)
    pool = DescriptorPool()
    pool.Add(place)
    pool.Add(trip)
    names = ("Place", "Trip", "Trip.Leg")
    return {name: GetMessageClass(pool.FindMessageTypeByName(f"p.{name}")) for name in names}


CLASSES = classes()


def both(registry: SchemaRegistry, kind: Any, **more: Any) -> tuple[Any, Any]:
    write = ConfluentRegistryProtobufSerializationSchema.for_class("s", kind, registry.url, **more)
    read = ConfluentRegistryProtobufDeserializationSchema.for_class(kind, registry.url)
    found: tuple[Any, Any] = pickle.loads(pickle.dumps((write, read)))
    return found


def test_there_and_back_with_one_request_each(registry: SchemaRegistry) -> None:
    write, read = both(registry, wrappers_pb2.Int64Value)
    messages = [write.serialize(Row(value=i)) for i in range(20)]
    assert messages[3].startswith(b"\x00\x00\x00\x00\x01" + index_bytes([2]))
    assert read.deserialize_batch(messages).to_rows().values == [Row(value=i) for i in range(20)]
    assert [read.deserialize(message) for message in messages] == [Row(value=i) for i in range(20)]
    assert len(registry.requests) == 2


@pytest.mark.parametrize(("name", "indexes"), [("Trip", [1]), ("Trip.Leg", [1, 0])])
def test_imports_are_registered_before(
    name: str, indexes: list[int], registry: SchemaRegistry
) -> None:
    write, read = both(registry, CLASSES[name])
    [field] = CLASSES[name].DESCRIPTOR.fields
    row = Row(**{field.name: Row(x=7)})
    message = write.serialize(row)
    assert message[1:5] == b"\x00\x00\x00\x02"
    assert message[5:].startswith(index_bytes(indexes))
    assert read.deserialize(message) == row
    status, found = registry.answer("GET", "/schemas/ids/2", None)
    assert status == 200
    assert found["references"] == [{"name": "place.proto", "subject": "place.proto", "version": 1}]
    file = FileDescriptorProto.FromString(base64.b64decode(found["schema"]))
    assert file.name == "trip.proto"


def test_what_every_registry_knows_is_not_registered(registry: SchemaRegistry) -> None:
    write, _ = both(registry, wrappers_pb2.StringValue)
    write.serialize(Row(value="x"))
    assert [path for _, path in registry.requests] == ["/subjects/s/versions"]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=4), st.binary())
def test_indexes_there_and_back(indexes: list[int], content: bytes) -> None:
    assert content_of(b"\0\0\0\0\1" + index_bytes(indexes) + content) == content


def test_positions_of_types() -> None:
    assert indexes_of(CLASSES["Place"].DESCRIPTOR) == [0]
    assert indexes_of(CLASSES["Trip.Leg"].DESCRIPTOR) == [1, 0]
    assert indexes_of(struct_pb2.Value.DESCRIPTOR) == [1]
    assert indexes_of(struct_pb2.Struct.FieldsEntry.DESCRIPTOR) == [0, 0]


@pytest.mark.parametrize("rest", [b"", b"\xff", b"\x02", b"\x01", b"\xff" * 9, b"\x80\x80\x01"])
def test_broken_indexes(rest: bytes, registry: SchemaRegistry) -> None:
    registry.register("s", "x", kind="PROTOBUF")
    _, read = both(registry, CLASSES["Place"])
    with pytest.raises(MalformedRecordError, match="indexes"):
        read.deserialize(b"\x00\x00\x00\x00\x01" + rest)


def test_messages_of_other_schemas(registry: SchemaRegistry) -> None:
    registry.register("s", '"int"')
    _, read = both(registry, CLASSES["Place"])
    with pytest.raises(SerializationError, match="AVRO, where Protobuf is expected"):
        read.deserialize(b"\x00\x00\x00\x00\x01\x00")
    with pytest.raises(MalformedRecordError, match="no schema with the id 9"):
        read.deserialize(b"\x00\x00\x00\x00\x09\x00")
    with pytest.raises(SchemaRegistryError, match="not registered"):
        both(registry, CLASSES["Place"], auto_register=False)[0].serialize(Row(x=1))


SCHEMA = '{"type": "object", "properties": {"n": {"type": "integer"}}}'


def test_json(registry: SchemaRegistry) -> None:
    write = ConfluentRegistryJsonSerializationSchema("s", SCHEMA, registry.url)
    row_type = Types.ROW_NAMED(["n"], [Types.LONG()])
    read = ConfluentRegistryJsonDeserializationSchema(row_type)
    write, read = pickle.loads(pickle.dumps((write, read)))
    messages = [write.serialize(Row(n=i)) for i in range(5)]
    assert messages[3] == b'\x00\x00\x00\x00\x01{"n":3}'
    assert read.deserialize_batch(messages).to_rows().values == [Row(n=i) for i in range(5)]
    assert read.deserialize(messages[2]) == Row(n=2)
    with pytest.raises(MalformedRecordError, match="zero byte"):
        read.deserialize(b'{"n": 1}')
    assert registry.answer("GET", "/schemas/ids/1", None)[1]["schemaType"] == "JSON"
