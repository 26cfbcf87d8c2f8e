"""`TableWriter`: writes one subtask's data files of a table, a Parquet file per combination of
partition values and epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from millrace.common.errors import SerializationError
from millrace.common.sink import SinkWriter, WriterContext, WriterEpoch
from millrace.common.types.batch import Batch, ColumnBatch
from millrace.connectors.committed_runs import origin
from millrace.connectors.last_rows import require_equals, require_keys, with_kinds
from millrace.connectors.staged_file import StagedFile
from millrace.formats.parquet_writer import ParquetBulkWriters

if TYPE_CHECKING:
    import pyarrow


__all__ = ["PartitionedFiles", "TableWriter", "WrittenFile"]


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
        data = _table_columns(batch, self._schema, self._table)
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


def _table_columns(batch: Batch, schema: pyarrow.Schema, table: str) -> pyarrow.RecordBatch:
    """Fields of records as the columns of a table.

    Fields are found by name, those of tuples by position.

    Raises:
        SerializationError: the table has no such column, needs one that the records do not have,
            or a value is not of its column's type.
    """
    import pyarrow as pa

    data = batch.to_columns().data
    names = data.schema.names
    if names == [f"f{place}" for place in range(len(names))] and len(names) == len(schema):
        data, names = data.rename_columns(schema.names), schema.names
    unknown = [name for name in names if name not in schema.names]
    if unknown:
        raise SerializationError(
            f"table {table} has no column {unknown[0]!r}; it has {', '.join(schema.names)}"
        )
    arrays = [_column(data, field, table) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _column(data: pyarrow.RecordBatch, field: Any, table: str) -> Any:
    import pyarrow as pa

    if field.name not in data.schema.names:
        if field.nullable:
            return pa.nulls(data.num_rows, field.type)
        raise SerializationError(
            f"column {field.name!r} of table {table} must have a value, and the records have no "
            "such field"
        )
    column = data.column(field.name)
    if column.null_count and not field.nullable:
        raise SerializationError(f"column {field.name!r} of table {table} must not be null")
    try:
        return column if column.type == field.type else column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SerializationError(
            f"column {field.name!r} of table {table} is {field.type}; the records have "
            f"{column.type}: {error}"
        ) from None


_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class WrittenFile:
    """A durable data file that no table contains yet."""

    path: str
    """Path of the file below the directory of the table's data."""
    size: int
    """Bytes."""
    rows: int
    partition: dict[str, str | None]
    """The values of the columns by which the table is partitioned, as texts."""


class PartitionedFiles:
    """Writes one file per combination of partition values.

    Args:
        directory: directory of the table's data.
        name: name of the files, which no other writer uses.
        schema: all the columns.
        partition_by: the partition columns, each combination of which has a file.
        keep: whether the files have these columns as well.
    """

    def __init__(
        self,
        directory: str,
        name: str,
        schema: pyarrow.Schema,
        partition_by: Sequence[str] = (),
        keep: bool = False,
    ) -> None:
        import pyarrow as pa

        self._directory = directory
        self._name = name
        self._partition_by = list(partition_by)
        left = () if keep else partition_by
        self._schema = pa.schema([field for field in schema if field.name not in left])
        self._factory = ParquetBulkWriters.for_arrow_schema(self._schema)
        self._open: dict[tuple[str | None, ...], tuple[str, StagedFile]] = {}

    def add(self, data: pyarrow.RecordBatch) -> None:
        """Append rows."""
        for partition, part in self._parts(data):
            if partition not in self._open:
                path = "/".join([*map(_directory_of, self._partition_by, partition), self._name])
                location = f"{self._directory}/{path}"
                self._open[partition] = path, StagedFile(location, self._factory, private=False)
            columns = ColumnBatch(part.select(self._schema.names))
            self._open[partition][1].add_columns(columns)

    def _parts(self, data: pyarrow.RecordBatch) -> Iterator[tuple[tuple[str | None, ...], Any]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not self._partition_by:
            yield (), data
            return
        keys = pa.RecordBatch.from_arrays(
            [_texts(data.column(name)) for name in self._partition_by], names=self._partition_by
        )
        distinct = pa.Table.from_batches([keys]).group_by(self._partition_by).aggregate([])
        for key in distinct.to_pylist():
            chosen = pa.array([True] * data.num_rows)
            for name, value in key.items():
                column = keys.column(name)
                equal = column.is_null() if value is None else pc.equal(column, value)
                chosen = pc.and_(chosen, pc.fill_null(equal, False))
            yield tuple(key.values()), data.filter(chosen)

    def complete(self) -> list[WrittenFile]:
        """Make the files durable."""
        return [
            WrittenFile(
                path, file.complete(), file.rows, dict(zip(self._partition_by, key, strict=True))
            )
            for key, (path, file) in self._open.items()
        ]

    def discard(self) -> None:
        """Delete the files, unless they are complete."""
        for _, file in self._open.values():
            with suppress(OSError):
                file.discard()


def _texts(column: Any) -> Any:
    """Partition values as texts, in the spelling of tables."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return pa.array([None if v is None else str(v).lower() for v in column.to_pylist()])
    return column.cast(pa.string())


def _directory_of(name: str, value: str | None) -> str:
    return f"{name}={_NULL if value is None else quote(value, safe=' ')}"
