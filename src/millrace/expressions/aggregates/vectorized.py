"""`VectorizedAccumulator`: a user's aggregate function over whole columns of a group.

The rows of a group are kept, and the function is called with all of them. Flink docs: "Vectorized
User-defined Functions", "Vectorized Aggregate Functions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.python_values import arrow_column
from millrace.expressions.aggregates.accumulator import Columns, Slots
from millrace.expressions.aggregates.collecting import CollectingAccumulator, ElementCodec
from millrace.expressions.aggregates.imperative import OpenedFunction
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.misfit import CONVERSION_ERRORS, misfit_of

__all__ = ["VectorizedAccumulator"]


class VectorizedAccumulator(CollectingAccumulator):
    """Keeps the rows of each group in one column, as a tuple of tuples.

    Args:
        argument_types: types of the arguments.
        result_type: type of the value.
        function: a function of columns; or an object whose method ``accumulate`` takes an
            accumulator, which is a list, and columns, and appends the value to the list.
        column: converts a column to an argument of the function.
        is_pandas: whether the function is one of pandas, which says NaN, NA and NaT for a value
            that is missing, such as the mean of nothing.
    """

    takes_nulls = True

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        function: OpenedFunction,
        column: Callable[[pa.Array], Any],
        is_pandas: bool = False,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._function, self._column = function, column
        self._plain = _of_pandas if is_pandas else _plain
        self._codecs = [ElementCodec(kind) for kind in argument_types]
        self._by_text = True

    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        pairs = zip(self._codecs, arguments, strict=True)
        return list(zip(*(codec.objects(argument) for codec, argument in pairs), strict=True))

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        values = [self._value(rows or ()) for rows in columns[0][slots].tolist()]
        try:
            return arrow_column(values, self.result_type)
        except CONVERSION_ERRORS as error:
            raise EvaluationError(
                f"{self._function.name} gave {misfit_of(values, self.result_type, error)}; its "
                f"result_type is {self.result_type}"
            ) from None

    def _value(self, rows: tuple[Any, ...]) -> Any:
        columns = [*zip(*rows, strict=True)] if rows else [()] * len(self._codecs)
        pairs = zip(self._codecs, columns, strict=True)
        given = [self._column(codec.array(column)) for codec, column in pairs]
        function = self._function.get(self.context)
        try:
            if not hasattr(function, "accumulate"):
                return self._plain(function(*given))
            accumulator = function.create_accumulator()
            function.accumulate(accumulator, *given)
            return self._plain(function.get_value(accumulator))
        except Exception as error:
            error.add_note(f"in the function {self._function.name}, called in a statement")
            raise


def _plain(value: Any) -> Any:
    """The Python value of a NumPy number or an Arrow scalar."""
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value


def _of_pandas(value: Any) -> Any:
    """The Python value of a result of pandas, or of each in a row; None if it is missing."""
    if isinstance(value, tuple):
        return tuple(map(_of_pandas, value))
    import pandas  # type: ignore[import-untyped]

    # of a list or a Series there is an array
    return None if pandas.isna(value) is True else _plain(value)
