"""Rows of a declared type as JSON messages and back."""

from __future__ import annotations

import json
import math
import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common import Instant, Row, Types
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.logical.logical_type import IntType, RowType
from millrace.common.types.type_information import TypeInformation
from millrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from millrace.formats.changes import DebeziumJsonDeserializationSchema
from millrace.formats.malformed_record import MalformedRecordError

EVERY = Types.ROW_NAMED(
    ["text", "yes", "n", "x", "price", "day", "at", "stamp", "point", "raw", "list", "map", "row"],
    [
        Types.STRING(),
        Types.BOOLEAN(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.FLOAT()),
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.TUPLE([Types.INT(), Types.STRING()])]),
    ],
)


def items(value: Any) -> Any:
    """Rows as tuples: those that are read have the names of their type."""
    if isinstance(value, Row):
        return tuple(map(items, value))
    return value


def write(row_type: Any, row: Row) -> bytes:
    schema = JsonRowSerializationSchema.builder().with_type_info(row_type).build()
    return pickle.loads(pickle.dumps(schema)).serialize(row)


def read(row_type: Any, message: bytes) -> Row | None:
    schema = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    assert schema.get_produced_type() == row_type
    return pickle.loads(pickle.dumps(schema)).deserialize(message)


floats = st.floats(allow_nan=False, allow_infinity=False)
NANOS = st.integers(0, 999_999).map(lambda micros: micros * 1000)
VALUES = st.builds(
    Row,
    st.text(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    floats,
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.builds(
        Instant, st.integers(-(2**33), 2**33), st.integers(0, 999_999).map(lambda u: u * 1000)
    ),
    st.binary(),
    st.lists(st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1))),
    st.dictionaries(st.text(), floats),
    st.builds(Row, st.integers(0, 9), st.tuples(st.integers(0, 9), st.text())),
)


@given(VALUES)
def test_there_and_back(row: Row) -> None:
    """Every type, and JSON that others read, too."""
    message = write(EVERY, row)
    assert list(json.loads(message)) == EVERY.get_field_names()
    assert items(read(EVERY, message)) == items(row)


def test_none_is_null_everywhere() -> None:
    """A field that is missing is None as well."""
    empty = Row(*[None] * 13)
    assert set(json.loads(write(EVERY, empty)).values()) == {None}
    assert read(EVERY, write(EVERY, empty)) == read(EVERY, b"{}")
    assert items(read(EVERY, b"{}")) == items(empty)


def test_the_forms_of_flink() -> None:
    """Times with the offset of UTC, numbers in quotes, fields that are not named."""
    kinds = [Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.INT()]
    row_type = Types.ROW_NAMED(["d", "t", "s", "n"], kinds)
    message = (
        b'{"more": 1, "d": "2024-01-02", "t": "03:04:05Z", "s": "2024-01-02T03:04:05.5Z", "n": "7"}'
    )
    stamp = datetime(2024, 1, 2, 3, 4, 5, 500_000)
    assert items(read(row_type, message)) == (date(2024, 1, 2), time(3, 4, 5), stamp, 7)
    assert write(Types.ROW([Types.BIG_DEC()]), Row(Decimal("1E+2"))) == b'{"f0":100}'


@pytest.mark.parametrize(
    "message",
    [b"{", b"[1]", b'{"n": "x"}', b'{"n": "1.5"}', b'{"n": [1]}', b"\xff", b"[" * 100_000, b""],
)
def test_broken_messages(message: bytes) -> None:
    """They fail with what to do, or are None."""
    row_type = Types.ROW_NAMED(["n"], [Types.INT()])
    with pytest.raises(SerializationError, match="not JSON of type .*ignore_parse_errors"):
        read(row_type, message)
    builder = JsonRowDeserializationSchema.builder().type_info(row_type).ignore_parse_errors()
    assert builder.build().deserialize(message) is None


