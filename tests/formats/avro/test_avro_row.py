"""Avro messages: rows of every type, other schemas, columns, and what is refused."""

from __future__ import annotations

import io
import json
import pickle
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types import Row
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.typeinfo import Types
from millrace.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from millrace.formats.malformed_record import MalformedRecordError

ALL: dict[str, Any] = {
    "type": "record",
    "name": "All",
    "namespace": "org.example",
    "fields": [
        {"name": "b", "type": "boolean"},
        {"name": "i", "type": "int"},
        {"name": "l", "type": "long"},
        {"name": "f", "type": "float"},
        {"name": "d", "type": "double"},
        {"name": "raw", "type": "bytes"},
        {"name": "s", "type": "string"},
        {"name": "maybe", "type": ["null", "string"], "default": None},
        {"name": "maybe_last", "type": ["int", "null"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "tm", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "at_us", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-millis"}},
        {
            "name": "price",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {
            "name": "fixed_price",
            "type": {
                "type": "fixed",
                "name": "Price",
                "size": 8,
                "logicalType": "decimal",
                "precision": 12,
                "scale": 3,
            },
        },
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "CLUBS"]}},
        {"name": "suit_again", "type": ["null", "Suit"]},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 3}},
        {"name": "tags", "type": {"type": "array", "items": ["null", "string"]}},
        {
            "name": "days",
            "type": {"type": "array", "items": {"type": "int", "logicalType": "date"}},
        },
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {
            "name": "place",
            "type": {
                "type": "record",
                "name": "Place",
                "fields": [
                    {"name": "x", "type": "int"},
                    {"name": "since", "type": {"type": "int", "logicalType": "date"}},
                ],
            },
        },
        {"name": "others", "type": {"type": "array", "items": "Place"}},
        {"name": "either", "type": ["null", "int", "string"]},
    ],
}
VALUES: list[Any] = [
    True,
    -7,
    1 << 40,
    0.5,
    0.1,
    b"\x00\xff",
    "é",
    None,
    3,
    date(2024, 2, 29),
    time(23, 59, 59, 999000),
    time(1, 2, 3, 456789),
    datetime(2024, 2, 29, 12, 0, 0, 123000),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 1, 1),
    Decimal("-12345.67"),
    Decimal("1.500"),
    "12345678-1234-5678-1234-567812345678",
    "CLUBS",
    "HEARTS",
    b"abc",
    ["a", None],
    [date(1970, 1, 2)],
    {"k": 1},
    Row(x=1, since=date(2000, 1, 1)),
    [Row(x=2, since=date(2000, 1, 2))],
    "text",
]
NAMES = [field["name"] for field in ALL["fields"]]


def row(values: list[Any]) -> Row:
    found = Row(*values)
    found.set_field_names(NAMES)
    return found


def both(schema: Any) -> tuple[AvroRowSerializationSchema, AvroRowDeserializationSchema]:
    text = json.dumps(schema)
    return (
        AvroRowSerializationSchema(avro_schema_string=text),
        AvroRowDeserializationSchema(avro_schema_string=text),
    )


