"""Columns become Python values and columns again, without loss."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.python_values import arrow_column, python_values

MOMENT = 1_704_067_200_123_456_789
CASES: list[tuple[str, list[Any]]] = [
    ("TIMESTAMP(9)", [MOMENT, None, 1000]),
    ("TIMESTAMP_LTZ(9)", [MOMENT, None]),
    ("ARRAY<TIMESTAMP(9)>", [[MOMENT, None], None]),
    ("ROW<a TIMESTAMP(7), b INT>", [{"a": MOMENT, "b": 1}]),
    ("MAP<TIMESTAMP(9), TIMESTAMP_LTZ(9)>", [[(MOMENT, MOMENT + 1)]]),
    ("MAP<ARRAY<INT>, STRING>", [[([1, None], "x"), ([], "y")]]),
    ("MAP<ROW<a INT, b ARRAY<INT>>, STRING>", [[({"a": 1, "b": [2]}, "x")]]),
    ("MAP<MAP<INT, INT>, MAP<INT, INT>>", [[([(1, 2)], [(3, 4)])]]),
    ("MULTISET<ARRAY<INT>>", [[([1], 2)]]),
]


@pytest.mark.parametrize(("text", "values"), CASES, ids=[text for text, _ in CASES])
def test_values_go_there_and_back(text: str, values: list[Any]) -> None:
    kind = parse_type(text)
    column = pa.array(values, arrow_type(kind))
    made = python_values(column, kind)
    hash(repr(made))
    assert arrow_column(made, kind).equals(column)
