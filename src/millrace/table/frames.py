"""Conversion of frames of other libraries to columns of tables and back: Arrow, pandas, Polars."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.batch import ColumnBatch
from millrace.common.types.logical.arrow_type import logical_row_type
from millrace.common.types.logical.logical_type import LogicalType, RowField, RowType
from millrace.runtime.operators.map_batches import pandas_frame
from millrace.table_runtime.columns import ColumnConversion

if TYPE_CHECKING:
    import pyarrow

__all__ = ["arrow_of_pandas", "arrow_of_polars", "frame_batch", "pandas_of", "polars_of"]


def frame_batch(
    data: Any, schema: LogicalType | Sequence[str] | Sequence[LogicalType] | None
) -> tuple[RowType, pyarrow.RecordBatch]:
    """The row type and columns of an object with Arrow columns.

    Args:
        data: an Arrow table, record batch or reader, or any object that exports a stream of them
            (``__arrow_c_stream__``).
        schema: a row type, or names of the columns, or their types.

    Raises:
        JobDefinitionError: the object has no Arrow columns, or a column has a type that Flink does
            not know.
        JobExecutionError: the columns do not fit the schema.
    """
    whole = _one_batch(data)
    if isinstance(schema, RowType):
        return schema, ColumnConversion(schema)(ColumnBatch(whole)).data
    given_type = logical_row_type(whole.schema)
    given = list(schema) if isinstance(schema, Sequence) else list(given_type.names)
    kinds = [item for item in given if isinstance(item, LogicalType)]
    if kinds:
        if len(kinds) != len(given_type):
            raise JobDefinitionError(f"{len(kinds)} types were given for {len(given_type)} columns")
        row_type = RowType.of(*zip(given_type.names, kinds, strict=True))
        return row_type, ColumnConversion(row_type)(ColumnBatch(whole)).data
    names = list(map(str, given))
    if len(names) != len(given_type):
        raise JobDefinitionError(
            f"{len(names)} names were given for {len(given_type)} columns: {', '.join(names)}"
        )
    row_type = RowType(
        tuple(
            RowField(name, field.type) for name, field in zip(names, given_type.fields, strict=True)
        )
    )
    return row_type, ColumnConversion(row_type)(ColumnBatch(whole.rename_columns(names))).data


def _one_batch(data: Any) -> pyarrow.RecordBatch:
    import pyarrow as pa

    if isinstance(data, pa.RecordBatch):
        return data
    if not isinstance(data, pa.Table):
        if not hasattr(data, "__arrow_c_stream__"):
            raise JobDefinitionError(
                "from_arrow() takes a pyarrow.Table, RecordBatch or RecordBatchReader, or "
                f"an object with __arrow_c_stream__(), not {type(data).__qualname__}"
            )
        data = pa.table(data)
    batches = data.combine_chunks().to_batches()
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in data.schema], schema=data.schema
        )
    return pa.concat_batches(batches)


def arrow_of_pandas(frame: Any) -> pyarrow.RecordBatch:
    """The columns of a pandas DataFrame, without its index.

    Raises:
        JobDefinitionError: a column has values of different types.
    """
    import pyarrow as pa

    try:
        return pa.RecordBatch.from_pandas(frame, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise JobDefinitionError(
            f"the DataFrame has a column that is of no one type: {error}; convert it before"
        ) from error


def arrow_of_polars(frame: Any) -> pyarrow.Table:
    """The columns of a Polars DataFrame or LazyFrame; a LazyFrame is computed.

    Raises:
        JobDefinitionError: the object is not a DataFrame or LazyFrame of Polars.
    """
    made = frame.collect() if hasattr(frame, "collect") else frame
    if not hasattr(made, "to_arrow"):
        raise JobDefinitionError(
            "from_polars() takes a DataFrame or LazyFrame of Polars, not "
            f"{type(frame).__qualname__}"
        )
    return made.to_arrow()


def pandas_of(table: pyarrow.Table) -> Any:
    """A pandas DataFrame. Integer columns with NULLs stay integers (``Int64``); maps and rows
    are dicts."""
    _library("pandas", "to_pandas")
    return pandas_frame(_one_batch(table), maps_as_pydicts="strict")


def polars_of(table: pyarrow.Table) -> Any:
    """A Polars DataFrame.

    Raises:
        JobDefinitionError: Polars is not installed.
    """
    return _library("polars", "to_polars").from_arrow(table)


def _library(name: str, method: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise JobDefinitionError(
            f"{method}() needs the package {name}; install it: pip install {name}"
        ) from None
