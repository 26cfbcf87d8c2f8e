"""A calc keeps the kinds of the rows that it keeps."""

from __future__ import annotations

import pyarrow as pa

from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.logical_type import BigIntType, RowType
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression, ValueLiteral
from millrace.expressions.session_settings import SessionSettings
from millrace.runtime.table.calc import CalcOperator

ID = FieldReference(0, BigIntType(), "id")
INPUT = RowType.of(("id", BigIntType()))


class _Output:
    def __init__(self) -> None:
        self.batches: list[ColumnBatch] = []

    def emit(self, batch: ColumnBatch) -> None:
        self.batches.append(batch)


def run(condition: ResolvedExpression | None, batch: ColumnBatch) -> list[ColumnBatch]:
    twice = resolve_call("*", (ID, ValueLiteral(2, BigIntType(nullable=False))))
    output = RowType.of(("twice", twice.output_type))
    operator = CalcOperator((twice,), condition, INPUT, output, SessionSettings())
    out = _Output()
    operator.output = out  # type: ignore[assignment]
    operator.process_columns(0, batch)
    return out.batches


def test_kinds_stay_with_their_rows() -> None:
    big = resolve_call(">", (ID, ValueLiteral(1, BigIntType(nullable=False))))
    kinds = pa.array([0, 1, 2, 3], pa.int8())
    batch = ColumnBatch(pa.record_batch({"id": [1, 2, None, 4]}), row_kinds=kinds)
    [made] = run(big, batch)
    assert made.data.to_pylist() == [{"twice": 4}, {"twice": 8}]
    assert made.row_kinds is not None
    assert made.row_kinds.to_pylist() == [1, 3]


def test_nothing_is_emitted_of_no_rows() -> None:
    never = resolve_call(">", (ID, ValueLiteral(9, BigIntType(nullable=False))))
    assert run(never, ColumnBatch(pa.record_batch({"id": [1]}))) == []


def test_all_rows_without_a_condition() -> None:
    [made] = run(None, ColumnBatch(pa.record_batch({"id": [1, None]})))
    assert made.data.column(0).to_pylist() == [2, None]
