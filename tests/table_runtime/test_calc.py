"""A calc keeps the kinds of the rows that it keeps."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from tests.table_runtime.subtask import Subtask

from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.logical_type import BigIntType, LocalZonedTimestampType, RowType
from millrace.expressions import registry
from millrace.expressions.registry import resolve_call
from millrace.expressions.resolved import FieldReference, ResolvedExpression, ValueLiteral
from millrace.expressions.session_settings import SessionSettings
from millrace.table_runtime.calc import CalcOperator

ID = FieldReference(0, BigIntType(), "id")
INPUT = RowType.of(("id", BigIntType()))


class _Output:
    def __init__(self) -> None:
        self.batches: list[ColumnBatch] = []

    def emit(self, batch: ColumnBatch) -> None:
        self.batches.append(batch)


def run(condition: ResolvedExpression | None, batch: ColumnBatch) -> list[ColumnBatch]:
    twice = resolve_call(registry.function("*"), (ID, ValueLiteral(2, BigIntType(nullable=False))))
    output = RowType.of(("twice", twice.output_type))
    operator = CalcOperator((twice,), condition, INPUT, output, SessionSettings())
    out = _Output()
    operator.output = out  # type: ignore[assignment]
    operator.watermark = 5
    operator.process_columns(0, batch)
    return out.batches


def test_kinds_stay_with_their_rows() -> None:
    big = resolve_call(registry.function(">"), (ID, ValueLiteral(1, BigIntType(nullable=False))))
    kinds = pa.array([0, 1, 2, 3], pa.int8())
    batch = ColumnBatch(pa.record_batch({"id": [1, 2, None, 4]}), row_kinds=kinds)
    [made] = run(big, batch)
    assert made.data.to_pylist() == [{"twice": 4}, {"twice": 8}]
    assert made.row_kinds is not None
    assert made.row_kinds.to_pylist() == [1, 3]


def test_nothing_is_emitted_of_no_rows() -> None:
    never = resolve_call(registry.function(">"), (ID, ValueLiteral(9, BigIntType(nullable=False))))
    assert run(never, ColumnBatch(pa.record_batch({"id": [1]}))) == []


def test_all_rows_without_a_condition() -> None:
    [made] = run(None, ColumnBatch(pa.record_batch({"id": [1, None]})))
    assert made.data.column(0).to_pylist() == [2, None]


def test_the_watermark_that_has_reached_the_operator() -> None:
    kind = LocalZonedTimestampType(3)
    rows = RowType.of(("t", kind))
    watermark = resolve_call(
        registry.function("CURRENT_WATERMARK"), (FieldReference(0, kind, "t"),)
    )
    on_time = resolve_call(registry.function(">"), (FieldReference(0, kind, "t"), watermark))
    late = resolve_call(registry.function("IS NOT TRUE"), (on_time,))
    output = RowType.of(("t", kind), ("w", watermark.output_type))
    calc = CalcOperator(
        (FieldReference(0, kind, "t"), watermark), late, rows, output, SessionSettings()
    )
    subtask = Subtask(lambda: calc)
    batch = ColumnBatch(pa.record_batch({"t": pa.array([7, 8, 9], pa.timestamp("ms", "UTC"))}))

    def at(ms: int) -> datetime:
        return datetime.fromtimestamp(ms / 1000, UTC)

    assert [row for _, row in subtask.epoch([batch])] == [(at(ms), None) for ms in (7, 8, 9)]
    subtask.epoch([], 8)
    assert [row for _, row in subtask.epoch([batch])] == [(at(7), at(8)), (at(8), at(8))]
    calc.watermark = 2**63 - 1  # as at the end of the input, when groups are given
    last = datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
    columns = calc._calc(batch.data, 0, calc.watermark)[0]
    assert columns[1].to_pylist() == [last] * 3
