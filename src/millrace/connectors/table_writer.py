"""`TableWriter`: writes one subtask's data files of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.sink import SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import ColumnBatch
from millrace.connectors.committed_runs import origin
from millrace.connectors.last_rows import require_equals, require_keys, with_kinds
from millrace.connectors.partitioned_files import PartitionedFiles
from millrace.connectors.table_columns import table_columns

if TYPE_CHECKING:
    import pyarrow

__all__ = ["TableWriter"]


class TableWriter(SinkWriter[Any]):
    """Writes files that a committer adds to the table or, with keys, merges into it.

    Args:
        table: its name, for messages.
        directory: directory of the table's data.
        schema: its columns.
        partition_by: the partition columns of the table.
        keys: those that identify a row: files wait below the job's checkpoints, with the kinds of
            their rows; None: rows are appended.
        keep: whether files have the columns of partitions as well.
    """

    def __init__(
        self,
        table: str,
        directory: str,
        schema: pyarrow.Schema,
        partition_by: Sequence[str],
        keys: tuple[str, ...] | None,
        context: WriterContext,
        keep: bool = False,
    ) -> None:
        self._table = table
        self._schema = schema
        self._keys = keys
        self._partition_by = partition_by
        if keys is not None:
            directory = f"{context.directory}/staged"
            schema, partition_by = with_kinds(schema), ()
        self._context = context
        self._directory = directory
        self._columns = schema, partition_by, keep
        self._files: PartitionedFiles | None = None

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._about = {**origin(self._context, epoch.number), "directory": self._directory}
        self._files = PartitionedFiles(self._directory, f"{epoch.attempt}.parquet", *self._columns)

    def write_columns(self, batch: ColumnBatch) -> None:
        data = table_columns(batch, self._schema, self._table)
        if self._keys is not None:
            require_keys(data, self._keys, self._table)
            data = with_kinds(data, batch.row_kinds)
        else:
            require_equals(data, self._partition_by, "in the partitioning", self._table)
        assert self._files is not None, "no epoch has begun"
        self._files.add(data)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        files = () if self._files is None else self._files.complete()
        self._files = None  # what cannot be completed is left to close()
        return [
            {
                **self._about,
                "path": file.path,
                "size": file.size,
                "rows": file.rows,
                "partition": file.partition,
            }
            for file in files
        ]

    def close(self) -> None:
        if self._files is not None:
            self._files.discard()
