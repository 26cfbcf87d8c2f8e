"""Protobuf messages: rows of every type there and back, columns, and what is refused."""

from __future__ import annotations

import pickle
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st
from shop_messages import SCALARS, shop_class, shop_set

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.time.amounts import Instant
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.typeinfo import Types
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.protobuf import (
    ProtobufRowDeserializationSchema,
    ProtobufRowSerializationSchema,
)

FLAT = shop_class("Flat")
ORDER = shop_class("Order")
FLAT_VALUES: dict[str, Any] = {
    "f_double": 0.1,
    "f_float": 0.5,
    "f_int32": -7,
    "f_int64": -(1 << 40),
    "f_uint32": (1 << 32) - 1,
    "f_sint32": -3,
    "f_sint64": -4,
    "f_fixed32": 5,
    "f_sfixed64": -6,
    "f_bool": True,
    "f_string": "é",
    "f_bytes": b"\x00\xff",
    "maybe": None,
    "colour": "GREEN",
    "tags": ["a", "b"],
}
ORDER_VALUES: dict[str, Any] = {
    "place": Row(x=1),
    "places": [Row(x=2), Row(x=3)],
    "large": (1 << 64) - 1,
    "counts": {"k": 1},
    "known": {"here": Row(x=4)},
    "shades": {"s": "GREEN"},
    "cash": None,
    "card": "1234",
    "at": Instant(1_700_000_000, 123_456_789),
    "took": timedelta(seconds=-1, microseconds=-5),
    "note": "",
    "number": None,
    "anything": '{"a":[1.0,null]}',
    "colours": ["GREEN", "RED"],
}


def both(message_class: Any) -> tuple[Any, Any]:
    pair = (
        ProtobufRowSerializationSchema.for_class(message_class),
        ProtobufRowDeserializationSchema.for_class(message_class),
    )
    found: tuple[Any, Any] = pickle.loads(pickle.dumps(pair))
    return found


@pytest.mark.parametrize(("kind", "values"), [(FLAT, FLAT_VALUES), (ORDER, ORDER_VALUES)])
def test_every_type_there_and_back(kind: Any, values: dict[str, Any]) -> None:
    write, read = both(kind)
    row = Row(**values)
    assert read.deserialize(write.serialize(row)) == row
    assert write.serialize(values) == write.serialize(row)
    assert read.deserialize_batch([write.serialize(row)] * 3).to_rows().values == [row] * 3


def test_the_bytes_are_those_of_the_library() -> None:
    write, read = both(ORDER)
    message = ORDER.FromString(write.serialize(Row(**ORDER_VALUES)))
    assert message.places[1].x == 3
    assert message.known["here"].x == 4
    assert message.WhichOneof("paid") == "card"
    assert message.at.ToDatetime(tzinfo=UTC).year == 2023
    assert message.took.ToTimedelta() == ORDER_VALUES["took"]
    assert message.HasField("note")
    assert not message.HasField("number")
    assert dict(message.anything)["a"][0] == 1.0
    flat = FLAT(f_int32=7, maybe=0, tags=["x"])
    _, read = both(FLAT)
    found = read.deserialize(flat.SerializeToString())
    assert (found.f_int32, found.maybe, found.tags, found.colour) == (7, 0, ["x"], "RED")


def test_nothing_is_none_or_the_default() -> None:
    """What has no presence is read as its default, as in Flink."""
    _, read = both(ORDER)
    found = read.deserialize(b"")
    none = ("place", "cash", "card", "at", "took", "note", "number", "anything")
    assert [found[name] for name in none] == [None] * len(none)
    assert (found.places, found.counts, found.large) == ([], {}, 0)


def test_types_of_fields() -> None:
    _, read = both(ORDER)
    kinds = dict(zip(ORDER_VALUES, read.get_produced_type().types, strict=True))
    assert kinds["at"] == Types.INSTANT()
    assert kinds["large"] == Types.BIG_INT()
    assert kinds["note"] == Types.STRING()
    assert kinds["counts"] == Types.MAP(Types.STRING(), Types.LONG())
    assert kinds["places"] == Types.LIST(Types.ROW_NAMED(["x"], [Types.INT()]))


