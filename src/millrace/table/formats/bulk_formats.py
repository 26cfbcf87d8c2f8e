"""`BulkTableFormat`: the formats Parquet, ORC and Avro, whose files are written as a whole.

Flink: ``BulkReaderFormatFactory`` and ``BulkWriterFormatFactory``; Flink docs: "Parquet Format",
"Orc Format", "Avro Format".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from millrace.common.config.config_options import ConfigOption, ConfigOptions
from millrace.common.errors import JobDefinitionError
from millrace.common.plugins import Plugins
from millrace.common.serialization import BulkWriterFactory
from millrace.common.types.composite_types import RowTypeInfo
from millrace.common.types.logical.logical_type import RowType
from millrace.common.types.typeinfo import Types
from millrace.formats.file_format import FileFormat
from millrace.table.catalog.errors import CatalogError
from millrace.table.formats.message_format import Read
from millrace.table_runtime.columns import schema_of

__all__ = ["BULK_FORMATS", "BulkTableFormat"]


class BulkTableFormat(ABC):
    """Reads and writes whole files of columns.

    Attributes:
        options: beside ``format``.
    """

    options: ClassVar[tuple[ConfigOption[Any], ...]] = ()

    @abstractmethod
    def reader(self, names: Sequence[str]) -> FileFormat[Any]:
        """Reader of the given columns, which returns them with the types of the files."""

    @abstractmethod
    def writers(self, columns: RowType, read: Read) -> BulkWriterFactory[Any]:
        """Factory of writers of the given columns.

        Raises:
            JobDefinitionError: the format does not hold a column's type.
        """


def _named(names: Sequence[str]) -> RowTypeInfo:
    """The columns to read; the format takes their types from the files."""
    return Types.ROW_NAMED(list(names), [Types.STRING()] * len(names))


PARQUET_COMPRESSION = (
    ConfigOptions.key("parquet.compression")
    .string_type()
    .default_value("snappy")
    .one_of("snappy", "gzip", "brotli", "lz4", "zstd", "none", "uncompressed")
)


class ParquetFormat(BulkTableFormat):
    """Parquet with every type; only the query's columns are read."""

    options = (PARQUET_COMPRESSION,)

    def reader(self, names: Sequence[str]) -> FileFormat[Any]:
        from millrace.formats.parquet import ParquetColumnarRowInputFormat

        return ParquetColumnarRowInputFormat(_named(names), columnar=True)

    def writers(self, columns: RowType, read: Read) -> BulkWriterFactory[Any]:
        from millrace.formats.parquet_writer import ParquetBulkWriters

        compression = str(read(PARQUET_COMPRESSION)).lower()
        name = "none" if compression == "uncompressed" else compression
        return ParquetBulkWriters.for_arrow_schema(schema_of(columns), name)


ORC_COMPRESSION = (
    ConfigOptions.key("orc.compress")
    .string_type()
    .default_value("LZ4")
    .one_of("NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD")
)
ORC_STRIPE_SIZE = ConfigOptions.key("orc.stripe.size").int_type().no_default_value().at_least(1)


class OrcFormat(BulkTableFormat):
    """ORC; only the query's columns are read."""

    options = (ORC_COMPRESSION, ORC_STRIPE_SIZE)

    def reader(self, names: Sequence[str]) -> FileFormat[Any]:
        from millrace.formats.orc import OrcColumnarRowInputFormat

        return OrcColumnarRowInputFormat(_named(names), columnar=True)

    def writers(self, columns: RowType, read: Read) -> BulkWriterFactory[Any]:
        from millrace.formats.orc_writer import OrcBulkWriters

        properties = {ORC_COMPRESSION.key: read(ORC_COMPRESSION)}
        if read(ORC_STRIPE_SIZE) is not None:
            properties[ORC_STRIPE_SIZE.key] = str(read(ORC_STRIPE_SIZE))
        return OrcBulkWriters.for_arrow_schema(schema_of(columns), properties)


AVRO_CODEC = (
    ConfigOptions.key("avro.codec")
    .string_type()
    .default_value("snappy")
    .one_of("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
)


class AvroFormat(BulkTableFormat):
    """Avro; each file is read by its own schema, and fields are matched by name."""

    options = (AVRO_CODEC,)

    def reader(self, names: Sequence[str]) -> FileFormat[Any]:
        from millrace.formats.avro import AvroInputFormat

        return AvroInputFormat(columnar=True)

    def writers(self, columns: RowType, read: Read) -> BulkWriterFactory[Any]:
        from millrace.formats.avro import AvroBulkWriters, AvroSchema
        from millrace.formats.avro.row_types import avro_definition

        for field in columns.fields:
            try:
                avro_definition(RowType((field,)))
            except JobDefinitionError as error:
                raise JobDefinitionError(f"column {field.name}: {error}") from None
        schema = AvroSchema(avro_definition(columns))
        return AvroBulkWriters.for_generic_record(schema, str(read(AVRO_CODEC)).lower())


BULK_FORMATS: Plugins[BulkTableFormat] = Plugins(
    "millrace.file_formats",
    BulkTableFormat,  # type: ignore[type-abstract]
    "file format",
    {
        "avro": AvroFormat(),
        "orc": OrcFormat(),
        "parquet": ParquetFormat(),
    },
    CatalogError,
)
"""Formats by the value of the option ``format``."""
