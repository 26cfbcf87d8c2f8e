"""`scalar_function`: makes a function definition from a user's Python function.

PyFlink: ``udf(f, result_type=..., func_type="general" | "pandas")``; ``"arrow"`` is ours: the
function takes and gives `pyarrow.Array`. A general function is called once per row, a vectorised
one once per batch. Its calls hold the definition.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from typing import Any

import pyarrow as pa

from millrace.common.functions.metrics import MetricGroup
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import (
    DecimalType,
    IntegralType,
    LogicalType,
    RowType,
)
from millrace.common.types.logical.parser import parse_type
from millrace.common.types.logical.python_values import arrow_column, python_values
from millrace.expressions.arity import taken_arguments
from millrace.expressions.asynchronous import AsyncCalls, AsyncOptions
from millrace.expressions.columns import CallSite, Datum, Frame, array_of
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_context import FunctionContext
from millrace.expressions.function_definition import (
    CallContext,
    FunctionDefinition,
    FunctionResolutionError,
)
from millrace.expressions.misfit import CONVERSION_ERRORS, misfit_of
from millrace.expressions.parameters import implicit_cast

__all__ = ["FUNC_TYPES", "Adjustment", "ConstantResult", "scalar_function", "series_of"]

Body = Callable[..., Any]
_SHOWN = 200


def scalar_function(
    name: str,
    function: Any,
    result_type: LogicalType | str,
    func_type: str = "general",
    deterministic: bool = True,
    input_types: Sequence[LogicalType | str] | None = None,
    declared: str = "",
) -> FunctionDefinition:
    """Definition of a user's scalar function.

    Args:
        name: name of the function in calls and errors.
        function: a function of Python values (``general``; possibly a coroutine), of
            `pandas.Series` (``pandas``) or of `pyarrow.Array` (``arrow``). Or an object with such a
            method ``eval`` and optionally ``open`` and ``close``.
        result_type: type of the value, possibly as text.
        func_type: ``general``, ``pandas`` or ``arrow``.
        deterministic: the same arguments give the same value.
        input_types: types that arguments are cast to where that is possible without loss; None:
            it takes any.
        declared: the declared result type as text, for errors.

    Raises:
        FunctionResolutionError: the ``func_type`` is unknown.

    Example:
        >>> scalar_function("ADD_ONE", lambda value: value + 1, "BIGINT").name
        'ADD_ONE'
    """
    if func_type not in FUNC_TYPES:
        raise FunctionResolutionError(
            f"{name}: func_type must be general, pandas or arrow, not {func_type!r}"
        )
    asynchronous = iscoroutinefunction(getattr(function, "eval", function))
    if asynchronous and func_type != "general":
        raise FunctionResolutionError(
            f"{name}: an asynchronous function is called for each row, so its func_type is "
            f"general, not {func_type!r}"
        )
    call = _Asynchronous() if asynchronous else FUNC_TYPES[func_type]
    kind = _declared(result_type)
    inputs = None if input_types is None else tuple(map(_declared, input_types))
    arity = taken_arguments(function, "eval")
    return FunctionDefinition(
        name,
        (arity.signature if inputs is None else ("<ANY>",) * len(inputs),),
        ConstantResult(kind),
        _Kernel(name, function, kind, call, declared or f"result_type is {kind}"),
        adjust=None if inputs is None else Adjustment(inputs),
        may_fail=True,
        of_batch=True,
        deterministic=deterministic,
        built_in=False,
        category="User-defined",
        text="A function of the user.",
        parameters=arity.names if inputs is None else tuple(map(str, inputs)),
    )


def _declared(kind: LogicalType | str) -> LogicalType:
    return parse_type(kind) if isinstance(kind, str) else kind


class ConstantResult:
    """Result strategy that returns the declared type for every call."""

    def __init__(self, kind: LogicalType) -> None:
        self._kind = kind

    def __call__(self, context: CallContext) -> LogicalType:
        return self._kind


class Adjustment:
    """Argument strategy that casts arguments to their declared types."""

    def __init__(self, wanted: tuple[LogicalType, ...]) -> None:
        self._wanted = wanted

    def __call__(self, context: CallContext) -> tuple[LogicalType, ...] | None:
        pairs = zip(context.types, self._wanted, strict=True)
        casts = [implicit_cast(given, wanted) for given, wanted in pairs]
        taken = tuple(cast for cast in casts if cast is not None)
        return taken if len(taken) == len(casts) else None


class _Kernel:
    """Kernel that calls the user's function. The operator opens the function; otherwise the
    first call does."""

    def __init__(
        self, name: str, function: Any, kind: LogicalType, call: Body, declared: str
    ) -> None:
        self._name, self._function, self._kind, self._call = name, function, kind, call
        self._declared = declared
        self._body: Body | None = None
        self._parameters: tuple[tuple[str, str], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kernel, (self._name, self._function, self._kind, self._call, self._declared)

    def __call__(self, site: CallSite, frame: Frame, *datums: Datum) -> Datum:
        columns = [array_of(datum, frame.length) for datum in datums]
        try:
            body = self._body
            if body is None or self._parameters != site.session.job_parameters:
                body = self.open(site.session.job_parameters)
            made = self._call(body, columns, frame.length, site, self._kind)
        except _Misfit as misfit:
            raise EvaluationError(f"{self._name} gave {misfit}; its {self._declared}") from None
        except EvaluationError:
            raise
        except Exception as error:
            error.add_note(f"in the function {self._name}, called in a statement")
            raise
        if len(made) != frame.length:
            raise EvaluationError(f"{self._name} gave {len(made)} values for {frame.length} rows")
        if made.null_count and not self._kind.is_nullable:
            raise EvaluationError(
                f"{self._name} gave None, but its {self._declared}: declare it without NOT NULL"
            )
        return made

    def open(
        self,
        job_parameters: tuple[tuple[str, str], ...],
        metric_group: MetricGroup | None = None,
    ) -> Body:
        """Open the function for a job, and return the callable that evaluates it."""
        function, self._parameters = self._function, job_parameters
        if hasattr(function, "open"):
            function.open(FunctionContext(dict(job_parameters), metric_group))
        if hasattr(function, "close"):
            weakref.finalize(self, function.close)
        body: Body = getattr(function, "eval", function)
        self._body = body
        return body


class _Misfit(Exception):
    """A returned value that does not have the function's result type."""


