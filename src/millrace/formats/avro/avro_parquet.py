"""Parquet files of records of an Avro schema. Flink docs: "Parquet format", Avro records."""

from __future__ import annotations

from millrace.formats.avro.avro_schema import AvroSchema, require_avro_schema
from millrace.formats.avro.row_types import row_type_of
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetBulkWriters, ParquetWriterFactory

__all__ = ["AvroParquetReaders", "AvroParquetWriters"]


class AvroParquetReaders:
    """Makes formats that read Parquet files as records of an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> ParquetColumnarRowInputFormat:
        """Each row is a dict of the schema's fields; columns it does not name are left out.

        Raises:
            JobDefinitionError: it is no schema of a record.
        """
        found = require_avro_schema(schema, "AvroParquetReaders.for_generic_record")
        return ParquetColumnarRowInputFormat(row_type_of(found.type), record_type=dict)


class AvroParquetWriters:
    """Makes factories of Parquet writers for records of an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> ParquetWriterFactory:
        """The columns of a schema, for dicts and all that `ParquetBulkWriters` takes.

        Raises:
            JobDefinitionError: it is no schema of a record, or has a union of several types.
        """
        found = require_avro_schema(schema, "AvroParquetWriters.for_generic_record")
        return ParquetBulkWriters.for_row_type(row_type_of(found.type))
