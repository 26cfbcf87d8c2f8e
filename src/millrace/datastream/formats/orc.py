"""ORC files."""

from __future__ import annotations

from millrace.formats.orc import OrcColumnarRowInputFormat
from millrace.formats.orc_writer import OrcBulkWriters

__all__ = ["OrcBulkWriters", "OrcColumnarRowInputFormat"]
