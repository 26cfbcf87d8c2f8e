from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import pyarrow as pa
import pytest

from millrace.common import Row
from millrace.common.errors import JobExecutionError
from millrace.common.types.columns import from_records

Point = namedtuple("Point", "x y")


@dataclass
class Car:
    x: int
    y: str


@pytest.mark.parametrize(
    ("record", "names"),
    [
        ({"x": 1, "y": "a"}, ["x", "y"]),
        (Row(x=1, y="a"), ["x", "y"]),
        (Row(1, "a"), ["f0", "f1"]),
        (Point(1, "a"), ["x", "y"]),
        (Car(1, "a"), ["x", "y"]),
        ((1, "a"), ["f0", "f1"]),
        (1, ["value"]),
        ("text", ["value"]),
        ([1, 2], ["value"]),
        (None, ["value"]),
    ],
)
def test_fields_become_columns(record, names) -> None:
    batch = from_records([record, record])
    assert isinstance(batch, pa.RecordBatch)
    assert batch.schema.names == names
    assert batch.num_rows == 2


@pytest.mark.parametrize(
    "records",
    [
        [{"x": 1}, {"x": 2, "y": 3}],
        [{"x": 1, "y": 2}, {"x": 1}],
        [(1, 2), (1,)],
        [(1, 2), (1, 2, 3)],
        [(1, 2), 5],
        [Row(x=1, y=2), Row(y=1, x=2)],
        [Point(1, 2), (1, 2)],
        [Car(1, "a"), Point(1, "a")],
        [Car(1, "a"), 5],
        [1, "a"],
        [2**70],
        [object()],
    ],
)
def test_records_that_cannot_be_columns_are_refused_and_not_cut(records) -> None:
    with pytest.raises(JobExecutionError, match="cannot be made into columns"):
        from_records(records)
