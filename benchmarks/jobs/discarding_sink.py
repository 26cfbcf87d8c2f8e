"""A sink that throws everything away: what a benchmark measures is what comes before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millrace.common.sink import Sink, SinkWriter, WriterContext
from millrace.common.types.batch import BatchForm, ColumnBatch, RowBatch


class DiscardingSink(Sink[Any]):
    """Writes nothing."""

    takes = BatchForm.EITHER

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return _Nowhere()


class _Nowhere(SinkWriter[Any]):
    def write(self, batch: RowBatch[Any]) -> None:
        pass

    def write_columns(self, batch: ColumnBatch) -> None:
        pass

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return ()
