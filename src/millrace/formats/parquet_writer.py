"""Parquet files as a sink's parts. Flink docs: "Parquet format"."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

from millrace.common.config.configuration import Configuration
from millrace.common.errors import JobDefinitionError
from millrace.common.serialization import (
    BulkWriter,
    JoiningBulkWriterFactory,
    RowDataBulkWriterFactory,
)
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.arrow_types import arrow_schema
from millrace.formats.row_type_writer import RowTypeBulkWriter, type_in_files
from millrace.formats.table_writer import TableBulkWriter

__all__ = ["ParquetBulkWriters"]

_COMPRESSION = "parquet.compression"
_MAKER = "ParquetBulkWriters"


class ParquetBulkWriters:
    """Makes factories of Parquet writers for `FileSink.for_bulk_format`.

    Records are dicts, Rows, tuples, named tuples or dataclass instances.
    """

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | RowType | None = None,
        hadoop_config: Configuration | None = None,
        utc_timestamp: bool = False,
        compression: str | None = None,
    ) -> ParquetWriterFactory:
        """Factory for files with the columns of a row type (``Types.ROW_NAMED`` or
        ``DataTypes.ROW``). For None, the first records of each file determine the columns.

        Declare them for real use: what is taken from records may differ from file to file (a
        column without values has no type).

        Args:
            row_type: names and types of the columns. Of ``DataTypes``, they are those of a table:
                decimals are rounded to their scale.
            hadoop_config: a configuration with ``parquet.compression``, as PyFlink's programs
                have it.
            utc_timestamp: store timestamps as points in time in UTC; of ``DataTypes``, only
                TIMESTAMP_LTZ is a point in time.
            compression: pyarrow's name of the compression: snappy (the default), zstd, gzip, none.

        Raises:
            JobDefinitionError: a type has no counterpart, or the configuration has other keys.
        """
        compression = compression or _compression(hadoop_config)
        if row_type is None:
            return ParquetWriterFactory(None, None, compression)
        if not isinstance(row_type, (RowTypeInfo, RowType)):
            raise JobDefinitionError(
                "for_row_type takes Types.ROW_NAMED([names], [types]) or DataTypes.ROW([fields]), "
                f"not {row_type!r}; a pyarrow schema goes into for_arrow_schema"
            )
        if isinstance(row_type, RowType):
            schema = arrow_schema(type_in_files(row_type))
        else:
            schema = arrow_schema(row_type, utc_timestamp)
        return ParquetWriterFactory(row_type, schema, compression)

    @staticmethod
    def for_arrow_schema(schema: Any, compression: str = "snappy") -> ParquetWriterFactory:
        """Factory for files with the columns of a `pyarrow.Schema`."""
        return ParquetWriterFactory(None, schema, compression)


class ParquetWriterFactory(RowDataBulkWriterFactory[Any], JoiningBulkWriterFactory[Any]):
    """Makes the writer of each part file; see `ParquetBulkWriters`."""

    takes = BatchForm.EITHER

    def __init__(
        self, row_type: RowTypeInfo | RowType | None, schema: Any, compression: str
    ) -> None:
        self._row_type = row_type
        self._schema = schema
        self._compression = compression

    def get_row_type(self) -> RowTypeInfo | RowType | None:
        return self._row_type

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        file = ParquetFile(stream, self._compression)
        writer = TableBulkWriter(file, self._schema, _MAKER)
        if isinstance(self._row_type, RowType):
            return RowTypeBulkWriter(self._row_type, writer, _MAKER)
        return writer

    def require_joinable(self) -> None:
        if self._schema is None:
            raise JobDefinitionError(
                "Parquet files whose columns are taken from their first records may differ, and "
                "cannot be joined: declare the columns with "
                "ParquetBulkWriters.for_row_type(Types.ROW_NAMED([names], [types]))"
            )

    def join(self, files: Iterable[BinaryIO], target: BinaryIO) -> None:
        import pyarrow.parquet

        writer = TableBulkWriter(ParquetFile(target, self._compression), self._schema, _MAKER)
        for file in files:
            for batch in pyarrow.parquet.ParquetFile(file).iter_batches():
                writer.add_columns(ColumnBatch(batch, form="dict"))
        writer.finish()


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """Opens the writer of a file when its columns are known."""

    stream: BinaryIO
    compression: str

    def open(self, schema: Any) -> Any:
        """A writer of tables."""
        import pyarrow.parquet

        return pyarrow.parquet.ParquetWriter(self.stream, schema, compression=self.compression)


def _compression(config: Configuration | None) -> str:
    if config is None:
        return "snappy"
    if not isinstance(config, Configuration):
        raise JobDefinitionError(
            f"hadoop_config must be a Configuration, not {config!r}; pass later arguments "
            "by name, such as utc_timestamp= and compression="
        )
    unknown = sorted(config.key_set() - {_COMPRESSION})
    if unknown:
        raise JobDefinitionError(
            f"hadoop_config has {unknown[0]!r}, which no writer of Parquet here knows; known is "
            f"{_COMPRESSION}"
        )
    named = config.get_string(_COMPRESSION, "snappy") or "snappy"
    return {"uncompressed": "none"}.get(named.lower(), named.lower())
