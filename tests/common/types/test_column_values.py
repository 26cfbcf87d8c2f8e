"""Columns of Arrow as Python values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import JobExecutionError
from millrace.common.types.column_values import column_values
from millrace.common.types.columns import to_records
from millrace.common.types.row import Row

TEXT, NUMBER = pa.string(), pa.int64()
COUNTS = pa.map_(TEXT, NUMBER)
POINT = pa.struct([("x", NUMBER)])


@pytest.mark.parametrize(
    ("arrow", "kind", "with_dicts", "with_rows"),
    [
        ([1, None], NUMBER, [1, None], [1, None]),
        ([[("a", 1), ("b", None)], None, []], COUNTS, [{"a": 1, "b": None}, None, {}], None),
        ([{"x": 1}, None], POINT, [{"x": 1}, None], [Row(x=1), None]),
        ([[[("a", 1)], None], None], pa.list_(COUNTS), [[{"a": 1}, None], None], None),
        ([[{"x": 1}]], pa.large_list(POINT), [[{"x": 1}]], [[Row(x=1)]]),
        ([[("a", {"x": 1})]], pa.map_(TEXT, POINT), [{"a": {"x": 1}}], [{"a": Row(x=1)}]),
        (
            [{"m": [("a", 1)], "x": 2}, {"m": None, "x": None}],
            pa.struct([("m", COUNTS), ("x", NUMBER)]),
            [{"m": {"a": 1}, "x": 2}, {"m": None, "x": None}],
            [Row(m={"a": 1}, x=2), Row(m=None, x=None)],
        ),
        ([[([1, 2], 3)]], pa.map_(pa.list_(NUMBER), NUMBER), [{(1, 2): 3}], None),
        ([[({"x": 1}, 3)]], pa.map_(POINT, NUMBER), [{Row(x=1): 3}], None),
        ([[([("a", 1)], 3)]], pa.map_(COUNTS, NUMBER), [{(("a", 1),): 3}], None),
    ],
)
def test_maps_are_dicts_at_any_depth(
    arrow: list[Any], kind: Any, with_dicts: list[Any], with_rows: list[Any] | None
) -> None:
    column = pa.array(arrow, kind)
    assert column_values(column) == with_dicts
    assert column_values(column, Row) == (with_dicts if with_rows is None else with_rows)


def test_functions_of_records_get_the_dicts_of_a_columnar_batch() -> None:
    data = pa.RecordBatch.from_arrays([pa.array([[("a", 1)]], COUNTS)], ["m"])
    assert to_records(data, "dict") == [{"m": {"a": 1}}]
    assert to_records(data, "row") == [Row(m={"a": 1})]
    assert to_records(data, "value") == [{"a": 1}]


def test_a_dict_cannot_have_two_columns_of_one_name() -> None:
    data = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert to_records(data, "tuple") == [(1, 2)]
    with pytest.raises(JobExecutionError, match="two columns"):
        to_records(data, "dict")
