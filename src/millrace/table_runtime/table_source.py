"""`TableSourceOperator`: reads a source as columns of a table, with the table's watermark.

Flink: ``TableSourceScan``, with a watermark strategy that is pushed into the source, so that each
split has a watermark of its own (FLIP-95, ``SupportsWatermarkPushDown``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from millrace.common.errors import JobExecutionError
from millrace.common.source import Source
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.runtime.buffer import MIN_WATERMARK
from millrace.runtime.epoch import ReadPlan
from millrace.runtime.operators.source import ActiveSplit, SourceOperator
from millrace.table_runtime.columns import ColumnConversion

__all__ = ["TableSourceOperator", "strategy_of_watermarks", "watermark_times"]

Evaluate = Callable[[Any], Any]
"""Computes a column of a record batch."""
_COLUMN_BATCH = 8
"""Factor by which columnar batches have more records than batches of rows. Calling a kernel of
Arrow costs as much as some thousand values in it."""


class TableSourceOperator(SourceOperator):
    """Reads splits as columns with exactly the types of a table.

    Args:
        row_type: columns that the source returns.
        watermark: function that gives each row's watermark (a TIMESTAMP(3) or TIMESTAMP_LTZ(3)), or
            None.
        idle_timeout: ms without records after which a split is idle (``scan.watermark.idle-
            timeout``), or None.
        table: names of all columns that the source may return.
        inserts_only: whether the query is made for a source without updates and deletes.
    """

    def __init__(
        self,
        source: Source[Any],
        row_type: RowType,
        watermark: Evaluate | None = None,
        idle_timeout: int | None = None,
        table: tuple[str, ...] = (),
        inserts_only: bool = False,
    ) -> None:
        super().__init__(source, strategy_of_watermarks(watermark is not None, idle_timeout))
        self._row_type = row_type
        self._table = table
        self._watermark_of = watermark
        self._inserts_only = inserts_only

    def open(self) -> None:
        super().open()
        self._convert = ColumnConversion(self._row_type, self._table)

    def read_available(self, plan: ReadPlan) -> Iterator[None]:
        return super().read_available(
            replace(plan, batch_records=plan.batch_records * _COLUMN_BATCH)
        )

    def emit_batch(self, split: ActiveSplit, batch: Batch) -> None:
        columns = self._convert(batch)
        if self._inserts_only and columns.has_changes():
            raise JobExecutionError(
                f"the source of {self.context.name} gives updates or deletes, although its table "
                "is one of inserted rows; see the options of its connector for changes"
            )
        if self._watermark_of is None:
            super().emit_batch(split, replace(columns, timestamps=None))
            return
        times = watermark_times(self._watermark_of(columns.data))
        for piece in split.tracker.pieces(replace(columns, timestamps=times), self._now):
            assert isinstance(piece, ColumnBatch)
            self.output.emit(replace(piece, timestamps=None))
            self._advance()


def strategy_of_watermarks(watermark: bool, idle_timeout: int | None) -> WatermarkStrategy[Any]:
    """Watermark strategy of a table, with or without a watermark. ``idle_timeout`` is in ms."""
    strategy: WatermarkStrategy[Any]
    if watermark:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
    else:
        strategy = WatermarkStrategy.no_watermarks()
    if idle_timeout:
        from millrace.common.time.amounts import Duration

        strategy = strategy.with_idleness(Duration.of_millis(idle_timeout))
    return strategy


def watermark_times(times: Any) -> Any:
    """Event times plus 1 ms, for the ascending-timestamps strategy: it then emits exactly the
    watermarks that the table's expression gives.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    millis = pc.cast(times, pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    return pc.fill_null(pc.add(millis, 1), MIN_WATERMARK)
