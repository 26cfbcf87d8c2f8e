"""Rows of a declared type as CSV messages and back."""

from __future__ import annotations

import math
import pickle
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common import Row, Types
from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import BigIntType, RowType, VarCharType
from millrace.datastream.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from millrace.formats.malformed_record import MalformedRecordError

ROW = Types.ROW_NAMED(
    ["text", "yes", "n", "x", "price", "day", "at", "stamp", "raw", "list"],
    [
        Types.STRING(),
        Types.BOOLEAN(),
        Types.LONG(),
        Types.DOUBLE(),
        Types.BIG_DEC(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.INT()),
    ],
)
VALUES = st.builds(
    Row,
    st.text(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.binary(min_size=1),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1),
)


def items(value: Any) -> Any:
    """Rows as tuples: those that are read have the names of their type."""
    if isinstance(value, Row):
        return tuple(map(items, value))
    return value


def writer(row_type: Any) -> Any:
    return CsvRowSerializationSchema.Builder(row_type)


def reader(row_type: Any) -> Any:
    return CsvRowDeserializationSchema.Builder(row_type)


@given(VALUES)
def test_there_and_back(row: Row) -> None:
    """Quotes, separators and line feeds in texts included."""
    write = pickle.loads(pickle.dumps(writer(ROW).set_line_delimiter("").build()))
    read = pickle.loads(pickle.dumps(reader(ROW).build()))
    assert read.get_produced_type() == ROW
    assert items(read.deserialize(write.serialize(row))) == items(row)


def test_the_dialect() -> None:
    """Every setting, as Flink writes it."""
    kinds = [Types.INT(), Types.STRING(), Types.LIST(Types.INT()), Types.SQL_TIMESTAMP()]
    row_type = Types.ROW(kinds)
    build = writer(row_type).set_field_delimiter("|").set_array_element_delimiter("#")
    build.set_quote_character("'").set_null_literal("n/a").set_line_delimiter("\r\n")
    schema = build.build()
    row = Row(None, "a|b", [1, 2], datetime(2024, 1, 2, 3, 4, 5))
    assert schema.serialize(row) == b"n/a|'a|b'|1#2|2024-01-02 03:04:05\r\n"
    back = reader(row_type).set_field_delimiter("|").set_array_element_delimiter("#")
    back.set_quote_character("'").set_null_literal("n/a")
    assert items(back.build().deserialize(schema.serialize(row))) == items(row)
    plain = writer(Types.ROW([Types.STRING()])).disable_quote_character()
    assert plain.set_escape_character("\\").build().serialize(Row("a,b")) == b"a\\,b\n"


def test_nested_rows_and_none() -> None:
    """Their fields are joined; an empty field is not a number, but a text."""
    row_type = Types.ROW([Types.INT(), Types.STRING(), Types.ROW([Types.INT(), Types.STRING()])])
    message = writer(row_type).build().serialize(Row(None, "", Row(1, "x")))
    assert message == b",,1;x\n"
    assert items(reader(row_type).build().deserialize(message)) == items(Row(None, "", Row(1, "x")))


def test_comments() -> None:
    """They are no rows."""
    schema = reader(Types.ROW([Types.STRING()])).set_allow_comments(True).build()
    assert schema.deserialize(b"# nothing") is None
    assert items(schema.deserialize(b"something")) == items(Row("something"))


@pytest.mark.parametrize("message", [b"x,2024-01-02", b"1", b"1,2,3", b'1,"2024', b"\xff,1", b""])
def test_broken_messages(message: bytes) -> None:
    """They fail with what to do, or are None."""
    row_type = Types.ROW([Types.INT(), Types.SQL_DATE()])
    assert items(reader(row_type).build().deserialize(b"1,2024-01-02")) == items(
        Row(1, date(2024, 1, 2))
    )
    with pytest.raises(SerializationError, match="not CSV of type .*set_ignore_parse_errors"):
        reader(row_type).build().deserialize(message)
    assert reader(row_type).set_ignore_parse_errors(True).build().deserialize(message) is None