def test_a_missing_field_may_be_refused() -> None:
    """Which does not go with ignoring errors."""
    builder = JsonRowDeserializationSchema.builder().fail_on_missing_field()
    builder.type_info(Types.ROW_NAMED(["n"], [Types.INT()]))
    with pytest.raises(SerializationError, match="field 'n' is missing"):
        builder.build().deserialize(b"{}")
    with pytest.raises(JobDefinitionError, match="contradict each other"):
        builder.ignore_parse_errors().build()


@pytest.mark.parametrize(("value", "why"), [("x", "INT"), (math.nan, "cannot convert")])
def test_values_of_another_type_are_refused(value: object, why: str) -> None:
    """With the row."""
    with pytest.raises(SerializationError, match=f"cannot be written as JSON.*{why}"):
        write(Types.ROW([Types.INT()]), Row(value))


def test_what_is_no_number_in_json() -> None:
    """NaN would make a message that nobody reads."""
    with pytest.raises(SerializationError, match="nan is not a number"):
        write(Types.ROW([Types.DOUBLE()]), Row(math.nan))


def test_builders_need_the_type_of_rows() -> None:
    """And types that have a text."""
    with pytest.raises(JobDefinitionError, match="call with_type_info"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(JobDefinitionError, match="call type_info"):
        JsonRowDeserializationSchema.builder().type_info(Types.INT()).build()
    with pytest.raises(JobDefinitionError, match="cannot be written as text"):
        write(Types.ROW([Types.PICKLED_BYTE_ARRAY()]), Row(1))


def test_the_type_of_a_json_schema() -> None:
    """As Flink converts it."""
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "price": {"type": ["number", "null"]},
            "day": {"type": "string", "format": "date"},
            "raw": {"type": "string", "contentEncoding": "base64"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "pair": {"type": "array", "items": [{"type": "boolean"}, {"type": "string"}]},
            "place": {"$ref": "#/definitions/place"},
        },
        "definitions": {"place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
    }
    builder = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema))
    assert builder.build().get_produced_type() == Types.ROW_NAMED(
        ["id", "price", "day", "raw", "tags", "pair", "place"],
        [
            Types.BIG_INT(),
            Types.BIG_DEC(),
            Types.SQL_DATE(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.OBJECT_ARRAY(Types.STRING()),
            Types.ROW([Types.BOOLEAN(), Types.STRING()]),
            Types.ROW_NAMED(["lat"], [Types.BIG_DEC()]),
        ],
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{", "is not JSON"),
        ('{"type": "string"}', "describes an object"),
        ('{"type": "object", "properties": {"a": {"type": "bird"}}}', "at a: type 'bird'"),
        ('{"type": "object", "properties": {"a": {}}}', "give it one type"),
        ('{"$ref": "#"}', "leads nowhere"),
        ('{"type": "object", "properties": {"a": {"$ref": "#"}}}', "there is no schema"),
        ('{"type": "object", "properties": {"a": {"type": "array"}}}', "at a/items: there is no"),
    ],
)
def test_json_schemas_without_a_type(schema: str, message: str) -> None:
    """The error names the place."""
    with pytest.raises(JobDefinitionError, match=message):
        JsonRowDeserializationSchema.builder().json_schema(schema)


@pytest.mark.parametrize(
    ("message", "column"),
    [
        (b'{"n": "x"}', "n"),
        (b'{"deep": {"n": []}}', "deep"),
        (b"[1]", None),
        (b"{", None),
        (b'{"n": "\xff"}', None),
        (b'{"n": ' + b"1" * 5_000 + b"}", "n"),
        (b'{"n": ' + b"[" * 100_000, None),
    ],
    ids=range(7),
)
def test_a_broken_message_is_a_malformed_record(message: bytes, column: str | None) -> None:
    """What error policies and dead letters need: the field and the bytes."""
    deep = Types.ROW_NAMED(["n"], [Types.INT()])
    row_type = Types.ROW_NAMED(["n", "deep"], [Types.INT(), deep])
    schema = JsonRowDeserializationSchema.builder().type_info(row_type)
    with pytest.raises(MalformedRecordError) as found:
        schema.build().deserialize(message)
    assert (found.value.column, found.value.raw) == (column, message)
    assert len(str(found.value)) < 1_000
    assert schema.ignore_parse_errors().build().deserialize(message) is None


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (Types.BYTE(), 2**7 - 1),
        (Types.SHORT(), 2**15 - 1),
        (Types.INT(), 2**31 - 1),
        (Types.LONG(), 2**63 - 1),
    ],
    ids=["byte", "short", "int", "long"],
)
def test_a_number_that_is_too_great_is_a_malformed_record(
    kind: TypeInformation[int], most: int
) -> None:
    schema = (
        JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [kind])).build()
    )
    for number in (most, -most - 1):
        assert schema.deserialize(b'{"n": %d}' % number) == Row(n=number)
        beyond = number + (1 if number > 0 else -1)
        with pytest.raises(MalformedRecordError, match="does not fit into") as refused:
            schema.deserialize(b'{"n": %d}' % beyond)
        assert refused.value.column == "n"
        keys = {"type_info": Types.ROW_NAMED(["m"], [Types.MAP(kind, Types.STRING())])}
        of_keys = JsonRowDeserializationSchema.builder().type_info(**keys)
        assert of_keys.build().deserialize(b'{"m": {"%d": "x"}}' % number) == Row(m={number: "x"})
        with pytest.raises(MalformedRecordError, match="does not fit into") as refused:
            of_keys.build().deserialize(b'{"m": {"%d": "x"}}' % beyond)
        assert refused.value.column == "m"
        of_keys.ignore_parse_errors()
        assert of_keys.build().deserialize(b'{"m": {"%d": "x"}}' % beyond) is None


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Types.INT(), "1.9", 1),
        (Types.INT(), "-1.9", -1),
        (Types.LONG(), "1e3", 1_000),
        (Types.LONG(), "9223372036854775807.0", 2**63 - 1),
        (Types.INT(), '" 7 "', 7),
        (Types.BOOLEAN(), "1", False),
        (Types.BOOLEAN(), '" TRUE "', True),
        (Types.BOOLEAN(), '"yes"', False),
        (Types.DOUBLE(), '"Infinity"', math.inf),
        (Types.DOUBLE(), "1e999", math.inf),
        (Types.DOUBLE(), '"1.5d"', 1.5),
        (Types.STRING(), "1e3", "1e3"),
        (Types.STRING(), "-0", "-0"),
        (Types.STRING(), "1.50", "1.50"),
        (Types.STRING(), "true", "true"),
        (Types.STRING(), '{ "b" : [ 2.50, 1e3, 100, -0, true, null, "\\u001f\\"é" ] }',
         '{"b":[2.5,1000.0,100,0,true,null,"\\u001F\\"é"]}'),
        (Types.STRING(), '"\\ud83d"', "?"),
        (Types.STRING(), '"\\ud83d\\ude00"', "\U0001f600"),
        (Types.STRING(), '"a\tb"', "a\tb"),
        (Types.STRING(), "[" * 990 + "]" * 990, "[" * 990 + "]" * 990),
    ],
)  # fmt: skip
def test_values_of_other_kinds_are_read_as_flink_does(
    kind: TypeInformation[Any], text: str, value: Any
) -> None:
    """A number as a text, a text as a number, and objects as their text."""
    found = read(Types.ROW_NAMED(["v"], [kind]), f'{{"v": {text}}}'.encode())
    assert found is not None
    assert repr(found["v"]) == repr(value)