def test_flat_messages_are_columns_and_others_rows() -> None:
    write, read = both(FLAT)
    batch = read.deserialize_batch([write.serialize(Row(**FLAT_VALUES))])
    assert isinstance(batch, ColumnBatch)
    assert batch.data.schema.names == list(FLAT_VALUES)
    write, read = both(ORDER)
    batch = read.deserialize_batch([write.serialize(Row(**ORDER_VALUES))])
    assert isinstance(batch, RowBatch)


def test_enums_of_a_later_version() -> None:
    write, read = both(FLAT)
    data = FLAT(colour=77).SerializeToString()
    row = read.deserialize(data)
    assert row.colour == "77"
    assert FLAT.FromString(write.serialize(row)).colour == 77


def test_datetimes_are_written_as_timestamps() -> None:
    write, read = both(ORDER)
    at = datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert read.deserialize(write.serialize({"at": at})).at == Instant(int(at.timestamp()), 0)


def test_a_descriptor_set(tmp_path: Path) -> None:
    file = tmp_path / "shop.desc"
    file.write_bytes(shop_set())
    write = ProtobufRowSerializationSchema.for_descriptor_set(str(file), "shop.Place")
    read = ProtobufRowDeserializationSchema.for_descriptor_set(shop_set(), "shop.Place")
    assert read.deserialize(write.serialize(Row(x=5))) == Row(x=5)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ProtobufRowDeserializationSchema.for_class(int), "not a class of messages"),
        (lambda: both(shop_class("Tree")), "shop.Tree contains itself"),
        (
            lambda: ProtobufRowDeserializationSchema.for_descriptor_set(shop_set(), "shop.None"),
            "no message type 'shop.None'",
        ),
        (
            lambda: ProtobufRowDeserializationSchema.for_descriptor_set(b"\xff\xff", "shop.A"),
            "no message type 'shop.A'",
        ),
        (
            lambda: ProtobufRowDeserializationSchema.for_descriptor_set("none.desc", "shop.A"),
            "no descriptor set",
        ),
    ],
)
def test_types_that_are_refused(make: Any, says: str) -> None:
    with pytest.raises(JobDefinitionError, match=says):
        make()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"f_int32": 1 << 31}, "field 'f_int32'"),
        ({"f_float": 1e300}, r"field 'f_float': 1e\+300 is too large for a float"),
        ({"f_string": 7}, "field 'f_string'"),
        ({"f_bool": "x"}, "field 'f_bool'"),
        ({"colour": "BLUE"}, "field 'colour'"),
        ({"tags": ["a", None]}, "None in a list"),
        ({"unknown": 1}, "unknown field 'unknown'"),
    ],
)
def test_values_that_do_not_fit(values: dict[str, Any], says: str) -> None:
    with pytest.raises(SerializationError, match=f"of the type shop.Flat: .*{says}"):
        both(FLAT)[0].serialize(values)


def test_broken_messages() -> None:
    _, read = both(FLAT)
    for data in (b"\x08", b"\xff" * 20, FLAT(f_string="x").SerializeToString()[:-1]):
        with pytest.raises(MalformedRecordError, match="not a message of the type shop.Flat") as no:
            read.deserialize(data)
        assert no.value.raw == data


@given(
    st.fixed_dictionaries(
        {
            "f_int64": st.integers(-(1 << 63), (1 << 63) - 1),
            "f_uint32": st.integers(0, (1 << 32) - 1),
            "f_string": st.text(),
            "f_bytes": st.binary(),
            "f_double": st.floats(allow_nan=False),
            "maybe": st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
            "tags": st.lists(st.text()),
        }
    )
)
def test_rows_equal_what_the_library_reads(values: dict[str, Any]) -> None:
    write, read = FLAT_PAIR
    data = write.serialize(values)
    message = FLAT.FromString(data)
    row = read.deserialize_batch([data]).to_rows().values[0]
    for name, value in values.items():
        assert row[name] == value
        if value is not None:
            assert getattr(message, name) == value


