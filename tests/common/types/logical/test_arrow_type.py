from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.arrow_type import (
    arrow_schema,
    arrow_type,
    logical_row_type,
    logical_type_of,
)
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type

BOTH_WAYS = [
    ("BOOLEAN", pa.bool_()),
    ("TINYINT", pa.int8()),
    ("SMALLINT", pa.int16()),
    ("INT", pa.int32()),
    ("BIGINT", pa.int64()),
    ("FLOAT", pa.float32()),
    ("DOUBLE", pa.float64()),
    ("STRING", pa.string()),
    ("BYTES", pa.binary()),
    ("BINARY(16)", pa.binary(16)),
    ("DECIMAL(10, 2)", pa.decimal128(10, 2)),
    ("DATE", pa.date32()),
    ("TIME(0)", pa.time32("s")),
    ("TIME(6)", pa.time64("us")),
    ("TIMESTAMP(3)", pa.timestamp("ms")),
    ("TIMESTAMP(9)", pa.timestamp("ns")),
    ("TIMESTAMP_LTZ(6)", pa.timestamp("us", "UTC")),
    ("INTERVAL DAY(2) TO SECOND(6)", pa.duration("us")),
    ("ARRAY<BIGINT>", pa.list_(pa.int64())),
    ("ARRAY<INT NOT NULL>", pa.list_(pa.field("item", pa.int32(), nullable=False))),
    ("MAP<STRING NOT NULL, INT>", pa.map_(pa.string(), pa.int32())),
    ("ROW<`a` INT, `b` ARRAY<STRING>>", pa.struct({"a": pa.int32(), "b": pa.list_(pa.string())})),
    ("NULL", pa.null()),
]


@pytest.mark.parametrize(("text", "data_type"), BOTH_WAYS)
def test_both_ways(text: str, data_type: pa.DataType) -> None:
    assert arrow_type(parse_type(text)) == data_type
    assert str(logical_type_of(data_type)) == text


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("VARCHAR(10)", pa.string()),
        ("TIMESTAMP(1)", pa.timestamp("ms")),
        ("MULTISET<STRING>", pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
        ("RAW('object', 'pickle')", pa.binary()),
        ("STRUCTURED<'Point', `x` INT>", pa.struct({"x": pa.int32()})),
    ],
)
def test_some_types_are_coarser_in_arrow(text: str, data_type: pa.DataType) -> None:
    assert arrow_type(parse_type(text)) == data_type


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        (pa.uint8(), "SMALLINT"),
        (pa.uint64(), "DECIMAL(20, 0)"),
        (pa.large_string(), "STRING"),
        (pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (pa.date64(), "DATE"),
        (pa.timestamp("us", "Europe/Berlin"), "TIMESTAMP_LTZ(6)"),
    ],
)
def test_other_types_of_arrow_have_a_nearest_one(data_type: pa.DataType, text: str) -> None:
    assert str(logical_type_of(data_type)) == text


def test_nullability_of_columns_is_kept() -> None:
    row = parse_type("ROW<`id` BIGINT NOT NULL, `name` STRING>")
    assert isinstance(row, RowType)
    assert not arrow_schema(row).field("id").nullable
    assert logical_row_type(arrow_schema(row)) == row


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="has no counterpart in Flink"):
        logical_type_of(pa.month_day_nano_interval())
