"""ORC files."""

from __future__ import annotations

from millrace.common.config.configuration import Configuration
from millrace.common.serialization import BulkWriterFactory, RowDataBulkWriterFactory
from millrace.common.types.logical.logical_type import RowType
from millrace.formats.orc import OrcColumnarRowInputFormat
from millrace.formats.orc_writer import OrcBulkWriters

__all__ = [
    "BulkWriterFactory",
    "Configuration",
    "OrcBulkWriters",
    "OrcColumnarRowInputFormat",
    "RowDataBulkWriterFactory",
    "RowType",
]
