"""`CollectColumnsOperator`: sends columns to the client with the acknowledgement of the epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.epoch import Ack, EpochContext
from millrace.runtime.operator import Operator
from millrace.state.serialization.payload import encode

if TYPE_CHECKING:
    from millrace.table_runtime.sink_constraints import SinkConstraints

__all__ = ["KIND_COLUMN", "CollectColumnsOperator", "collected_batch"]

KIND_COLUMN = "$row_kind"
"""Name of the last column of collected batches: the number of each row's `RowKind`."""


class CollectColumnsOperator(Operator):
    """Sink of a query whose rows the client reads. Flink: ``CollectSinkFunction``.

    Args:
        constraints: constraints on the rows. None if there are none.
    """

    takes = BatchForm.COLUMNS

    def __init__(self, constraints: SinkConstraints | None = None) -> None:
        self._constraints = constraints

    def open(self) -> None:
        self._batches: list[Any] = []

    def begin_epoch(self, epoch: EpochContext) -> None:
        self._batches = []

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        import numpy as np
        import pyarrow as pa

        if self._constraints is not None:
            batch = self._constraints.enforced(batch)
        kinds = batch.row_kinds
        if kinds is None:
            kinds = pa.array(np.zeros(len(batch), np.int8))
        names = [str(index) for index in range(batch.data.num_columns)]
        self._batches.append(
            pa.RecordBatch.from_arrays([*batch.data.columns, kinds], [*names, KIND_COLUMN])
        )

    def contribute(self, ack: Ack) -> None:
        if not self._batches:
            return
        import pyarrow as pa

        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._batches[0].schema) as writer:
            for batch in self._batches:
                writer.write_batch(batch)
        ack.results[self.context.uid] = encode([sink.getvalue().to_pybytes()])
        self._batches = []


def collected_batch(payload: bytes) -> tuple[Any, Any]:
    """Columns (by position) and row kinds that one subtask collected in one epoch."""
    import pyarrow as pa

    table = pa.ipc.open_stream(payload).read_all().combine_chunks()
    batches = table.to_batches()
    batch = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
    return batch.select(list(range(batch.num_columns - 1))), batch.column(batch.num_columns - 1)
