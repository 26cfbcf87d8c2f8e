"""Spark DataFrames at the edges of a job."""

from __future__ import annotations

import os
from typing import Any

from pyspark.errors import PySparkException

from millrace.common.errors import JobExecutionError


def materialize(dataframe: Any, path: str) -> None:
    """Write a bounded DataFrame to Parquet files below ``path``; Spark does all the work.

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
