"""Columns of a declared type stay columns only where they become the values that it declares."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from millrace.common.errors import SerializationError
from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.logical.arrow_type import arrow_schema
from millrace.common.types.row import Row
from millrace.common.types.typeinfo import Types
from millrace.runtime.declared_output import DeclaredRecords, declared_output


class Collected:
    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def emit(self, batch: Batch) -> None:
        self.batches.append(batch)

    def emit_watermark(self, timestamp: int) -> None:
        pass


def emitted(type_info: Any, rows: list[dict[str, Any]]) -> Batch:
    schema = arrow_schema(type_info.logical_type)
    collected = Collected()
    output = declared_output(collected, type_info)
    output.emit(ColumnBatch(pa.RecordBatch.from_pylist(rows, schema), None, form="row"))
    [batch] = collected.batches
    return batch


def test_columns_of_plain_fields_stay_columns() -> None:
    type_info = Types.ROW_NAMED(["n", "word"], [Types.LONG(), Types.STRING()])
    assert isinstance(emitted(type_info, [{"n": 1, "word": "a"}]), ColumnBatch)


def test_a_nested_row_is_a_row() -> None:
    inner = Types.ROW_NAMED(["x"], [Types.LONG()])
    batch = emitted(Types.ROW_NAMED(["inner"], [inner]), [{"inner": {"x": 5}}])
    [record] = batch.to_rows().values
    assert isinstance(record.inner, Row)
    assert record.inner.x == 5


def test_what_python_makes_of_a_column_is_checked() -> None:
    """A decimal is no big integer: it is refused, not handed on."""
    with pytest.raises(SerializationError, match="BIG_INT"):
        emitted(Types.ROW_NAMED(["n"], [Types.BIG_INT()]), [{"n": Decimal(5)}])


def test_the_columns_of_a_type_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = DeclaredRecords.of(Types.TUPLE([Types.LONG()]))
    assert declared is not None
    batch = ColumnBatch(pa.record_batch({"f0": [1]}), form="tuple")
    assert declared.has_columns(batch)
    monkeypatch.setattr("millrace.runtime.declared_output.arrow_schema", None)
    assert declared.has_columns(batch)
