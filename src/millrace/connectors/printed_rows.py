"""`PrintSink`: prints the rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from millrace.common.sink import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.logical.logical_type import RowType
from millrace.table_runtime.row_text import row_text

__all__ = ["PrintSink"]


class PrintSink(Sink[Any]):
    """Prints rows in the process that started the job, after their epoch is committed."""

    takes = BatchForm.COLUMNS

    def __init__(self, row_type: RowType, identifier: str | None, standard_error: bool) -> None:
        self._row_type = row_type
        self._identifier = identifier
        self._standard_error = standard_error

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        parts = [self._identifier] if self._identifier else []
        parts += [str(context.subtask_index + 1)] if context.parallelism > 1 else []
        return _Writer(self._row_type, ":".join(parts) + "> " if parts else "")

    def create_committer(self, context: CommitterContext) -> Committer:
        return _Committer(self._standard_error)


class _Writer(SinkWriter[Any]):
    def __init__(self, row_type: RowType, prefix: str) -> None:
        self._row_type, self._prefix = row_type, prefix
        self._lines: list[str] = []

    def write_columns(self, batch: ColumnBatch) -> None:
        prefix = self._prefix
        self._lines += [prefix + line for line in row_text(batch, self._row_type)]

    def prepare_commit(self, end_of_input: bool) -> Sequence[list[str]]:
        lines, self._lines = self._lines, []
        return [lines] if lines else []


class _Committer(Committer):
    def __init__(self, standard_error: bool) -> None:
        self._standard_error = standard_error

    def commit(self, requests: Sequence[CommitRequest[list[str]]]) -> None:
        stream = sys.stderr if self._standard_error else sys.stdout
        for request in requests:
            print("\n".join(request.committable), file=stream, flush=True)
