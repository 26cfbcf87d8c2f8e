"""CSV files as DataFrames with typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from millrace.common.errors import JobDefinitionError
from millrace.spark.graphs.frames import graph_session

__all__ = ["read_csv"]

_SHORT = "_short"


def read_csv(
    path: str,
    names: Sequence[str],
    types: Sequence[str],
    fields: Sequence[int],
    options: dict[str, Any],
    ignore_invalid_lines: bool,
) -> DataFrame:
    """Some fields of each line of CSV files.

    Args:
        types: types of the columns in Spark's DDL.
        fields: positions of the columns among the fields of a line.
        options: options of Spark's reader.
        ignore_invalid_lines: whether lines are left out if a field is missing or not of its type.
            If not, they are errors. An empty text is a value, but no id.

    Raises:
        JobDefinitionError: there is no such file, or its first line has too few fields.
    """
    try:
        lines = graph_session().read.options(**options).csv(_located(path))
    except PySparkException as error:
        first = str(error).partition("\n")[0][:500]
        raise JobDefinitionError(f"cannot read {path}: {first}") from error
    present = lines.columns
    if max(fields) >= len(present):
        raise JobDefinitionError(
            f"{path}: the fields {list(fields)} are wanted (the first is 0), and the first line "
            f"has {len(present)} fields; is the field delimiter another one than "
            f"{options['sep']!r}?"
        )
    texts = [
        name == "value" and ddl.lower() == "string" for name, ddl in zip(names, types, strict=True)
    ]
    lines = _with_short_lines(path, len(present), options) if any(texts) else _numbered(lines)
    columns = []
    for name, ddl, position, is_text in zip(names, types, fields, texts, strict=True):
        raw = F.col(f"c{position}")
        if is_text:
            raw = F.coalesce(raw, F.when(F.col(_SHORT).isNull(), F.lit("")))
        value = raw.try_cast(ddl)
        if not ignore_invalid_lines:
            message = F.concat(
                F.lit(f"{path}: the field {position} of a line is "),
                F.coalesce(F.concat(F.lit("'"), raw, F.lit("'")), F.lit("missing or empty")),
                F.lit(
                    f", and {name} is of type {ddl}: declare another type, or set "
                    "ignore_invalid_lines"
                ),
            )
            value = F.coalesce(value, F.raise_error(message).cast(ddl))
        columns.append(value.alias(name))
    frame = lines.select(*columns)
    return frame.dropna() if ignore_invalid_lines else frame


def _numbered(lines: DataFrame) -> DataFrame:
    return lines.toDF(*(f"c{number}" for number in range(len(lines.columns))))


def _with_short_lines(path: str, width: int, options: dict[str, Any]) -> DataFrame:
    """The fields of each line, and in `_SHORT` the lines with another number of fields. An empty
    field is NULL for Spark, as one is that a line does not have."""
    schema = ", ".join([*(f"c{number} string" for number in range(width)), f"{_SHORT} string"])
    reader = graph_session().read.options(**options)
    # lines are only compared with the schema if all fields are parsed
    reader = reader.options(columnPruning=False, columnNameOfCorruptRecord=_SHORT)
    return reader.schema(schema).csv(_located(path))


def _located(path: str) -> str:
    """The path for Spark, whose JVM keeps the directory in which it was started."""
    local = Path(path)
    if "://" in path or local.is_absolute() or not local.exists():
        return path
    return local.resolve().as_uri()