def record(*fields: tuple[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
        **more,
    }


def encoded(schema: Any, value: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def test_every_type_there_and_back() -> None:
    write, read = both(ALL)
    data = write.serialize(row(VALUES))
    assert read.deserialize(data) == row(VALUES)
    again = pickle.loads(pickle.dumps((write, read)))
    assert again[1].deserialize(again[0].serialize(row(VALUES))) == row(VALUES)


def test_the_bytes_are_those_of_avro() -> None:
    """An independent reader finds what was written, and the other way round."""
    write, read = both(ALL)
    data = write.serialize(row(VALUES))
    there = fastavro.schemaless_reader(io.BytesIO(data), fastavro.parse_schema(ALL))
    assert there["at"] == datetime(2024, 2, 29, 12, 0, 0, 123000, UTC)
    assert there["price"] == Decimal("-12345.67")
    assert there["id"] == UUID(VALUES[NAMES.index("id")])
    assert there["place"] == {"x": 1, "since": date(2000, 1, 1)}
    assert read.deserialize(encoded(ALL, there)) == row(VALUES)


def test_types_of_fields() -> None:
    _, read = both(ALL)
    found = dict(zip(NAMES, read.get_produced_type().types, strict=True))
    assert found["at"] == Types.SQL_TIMESTAMP()
    assert found["price"] == Types.BIG_DEC()
    assert found["suit_again"] == Types.STRING()
    assert found["tags"] == Types.LIST(Types.STRING())
    assert found["counts"] == Types.MAP(Types.STRING(), Types.LONG())
    assert found["hash"] == Types.PRIMITIVE_ARRAY(Types.BYTE())
    assert found["either"] == Types.PICKLED_BYTE_ARRAY()


def test_columns_where_all_fields_have_one() -> None:
    flat = {**ALL, "fields": [f for f in ALL["fields"] if f["name"] not in NESTED]}
    names = [field["name"] for field in flat["fields"]]
    values = [VALUES[NAMES.index(name)] for name in names]
    write, read = both(flat)
    one, none = Row(*values), Row(*values)
    for made in (one, none):
        made.set_field_names(names)
    none["at_us"] = none["suit_again"] = none["maybe_last"] = None
    batch = read.deserialize_batch(write.serialize_batch([one, none]))
    assert isinstance(batch, ColumnBatch)
    assert batch.to_rows().values == [one, none]
    assert batch.data.schema.field("price").type == pa.decimal128(9, 2)
    assert batch.data.schema.field("at").type == pa.timestamp("us")


NESTED = ("counts", "place", "others", "either")


def test_nested_records_stay_rows() -> None:
    write, read = both(ALL)
    batch = read.deserialize_batch(write.serialize_batch([row(VALUES)] * 2))
    assert isinstance(batch, RowBatch)
    assert batch.values == [row(VALUES)] * 2


def test_a_reader_of_another_schema() -> None:
    old = record(
        ("n", "int"),
        ("gone", "string"),
        ("was", "string"),
        name="Old",
    )
    new: Any = record(("n", "long"), name="New", namespace="other")
    new["fields"] += [
        {"name": "added", "type": "string", "default": "none"},
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "now", "type": "string", "aliases": ["was"]},
    ]
    write, _ = both(old)
    read = AvroRowDeserializationSchema(
        avro_schema_string=json.dumps(old), reader_schema_string=json.dumps(new)
    )
    data = [write.serialize(Row(n=i, gone="x", was="y")) for i in range(3)]
    expected = [Row(n=i, added="none", raw=b"\xff", now="y") for i in range(3)]
    assert read.deserialize_batch(data).to_rows().values == expected
    assert [read.deserialize(one) for one in data] == expected


def test_a_schema_that_cannot_be_resolved() -> None:
    write, _ = both(record(("n", "string")))
    read = AvroRowDeserializationSchema(
        avro_schema_string=json.dumps(record(("n", "string"))),
        reader_schema_string=json.dumps(record(("n", "int"))),
    )
    with pytest.raises(MalformedRecordError, match="not Avro data of its schema"):
        read.deserialize(write.serialize(Row(n="x")))


@pytest.mark.parametrize(
    ("kind", "value", "says"),
    [
        ("int", 1 << 31, "not a whole number of 32 bits"),
        ("int", 1.5, "float"),
        ("float", 1e300, r"1e\+300 is too large for a float"),
        (["null", "float"], 2**128, "too large for a float"),
        (["string", "float"], -1e39, "too large for a float"),
        ({"type": "array", "items": "float"}, [1.0, 3.5e38], "too large for a float"),
        ("int", None, "None, but the schema does not allow null"),
        ("string", 7, "not a text"),
        ("boolean", 1, "not a boolean"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "B", "not one of A"),
        ({"type": "fixed", "name": "F", "size": 2}, b"abc", "3 bytes"),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
            Decimal("0.25"),
            r"no decimal\(3, 1\)",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1},
            Decimal("1000"),
            r"no decimal\(3, 1\)",
        ),
    ],
)
def test_a_value_that_does_not_fit(kind: Any, value: Any, says: str) -> None:
    write, _ = both(record(("x", kind)))
    with pytest.raises(SerializationError, match=f"schema R: field 'x': .*{says}"):
        write.serialize_batch([Row(x=value)])


def test_a_record_of_other_fields() -> None:
    write, _ = both(record(("x", "int")))
    with pytest.raises(SerializationError, match="unknown field 'y'"):
        write.serialize(Row(x=1, y=2))


def test_dates_that_python_does_not_have() -> None:
    """They are refused when they are read, not where somebody looks at the column."""
    schema = record(("at", {"type": "long", "logicalType": "timestamp-millis"}))
    _, read = both(schema)
    data = encoded(record(("at", "long")), {"at": 1 << 55})
    with pytest.raises(ValueError, match="out of"):
        read.deserialize_batch([data])
    with pytest.raises(MalformedRecordError):
        read.deserialize(data)


def test_a_broken_message() -> None:
    _, read = both(record(("s", "string")))
    with pytest.raises(MalformedRecordError, match="not Avro data of its schema.*EOF") as refused:
        read.deserialize(b"\x08ab")
    assert refused.value.raw == b"\x08ab"


@pytest.mark.parametrize(
    ("message", "field", "says"),
    [
        (b"", "n", "read with the schema with which it was written"),
        (b"\x02\x08ab", "s", "read with the schema with which it was written"),
        (b"\x02\x04ab\x80", "t", "read with the schema with which it was written"),
        (b'{"n": 1}', "s", "it looks like JSON"),
        (b"Obj\x01\x02", "s", "it is an Avro file"),
        (b"\x00\x00\x00\x00\x07\x02\x04ab\x02", None, "which 'avro-confluent' reads"),
    ],
)
def test_a_broken_message_names_the_field_and_what_it_looks_like(
    message: bytes, field: str | None, says: str
) -> None:
    _, read = both(record(("n", "long"), ("s", "string"), ("t", "long")))
    with pytest.raises(MalformedRecordError, match=says) as refused:
        read.deserialize(message)
    assert refused.value.column == field
    assert field is None or f"at field {field!r}: " in str(refused.value)


