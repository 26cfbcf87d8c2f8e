"""Sources in the shape of Flink's FLIP-27."""

from __future__ import annotations

from millrace.common.source.delivery import BatchDelivery, Consumed, Lane
from millrace.common.source.source import Boundedness, Source
from millrace.common.source.source_reader import ReaderContext, SourceReader, SplitRecords
from millrace.common.source.source_split import AssignedSplit, SourceEvent, SourceSplit
from millrace.common.source.split_enumerator import (
    EnumeratorContext,
    SplitEnumerator,
    StaticEnumerator,
)
from millrace.common.source.split_source import MultiplexSourceReader, SplitReader, SplitSource

__all__ = [
    "AssignedSplit",
    "BatchDelivery",
    "Boundedness",
    "Consumed",
    "EnumeratorContext",
    "Lane",
    "MultiplexSourceReader",
    "ReaderContext",
    "Source",
    "SourceEvent",
    "SourceReader",
    "SourceSplit",
    "SplitEnumerator",
    "SplitReader",
    "SplitRecords",
    "SplitSource",
    "StaticEnumerator",
]
