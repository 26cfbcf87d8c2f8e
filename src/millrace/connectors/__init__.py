"""Sources and sinks, one concept per file."""

from __future__ import annotations

from millrace.common.sink.delivery_guarantee import DeliveryGuarantee
from millrace.connectors.bucket_assigner import BucketAssigner, BucketContext
from millrace.connectors.collection import CollectionSource
from millrace.connectors.data_generator import DataGeneratorSource
from millrace.connectors.errors import (
    ConnectorError,
    PartFileError,
    SocketSourceError,
    SourceFileError,
)
from millrace.connectors.file_compaction import FileCompactor, FileCompactStrategy
from millrace.connectors.file_enumeration import (
    FileEnumeratorProvider,
    FileSplitAssignerProvider,
)
from millrace.connectors.file_origin import FileOrigin
from millrace.connectors.file_sink import FileSink, StreamingFileSink
from millrace.connectors.file_source import FileSource, FileSourceBuilder
from millrace.connectors.hybrid import HybridSource, HybridSourceBuilder
from millrace.connectors.number_sequence import NumberSequenceSource
from millrace.connectors.orphans import sweep_orphans, work_files_in_use
from millrace.connectors.output_file_config import OutputFileConfig
from millrace.connectors.rate_limiter import RateLimiterStrategy
from millrace.connectors.rolling_policy import PartFileInfo, RollingPolicy
from millrace.connectors.socket import SocketTextSource
from millrace.other_paths import late_names

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "CollectionSource",
    "ConnectorError",
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileOrigin",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "HybridSource",
    "HybridSourceBuilder",
    "NumberSequenceSource",
    "OutputFileConfig",
    "PartFileError",
    "PartFileInfo",
    "RateLimiterStrategy",
    "RollingPolicy",
    "SocketSourceError",
    "SocketTextSource",
    "SourceFileError",
    "StreamingFileSink",
    "sweep_orphans",
    "work_files_in_use",
]

__getattr__ = late_names(__name__)
