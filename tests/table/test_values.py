"""Values print as Flink prints them: in rows of the connector "print", and in cells of tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.time.nanosecond_datetime import datetime_of
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.python_values import python_values
from millrace.table import DataTypes, TableEnvironment
from millrace.table.values import cells
from millrace.table_runtime.columns import column_of
from millrace.table_runtime.row_text import row_text

CASES: list[tuple[str, Any, str, str]] = [
    ("INT", 1, "1", "1"),
    ("INT", None, "null", "<NULL>"),
    ("BOOLEAN", True, "true", "TRUE"),
    ("DOUBLE", 1.0, "1.0", "1.0"),
    ("DOUBLE", 1e10, "1.0E10", "1.0E10"),
    ("DOUBLE", 0.0001, "1.0E-4", "1.0E-4"),
    ("DOUBLE", float("nan"), "NaN", "NaN"),
    ("FLOAT", 0.5, "0.5", "0.5"),
    ("FLOAT", 20.1, "20.1", "20.1"),
    ("ARRAY<FLOAT>", [0.1, None], "[0.1, null]", "[0.1, NULL]"),
    ("MAP<STRING, FLOAT>", {"k": 1e10}, "{k=1.0E10}", "{k=1.0E10}"),
    ("DECIMAL(10, 2)", Decimal("1.50"), "1.50", "1.50"),
    ("STRING", "a b", "a b", "a b"),
    ("BYTES", b"\x01\xff", "[1, -1]", "x'01ff'"),
    ("DATE", date(2024, 1, 2), "2024-01-02", "2024-01-02"),
    ("TIME(0)", time(3, 4, 5), "03:04:05", "03:04:05"),
    ("TIMESTAMP(3)", datetime(2024, 1, 2, 3, 4), "2024-01-02T03:04", "2024-01-02 03:04:00.000"),
    (
        "TIMESTAMP(6)",
        datetime(2024, 1, 2, 3, 4, 5, 600_000),
        "2024-01-02T03:04:05.600",
        "2024-01-02 03:04:05.600000",
    ),
    (
        "TIMESTAMP_LTZ(0)",
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        "2024-01-02T03:04:05Z",
        "2024-01-02 04:04:05",
    ),
    (
        "TIMESTAMP(9)",
        datetime_of(1_704_067_200_123_456_789),
        "2024-01-01T00:00:00.123456789",
        "2024-01-01 00:00:00.123456789",
    ),
    (
        "TIMESTAMP_LTZ(9)",
        datetime_of(1_704_067_200_000_000_089, utc=True),
        "2024-01-01T00:00:00.000000089Z",
        "2024-01-01 01:00:00.000000089",
    ),
    ("TIMESTAMP(0)", datetime(1, 1, 1), "0001-01-01T00:00", "0001-01-01 00:00:00"),
    ("MAP<ARRAY<INT>, STRING>", {(1,): "x"}, "{[1]=x}", "{[1]=x}"),
    ("INTERVAL DAY TO SECOND", timedelta(1, 3661), "1 day, 1:01:01", "+1 01:01:01.000"),
    ("INTERVAL YEAR TO MONTH", 14, "14", "+1-02"),
    ("ARRAY<INT>", [1, None], "[1, null]", "[1, NULL]"),
    ("MAP<STRING, INT>", {"k": 1}, "{k=1}", "{k=1}"),
    ("MULTISET<STRING>", {"k": 2}, "{k=2}", "{k=2}"),
    ("ROW<x INT, y STRING>", (1, "a"), "+I[1, a]", "(1, a)"),
]


@pytest.mark.parametrize(("kind_text", "value", "row", "cell"), CASES, ids=str)
def test_texts_of_values(kind_text: str, value: Any, row: str, cell: str) -> None:
    row_type = parse_type(f"ROW<v {kind_text}>")
    assert isinstance(row_type, RowType)
    column = column_of([value], row_type.fields[0])
    batch = ColumnBatch(pa.RecordBatch.from_arrays([column], ["v"]))
    assert list(row_text(batch, row_type)) == [f"+I[{row}]"]
    kind = row_type.fields[0].type
    assert cells(python_values(column, kind), kind, "Europe/Berlin") == [cell]


def test_kinds_of_changes_are_told() -> None:
    data = pa.record_batch({"v": [1, 2, 3, 4]})
    batch = ColumnBatch(data, row_kinds=pa.array([0, 1, 2, 3], pa.int8()))
    row_type = parse_type("ROW<v BIGINT>")
    assert isinstance(row_type, RowType)
    assert list(row_text(batch, row_type)) == ["+I[1]", "-U[2]", "+U[3]", "-D[4]"]


def test_decimals_of_elements_fit_their_type(t_env: TableEnvironment) -> None:
    """Rounded half up, and NULL where they are too great; another exponent ended the process."""
    values = ["12.345", "1E+9", "1E-999999999"]
    kind = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.DECIMAL(5, 2))])
    table = t_env.from_elements([(Decimal(value),) for value in values], kind)
    found = [row[0] for row in table.execute().collect()]
    assert found == [Decimal("12.35"), None, Decimal("0.00")]
