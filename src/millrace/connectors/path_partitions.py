"""Columns in the paths of files, in the layout of Hive and Spark: ``year=2024/month=2``.

Spark docs, "Parquet Files", Partition Discovery; `PartitionBucketAssigner` writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from millrace.common.errors import JobDefinitionError, SerializationError
from millrace.common.types.batch import ColumnBatch, RowBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.row import Row, named_row
from millrace.connectors.bucket_assigner import NO_VALUE
from millrace.formats.file_format import FormatReader
from millrace.formats.malformed_record import MalformedRecordError
from millrace.formats.scalar_text import scalar_text

__all__ = ["PartitionedReader", "PathPartitions"]


class PathPartitions:
    """Extracts the columns from paths.

    Args:
        row_type: their names and types: text, numbers, booleans, dates or times.

    Raises:
        JobDefinitionError: the argument is not such a type.

    Example:
        >>> from millrace.common import Types
        >>> partitions = PathPartitions(Types.ROW_NAMED(["year"], [Types.INT()]))
        >>> partitions.values("/data/year=2024/part-0.avro")
        {'year': 2024}
    """

    def __init__(self, row_type: RowTypeInfo) -> None:
        if not isinstance(row_type, RowTypeInfo) or row_type.field_names is None:
            raise JobDefinitionError(
                "set_partition_columns takes Types.ROW_NAMED([names], [types]), such as "
                f"Types.ROW_NAMED(['year'], [Types.INT()]), not {row_type!r}"
            )
        self._row_type = row_type
        self._readers = self._made_readers()

    def _made_readers(self) -> dict[str, Callable[[str], Any]]:
        pairs = zip(self._row_type.get_field_names(), self._row_type.types, strict=True)
        return {name: scalar_text(kind).read for name, kind in pairs}

    def values(self, path: str) -> dict[str, Any]:
        """Value of each column for the records of a file.

        Raises:
            SerializationError: the path does not say one, or it is not of its type.
        """
        texts = dict(part.split("=", 1) for part in path.split("/")[:-1] if "=" in part.lstrip("="))
        values = {}
        for name, read in self._readers.items():
            text = texts.get(name)
            if text is None:
                raise SerializationError(
                    f"no directory {name}=... is in its path, although {name!r} is a partition "
                    "column"
                )
            try:
                values[name] = None if text == NO_VALUE else read(unquote(text))
            except (ValueError, ArithmeticError) as error:
                raise SerializationError(
                    f"{name}={text} in its path is not of type {self._type(name).name}: {error}"
                ) from None
        return values

    def arrow_types(self) -> dict[str, Any]:
        """Arrow type of each column."""
        return {name: arrow_type(self._type(name).logical_type) for name in self._readers}

    def _type(self, name: str) -> Any:
        return self._row_type.types[self._row_type.get_field_index(name)]

    def __reduce__(self) -> tuple[Any, ...]:
        return PathPartitions, (self._row_type,)


class PartitionedReader(FormatReader[Any]):
    """Adds the columns to the records of another reader; a record's own column of that name is
    replaced, as in Spark."""

    def __init__(
        self, reader: FormatReader[Any], values: dict[str, Any], arrow_types: dict[str, Any]
    ) -> None:
        self._reader = reader
        self._values = values
        self._arrow_types = arrow_types

    def read(self, max_records: int) -> RowBatch[Any] | ColumnBatch:
        self._reader.on_malformed = self.on_malformed
        batch = self._reader.read(max_records)
        self.skipped = self._reader.skipped
        if isinstance(batch, ColumnBatch):
            return self._with_columns(batch)
        return RowBatch(list(map(self._with_fields, batch.values)), batch.timestamps)

    def _with_columns(self, batch: ColumnBatch) -> ColumnBatch:
        import pyarrow as pa

        data = batch.data
        for name, value in self._values.items():
            column = pa.repeat(pa.scalar(value, self._arrow_types[name]), data.num_rows)
            at = data.schema.get_field_index(name)
            data = data.append_column(name, column) if at < 0 else data.set_column(at, name, column)
        return ColumnBatch(data, batch.timestamps, batch.row_kinds, batch.form)

    def _with_fields(self, record: Any) -> Any:
        if isinstance(record, dict):
            return {**record, **self._values}
        if isinstance(record, Row) and record._fields is not None:
            fields = {**record.as_dict(), **self._values}
            return named_row(tuple(fields), fields.values(), record.get_row_kind().value)
        raise MalformedRecordError(
            f"partition columns are added to records with named fields, dicts or Rows, not to "
            f"{repr(record)[:200]}"
        )

    def position(self) -> Any:
        return self._reader.position()

    def finished(self) -> bool:
        return self._reader.finished()

    def close(self) -> None:
        self._reader.close()


def partitioned(
    reader: FormatReader[Any], partitions: PathPartitions | None, path: str
) -> FormatReader[Any]:
    """The reader, or a reader that adds the columns of the file's path."""
    if partitions is None:
        return reader
    try:
        values = partitions.values(path)
    except SerializationError:
        reader.close()
        raise
    return PartitionedReader(reader, values, partitions.arrow_types())
