"""Sources and sinks at the paths that PyFlink programs import them from."""

from __future__ import annotations

from millrace.common.sink.sink import Sink
from millrace.common.source import Source
from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_enumeration import (
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from millrace.connectors.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_source import FileSource, FileSourceBuilder
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.formats.stream_format import StreamFormat

__all__ = [
    "BucketAssigner",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "NumberSequenceSource",
    "OutputFileConfig",
    "RollingPolicy",
    "Sink",
    "Source",
    "StreamFormat",
    "StreamingFileSink",
]
