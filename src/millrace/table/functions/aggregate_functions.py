"""`udaf` and `udtaf`: user-defined aggregate functions in SQL and the Table API.

Flink docs: "Aggregate Functions", "Table Aggregate Functions", "Vectorized Aggregate Functions".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.logical.logical_type import MapType
from millrace.expressions.aggregate_functions import (
    aggregate_function,
    table_aggregate_function,
)
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.scalar_functions import FUNC_TYPES
from millrace.table.data_types import declared_type
from millrace.table.functions.annotated_types import annotated_inputs, annotated_result
from millrace.table.functions.user_defined_function import (
    Declared,
    FunctionTypeError,
    UserDefinedFunctionWrapper,
    declared_types,
    row_type_of,
)
from millrace.table_runtime.user_defined_functions import (
    AggregateFunction,
    ImperativeAggregateFunction,
    TableAggregateFunction,
    UserDefinedFunction,
)

__all__ = [
    "AggregateFunction",
    "ImperativeAggregateFunction",
    "TableAggregateFunction",
    "UserDefinedAggregateFunctionWrapper",
    "udaf",
    "udtaf",
]


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate or table aggregate function, made by `udaf` or `udtaf`.

    Args:
        func, input_types, deterministic, name: see the base class.
        result_type: type of the value; for a table aggregate function, of its rows.
        func_type: ``general``, ``pandas`` or ``arrow``.
        is_table_aggregate: whether it makes rows.
    """

    def __init__(
        self,
        func: Callable[..., Any] | UserDefinedFunction,
        input_types: tuple[Declared, ...] | None,
        result_type: Declared | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool,
    ) -> None:
        self.MADE_BY = "udtaf" if is_table_aggregate else "udaf"
        self.METHOD = "accumulate"
        super().__init__(func, input_types, deterministic, name)
        if func_type not in FUNC_TYPES or (is_table_aggregate and func_type != "general"):
            raise JobDefinitionError(
                f"func_type of {self.MADE_BY}() must be "
                f"general{('' if is_table_aggregate else ', pandas or arrow')}, not "
                f"{func_type!r}"
            )
        if result_type is None:
            result_type = self._own_result_type(func, is_table_aggregate)
        self._result_type = declared_type(result_type)
        if func_type == "pandas" and isinstance(self._result_type, MapType):
            raise FunctionTypeError(
                f"udaf() with pandas cannot return {self._result_type}; possible are a "
                "value, an ARRAY or a ROW"
            )
        self._func_type = func_type
        self.is_table_aggregate = is_table_aggregate

    def _own_result_type(self, func: Any, is_table_aggregate: bool) -> Declared:
        """The result type from ``get_result_type()`` or, without this method, from type hints;
        hints also set the argument types if none are declared."""
        own = getattr(type(func), "get_result_type", None)
        if own is not None and not getattr(own, "is_refusal", False):
            declared: Declared = func.get_result_type()
            return declared
        method = "emit_value" if is_table_aggregate else "get_value"
        annotated = annotated_result(func, method, self.MADE_BY, is_table_aggregate)
        if self._input_types is None:
            skipped = 1 if hasattr(func, self.METHOD) else 0
            self._input_types = annotated_inputs(func, self.METHOD, self.MADE_BY, skipped)
        return annotated

    def __repr__(self) -> str:
        return f"{self.MADE_BY}({self._name}) -> {self._result_type}"

    def definition(self, name: str) -> FunctionDefinition:
        """The function's definition for the planner, under its registered name."""
        if self.is_table_aggregate:
            return table_aggregate_function(
                name,
                self._func,
                row_type_of((self._result_type,)),
                self._deterministic,
                self._input_types,
            )
        return aggregate_function(
            name,
            self._func,
            self._result_type,
            self._func_type,
            self._deterministic,
            self._input_types,
        )


def udaf(
    f: Callable[..., Any] | UserDefinedFunction | None = None,
    input_types: Sequence[Declared] | Declared | None = None,
    result_type: Declared | None = None,
    accumulator_type: Declared | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make an aggregate function callable in statements; usable as a decorator or as a function.

    Args:
        f: an `AggregateFunction`, or a function of columns if ``func_type`` is not ``general``;
            None returns a decorator.
        input_types: see `udf`.
        result_type: type of the value. None for the result of ``get_result_type()``, or for the
            type hints of ``get_value`` and ``accumulate``.
        accumulator_type: ignored, since accumulators are stored as Python objects.
        deterministic, name: see `udf`.
        func_type: ``general``: its methods are called for each row; ``pandas``: it is called with a
            `pandas.Series` of all rows of a group, and gives one value; ``arrow``: with a
            `pyarrow.Array` (not in PyFlink).

    Raises:
        JobDefinitionError: the result type is missing, or ``f`` is not an aggregate function of
            this kind.

    Example:
        >>> @udaf(result_type="DOUBLE", func_type="pandas")
        ... def spread(values):
        ...     return values.max() - values.min()
        >>> spread
        udaf(spread) -> DOUBLE
    """
    return _aggregate(f, input_types, result_type, func_type, deterministic, name, False)


def udtaf(
    f: Callable[..., Any] | UserDefinedFunction | None = None,
    input_types: Sequence[Declared] | Declared | None = None,
    result_type: Declared | None = None,
    accumulator_type: Declared | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Make a table aggregate function callable by `Table.flat_aggregate`; usable as a decorator or
    as a function.

    Args:
        f: a `TableAggregateFunction`; None returns a decorator.
        result_type: columns of the rows, as a ROW. None for the result of ``get_result_type()``, or
            for the type hints of ``emit_value`` and ``accumulate``.
        input_types, accumulator_type, deterministic, name: see `udaf`.
        func_type: ``general``.

    Raises:
        JobDefinitionError: the result type is missing, or ``f`` is not an aggregate function of
            this kind.
    """
    return _aggregate(f, input_types, result_type, func_type, deterministic, name, True)


def _aggregate(
    f: Callable[..., Any] | UserDefinedFunction | None,
    input_types: Sequence[Declared] | Declared | None,
    result_type: Declared | None,
    func_type: str,
    deterministic: bool | None,
    name: str | None,
    is_table_aggregate: bool,
) -> Any:
    inputs = declared_types(input_types)

    def made(func: Callable[..., Any] | UserDefinedFunction) -> UserDefinedAggregateFunctionWrapper:
        return UserDefinedAggregateFunctionWrapper(
            func, inputs, result_type, func_type, deterministic, name, is_table_aggregate
        )

    return made if f is None else made(f)
