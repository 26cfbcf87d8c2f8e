"""Spark DataFrames at the edges of a job."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from millrace.common.errors import JobDefinitionError, JobExecutionError


def materialize(dataframe: Any, path: str) -> None:
    """Write a bounded DataFrame to Parquet files below ``path``, as a Spark job.

    Raises JobExecutionError when Spark cannot, for example for a streaming DataFrame.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        dataframe.write.mode("overwrite").parquet(path)
    except PySparkException as error:
        raise JobExecutionError(f"could not read the DataFrame: {error}") from error
    # Spark's names are random; a DataFrame that is written again must give the same ones
    parts = sorted(name for name in os.listdir(path) if name.endswith(".parquet"))
    for number, name in enumerate(parts):
        os.rename(os.path.join(path, name), os.path.join(path, f"part-{number:05}.parquet"))


def read_parquet(paths: Sequence[str]) -> DataFrame:
    """A DataFrame of files in this process's session; a column that a file lacks is null in its
    rows."""
    from millrace.spark.session import current_session

    reader = (
        current_session().read.option("mergeSchema", "true").option("recursiveFileLookup", "true")
    )
    return reader.parquet(*paths)


def dataframe_of(table: Any) -> DataFrame:
    """A `pyarrow.Table` as a DataFrame of this process's session.

    Raises:
        JobDefinitionError: Spark has no type for a column.
    """
    from millrace.spark.session import create_context, current_session

    create_context("millrace", parallelism=2)
    try:
        return current_session().createDataFrame(table)
    except PySparkException as error:
        first = str(error).partition("\n")[0][:500]
        raise JobDefinitionError(
            f"the rows cannot become a DataFrame of Spark: {first}; cast the column in the query"
        ) from error


def read_dataframe(
    source: str,
    options: Mapping[str, str],
    schema: Any,
    columns: Sequence[str],
    streaming: bool,
) -> DataFrame:
    """Some columns of a source, through a reader of this process's session.

    Args:
        source: name of a format.
        schema: a `pyarrow.Schema` that the reader is told, or None.

    Raises:
        JobDefinitionError: Spark has no such format, or the format does not accept the options.
    """
    from millrace.spark.session import current_session

    session = current_session()
    reader: Any = session.readStream if streaming else session.read
    if schema is not None:
        reader = reader.schema(from_arrow_schema(schema))
    try:
        frame: DataFrame = reader.format(source).options(**options).load()
        return frame.select(*(f"`{name}`" for name in columns))
    except (PySparkException, Py4JJavaError) as error:
        # of a class that is missing PySpark makes no exception of its own
        message = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error
        first = str(message).partition("\n")[0][:500]
        raise JobDefinitionError(
            f"Spark cannot read 'spark.format' = '{source}': {first}"
        ) from error
