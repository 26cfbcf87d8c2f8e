"""Sources whose batches Spark delivers to the subtasks, and their reader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.source import (
    AssignedSplit,
    BatchDelivery,
    Consumed,
    Lane,
    ReaderContext,
    Source,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.row import Row
from millrace.formats.records import require_record_type

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DeliveredReader", "DeliveredSource"]

_NEVER = 24 * 3_600_000
"""Milliseconds: records come when the enumerator says so, polling finds none."""


class DeliveredSource(Source[Any]):
    """Base of sources that read a DataFrame within the Spark tasks that compute it.

    Args:
        record_type: type of a record, ``Row`` or ``dict``.

    Raises:
        JobDefinitionError: records have another type, or Arrow has no type for a column.
    """

    def __init__(self, dataframe: Any, record_type: type[Any]) -> None:
        from millrace.spark.feeds import arrow_schema

        self._dataframe = dataframe
        self._schema = arrow_schema(dataframe)
        self._form = "row" if require_record_type(record_type) is Row else "dict"

    @property
    def is_delivered(self) -> bool:
        """True, because Spark jobs of the driver deliver the DataFrame's partitions."""
        return True

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dataframe": None}  # readers get what it computes

    def create_reader(self, context: ReaderContext) -> DeliveredReader:
        return DeliveredReader(self._schema, self._form, context)


class DeliveredReader(SourceReader[Any]):
    """Reads each batch completely in the epoch that delivers it.

    Args:
        schema: schema of the DataFrame.
        form: Python form of a record: "row" or "dict".
    """

    def __init__(self, schema: pyarrow.Schema, form: str, context: ReaderContext) -> None:
        self._schema = schema
        self._form = form
        self._context = context
        self._lanes: dict[int, Lane] = {}
        self._positions: dict[str, int | None] = {}
        self._delivery: BatchDelivery | None = None
        self._left: Iterator[SplitRecords[Any]] = iter(())
        self._records = 0

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        for split, position, _ in splits:
            self._lanes[split.number] = split
            self._positions[split.split_id] = position

    def handle_source_event(self, event: SourceEvent) -> None:
        assert isinstance(event, BatchDelivery)
        self._delivery, self._records = event, 0
        self._left = self._batches(event)

    def _batches(self, delivery: BatchDelivery) -> Iterator[SplitRecords[Any]]:
        for number, lane in list(self._lanes.items()):
            self._positions[lane.split_id] = delivery.batch
            messages = self._context.delivered.get(number, [])[::-1]
            while messages:
                batch = self._decoded(messages.pop())
                self._records += len(batch)
                yield SplitRecords(lane.split_id, batch)
            if delivery.last:
                del self._lanes[number], self._positions[lane.split_id]
                yield SplitRecords(lane.split_id, RowBatch([]), finished=True)
            elif delivery.at_end:
                yield SplitRecords(lane.split_id, RowBatch([]), at_end=True)

    def _decoded(self, message: memoryview) -> ColumnBatch:
        import pyarrow as pa

        data = pa.ipc.read_record_batch(pa.ipc.read_message(message), self._schema)
        return ColumnBatch(data, form=self._form)

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        batch = next(self._left, None)
        if batch is None:
            self._context.delivered.clear()
            return ()
        return [batch]

    def snapshot_state(self) -> Mapping[str, Any]:
        if self._delivery is not None:
            answer = Consumed(self._delivery.feed, self._delivery.batch, self._records)
            self._context.send_source_event(answer)
            self._delivery = None
        return dict(self._positions)

    def next_wakeup(self, now: int) -> int | None:
        return now + _NEVER
