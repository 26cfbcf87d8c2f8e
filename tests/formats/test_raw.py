"""Messages that are one value."""

from __future__ import annotations

import pickle
import struct
from typing import Any

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.typeinfo import Types
from millrace.formats import RawFormatDeserializationSchema, RawFormatSerializationSchema
from millrace.formats.malformed_record import MalformedRecordError


def of(kind: Any) -> Any:
    return Types.ROW_NAMED(["x"], [kind])


@pytest.mark.parametrize("endianness", ["big-endian", "little-endian"])
@pytest.mark.parametrize(
    ("kind", "values", "code"),
    [
        (Types.BOOLEAN(), [True, False], "?"),
        (Types.BYTE(), [-1, 7], "b"),
        (Types.SHORT(), [-2, 300], "h"),
        (Types.INT(), [-3, 1 << 20], "i"),
        (Types.LONG(), [-4, 1 << 40], "q"),
        (Types.FLOAT(), [0.5, -1.0], "f"),
        (Types.DOUBLE(), [0.1, -1e300], "d"),
        (Types.STRING(), ["é", ""], None),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"\x00\xff", b""], None),
    ],
)
def test_there_and_back(kind: Any, values: list[Any], code: Any, endianness: str) -> None:
    write = RawFormatSerializationSchema(of(kind), endianness=endianness)
    read = RawFormatDeserializationSchema(of(kind), endianness=endianness)
    write, read = pickle.loads(pickle.dumps((write, read)))
    rows = [Row(x=value) for value in values]
    messages = write.serialize_batch(rows)
    if code is not None:
        order = ">" if endianness == "big-endian" else "<"
        assert messages == [struct.pack(order + code, value) for value in values]
    batch = read.deserialize_batch(messages)
    assert isinstance(batch, ColumnBatch)
    assert batch.to_rows().values == rows == [read.deserialize(message) for message in messages]


def test_broken_messages() -> None:
    numbers = RawFormatDeserializationSchema(of(Types.INT()))
    for call in (numbers.deserialize, lambda message: numbers.deserialize_batch([message])):
        with pytest.raises(MalformedRecordError, match="3 bytes, where a number of 4"):
            call(b"abc")
    with pytest.raises(SerializationError, match="utf-8|UTF-8"):
        RawFormatDeserializationSchema(of(Types.STRING())).deserialize(b"\xff")
    for value in (Row(x="a"), Row(x=1 << 40), Row(1, 2), Row(x=None)):
        with pytest.raises(SerializationError, match="not one value of the raw format"):
            RawFormatSerializationSchema(of(Types.INT())).serialize(value)


def test_other_charsets() -> None:
    schema = RawFormatDeserializationSchema(of(Types.STRING()), charset="latin-1")
    assert schema.deserialize(b"\xe9") == Row(x="é")
    written = RawFormatSerializationSchema(of(Types.STRING()), "latin-1").serialize(Row(x="é"))
    assert written == b"\xe9"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((Types.INT(),), "rows with one field"),
        ((Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]),), "rows with one field"),
        ((of(Types.SQL_DATE()),), "has no"),
        ((of(Types.INT()), "UTF-8", "middle"), "big-endian or little-endian"),
        ((of(Types.STRING()), "klingon"), "no charset 'klingon'"),
    ],
)
def test_arguments(arguments: Any, says: str) -> None:
    with pytest.raises(JobDefinitionError, match=says):
        RawFormatDeserializationSchema(*arguments)
