"""Values to bytes and back."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.serialization import (
    BulkWriterFactory,
    ByteArraySchema,
    DeserializationSchema,
    Encoder,
    RowFieldExtractorSchema,
    SerializationSchema,
    SimpleStringSchema,
)
from millrace.common.types.row import Row


@pytest.mark.parametrize("charset", ["UTF-8", "latin-1", "utf-16"])
def test_simple_string_schema(charset: str) -> None:
    """There and back in any character set."""
    schema = pickle.loads(pickle.dumps(SimpleStringSchema(charset)))
    assert schema.deserialize(schema.serialize("café")) == "café"
    assert schema.serialize("é") == "é".encode(charset)


def test_byte_array_schema() -> None:
    """Bytes as they are."""
    assert ByteArraySchema().serialize(b"\x00\xff") == b"\x00\xff"
    assert ByteArraySchema().deserialize(b"\x00\xff") == b"\x00\xff"


def test_what_a_subclass_does_with_one_record_it_does_with_many() -> None:
    class Shouted(SimpleStringSchema):
        def serialize(self, value: str) -> bytes:
            return super().serialize(value.upper())

        def deserialize(self, message: bytes) -> str:
            return super().deserialize(message).upper()

    class Reversed(ByteArraySchema):
        def deserialize(self, message: bytes) -> bytes:
            return message[::-1]

    assert Shouted().serialize_batch(["a"]) == [b"A"]
    assert Shouted().deserialize_batch([b"a"]).to_rows().values == ["A"]
    assert Reversed().deserialize_batch([b"ab"]).to_rows().values == [b"ba"]


def test_a_field_of_a_row_as_bytes() -> None:
    """What a message's key is made of; nothing gives nothing."""
    schema = pickle.loads(pickle.dumps(RowFieldExtractorSchema(1)))
    assert schema.serialize(Row("a", b"key")) == b"key"
    assert schema.serialize(Row("a", bytearray(b"key"))) == b"key"
    assert schema.serialize(Row("a", None)) == b""
    assert schema.serialize(None) == b""


def test_a_field_that_is_no_bytes_is_refused() -> None:
    """And so is one that is not there."""
    with pytest.raises(SerializationError, match="must be bytes; it is of type int"):
        RowFieldExtractorSchema(0).serialize(Row(1))
    with pytest.raises(SerializationError, match="the row has 1 fields"):
        RowFieldExtractorSchema(1).serialize(Row(1))
    with pytest.raises(JobDefinitionError, match="a number from 0, got -1"):
        RowFieldExtractorSchema(-1)


def test_simple_string_encoder() -> None:
    """One line per record, alike one by one and as a batch."""
    encoder = pickle.loads(pickle.dumps(Encoder.simple_string_encoder()))
    assert encoder.encode(("é", 1)) == "('é', 1)\n".encode()
    assert encoder.encode_all(["a", 2]) == b"a\n2\n"
    assert encoder.encode_all([]) == b""


def test_batches_of_an_encoder_of_your_own() -> None:
    """`encode` is enough."""

    class Length(Encoder[str]):
        def encode(self, element: str) -> bytes:
            return bytes([len(element)])

    assert Length().encode_all(["a", "bcd"]) == b"\x01\x03"


@pytest.mark.parametrize(
    "interface", [SerializationSchema, DeserializationSchema, Encoder, BulkWriterFactory]
)
def test_interfaces_are_abstract(interface: type) -> None:
    """Forgetting the method is found when the object is made."""
    with pytest.raises(TypeError, match="abstract"):
        interface()