def read_alone(reader: JsonRowDeserializationSchema, message: bytes) -> list[Any]:
    return [reader.deserialize(message)]


def read_beside(reader: JsonRowDeserializationSchema, message: bytes) -> list[Any]:
    """The row beside another, as a source reads them."""
    batch = reader.deserialize_batch([b'{"price": 7}', message])
    assert batch is not None
    first, *others = batch.to_rows().values
    assert first == Row(price=Decimal(7))
    return others


@pytest.mark.parametrize(
    "text",
    ["x", "", " 1", "1 ", "1_000", "1,5", "--1", "NaN", "1e", "0x1", "null", "1\n2", "\t1", '1"'],
)
def test_a_decimal_is_what_bigdecimal_takes(text: str) -> None:
    """Python's own Decimal takes blanks and underscores, and its errors name classes."""
    schema = Types.ROW_NAMED(["price"], [Types.BIG_DEC()])
    message = json.dumps({"price": text}).encode()
    reader = JsonRowDeserializationSchema.builder().type_info(schema).build()
    for read in read_alone, read_beside:
        with pytest.raises(MalformedRecordError, match="is not a number") as refused:
            read(reader, message)
        assert "field 'price': " in str(refused.value)
        assert "<class" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("+1.", "1"), (".5", "0.5"), ("-1E-2", "-0.01"), ("\u0663", "3"), (None, None)],
)
def test_texts_that_bigdecimal_takes(text: str | None, value: str | None) -> None:
    schema = Types.ROW_NAMED(["price"], [Types.BIG_DEC()])
    reader = JsonRowDeserializationSchema.builder().type_info(schema).build()
    message = json.dumps({"price": text}).encode()
    expected = Row(price=None if value is None else Decimal(value))
    assert read_alone(reader, message) == read_beside(reader, message) == [expected]


