"""JSON objects as columns: the same rows as one by one, or none at all."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millrace.common import Types
from millrace.common.errors import JobExecutionError, SerializationError
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.formats.json_columns import JsonColumns
from millrace.formats.json_row import JsonRowDeserializationSchema
from millrace.formats.malformed_record import MalformedRecordError
from millrace.table.formats.row_type_info import row_type_info
from millrace.table_runtime.columns import ColumnConversion

ROW_TYPE = Types.ROW_NAMED(
    ["flag", "small", "big", "real", "text"],
    [Types.BOOLEAN(), Types.SHORT(), Types.LONG(), Types.DOUBLE(), Types.STRING()],
)
SCHEMA = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).build()

VALUES = {
    "flag": st.booleans(),
    "small": st.integers(-(2**16), 2**16),
    "big": st.integers(-(2**64), 2**64),
    "real": st.floats(allow_nan=False) | st.integers(),
    "text": st.text(),
    "more": st.none() | st.lists(st.text()),
}
OBJECTS = st.fixed_dictionaries(
    {}, optional={n: s | st.none() | st.just("1") for n, s in VALUES.items()}
)
MESSAGES = st.lists(
    OBJECTS.map(lambda value: json.dumps(value).encode())
    | st.sampled_from([b"", b" ", b"{}", b"{} {}", b'{"big":\n1}', b"[1]", b"nul", b'{"big": 1}'])
)


def one_by_one(messages: list[bytes]) -> list[Any] | None:
    try:
        return [SCHEMA.deserialize(message) for message in messages]
    except SerializationError:
        return None


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(MESSAGES)
def test_columns_are_the_rows_one_by_one(messages: list[bytes]) -> None:
    found = JsonColumns(ROW_TYPE).read(messages)
    if found is not None:
        assert found.to_rows().values == one_by_one(messages)


def test_ordinary_messages_become_columns() -> None:
    messages = [b'{"big": %d, "text": "t\\u00e9\\n", "x": {"y": [1]}}' % i for i in range(3)]
    batch = SCHEMA.deserialize_batch(messages)
    assert isinstance(batch, ColumnBatch)
    assert batch.to_rows().values == one_by_one(messages)


def test_numbers_out_of_range_are_read_one_by_one() -> None:
    messages = [b'{"small": 1}', b'{"small": 65536}']
    assert JsonColumns(ROW_TYPE).read(messages) is None


def test_types_that_msgspec_reads_differently_are_read_one_by_one() -> None:
    row_type = Types.ROW_NAMED(["pair"], [Types.TUPLE([Types.INT(), Types.INT()])])
    assert JsonColumns(row_type).read([b'{"pair": [1, 2]}']) is None


def test_missing_fields_are_found_one_by_one() -> None:
    builder = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE)
    assert JsonColumns(ROW_TYPE, strict=True).read([b"{}"]) is None
    with pytest.raises(SerializationError, match="'flag' is missing"):
        builder.fail_on_missing_field().build().deserialize_batch([b"{}"])


def test_many_messages_become_columns_piece_by_piece() -> None:
    messages = [b'{"big": %d, "text": "t%d", "flag": %s}' % (i, i, b"null") for i in range(4_500)]
    batch = JsonColumns(ROW_TYPE).read(messages)
    assert batch is not None
    assert batch.data.column("big").to_pylist() == list(range(4_500))
    assert batch.data.column("text").to_pylist() == [f"t{i}" for i in range(4_500)]
    assert batch.data.column("flag").null_count == 4_500
    assert JsonColumns(ROW_TYPE).read([*messages, b'{"big": "1"}']) is None


def test_no_messages_are_no_rows() -> None:
    batch = JsonColumns(ROW_TYPE).read([])
    assert batch is not None
    assert batch.to_rows().values == []


COLUMNS = parse_type(
    "ROW<price DECIMAL(10, 2), share FLOAT, day DATE, at TIMESTAMP(3), point TIMESTAMP_LTZ(3), "
    "clock TIME(0), raw BYTES, flag BOOLEAN, n INT, text STRING, tags ARRAY<STRING>, "
    "prices ARRAY<DECIMAL(4, 1)>, days ARRAY<DATE>, "
    "who ROW<name STRING, born DATE, ids ARRAY<INT>>, them ARRAY<ROW<n INT>>, "
    "counts MAP<STRING, INT>, times MAP<STRING, TIMESTAMP(3)>>"
)
assert isinstance(COLUMNS, RowType)
TABLE_TYPE = row_type_info(COLUMNS, "JSON", nested=True)

DECIMALS = (
    st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str)
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["NaN", "1E999999999", 12.345, 123456789.1, " 1.50 ", "1_0", "-0", "1E+3"])
    | st.sampled_from(["", "x", True, []])
)
DAYS = st.dates().map(str) | st.sampled_from(["20200101", "2020-W01-1", "2020-01-01Z", "", 7])
MOMENTS = (
    st.datetimes().map(lambda at: at.isoformat(" "))
    | st.datetimes().map(lambda at: f"{at.isoformat()}Z")
    | st.sampled_from(
        ["2020-01-01", "2020-01-01T00:00:00+02:00", "2020-01-01 00:00:00.1234567", "at", 0, "1:Z"]
    )
)
CLOCKS = st.times().map(str) | st.sampled_from(["10:00Z", "10:00:00+01:00", "10", "24:00:00", 1])
WHO = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text() | st.integers(),
        "born": DAYS,
        "ids": st.lists(st.none() | st.integers(-(2**32), 2**32)),
        "more": st.none(),
    },
)
TABLE_VALUES = {
    "price": DECIMALS,
    "share": st.floats(allow_nan=False, width=32) | st.integers() | st.just("1.5"),
    "day": DAYS,
    "at": MOMENTS,
    "point": MOMENTS,
    "clock": CLOCKS,
    "raw": st.binary().map(lambda data: b64encode(data).decode()) | st.just("?"),
    "flag": st.booleans() | st.sampled_from([1, 0, "true", " TRUE", "no", [], {}]),
    "n": st.integers(-(2**33), 2**33)
    | st.sampled_from([1.0, -1.9, 1e3, 1e300, "7", " 7 ", "1.0", "1_0", True, []]),
    "text": st.text()
    | st.floats(allow_nan=False)
    | st.sampled_from(["\ud83d", True, 7, [1, 2.5, {"a": None}], {"b": "\t"}, {}]),
    "tags": st.lists(st.none() | st.text()) | st.just("a"),
    "prices": st.lists(st.none() | DECIMALS),
    "days": st.lists(st.none() | DAYS),
    "who": WHO | st.just([]),
    "them": st.lists(st.none() | st.fixed_dictionaries({}, optional={"n": st.integers(0, 9)})),
    "counts": st.dictionaries(st.text(), st.none() | st.integers(0, 9)),
    "times": st.dictionaries(st.text(), st.none() | MOMENTS),
}


@st.composite
def table_messages(draw: st.DrawFn) -> list[bytes]:
    """Messages of some of the fields: with all of them, nearly none would become columns."""
    names = draw(st.sets(st.sampled_from(sorted(TABLE_VALUES)), min_size=1, max_size=3))
    values = {name: TABLE_VALUES[name] | st.none() for name in names}
    objects = st.fixed_dictionaries({}, optional=values)
    return [json.dumps(value).encode() for value in draw(st.lists(objects, min_size=1))]


@pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-inf"])
@pytest.mark.parametrize("name", ["price", "prices"])
def test_decimals_that_are_not_finite_are_no_columns(name: str, text: str) -> None:
    value = [text] if name == "prices" else text
    message = json.dumps({name: value}).encode()
    assert JsonColumns(TABLE_TYPE).read([message]) is None
    with pytest.raises(MalformedRecordError, match="is not a number"):
        schema().deserialize_batch([message])


def schema(**settings: bool) -> JsonRowDeserializationSchema:
    return JsonRowDeserializationSchema(TABLE_TYPE, **settings)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(table_messages())
def test_rows_of_any_type_are_the_rows_one_by_one(messages: list[bytes]) -> None:
    found = JsonColumns(TABLE_TYPE).read(messages)
    if found is not None:
        alone = [schema().deserialize(message) for message in messages]
        # repr tells 1.5 from 1.50, and a row from a dict
        assert repr(found.to_rows().values) == repr(alone)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(table_messages(), st.sampled_from([{}, {"null_for_wrong_fields": True}]))
def test_columns_of_a_table_are_those_of_the_rows_one_by_one(
    messages: list[bytes], lenient: dict[str, bool]
) -> None:
    """Or both fail, with the same message."""

    def outcome(read: Callable[[], Batch]) -> object:
        try:
            return ColumnConversion(COLUMNS)(read()).data
        except (JobExecutionError, SerializationError) as error:
            return str(error)

    table = schema(**lenient, table=COLUMNS)  # both: a message names the types of SQL
    alone = outcome(lambda: RowBatch([table.deserialize(message) for message in messages]))
    assert outcome(lambda: table.deserialize_batch(messages)) == alone


def test_ordinary_messages_of_a_table_become_columns() -> None:
    who = {"name": "n", "born": "2020-01-01", "ids": [1, None]}
    value = {
        "price": 1.5, "share": 0.1, "day": "2020-02-29", "at": "2020-01-01 00:00:00.5",
        "point": "2020-01-01 00:00:00Z", "clock": "10:00:00", "raw": "AAE=", "tags": ["a"],
        "prices": ["1.5"], "days": [None], "who": who, "them": [{"n": 1}, None],
        "flag": True, "n": 7, "text": "é", "counts": {"a": 1},
        "times": {"t": "2020-01-01T00:00:00"},
    }  # fmt: skip
    assert value.keys() == set(COLUMNS.names)
    messages = [json.dumps(value).encode()] * 3
    batch = schema(table=COLUMNS).deserialize_batch(messages)
    assert isinstance(batch, ColumnBatch)
    assert ColumnConversion(COLUMNS)(batch).data is batch.data
    assert isinstance(schema().deserialize_batch(messages), RowBatch)


def test_times_and_lists_become_columns_without_a_table() -> None:
    names = ["at", "day", "clock", "days", "raw"]
    kinds = [Types.SQL_TIMESTAMP(), Types.SQL_DATE(), Types.SQL_TIME()]
    raw = Types.PRIMITIVE_ARRAY(Types.BYTE())
    row_type = Types.ROW_NAMED(names, [*kinds, Types.LIST(Types.SQL_DATE()), raw])
    columns = JsonColumns(row_type)
    value = {"at": "2020-01-01 00:00:00Z", "day": "2020-01-01", "clock": "10:00", "days": [None]}
    batch = columns.read([json.dumps({**value, "raw": "AAE="}).encode()])
    assert isinstance(batch, ColumnBatch)
    # a time with a zone has no column
    batch = columns.read([json.dumps({**value, "at": "2020-01-01 00:00:00+01:00"}).encode()])
    assert isinstance(batch, RowBatch)


def test_a_text_keeps_its_z() -> None:
    """It was taken for a time."""
    row_type = Types.ROW_NAMED(["text", "n"], [Types.STRING(), Types.INT()])
    read = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    message = b'{"text": "10:00Z", "n": "1"}'
    assert read.deserialize_batch([message]).to_rows().values == [read.deserialize(message)]
    assert read.deserialize(message)[0] == "10:00Z"
