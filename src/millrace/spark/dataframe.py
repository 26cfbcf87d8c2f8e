"""Spark DataFrames at the edges of a job."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException

from millrace.common.errors import JobExecutionError


def materialize(dataframe: Any, path: str) -> None:
    """Write a bounded DataFrame to Parquet files below ``path``; Spark does all the work.

    Raises JobExecutionError when Spark cannot, for example for a streaming DataFrame.
    """
    try:
        dataframe.write.mode("overwrite").parquet(path)
    except PySparkException as error:
        raise JobExecutionError(f"could not read the DataFrame: {error}") from error