@pytest.mark.parametrize("text", [" 1", "1_000", "1\n2"])
@pytest.mark.parametrize("shape", ['{"a": [1, %s]}', '{"m": {"x": %s}}', '{"r": {"d": %s}}'])
def test_decimals_inside_values_are_those_of_bigdecimal(text: str, shape: str) -> None:
    inner = Types.BIG_DEC()
    row_type = Types.ROW_NAMED(
        ["a", "m", "r"],
        [Types.LIST(inner), Types.MAP(Types.STRING(), inner), Types.ROW_NAMED(["d"], [inner])],
    )
    reader = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    good, bad = ((shape % each).encode() for each in ("null", json.dumps(text)))
    expected = reader.deserialize(good)
    batch = reader.deserialize_batch([good])
    assert batch is not None
    assert batch.to_rows().values == [expected]
    with pytest.raises(MalformedRecordError):
        reader.deserialize_batch([good, bad])


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_exponent_beyond_all_decimals_is_told(sign: str) -> None:
    schema = Types.ROW_NAMED(["price"], [Types.BIG_DEC()])
    reader = JsonRowDeserializationSchema.builder().type_info(schema).build()
    message = f'{{"price": "1e{sign}9999999999999999999"}}'.encode()
    for read in read_alone, read_beside:
        with pytest.raises(MalformedRecordError, match="has an exponent out of range"):
            read(reader, message)


@pytest.mark.parametrize("kind", [Types.BIG_DEC(), Types.DOUBLE(), Types.FLOAT()], ids=str)
def test_a_long_text_that_is_no_number_is_refused_at_once(kind: TypeInformation[Any]) -> None:
    """An expression that tries all ways to divide the digits would take minutes."""
    reader = (
        JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["n"], [kind])).build()
    )
    with pytest.raises(MalformedRecordError, match="is not a number"):
        reader.deserialize(b'{"n": "%sx"}' % (b"1" * 100_000))


def test_trees_beside_decimals_have_decimals() -> None:
    """As Jackson has them in a row type with a decimal."""
    row_type = Types.ROW_NAMED(["s", "d"], [Types.STRING(), Types.BIG_DEC()])
    assert read(row_type, b'{"s": [2.50, 1e3, 0.0]}') == Row(s="[2.5,1E+3,0]", d=None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Types.INT(), "1e10"),
        (Types.INT(), "1e999999999"),
        (Types.INT(), '"1_0"'),
        (Types.INT(), "true"),
        (Types.LONG(), "1e19"),
        (Types.DOUBLE(), '"nan"'),
        (Types.DOUBLE(), "[]"),
        (Types.BIG_DEC(), '"NaN"'),
        (Types.BIG_DEC(), "true"),
        (Types.STRING(), "[" * 1_001 + "]" * 1_001),
        (Types.STRING(), "NaN"),
    ],
    ids=repr,
)
def test_what_is_not_of_a_type_is_malformed(kind: TypeInformation[Any], text: str) -> None:
    """Also where its exponent is beyond what a computer can write out."""
    with pytest.raises(MalformedRecordError):
        read(Types.ROW_NAMED(["v"], [kind]), f'{{"v": {text}}}'.encode())