def test_refusals() -> None:
    """Types, characters and rows that do not fit are refused."""
    with pytest.raises(JobDefinitionError, match="needs their type"):
        writer(None)
    with pytest.raises(JobDefinitionError, match="one character"):
        writer(ROW).set_field_delimiter("||")
    with pytest.raises(JobDefinitionError, match="cannot be written as text"):
        writer(Types.ROW([Types.MAP(Types.STRING(), Types.INT())])).build()
    with pytest.raises(SerializationError, match="cannot be written as CSV"):
        writer(Types.ROW([Types.INT()])).build().serialize(Row("x"))


@pytest.mark.parametrize(
    ("message", "column", "said"),
    [
        (b"x,a", "n", "field 'n': 'x' is not of type INT; skip"),
        (b"1", None, "1 field, not 2"),
        (b"1,a,b", None, "3 fields, not 2"),
        (b'1,"a', None, "not CSV"),
        (b"\xff,a", None, "not CSV"),
        (b"1" * 5_000 + b",a", "n", "field 'n'"),
        (b"", None, "not CSV"),
        (b"1,a\n2,b", None, "not CSV"),
    ],
    ids=range(8),
)
def test_a_broken_message_is_a_malformed_record(
    message: bytes, column: str | None, said: str
) -> None:
    """What error policies and dead letters need: the field and the bytes."""
    row_type = Types.ROW_NAMED(["n", "word"], [Types.INT(), Types.STRING()])
    builder = CsvRowDeserializationSchema.Builder(row_type)
    with pytest.raises(MalformedRecordError, match=said) as found:
        builder.build().deserialize(message)
    assert (found.value.column, found.value.raw) == (column, message)
    assert builder.set_ignore_parse_errors(True).build().deserialize(message) is None


def test_an_error_of_a_table_names_types_and_options_of_sql() -> None:
    row_type = Types.ROW_NAMED(["n", "word"], [Types.LONG(), Types.STRING()])
    table = RowType.of(("n", BigIntType()), ("word", VarCharType()))
    reading = CsvRowDeserializationSchema.Builder(row_type).of_table(table).build()
    said = f"not CSV of type {table}: field 'n': 'x' is not of type BIGINT; 'csv.null-literal'"
    with pytest.raises(MalformedRecordError, match=re.escape(said)):
        pickle.loads(pickle.dumps(reading)).deserialize(b"x,a")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Types.BOOLEAN(), "1", False),
        (Types.BOOLEAN(), "no", False),
        (Types.BOOLEAN(), " TRUE ", True),
        (Types.INT(), " 7 ", 7),
        (Types.DOUBLE(), "NaN", math.nan),
        (Types.DOUBLE(), "-Infinity", -math.inf),
        (Types.BIG_DEC(), "1e3", Decimal("1E+3")),
        (Types.BIG_DEC(), " 1\t", Decimal(1)),
    ],
    ids=repr,
)
def test_values_are_read_as_flink_does(kind: Any, text: str, value: Any) -> None:
    schema = CsvRowDeserializationSchema.Builder(Types.ROW([kind])).build()
    found = schema.deserialize(text.encode())
    assert found is not None
    assert repr(found[0]) == repr(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Types.INT(), "99999999999"),
        (Types.BYTE(), "128"),
        (Types.INT(), "1.0"),
        (Types.INT(), "1_0"),
        (Types.DOUBLE(), "nan"),
        (Types.BIG_DEC(), "NaN"),
        (Types.BIG_DEC(), "1_0"),
        (Types.BIG_DEC(), "1 0"),
        (Types.ROW([Types.INT(), Types.INT()]), "1"),
    ],
    ids=repr,
)
def test_what_is_not_of_a_type_is_none_if_that_is_wanted(kind: Any, text: str) -> None:
    builder = CsvRowDeserializationSchema.Builder(Types.ROW([Types.STRING(), kind]))
    with pytest.raises(MalformedRecordError, match="field 'f1'"):
        builder.build().deserialize(f"a,{text}".encode())
    found = builder.null_for_wrong_fields().build().deserialize(f"a,{text}".encode())
    assert found is not None
    assert items(found) == ("a", (1, None) if isinstance(kind, RowTypeInfo) else None)
