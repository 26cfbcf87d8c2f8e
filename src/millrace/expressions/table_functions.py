"""`table_function`: makes a function definition from a user's Python function that returns rows.

PyFlink: ``udtf(f, result_types=...)``. Its value is an array of rows, which the planner unnests: so
it joins, pads and filters like any other array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from millrace.common.types.logical.logical_type import ArrayType, LogicalType, RowType
from millrace.common.types.row import Row
from millrace.expressions.arity import taken_arguments
from millrace.expressions.function_context import FunctionContext
from millrace.expressions.function_definition import FunctionDefinition, FunctionKind
from millrace.expressions.scalar_functions import scalar_function

__all__ = ["row_values", "table_function"]


def table_function(
    name: str,
    function: Any,
    row_type: RowType,
    deterministic: bool = True,
    input_types: Sequence[LogicalType | str] | None = None,
) -> FunctionDefinition:
    """Definition of a user's table function.

    Args:
        name: name of the function in calls and errors.
        function: a function of Python values, or an object with such a method ``eval`` and
            optionally ``open`` and ``close``. It yields or returns tuples, `Row` or, for one
            column, values.
        row_type: columns of the rows.
        deterministic: the same arguments give the same rows.
        input_types: see `scalar_function`.

    Example:
        >>> from millrace.common.types.logical.logical_type import BigIntType
        >>> one = RowType.of(("n", BigIntType()))
        >>> table_function("SERIES", range, one).kind
        <FunctionKind.TABLE: 'TABLE'>
    """
    rows = _Rows(function)
    result = ArrayType(row_type.not_null(), nullable=False)
    kinds = ", ".join(map(str, row_type))
    declared = f"result_types are {kinds}"
    made = scalar_function(name, rows, result, "general", deterministic, input_types, declared)
    if input_types is None:
        arity = taken_arguments(function, "eval")
        made = replace(made, signatures=(arity.signature,), parameters=arity.names)
    return replace(made, kind=FunctionKind.TABLE)


class _Rows:
    """Kernel that returns the rows of a table function as lists of tuples."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._body: Callable[..., Any] = getattr(function, "eval", function)

    def open(self, context: FunctionContext) -> None:
        if hasattr(self._function, "open"):
            self._function.open(context)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._function.close()

    def eval(self, *arguments: Any) -> list[tuple[Any, ...]]:
        made = self._body(*arguments)
        if made is None:
            return []
        if isinstance(made, (list, range, Iterator)):
            return [row_values(row) for row in made]
        return [row_values(made)]


def row_values(value: Any) -> tuple[Any, ...]:
    """Fields of a row that a function returned: of a row, a tuple or a data class. Any other value
    is the only field.
    """
    if isinstance(value, Row):
        return tuple(value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(getattr(value, field.name) for field in fields(value))
    return value if isinstance(value, tuple) else (value,)
