"""Output of a query whose rows become records of a stream. It checks NOT NULL, and makes the time
attribute's values the event times.

Flink: ``OutputConversionOperator``; Flink docs, "DataStream API Integration".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from millrace.common.types.batch import Batch, ColumnBatch
from millrace.runtime.operator import Operator
from millrace.runtime.operators.timestamps import NO_TIMESTAMP
from millrace.runtime.output import Output

if TYPE_CHECKING:
    from millrace.table_runtime.sink_constraints import SinkConstraints

__all__ = ["EventTimeColumn", "with_query_output"]


@dataclass(frozen=True, slots=True)
class EventTimeColumn:
    """The column whose values are the event times of the rows.

    Attributes:
        position: position of a column of type TIMESTAMP or TIMESTAMP_LTZ.
        in_row: whether the column stays in the rows.
    """

    position: int
    in_row: bool = True


def with_query_output(
    factory: Callable[[], Operator],
    constraints: SinkConstraints | None,
    column: EventTimeColumn | None,
) -> Callable[[], Operator]:
    """Factory of a query's last operator, with an output for the records of a stream.

    The operator's output does this, because an operator more would change the uids of all operators
    downstream.

    Args:
        constraints: constraints on the rows. None if there are none.
        column: the event times. None if the records have none.
    """
    if constraints is None and column is None:
        return factory
    return _ForStream(factory, constraints, column)


@dataclass(frozen=True, slots=True)
class _ForStream:
    factory: Callable[[], Operator]
    constraints: SinkConstraints | None
    column: EventTimeColumn | None

    def __call__(self) -> Operator:
        operator = self.factory()
        operator.output_wrapper = self._output
        return operator

    def _output(self, output: Output) -> Output:
        return _QueryOutput(output, self.constraints, self.column)


@dataclass(frozen=True, slots=True)
class _QueryOutput:
    output: Output
    constraints: SinkConstraints | None
    column: EventTimeColumn | None

    def emit(self, batch: Batch) -> None:
        """Pass on the batch with event times, if its rows satisfy the constraints."""
        assert isinstance(batch, ColumnBatch)  # as operators of queries emit
        if self.constraints is not None:
            batch = self.constraints.enforced(batch)
        if self.column is not None:
            batch = _timed(batch, self.column)
        self.output.emit(batch)

    def emit_watermark(self, timestamp: int) -> None:
        """Pass on the watermark."""
        self.output.emit_watermark(timestamp)


def _timed(batch: ColumnBatch, column: EventTimeColumn) -> ColumnBatch:
    data = batch.data
    times = _millis(data.column(column.position))
    if not column.in_row:
        data = data.remove_column(column.position)
    return replace(batch, data=data, timestamps=times)


def _millis(times: Any) -> Any:
    """Timestamps in ms since 1970; `NO_TIMESTAMP` for NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if times.type.unit in ("us", "ns"):
        times = pc.floor_temporal(times, unit="millisecond")
    millis = times.cast(pa.timestamp("ms", times.type.tz)).cast(pa.int64())
    return pc.fill_null(millis, NO_TIMESTAMP)
