"""`PartitionedFiles`: the Parquet files of a table that a subtask writes in one epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from millrace.common.types.batch import ColumnBatch
from millrace.connectors.staged_file import StagedFile
from millrace.formats.parquet_writer import ParquetBulkWriters

if TYPE_CHECKING:
    import pyarrow

__all__ = ["PartitionedFiles", "WrittenFile"]

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