def test_a_message_that_is_longer_than_its_record() -> None:
    """Written with another schema, it would be read as something else."""
    writer = record(("id", "long"), ("total", "long"))
    _, read = both(record(("id", "long")))
    data = encoded(writer, {"id": 7, "total": 9})
    with pytest.raises(MalformedRecordError, match="bytes follow the record") as refused:
        read.deserialize(data)
    assert refused.value.raw == data
    with pytest.raises(ValueError, match="bytes follow"):
        read.deserialize_batch([data[:1], data])
    assert read.deserialize_batch([data[:1]]).to_rows().values == [Row(id=7)]


RECURSIVE = record(("next", ["null", "R"]))


def doubling() -> Any:
    """Thirty lines that stand for a billion types."""
    kind: Any = "int"
    for i in range(30):
        kind = record(("a", kind), ("b", kind if isinstance(kind, str) else f"R{i - 1}"))
        kind["name"] = f"R{i}"
    return kind


@pytest.mark.parametrize(
    ("union", "values"),
    [
        (["double", "long"], [2**60 + 1, -(2**63), 1.5]),
        (["null", "float", {"type": "long"}, "int"], [16_777_217, 2**31, None, 0.5]),
    ],
)
def test_whole_numbers_of_a_union_keep_their_digits(union: Any, values: list[Any]) -> None:
    """Though a branch of floating point comes first."""
    schema = json.dumps(record(("x", union)))
    write = AvroRowSerializationSchema(avro_schema_string=schema)
    read = AvroRowDeserializationSchema(avro_schema_string=schema)
    assert [read.deserialize(write.serialize(Row(x=value)))["x"] for value in values] == values


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("{", "not an Avro schema"),
        ('"int"', "takes the schema of a record"),
        (json.dumps(RECURSIVE), "contains itself"),
        (json.dumps(doubling()), "more than 20000 types"),
        (json.dumps(record(("x", {"type": "array", "items": "null"}))), "take no bytes"),
        (json.dumps(record(("x", "Nothing"))), "does not define"),
        (json.dumps(record(("x", "int"), ("x", "int"))), "two fields of the same name"),
        ('{"type": "record", "name": "R"}', "has no fields"),
        (json.dumps(record(("x", {"type": "enum", "name": "E"}))), "no symbols"),
        (json.dumps(record(("x", {"type": "fixed", "name": "F", "size": -1}))), "no size"),
        (json.dumps(record(("x", ["int", ["null"]]))), "not a union"),
    ],
)
def test_schemas_that_are_refused(schema: str, says: str) -> None:
    with pytest.raises(JobDefinitionError, match=says):
        AvroRowDeserializationSchema(avro_schema_string=schema)


def test_a_class_of_the_jvm_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="avro_schema_string"):
        AvroRowSerializationSchema(record_class="com.example.User")


def test_logical_types_that_do_not_fit_are_ignored() -> None:
    """As the specification asks for."""
    odd = {"type": "string", "logicalType": "date"}
    wide = {"type": "bytes", "logicalType": "decimal", "precision": 99}
    write, read = both(record(("a", odd), ("b", wide)))
    assert read.deserialize(write.serialize(Row(a="x", b=b"y"))) == Row(a="x", b=b"y")


def test_a_schema_in_a_file(tmp_path: Any) -> None:
    file = tmp_path / "word.avsc"
    file.write_text(json.dumps(record(("n", "int"), namespace="org")))
    schema = AvroSchema.parse_file(str(file))
    assert schema.name == "org.R"
    assert AvroSchema.parse_string(str(schema)) == schema
    with pytest.raises(JobDefinitionError, match="no Avro schema in"):
        AvroSchema.parse_file(str(tmp_path / "none.avsc"))


ROWS = st.lists(
    st.builds(
        lambda n, s, at, tags: Row(n=n, s=s, at=at, tags=tags),
        st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
        st.text(),
        st.none() | st.datetimes(),
        st.lists(st.floats(allow_nan=False), max_size=3),
    ),
    max_size=20,
)


@given(ROWS)
def test_rows_equal_what_another_reader_sees(rows: list[Row]) -> None:
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    schema = record(
        ("n", ["null", "long"]),
        ("s", "string"),
        ("at", ["null", micros]),
        ("tags", {"type": "array", "items": "double"}),
    )
    write, read = both(schema)
    data = write.serialize_batch(rows)
    assert read.deserialize_batch(data).to_rows().values == rows
    parsed = fastavro.parse_schema(schema)
    for one, value in zip(data, rows, strict=True):
        there = fastavro.schemaless_reader(io.BytesIO(one), parsed)
        at = there["at"] and there["at"].replace(tzinfo=None)
        assert [there["n"], there["s"], at, there["tags"]] == list(value)


def test_without_the_library_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(JobDefinitionError, match=r"pip install 'millrace\[avro\]'"):
        both(record(("x", "int")))
