"""Sources and sinks of files."""

from __future__ import annotations

from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_enumeration import (
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from millrace.connectors.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_source import FileSource, FileSourceBuilder
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.formats.file_format import BulkFormat
from millrace.formats.stream_format import StreamFormat

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]
