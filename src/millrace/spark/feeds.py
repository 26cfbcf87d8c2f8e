"""Feeds: DataFrames of this process whose partitions the executor delivers to source subtasks."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.spark.arrow_schemas import arrow_schema_in
from millrace.spark.slots import JavaObject

__all__ = ["BatchFeed", "arrow_schema", "feed_of", "partitions_of"]


@dataclass(eq=False)
class BatchFeed:
    """Batches of a source, by number, for the executor to deliver."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    batches: dict[int, JavaObject] = field(default_factory=dict)
    """RDD of Arrow messages of each batch."""
    delivered: int = -1
    """Number of the last batch that the executor has delivered."""

    def __post_init__(self) -> None:
        _feeds[self.id] = self

    def close(self) -> None:
        """Drop the batches."""
        _feeds.pop(self.id, None)
        self.batches.clear()


_feeds: dict[str, BatchFeed] = {}


def feed_of(name: str) -> BatchFeed | None:
    """The feed with the given id; None if it belongs to another process."""
    return _feeds.get(name)


def arrow_schema(dataframe: Any) -> pa.Schema:
    """The columns of the messages that `partitions_of` returns.

    Raises:
        JobDefinitionError: Arrow has no type for a column, two columns have the same name, or the
            object is not a DataFrame of PySpark.
    """
    if not hasattr(dataframe, "_jdf"):
        if ".connect." in type(dataframe).__module__:
            raise JobDefinitionError(
                "from_spark() got a DataFrame of Spark Connect that is streaming or "
                "repeatable=True, which needs Spark's driver in the process of the job. Leave out "
                "repeatable, and the server copies a bounded DataFrame to files; or use a source "
                "that reads in the workers (files, Kafka, JDBC, Delta)"
            )
        raise JobDefinitionError(
            f"from_spark() takes a DataFrame of PySpark, got {type(dataframe).__name__}"
        )
    names = dataframe.schema.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise JobDefinitionError(
            f"from_spark() got a DataFrame with two columns {twice!r}, as joins make them; rename "
            "or drop one: records would lose it"
        )
    settings = dataframe.sparkSession.conf
    zone = settings.get("spark.sql.session.timeZone")
    large = settings.get("spark.sql.execution.arrow.useLargeVarTypes", "false") == "true"
    try:
        return arrow_schema_in(dataframe.schema, zone, large)
    except PySparkException as error:
        raise JobDefinitionError(
            f"from_spark() cannot take the DataFrame: {error}; cast the column to another type"
        ) from error


def partitions_of(dataframe: Any) -> tuple[JavaObject, int]:
    """The partitions of a DataFrame, as an RDD of Arrow messages, and the number of partitions.

    Raises:
        JobExecutionError: Spark cannot plan it.
    """
    try:
        rdd = dataframe._jdf.toArrowBatchRdd()
        return rdd, rdd.getNumPartitions()
    except (Py4JError, PySparkException) as error:
        raise JobExecutionError(f"could not read the DataFrame: {error}") from error
