"""`Frame`, `CallSite` and datums: the inputs of kernels.

A datum is a `pyarrow.Array` as long as the batch, or a `pyarrow.Scalar` that holds for all rows.
Kernels keep scalars as scalars.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.types.logical.arrow_type import counted_nanoseconds
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.call_options import CallOptions
from millrace.expressions.evaluation_error import ValueCountError
from millrace.expressions.session_settings import SessionSettings

__all__ = [
    "CallSite",
    "Datum",
    "Frame",
    "ExpressionNode",
    "array_of",
    "conformed",
    "is_scalar",
    "of_length",
    "per_value",
]

Datum = Any
"""``pyarrow.Array | pyarrow.Scalar``"""


class Frame:
    """The rows on which an expression is evaluated: their columns, number and instant.

    Attributes:
        length: number of rows.
        instant: milliseconds since 1970 of NOW and similar functions.
        watermark: watermark of the operator, in ms since 1970; None if there is no watermark.
        values: values of subexpressions that occur more than once.
    """

    __slots__ = ("_columns", "_made", "_selection", "instant", "length", "values", "watermark")

    def __init__(
        self,
        columns: Sequence[Any],
        length: int,
        instant: int | None = None,
        selection: Any = None,
        watermark: int | None = None,
    ) -> None:
        self._columns = columns
        self._selection = selection
        self._made: dict[int, Any] = {}
        self.length = length
        self.instant = int(time.time() * 1000) if instant is None else instant
        self.watermark = watermark
        self.values: dict[int, Datum] = {}

    def column(self, index: int) -> Any:
        """A column of the input, with only these rows."""
        if self._selection is None:
            return self._columns[index]
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self._columns[index].take(self._selection)
        return made

    def narrowed(self, rows: np.ndarray[Any, Any]) -> Frame:
        """The frame restricted to some of its rows."""
        base = rows if self._selection is None else np.asarray(self._selection)[rows]
        return Frame(self._columns, len(rows), self.instant, pa.array(base), self.watermark)


@dataclass(frozen=True, slots=True)
class CallSite:
    """Information about a call for the kernel of its function.

    Attributes:
        function: the function's name.
        argument_types: types of the arguments.
        result_type: type of the value, and ``arrow``, its Arrow type.
        options: the call's.
        session: settings of the session.
        memory: values that the kernel keeps from one batch to the next.
    """

    function: str
    argument_types: tuple[LogicalType, ...]
    result_type: LogicalType
    arrow: Any
    options: CallOptions | None
    session: SessionSettings
    memory: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(slots=True)
class ExpressionNode:
    """A compiled subexpression.

    Attributes:
        run: function that computes the value.
        may_fail: whether the evaluation raises for some values, so that it must run only for the
            rows that need it.
        constant: the value, if it is the same for all rows.
        shared: whether the subexpression occurs more than once, so that its value is kept for the
            batch.
    """

    run: Callable[[Frame], Datum]
    may_fail: bool = False
    constant: Any = None
    shared: bool = False

    def __call__(self, frame: Frame) -> Datum:
        """Value of the subexpression on a frame."""
        if self.constant is not None:
            return self.constant
        if not self.shared:
            return self.run(frame)
        value = frame.values.get(id(self))
        if value is None:
            value = frame.values[id(self)] = self.run(frame)
        return value


def is_scalar(datum: Datum) -> bool:
    """Whether a datum is one value for all rows."""
    return isinstance(datum, pa.Scalar)


def array_of(datum: Datum, length: int) -> Any:
    """The datum as an array."""
    if isinstance(datum, pa.Scalar):
        # Arrow does not repeat arrays, maps and rows no times
        return pa.repeat(datum, length) if length else pa.array([], datum.type)
    return datum.combine_chunks() if isinstance(datum, pa.ChunkedArray) else datum


def of_length(datum: Datum, length: int, name: str) -> Datum:
    """The datum itself, after a check that it has a value for each row.

    Args:
        name: the function that made it, for the error.

    Raises:
        ValueCountError: it has more values or fewer.
    """
    if isinstance(datum, pa.Scalar) or len(datum) == length:
        return datum
    raise ValueCountError(
        f"{name} gave {len(datum)} values for {length} rows, a fault of millrace: please report "
        "it with the statement and the types of its arguments"
    )


def conformed(datum: Datum, arrow: Any) -> Datum:
    """The datum in exactly the given Arrow type. Only names or nullability within nested types may
    differ before.
    """
    if datum.type == arrow:
        return datum
    if isinstance(datum, pa.Scalar):
        if not datum.is_valid:
            return pa.scalar(None, arrow)
        return conformed(array_of(datum, 1), arrow)[0]
    if pa.types.is_nested(arrow):
        return _nested(datum, arrow)
    return datum.cast(arrow, safe=False)


def _nested(array: Any, arrow: Any) -> Any:
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), arrow)
    if array.offset:
        array = pa.concat_arrays([array]) if array.offset == 0 else array.take(_all(array))
    validity = pc.is_null(array) if array.null_count else None
    if pa.types.is_struct(arrow):
        parts = [
            conformed(part, field.type) for part, field in zip(array.flatten(), arrow, strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(arrow), mask=validity)
    if pa.types.is_map(arrow):
        keys, items = conformed(array.keys, arrow.key_type), conformed(array.items, arrow.item_type)
        return pa.MapArray.from_arrays(array.offsets, keys, items, arrow, mask=validity)
    values = conformed(array.values, arrow.value_type)
    return pa.ListArray.from_arrays(array.offsets, values, arrow, mask=validity)


def _all(array: Any) -> Any:
    return pa.array(np.arange(len(array), dtype=np.int64))


def per_value(
    function: Callable[..., Any], arrow: Any, *datums: Datum, with_nulls: bool = False
) -> Datum:
    """Result of a Python function, which is called once for each distinct combination of argument
    values.

    Args:
        function: function of Python values; NULL is None.
        arrow: type of its results.
        with_nulls: whether the function is also called with NULL arguments; otherwise the result is
            NULL for these.
    """
    columns = [position for position, datum in enumerate(datums) if not is_scalar(datum)]
    fixed = [None if position in columns else _values(d)[0] for position, d in enumerate(datums)]
    if not with_nulls and any(is_scalar(d) and not d.is_valid for d in datums):
        length = len(datums[columns[0]]) if columns else None
        return pa.scalar(None, arrow) if length is None else pa.nulls(length, arrow)
    if not columns:
        return pa.array([function(*fixed)], arrow)[0]
    if len(columns) == 1 and not pa.types.is_nested(datums[columns[0]].type):
        return _per_entry(function, arrow, fixed, columns[0], datums[columns[0]], with_nulls)
    seen: dict[Any, Any] = {}
    results: list[Any] = []
    hashable = not any(_is_unlike_its_equal(datums[column].type) for column in columns)
    for row in zip(*(_values(datums[column]) for column in columns), strict=True):
        if not with_nulls and None in row:
            results.append(None)
            continue
        if hashable and row in seen:
            results.append(seen[row])
            continue
        arguments = list(fixed)
        for column, value in zip(columns, row, strict=True):
            arguments[column] = value
        results.append(function(*arguments))
        if hashable:
            seen[row] = results[-1]
    return pa.array(results, arrow)


def _is_unlike_its_equal(kind: Any) -> bool:
    """Whether values of a type have no hash, or differ although they are equal, as 0.0 and -0.0
    do."""
    return bool(pa.types.is_nested(kind) or pa.types.is_floating(kind))


def _per_entry(
    function: Callable[..., Any],
    arrow: Any,
    fixed: list[Any],
    column: int,
    datum: Any,
    with_nulls: bool,
) -> Any:
    encoded = datum.dictionary_encode(null_encoding="encode" if with_nulls else "mask")
    results = []
    for value in _values(encoded.dictionary):
        fixed[column] = value
        results.append(function(*fixed))
    return pa.array(results, arrow).take(encoded.indices)


def _values(datum: Datum) -> list[Any]:
    """Python values of a datum; timestamps in nanoseconds, which Python does not support, become
    numbers."""
    array = array_of(datum, 1)
    counted = counted_nanoseconds(array.type)
    return list((array if counted == array.type else conformed(array, counted)).to_pylist())
