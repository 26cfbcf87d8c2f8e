"""Encodings of records in files and messages, one format per file."""

from __future__ import annotations

from millrace.formats.csv import CsvReaderFormat
from millrace.formats.csv_encoder import CsvBulkWriters, CsvEncoder
from millrace.formats.csv_schema import CsvSchema, CsvSchemaBuilder
from millrace.formats.file_format import BulkFormat, FileFormat, FileRange, FormatReader
from millrace.formats.json import JsonLinesEncoder, JsonLinesFormat
from millrace.formats.message_lines import MessageLinesEncoder, MessageLinesFormat
from millrace.formats.orc import OrcColumnarRowInputFormat
from millrace.formats.orc_writer import OrcBulkWriters
from millrace.formats.parquet import ParquetColumnarRowInputFormat
from millrace.formats.parquet_writer import ParquetBulkWriters
from millrace.formats.raw import RawFormatDeserializationSchema, RawFormatSerializationSchema
from millrace.formats.stream_format import LineFormat, StreamFormat, TextLineFormat

__all__ = [
    "BulkFormat",
    "CsvBulkWriters",
    "CsvEncoder",
    "CsvReaderFormat",
    "CsvSchema",
    "CsvSchemaBuilder",
    "FileFormat",
    "FileRange",
    "FormatReader",
    "JsonLinesEncoder",
    "JsonLinesFormat",
    "LineFormat",
    "MessageLinesEncoder",
    "MessageLinesFormat",
    "OrcBulkWriters",
    "OrcColumnarRowInputFormat",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
    "RawFormatDeserializationSchema",
    "RawFormatSerializationSchema",
    "StreamFormat",
    "TextLineFormat",
]
