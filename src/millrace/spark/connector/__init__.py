"""Spark as a connector: DataFrames as sources, and Spark's writers as sinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.source import Source
from millrace.common.types.row import Row
from millrace.spark.connector.copied_dataframe import CopiedDataFrameSource
from millrace.spark.connector.repeatable_dataframe import DataFrameSource
from millrace.spark.connector.spark_sink import SparkCheckpoint, SparkSink
from millrace.spark.connector.streaming_dataframe import StreamingDataFrameSource

__all__ = [
    "CopiedDataFrameSource",
    "DataFrameSource",
    "SparkCheckpoint",
    "SparkSink",
    "StreamingDataFrameSource",
    "dataframe_source",
]


def dataframe_source(
    dataframe: Any,
    directory: str | None,
    repeatable: bool = False,
    trigger: Mapping[str, Any] | None = None,
    record_type: type[Any] = Row,
) -> Source[Any]:
    """The source that suits a DataFrame: see `StreamExecutionEnvironment.from_spark`.

    Args:
        directory: directory of a copy that a resumed job reads; None for temporary files.

    Raises:
        JobDefinitionError: an option is for the other kind of DataFrame.
    """
    if getattr(dataframe, "isStreaming", False):
        if repeatable:
            raise JobDefinitionError(
                "repeatable=True is for bounded DataFrames; a micro-batch of a streaming one is "
                "read once"
            )
        return StreamingDataFrameSource(dataframe, trigger, record_type)
    if trigger is not None:
        raise JobDefinitionError("a trigger is for streaming DataFrames; this one is bounded")
    if repeatable:
        return DataFrameSource(dataframe, record_type)
    return CopiedDataFrameSource(dataframe, directory, record_type)
