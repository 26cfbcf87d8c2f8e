"""`udtf`: user-defined table functions in SQL and the Table API.

Flink docs: "Table Functions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.table_functions import table_function
from millrace.table.data_types import declared_type
from millrace.table.functions.annotated_types import annotated_inputs, annotated_result
from millrace.table.functions.user_defined_function import (
    Declared,
    UserDefinedFunctionWrapper,
    declared_types,
    row_type_of,
)
from millrace.table_runtime.user_defined_functions import TableFunction, UserDefinedFunction

__all__ = [
    "TableFunction",
    "UserDefinedTableFunctionWrapper",
    "udtf",
]


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function, made by `udtf`.

    Args:
        func, input_types, deterministic, name: see the base class.
        row_type: columns of the rows; None for the function's type hints.
    """

    MADE_BY = "udtf"

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        row_type: RowType | None,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, deterministic, name)
        if row_type is None:
            result_type = annotated_result(func, self.METHOD, self.MADE_BY, True, "result_types")
            row_type = row_type_of((result_type,))
            self._input_types = self._input_types or annotated_inputs(
                func, self.METHOD, self.MADE_BY
            )
        self._row_type = row_type

    def __repr__(self) -> str:
        return f"udtf({self._name}) -> {self._row_type}"

    def definition(self, name: str) -> FunctionDefinition:
        """The function's definition for the planner, under its registered name."""
        return table_function(
            name, self._func, self._row_type, self._deterministic, self._input_types
        )


def udtf(
    f: Callable[..., Any] | UserDefinedFunction | None = None,
    input_types: Sequence[Declared] | Declared | None = None,
    result_types: Sequence[Declared] | Declared | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Make a table function callable in statements; usable as a decorator or as a function.

    Args:
        f: a function or a `TableFunction`, which yields rows or returns a list of rows; None
            returns a decorator.
        input_types: see `udf`.
        result_types: types of the columns, which are called f0, f1, ...; or a ROW with the columns
            as fields. None for the type hints of ``f``, such as ``-> Iterator[tuple[str, int]]``.
        deterministic: see `udf`.
        name: name of the function in errors.

    Raises:
        JobDefinitionError: there are no result types, or ``f`` is no function.

    Example:
        >>> @udtf(result_types=["STRING"])
        ... def split(line):
        ...     yield from line.split()
        >>> from millrace.table import EnvironmentSettings, TableEnvironment
        >>> from millrace.table.expressions import col
        >>> t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> lines = t_env.from_elements([("to be", 1)], ["line", "number"])
        >>> lines.join_lateral(split(col("line")).alias("word")).get_schema().get_field_names()
        ['line', 'number', 'word']
    """
    inputs, columns = declared_types(input_types), declared_types(result_types)
    row = None if columns is None else row_type_of(tuple(map(declared_type, columns)))

    def made(func: Callable[..., Any] | UserDefinedFunction) -> UserDefinedTableFunctionWrapper:
        return UserDefinedTableFunctionWrapper(func, inputs, row, deterministic, name)

    return made if f is None else made(f)
