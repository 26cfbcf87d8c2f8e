"""Rows of tables as JSON: the bytes are those that Flink 2.3 wrote for the same rows."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.row import Row
from millrace.formats.table_json import JsonStyle, TableJsonSerializationSchema

COLUMNS = RowType.of(
    ("d", logical.DecimalType(20, 10)),
    ("f", logical.DoubleType()),
    ("f4", logical.FloatType()),
    ("ts", logical.TimestampType(3)),
    ("ts6", logical.TimestampType(6)),
    ("l", logical.LocalZonedTimestampType(3)),
    ("dt", logical.DateType()),
    ("tm", logical.TimeType(0)),
    ("m", logical.MapType(logical.VarCharType(), logical.IntType())),
    ("b", logical.VarBinaryType()),
    ("a", logical.ArrayType(logical.IntType())),
    ("r", RowType.of(("x", logical.IntType()), ("y", logical.VarCharType()))),
    ("s", logical.VarCharType()),
)
FULL = Row(
    *(Decimal("1E-7"), 1e10, 1.5e-5, datetime(2024, 2, 29, 1, 2, 3, 100_000)),
    *(datetime(2024, 2, 29, 1, 2), datetime(1970, 1, 1, 0, 0, 1), date(2024, 2, 29)),
    *(time(1, 2, 3), [("k", 1)], b"\1\2", [1], {"x": 1, "y": "q"}, 'a"é/'),
)
WITH_NULLS = Row(
    *(Decimal("100.0000000000"), 100.0, None, datetime(2024, 2, 29), None),
    *(datetime(1970, 1, 1, tzinfo=UTC), None, time(1, 2), {None: 1}, None, None),
    *(Row(None, "q"), None),
)


PLAIN = JsonStyle()


def written(row: Row, style: JsonStyle = PLAIN) -> str:
    schema = pickle.loads(pickle.dumps(TableJsonSerializationSchema(COLUMNS, style)))
    return str(schema.serialize(row).decode())


def test_values_of_all_types() -> None:
    assert written(FULL) == (
        '{"d":1E-7,"f":1.0E10,"f4":1.5E-5,"ts":"2024-02-29 01:02:03.1",'
        '"ts6":"2024-02-29 01:02:00","l":"1970-01-01 00:00:01Z","dt":"2024-02-29",'
        '"tm":"01:02:03","m":{"k":1},"b":"AQI=","a":[1],"r":{"x":1,"y":"q"},"s":"a\\"é/"}'
    )


def test_iso_timestamps_and_plain_decimals() -> None:
    assert written(FULL, JsonStyle(iso_timestamps=True, plain_decimals=True)).startswith(
        '{"d":0.0000001000,"f":1.0E10,"f4":1.5E-5,"ts":"2024-02-29T01:02:03.1",'
        '"ts6":"2024-02-29T01:02:00","l":"1970-01-01T00:00:01Z",'
    )


def test_fields_and_entries_without_values_are_left_out() -> None:
    assert written(WITH_NULLS, JsonStyle(null_keys="DROP", leaves_nulls_out=True)) == (
        '{"d":1E+2,"f":100.0,"ts":"2024-02-29 00:00:00","l":"1970-01-01 00:00:00Z",'
        '"tm":"01:02:00","m":{},"r":{"y":"q"}}'
    )


def test_a_key_that_is_missing_has_a_name() -> None:
    assert written(WITH_NULLS, JsonStyle(null_keys="LITERAL", null_key_literal="none")) == (
        '{"d":1E+2,"f":100.0,"f4":null,"ts":"2024-02-29 00:00:00","ts6":null,'
        '"l":"1970-01-01 00:00:00Z","dt":null,"tm":"01:02:00","m":{"none":1},"b":null,'
        '"a":null,"r":{"x":null,"y":"q"},"s":null}'
    )


def test_a_key_that_is_missing_is_refused_otherwise() -> None:
    with pytest.raises(SerializationError, match="set 'map-null-key.mode'"):
        written(WITH_NULLS)


def test_points_in_time_are_in_utc_and_what_is_no_number_is_in_quotes() -> None:
    columns = RowType.of(("at", logical.LocalZonedTimestampType(3)), ("f", logical.DoubleType()))
    at = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))
    found = TableJsonSerializationSchema(columns).serialize(Row(at, float("nan")))
    assert found == b'{"at":"2023-12-31 23:00:00Z","f":"NaN"}'


def test_a_type_that_json_does_not_hold_is_refused_with_its_column() -> None:
    columns = RowType.of(("m", logical.MapType(logical.IntType(), logical.IntType())))
    with pytest.raises(JobDefinitionError, match="column m is of type MAP<INT, INT>"):
        TableJsonSerializationSchema(columns)