def _general(body: Body, columns: list[Any], length: int, site: CallSite, kind: LogicalType) -> Any:
    values: list[Any] = []
    if columns:
        given = [python_values(*pair) for pair in zip(columns, site.argument_types, strict=True)]
        try:
            values.extend(map(body, *given))
        except Exception as error:
            arguments = ", ".join(repr(column[len(values)])[:_SHOWN] for column in given)
            error.add_note(f"for the arguments ({arguments})")
            raise
    else:
        values = [body() for _ in range(length)]
    try:
        return arrow_column(values, kind)
    except CONVERSION_ERRORS as error:
        raise _Misfit(misfit_of(values, kind, error)) from error


class _Asynchronous:
    """Calls a coroutine with Python values, for many rows concurrently."""

    def __init__(self) -> None:
        self._calls: tuple[AsyncOptions, AsyncCalls] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Asynchronous, ()

    def __call__(
        self, body: Body, columns: list[Any], length: int, site: CallSite, kind: LogicalType
    ) -> Any:
        options = site.session.async_scalar
        if self._calls is None or self._calls[0] != options:
            self._calls = options, AsyncCalls(options)
        pairs = zip(columns, site.argument_types, strict=True)
        given = [python_values(*pair) for pair in pairs]
        rows = zip(*given, strict=True) if given else ((),) * length
        values = self._calls[1].of(body, rows)
        try:
            return arrow_column(values, kind)
        except CONVERSION_ERRORS as error:
            raise _Misfit(misfit_of(values, kind, error)) from error


def _pandas(body: Body, columns: list[Any], length: int, site: CallSite, kind: LogicalType) -> Any:
    made = body(*map(pandas_argument, columns))
    if not hasattr(made, "__len__"):
        raise _Misfit(f"{repr(made)[:_SHOWN]}, which is not a pandas.Series")
    if hasattr(made, "columns"):
        return _rows_of_frame(made, kind)
    try:
        if (
            isinstance(kind, DecimalType | IntegralType)
            and str(getattr(made, "dtype", "")) == "object"
        ):
            return _numbers(made, kind)
        return pa.Array.from_pandas(made, type=arrow_type(kind))
    except CONVERSION_ERRORS as error:
        raise _Misfit(f"a Series of {getattr(made, 'dtype', '?')} ({error})") from error


def _numbers(series: Any, kind: LogicalType) -> Any:
    """Column of Python's numbers in a Series, as of a general function: decimals are rounded to the
    scale, and refused as integers if they have a fraction, which Arrow would cut off."""
    import pandas  # type: ignore[import-untyped]

    pairs = zip(series, pandas.isna(series), strict=True)
    return arrow_column([None if is_missing else value for value, is_missing in pairs], kind)


def pandas_argument(column: Any) -> Any:
    """The column as a Series, or as a DataFrame if it contains rows."""
    if not pa.types.is_struct(column.type):
        return series_of(column)
    batch = pa.RecordBatch.from_struct_array(column)
    frame = batch.to_pandas()
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        frame[name] = series_of(values)
    return frame


def _rows_of_frame(frame: Any, kind: LogicalType) -> Any:
    """Rows whose fields are the columns of a DataFrame, in their order."""
    if not isinstance(kind, RowType) or len(kind) != len(frame.columns):
        raise _Misfit(f"a DataFrame of the columns {', '.join(map(str, frame.columns))}")
    fields = []
    for position, field in enumerate(kind):
        column = frame.iloc[:, position]
        try:
            fields.append(pa.Array.from_pandas(column, type=arrow_type(field.type)))
        except CONVERSION_ERRORS as error:
            raise _Misfit(f"{column.dtype} in the column {field.name} ({error})") from error
    return pa.StructArray.from_arrays(fields, fields=list(arrow_type(kind)))


def series_of(column: Any) -> Any:
    """The column as a Series. Integers with NULLs stay integers: pandas would turn them into
    floats, which are inexact for large numbers.
    """
    series = column.to_pandas(integer_object_nulls=True)
    if pa.types.is_integer(column.type) and column.null_count:
        return series.astype(str(column.type).replace("int", "Int"))
    return series


def _arrow(body: Body, columns: list[Any], length: int, site: CallSite, kind: LogicalType) -> Any:
    made, arrow = body(*columns), arrow_type(kind)
    made = made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
    if not isinstance(made, pa.Array):
        raise _Misfit(f"{repr(made)[:_SHOWN]}, which is not a pyarrow.Array")
    try:
        return made if made.type == arrow else made.cast(arrow)
    except CONVERSION_ERRORS as error:
        raise _Misfit(f"an array of {made.type} ({error})") from error


FUNC_TYPES: dict[str, Body] = {"general": _general, "pandas": _pandas, "arrow": _arrow}
"""Call of a function of each ``func_type``."""