def rows_of_a_table(messages: list[bytes], **given: bool) -> tuple[list[Any], list[int] | None]:
    columns = RowType.of(("a", IntType()), ("b", IntType()))
    row_type = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()])
    schema = JsonRowDeserializationSchema(row_type, table=columns, **given)
    batch, origins = schema.deserialize_flat(messages)
    return [tuple(row) for row in batch.to_rows().values], origins


def test_an_array_of_objects_is_several_rows_of_a_table() -> None:
    """And an empty message none."""
    messages = [b'{"a": 1}', b"", b'[{"a": 2}, {"b": 3}]', b"[]"]
    assert rows_of_a_table(messages) == ([(1, None), (2, None), (None, 3)], [0, 2, 2])
    assert rows_of_a_table([b'{"a": 1}', b'{"a": 2}'])[1] is None
    with pytest.raises(MalformedRecordError, match="not an object"):
        rows_of_a_table([b'[{"a": 2}, 3]'])


OBJECTS = b'{"a": {"k": 1, "m": 2}, "a": {"k": 3, "l": 4, "k": 5}}'


@pytest.mark.parametrize(
    ("kind", "message", "value"),
    [
        (Types.INT(), b'{"a": 1, "a": 2}', 2),
        (Types.INT(), b'{"a": 1, "b": 3, "\\u0061": 2}', 2),
        (Types.INT(), b'{"a": 1, "a": null}', None),
        (Types.INT(), b'{"a": "no number", "a": "2"}', 2),
        (Types.STRING(), OBJECTS, '{"k":5,"l":4}'),
        (Types.ROW_NAMED(["k", "m"], [Types.INT(), Types.INT()]), OBJECTS, (5, None)),
        (Types.ROW_NAMED(["k"], [Types.STRING()]), OBJECTS, ("5",)),
        (Types.MAP(Types.STRING(), Types.INT()), OBJECTS, {"k": 5, "l": 4}),
    ],
)
def test_of_a_key_that_comes_twice_every_reader_has_the_last_value(
    kind: Any, message: bytes, value: Any
) -> None:
    row_type = Types.ROW_NAMED(["a"], [kind])
    table = row_type.logical_type
    assert isinstance(table, RowType)
    found = [read(row_type, message)]
    for lenient in (False, True):
        schema = JsonRowDeserializationSchema(row_type, null_for_wrong_fields=lenient, table=table)
        # the second has its messages read one by one
        for messages in ([message], [message, b""]):
            found += schema.deserialize_flat(messages)[0].to_rows().values
    debezium = DebeziumJsonDeserializationSchema(row_type)
    envelope = b'{"op": "d", "op": "c", "after": null, "after": ' + message + b"}"
    found += debezium.deserialize_flat([envelope])[0].to_rows().values
    values = [items(row)[0] for row in found if row is not None]
    if isinstance(value, dict):
        values = list(map(dict, values))
    elif isinstance(value, tuple):  # columns give rows within rows as dicts
        values = [tuple(v.values()) if isinstance(v, dict) else v for v in values]
    assert values == [value] * 6


def test_long_decimals_are_written_with_their_exponent() -> None:
    """Their digits would be a text of gigabytes."""
    written = write(Types.ROW([Types.BIG_DEC()]), Row(Decimal("1E+999999999")))
    assert written == b'{"f0":1E+999999999}'
