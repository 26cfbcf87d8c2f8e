"""Sources in the shape of Flink's FLIP-27."""

from __future__ import annotations

from millrace.common.source.source import (
    Boundedness,
    ReaderContext,
    Records,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
    StaticEnumerator,
)

__all__ = [
    "Boundedness",
    "ReaderContext",
    "Records",
    "Source",
    "SourceReader",
    "SourceSplit",
    "SplitEnumerator",
    "StaticEnumerator",
]
