"""Sources and sinks of files."""

from __future__ import annotations

from millrace.common.functions.base import SinkFunction
from millrace.common.serialization import BulkWriterFactory, Encoder, RowDataBulkWriterFactory
from millrace.common.sink.sink import Sink
from millrace.common.source.source import Source
from millrace.common.time.amounts import Duration
from millrace.common.types.logical.logical_type import RowType
from millrace.connectors.bucket_assigner import BucketAssigner
from millrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_enumeration import (
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from millrace.connectors.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_source import FileSource, FileSourceBuilder
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.rolling_policy import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from millrace.formats.file_format import BulkFormat
from millrace.formats.stream_format import StreamFormat

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "BulkWriterFactory",
    "DefaultRollingPolicy",
    "Duration",
    "Encoder",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "RowDataBulkWriterFactory",
    "RowType",
    "Sink",
    "SinkFunction",
    "Source",
    "StreamFormat",
    "StreamingFileSink",
]
