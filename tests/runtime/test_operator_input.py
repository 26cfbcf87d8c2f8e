"""Rows become columns and columns rows in an operator's input, and only where it must be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from millrace.common.types.batch import Batch, BatchForm, ColumnBatch, RowBatch
from millrace.runtime.operator import Operator
from millrace.runtime.operator_input import operator_input

ROWS = RowBatch([{"x": 1}], [5])
COLUMNS = ColumnBatch(pa.RecordBatch.from_pydict({"x": [1]}), pa.array([5]))


class Notes(Operator):
    def __init__(self, takes: BatchForm) -> None:
        self.takes = takes
        self.got: list[tuple[int, Any, Any]] = []

    def process_input(self, number: int, values: list[Any], timestamps: list[int] | None) -> None:
        assert type(values) is list
        self.got.append((number, values, timestamps))

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        self.got.append((number, batch.data, batch.timestamps))


@pytest.mark.parametrize("batch", [ROWS, COLUMNS], ids=["rows", "columns"])
@pytest.mark.parametrize("takes", BatchForm)
def test_an_operator_gets_what_it_takes(takes: BatchForm, batch: Batch) -> None:
    operator = Notes(takes)
    operator_input(operator, 1).emit(batch)
    columnar = takes is BatchForm.COLUMNS or (takes is BatchForm.EITHER and batch is COLUMNS)
    expected = (COLUMNS.data, COLUMNS.timestamps) if columnar else (ROWS.values, ROWS.timestamps)
    assert operator.got == [(1, *expected)]


def test_an_empty_list_has_no_columns() -> None:
    operator = Notes(BatchForm.COLUMNS)
    operator_input(operator).emit(RowBatch([]))
    assert operator.got == []
