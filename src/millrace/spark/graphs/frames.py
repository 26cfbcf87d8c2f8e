"""DataFrames of vertices and edges: made from Arrow tables, mapped in batches, collected."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from millrace.common.errors import (
    ConfigurationError,
    JobDefinitionError,
    JobExecutionError,
    UserFunctionError,
)
from millrace.common.installation import install_command
from millrace.spark.arrow_schemas import arrow_schema_in
from millrace.spark.connect.sessions import has_session
from millrace.spark.session import create_context, current_session

__all__ = [
    "BatchFunction",
    "arrow_schema_of",
    "collected",
    "free",
    "free_with",
    "frame_of",
    "graph_session",
    "is_dataframe",
    "mapped",
]

BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""Function that maps the batches of a partition."""
_PARTITIONS = "spark.sql.shuffle.partitions"
_DEFAULT_PARTITIONS = "200"
_USER_FAILURE = re.compile(
    r"UserFunctionError: operator '(?P<operator>[^']*)' failed"
    r"(?: for the record (?P<record>[^\n]*))?\n(?P<traceback>.*)",
    re.DOTALL,
)
_OURS = re.compile(r"millrace\.common\.errors\.\w+: (?P<message>[^\n]*)")
_JVM_LINE = re.compile(r"\n+(?:\s+at |JVM stacktrace|Driver stacktrace|.*SQLSTATE: 39000\n+\tat )")


def graph_session() -> SparkSession:
    """The session of this process; a local one is started if there is none.

    An application of millrace's has no adaptive execution, so Spark's default of 200 partitions
    per shuffle would be 200 tasks for the smallest graph: there it becomes one per core. Other
    sessions, and a number of partitions that the program has set, stay as they are.

    Raises:
        ConfigurationError: Java 17 is missing, or the program works on a Spark Connect server.
    """
    _require_driver_here()
    context = create_context("millrace", parallelism=2)
    session = current_session()
    adaptive = session.conf.get("spark.sql.adaptive.enabled") == "true"
    chosen = context.getConf().contains(_PARTITIONS) or (
        session.conf.get(_PARTITIONS) != _DEFAULT_PARTITIONS
    )
    if not adaptive and not chosen:
        session.conf.set(_PARTITIONS, str(max(context.defaultParallelism, 1)))
    return session


def _require_driver_here() -> None:
    """Raise ConfigurationError if the program's session is on a Spark Connect server."""
    if has_session():
        raise ConfigurationError(
            "a graph of DataFrames needs Spark's driver in this process, and the SparkSession of "
            "this program is on a Spark Connect server: make the session without remote(...), for "
            "example with SparkSession.builder.master(...), or use a GraphStream, which runs on "
            "resident tasks there"
        )


def is_dataframe(value: object) -> bool:
    """Whether a value is a DataFrame of PySpark.

    Raises:
        ConfigurationError: it is one of a Spark Connect server.
    """
    if not isinstance(value, DataFrame):
        return False
    if type(value).__module__.startswith("pyspark.sql.connect."):
        _require_driver_here()
    return True


def frame_of(table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame of this process's session.

    Raises:
        JobDefinitionError: Spark has no type for a column.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            return graph_session().createDataFrame(table)
    except PySparkException as error:
        first = str(error).partition("\n")[0][:500]
        raise JobDefinitionError(
            f"the rows cannot become a DataFrame of Spark: {first}; declare another type for the "
            "column"
        ) from error


def arrow_schema_of(frame: DataFrame) -> pa.Schema:
    """The columns of a DataFrame as Arrow types.

    Raises:
        JobDefinitionError: Arrow has no type for a column.
    """
    try:
        return arrow_schema_in(frame.schema, "UTC")
    except PySparkException as error:
        raise JobDefinitionError(
            f"the DataFrame cannot be part of a graph: {error}; cast the column to another type"
        ) from error


def mapped(
    frame: DataFrame, function: BatchFunction, schema: pa.Schema, barrier: bool = False
) -> DataFrame:
    """A DataFrame mapped by a Python function, batch by batch, in Spark's workers.

    Args:
        schema: columns of the function's batches. Spark's own type of a column may be another, to
            which batches are cast.
        barrier: whether all tasks run at the same time.

    Raises:
        JobDefinitionError: a package is missing, or Spark has no type for a column.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            spark_schema = from_arrow_schema(schema)
            wire = arrow_schema_in(spark_schema, "UTC")
            return frame.mapInArrow(_as_wire(function, wire), spark_schema, barrier)
    except ImportError as error:
        raise JobDefinitionError(
            f"Python functions of graphs need pandas: {install_command('graph')} ({error})"
        ) from error
    except PySparkException as error:
        raise JobDefinitionError(f"Spark has no type for a result: {error}") from error


def _as_wire(function: BatchFunction, wire: pa.Schema) -> BatchFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in function(batches):
            yield batch if batch.schema.equals(wire) else batch.cast(wire)

    return run


def collected(frame: DataFrame) -> pa.Table:
    """The rows of a DataFrame, in this process.

    Raises:
        UserFunctionError: a function of the program failed.
        JobExecutionError: Spark cannot compute the rows.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
            return frame.toArrow()
    except PySparkException as error:
        raise spark_failure(error) from error


def free_with(frame: DataFrame, kept: DataFrame) -> None:
    """Make ``unpersist()`` of a DataFrame also free the rows from which the DataFrame is computed.

    Args:
        frame: the DataFrame.
        kept: the rows, which Spark keeps.
    """

    def unpersist(blocking: bool = False) -> DataFrame:
        DataFrame.unpersist(frame, blocking)
        kept.unpersist(blocking)
        return frame

    frame.unpersist = unpersist  # type: ignore[method-assign]


def free(frame: DataFrame) -> None:
    """Let Spark drop the cached rows of a DataFrame. They are computed again if they are needed."""
    frame.unpersist()


def counted(frame: DataFrame) -> int:
    """Number of rows of a DataFrame.

    Raises:
        UserFunctionError: a function of the program failed.
        JobExecutionError: Spark cannot compute the rows.
    """
    try:
        return frame.count()
    except PySparkException as error:
        raise spark_failure(error) from error


def spark_failure(error: PySparkException) -> JobExecutionError:
    """The user program's own error in Spark's report of a failed task; None if there is none."""
    if error.getCondition() == "USER_RAISED_EXCEPTION":
        parameters: dict[str, Any] = error.getMessageParameters() or {}
        return JobExecutionError(parameters.get("errorMessage", str(error)))
    text = str(error)
    match = _USER_FAILURE.search(text)
    if match is not None:
        trace = _JVM_LINE.split(match["traceback"])[0].rstrip()
        return UserFunctionError(match["operator"], match["record"], trace)
    ours = _OURS.search(text)
    if ours is not None:
        return JobExecutionError(ours["message"])
    return JobExecutionError(f"Spark could not compute the graph: {text.strip()}")
