"""ORC files as a sink's parts. Flink docs: "ORC format"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
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

__all__ = ["OrcBulkWriters"]

_COMPRESSIONS = {
    "NONE": "uncompressed",
    "ZLIB": "zlib",
    "SNAPPY": "snappy",
    "LZ4": "lz4",
    "ZSTD": "zstd",
}
_COMPRESSION = "orc.compress"
_STRIPE_SIZE = "orc.stripe.size"
_MAKER = "OrcBulkWriters"


class OrcBulkWriters:
    """Makes factories of ORC writers for `FileSink.for_bulk_format`.

    Records are dicts, Rows, tuples, named tuples or dataclass instances.
    """

    @staticmethod
    def for_row_type(
        row_type: RowTypeInfo | RowType,
        writer_properties: Mapping[str, str] | Configuration | None = None,
        hadoop_config: Any = None,
    ) -> OrcWriterFactory:
        """Factory for files with the columns of a row type (``Types.ROW_NAMED`` or
        ``DataTypes.ROW``).

        Args:
            row_type: names and types of the columns. Of ``DataTypes``, they are those of a table:
                decimals are rounded to their scale.
            writer_properties: ``orc.compress`` (NONE, ZLIB, SNAPPY, LZ4 or ZSTD; default LZ4, as
                Flink's) and ``orc.stripe.size`` (bytes; default 64 MiB).
            hadoop_config: settings of the JVM, which have no meaning here; leave them out.

        Raises:
            JobDefinitionError: a type has no counterpart in ORC, or a property is unknown.
        """
        if not isinstance(row_type, (RowTypeInfo, RowType)):
            raise JobDefinitionError(
                "for_row_type takes Types.ROW_NAMED([names], [types]) or DataTypes.ROW([fields]), "
                f"not {row_type!r}"
            )
        if hadoop_config is not None:
            raise JobDefinitionError("hadoop_config applies only to the JVM; omit it")
        properties = writer_properties or {}
        if isinstance(properties, Configuration):
            properties = properties.to_dict()
        settings = _settings(properties)
        stored = type_in_files(row_type) if isinstance(row_type, RowType) else row_type
        schema = arrow_schema(stored)
        _require_orc(schema, settings)
        return OrcWriterFactory(row_type, schema, settings)

    @staticmethod
    def for_arrow_schema(
        schema: Any, writer_properties: Mapping[str, str] | None = None
    ) -> OrcWriterFactory:
        """Factory for files with the columns of a `pyarrow.Schema`; properties are those of
        `for_row_type`.

        Raises:
            JobDefinitionError: a type has no counterpart in ORC, or a property is unknown.
        """
        settings = _settings(writer_properties or {})
        _require_orc(schema, settings)
        return OrcWriterFactory(None, schema, settings)


class OrcWriterFactory(RowDataBulkWriterFactory[Any], JoiningBulkWriterFactory[Any]):
    """Makes the writer of each part file; see `OrcBulkWriters`."""

    takes = BatchForm.EITHER

    def __init__(
        self, row_type: RowTypeInfo | RowType | None, schema: Any, settings: Mapping[str, Any]
    ) -> None:
        self._row_type = row_type
        self._schema = schema
        self._settings = settings

    def get_row_type(self) -> RowTypeInfo | RowType | None:
        return self._row_type

    def create(self, stream: BinaryIO) -> BulkWriter[Any]:
        writer = TableBulkWriter(OrcFile(stream, self._settings), self._schema, _MAKER)
        if isinstance(self._row_type, RowType):
            return RowTypeBulkWriter(self._row_type, writer, _MAKER)
        return writer

    def join(self, files: Iterable[BinaryIO], target: BinaryIO) -> None:
        from pyarrow.orc import ORCFile

        writer = TableBulkWriter(OrcFile(target, self._settings), self._schema, _MAKER)
        for file in files:
            orc_file = ORCFile(file)
            for stripe in range(orc_file.nstripes):
                writer.add_columns(ColumnBatch(orc_file.read_stripe(stripe), form="dict"))
        writer.finish()


@dataclass(frozen=True, slots=True)
class OrcFile:
    """Opens the writer of a file when its columns are known."""

    stream: BinaryIO
    settings: Mapping[str, Any]

    def open(self, schema: Any) -> Any:
        """A writer of tables."""
        from pyarrow.orc import ORCWriter

        return ORCWriter(self.stream, **self.settings)


def _settings(properties: Mapping[str, str]) -> dict[str, Any]:
    unknown = [key for key in properties if key not in (_COMPRESSION, _STRIPE_SIZE)]
    if unknown:
        raise JobDefinitionError(
            f"ORC files have no property {unknown[0]!r} here; known are {_COMPRESSION} and "
            f"{_STRIPE_SIZE}"
        )
    name = str(properties.get(_COMPRESSION, "LZ4")).upper()
    if name not in _COMPRESSIONS:
        raise JobDefinitionError(f"{_COMPRESSION} is {', '.join(_COMPRESSIONS)}, not {name!r}")
    settings: dict[str, Any] = {"compression": _COMPRESSIONS[name]}
    if _STRIPE_SIZE in properties:
        size = str(properties[_STRIPE_SIZE])
        if not size.isdecimal() or int(size) == 0:
            raise JobDefinitionError(f"{_STRIPE_SIZE} is a number of bytes, not {size!r}")
        settings["stripe_size"] = int(size)
    return settings


def _require_orc(schema: Any, settings: Mapping[str, Any]) -> None:
    """Check that ORC supports each column, with a temporary file in memory."""
    import pyarrow as pa

    for field in schema:
        writer = OrcFile(BytesIO(), settings).open(schema)
        try:
            writer.write(pa.schema([field]).empty_table())
        except pa.ArrowException as error:
            raise JobDefinitionError(
                f"the field {field.name!r} has no counterpart in ORC: {error}; map it to another "
                "type"
            ) from None
        finally:
            writer.close()