FLAT_PAIR = both(FLAT)
assert set(SCALARS) < set(FLAT_VALUES)


def test_without_the_library_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "google.protobuf.message", None)
    with pytest.raises(JobDefinitionError, match=r"pip install 'millrace\[protobuf\]'"):
        ProtobufRowDeserializationSchema.for_class(FLAT)


def settings_class() -> Any:
    """A class of proto2, where fields have defaults of their own."""
    file = FileDescriptorProto(name="settings.proto", package="mill", syntax="proto2")
    part = file.message_type.add(name="Part")
    part.field.add(name="x", number=1, type=Field.TYPE_INT32, label=1, default_value="7")
    message = file.message_type.add(name="Settings")
    for number, (name, kind, default) in enumerate(
        (
            ("port", Field.TYPE_INT32, "80"),
            ("host", Field.TYPE_STRING, "here"),
            ("on", Field.TYPE_BOOL, "true"),
            ("plain", Field.TYPE_DOUBLE, None),
        ),
        start=1,
    ):
        message.field.add(name=name, number=number, type=kind, label=1, default_value=default)
    of_part = {"type": Field.TYPE_MESSAGE, "type_name": ".mill.Part"}
    message.field.add(name="part", number=5, label=1, **of_part)
    message.field.add(name="parts", number=6, label=3, **of_part)
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("mill.Settings"))


@pytest.mark.parametrize("batch", [False, True])
def test_default_values(batch: bool) -> None:
    reader = ProtobufRowDeserializationSchema.for_class(settings_class())
    empty, lone = settings_class()(), settings_class()(port=0)
    lone.parts.add()
    messages = [each.SerializeToString() for each in (empty, lone)]

    def read(schema: Any) -> list[Row]:
        schema = pickle.loads(pickle.dumps(schema))
        if batch:
            return list(schema.deserialize_batch(messages).to_rows().values)
        return list(map(schema.deserialize, messages))

    assert [tuple(row) for row in read(reader)] == [
        (None, None, None, None, None, []),
        (0, None, None, None, None, [Row(x=None)]),
    ]
    assert [tuple(row) for row in read(reader.with_default_values())] == [
        (80, "here", True, 0.0, Row(x=7), []),
        (0, "here", True, 0.0, Row(x=7), [Row(x=7)]),
    ]


def test_columns_of_default_values() -> None:
    reader = ProtobufRowDeserializationSchema.for_class(FLAT).with_default_values()
    batch = reader.deserialize_batch([b""])
    assert isinstance(batch, ColumnBatch)
    [row] = batch.to_rows().values
    assert (row.f_string, row.f_int64, row.maybe, row.tags) == ("", 0, 0, [])


def test_nulls_in_lists_and_maps() -> None:
    writer, reader = both(ORDER)
    with_nulls = {
        "counts": {"k": None},
        "places": [None, Row(x=2)],
        "known": {"here": None},
        "shades": {None: None},
        "colours": ["GREEN", None],
    }
    record = dict.fromkeys(ORDER_VALUES) | with_nulls
    with pytest.raises(SerializationError, match="None in a list or a map"):
        writer.serialize(record)
    writer = pickle.loads(pickle.dumps(writer.with_null_text("-")))
    row = reader.deserialize(writer.serialize(record))
    assert row.counts == {"k": 0}
    assert row.places == [Row(x=0), Row(x=2)]
    assert row.known == {"here": Row(x=0)}
    assert row.shades == {"-": "RED"}
    assert row.colours == ["GREEN", "RED"]
    flat, of_flat = both(FLAT)
    tags = flat.with_null_text("?").serialize(dict.fromkeys(FLAT_VALUES) | {"tags": [None, "b"]})
    assert of_flat.deserialize(tags).tags == ["?", "b"]
