"""Vectorised functions: whole batches as Arrow record batches, or as pandas or Polars frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.common.types.columns import FORMS
from millrace.runtime.function_operator import FunctionOperator, as_callable


@dataclass(frozen=True)
class BatchSpec:
    """Format of the batches that a vectorised function takes and returns."""

    format: str
    """Batch format: arrow, pandas or polars."""
    records: str
    """Form of the records for functions that process them one by one."""
    timestamp_column: str | None = None


class MapBatchesOperator(FunctionOperator):
    """Calls a function with every batch in columnar form."""

    takes = BatchForm.COLUMNS
    method = "map_batch"
    """Method name of function objects."""

    def __init__(self, function: Any, spec: BatchSpec) -> None:
        super().__init__(function)
        self._spec = spec

    def open(self) -> None:
        super().open()
        self._map = as_callable(self.function, self.method)
        self._wrap, self._unwrap = _conversions(self._spec.format)

    def process_columns(self, number: int, batch: ColumnBatch) -> None:
        self.emit_batches(batch, self._map)

    def emit_batches(self, batch: ColumnBatch, function: Callable[[Any], Any]) -> None:
        """Call a function with a batch in the program's format, and emit its results."""
        data: Any = batch.data
        column = self._spec.timestamp_column
        if column is not None:
            data = self._with_times(data, column, batch.timestamps)
        for result in _batches(function(self._wrap(data)), self._unwrap):
            self._emit(result, batch)

    def _with_times(self, data: Any, column: str, timestamps: Any) -> Any:
        if column in data.schema.names:
            raise JobExecutionError(
                f"operator '{self.context.name}' puts event times into the column {column!r}, but "
                "records have a field of that name; name another timestamp_column"
            )
        import pyarrow as pa

        times = pa.nulls(len(data), pa.int64()) if timestamps is None else timestamps
        return data.append_column(column, times)

    def _times_of(self, column: Any) -> Any:
        """Event times in a column of the function's result. None if there are none."""
        if column.null_count == len(column):
            return None
        if column.null_count or not _is_number(column.type):
            raise self._bad_times(f"{column.type}, {column.null_count} of them missing")
        try:
            return column.cast("int64")
        except ValueError as error:
            raise self._bad_times(str(error)) from error

    def _bad_times(self, what: str) -> JobExecutionError:
        return JobExecutionError(
            f"operator '{self.context.name}' takes event times from the column "
            f"{self._spec.timestamp_column!r}: whole numbers (ms since the epoch) for all of the "
            f"records or none, got {what}"
        )

    def _emit(self, data: Any, taken: ColumnBatch) -> None:
        if not data.num_rows:
            return
        times, kinds = taken.timestamps, taken.row_kinds
        column = self._spec.timestamp_column
        if column is not None and column in data.schema.names:
            times = self._times_of(data.column(column))
            data = data.drop_columns([column])
        elif times is not None and data.num_rows != len(taken):
            raise JobExecutionError(
                f"operator '{self.context.name}' made {data.num_rows} records of {len(taken)} that "
                "have event times, so it is not known which time belongs to which; name a column "
                "for them with timestamp_column and keep it in the result"
            )
        if kinds is not None and data.num_rows != len(taken):
            raise JobExecutionError(
                f"operator '{self.context.name}' made {data.num_rows} records of {len(taken)} rows "
                "of a changelog, so it is not known which of them update or delete others; keep "
                "their number, or make inserts of them before"
            )
        self.output.emit(ColumnBatch(data, times, kinds, self._spec.records))


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _batches(result: Any, unwrap: Callable[[Any], Iterable[Any]]) -> Iterator[Any]:
    """Record batches of a function's result, which may be one frame, several frames, or None."""
    if result is None:
        return
    if isinstance(result, Iterator):
        for part in result:
            yield from unwrap(part)
        return
    yield from unwrap(result)


Conversions = tuple[Callable[[Any], Any], Callable[[Any], Iterable[Any]]]


def _conversions(batch_format: str) -> Conversions:
    """Functions (record batch -> frame) and (frame -> record batches)."""
    if batch_format == "pandas":
        return pandas_frame, _from_pandas
    if batch_format == "polars":
        return import_module("polars").from_arrow, _from_polars
    return (lambda batch: batch), _from_arrow


def _from_arrow(result: Any) -> list[Any]:
    import pyarrow as pa

    if isinstance(result, pa.RecordBatch):
        return [result]
    if isinstance(result, pa.Table):
        batches: list[Any] = result.combine_chunks().to_batches()
        return batches
    raise JobExecutionError(
        f"a vectorised function on Arrow returns a RecordBatch, a Table or None, got "
        f"{type(result).__name__}"
    )


def pandas_frame(batch: Any, **options: Any) -> Any:
    """Convert a batch or table to a pandas frame. Integers with missing values stay integers; NumPy
    would make them floats, and change large ones.

    Args:
        options: options of pyarrow's `to_pandas`.
    """
    frame = batch.to_pandas(**options)
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if _misses_integers(column):
            frame[name] = column.to_pandas(types_mapper=_nullable_dtype)
    return frame


def _misses_integers(column: Any) -> bool:
    from pyarrow import types as kinds

    if kinds.is_integer(column.type):
        return bool(column.null_count)
    if kinds.is_map(column.type):
        return _misses_integers(column.keys) or _misses_integers(column.items)
    if kinds.is_struct(column.type):
        return any(map(_misses_integers, column.flatten()))
    return bool(kinds.is_nested(column.type)) and _misses_integers(column.flatten())


def _nullable_dtype(kind: Any) -> Any:
    """pandas' own dtype for integers with missing values. Nested types with integers inside stay
    Arrow types."""
    from pyarrow import types

    pandas = import_module("pandas")
    if types.is_integer(kind):
        return pandas.api.types.pandas_dtype(str(kind).replace("i", "I").replace("uI", "UI"))
    return pandas.ArrowDtype(kind)


def _from_pandas(result: Any) -> list[Any]:
    if type(result).__name__ != "DataFrame":
        raise JobExecutionError(
            f"a vectorised function on pandas returns a DataFrame, got {type(result).__name__}"
        )
    import pyarrow as pa

    return [pa.RecordBatch.from_pandas(result, preserve_index=False)]


def _from_polars(result: Any) -> list[Any]:
    if type(result).__name__ != "DataFrame":
        raise JobExecutionError(
            f"a vectorised function on Polars returns a DataFrame, got {type(result).__name__}"
        )
    return _from_arrow(result.to_arrow())


def checked_batches(method: str, spec: BatchSpec) -> BatchSpec:
    """The format of batches. Raises JobDefinitionError if it is unknown or its library is not
    installed."""
    if spec.records not in FORMS:
        raise JobDefinitionError(f"records is one of {', '.join(FORMS)}, got {spec.records!r}")
    if spec.format not in ("arrow", "pandas", "polars"):
        raise JobDefinitionError(
            f"{method}() works on arrow, pandas or polars, got {spec.format!r}"
        )
    if spec.format != "arrow":
        try:
            import_module(spec.format)
        except ImportError:
            raise JobDefinitionError(
                f"{method}() with batch_format={spec.format!r} needs the package {spec.format}; "
                "install it"
            ) from None
    return spec
