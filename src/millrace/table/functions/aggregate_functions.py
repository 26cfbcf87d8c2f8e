"""`udaf` and `udtaf`: user-defined aggregate functions in SQL and the Table API.

Flink docs: "Aggregate Functions", "Table Aggregate Functions", "Vectorized Aggregate Functions".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    UserDefinedFunction,
    UserDefinedFunctionWrapper,
    declared_types,
    row_type_of,
)

__all__ = [
    "AggregateFunction",
    "ImperativeAggregateFunction",
    "TableAggregateFunction",
    "UserDefinedAggregateFunctionWrapper",
    "udaf",
    "udtaf",
]


def _refusal(method: Callable[..., Any]) -> Callable[..., Any]:
    """Mark of a base class's method that only raises an error."""
    method.is_refusal = True  # type: ignore[attr-defined]
    return method


class ImperativeAggregateFunction(UserDefinedFunction, ABC):
    """Base class of `AggregateFunction` and `TableAggregateFunction`.

    An accumulator is what is kept of a group: a list, a dict, a `Row`, a number in one of these, or
    an object of a class of the program, with `ListView` and `MapView` in it. It is part of
    checkpoints.
    """

    @abstractmethod
    def create_accumulator(self) -> Any:
        """The accumulator of an empty group."""

    @abstractmethod
    def accumulate(self, accumulator: Any, *args: Any) -> None:
        """Add the arguments of a row to the accumulator."""

    @_refusal
    def retract(self, accumulator: Any, *args: Any) -> None:
        """Retract a row. It is needed if rows of the input may be updated or deleted."""
        raise JobDefinitionError(f"{type(self).__name__} has no method retract()")

    @_refusal
    def merge(self, accumulator: Any, accumulators: Any) -> None:
        """Merge other accumulators into one. Without it, windows keep their rows until they end."""
        raise JobDefinitionError(f"{type(self).__name__} has no method merge()")

    @_refusal
    def get_result_type(self) -> Declared:
        """Type of the value, used if `udaf` or `udtaf` is given no type."""
        raise JobDefinitionError(
            f"{type(self).__name__} has no method get_result_type(), and no result_type was given"
        )

    def get_accumulator_type(self) -> Declared | None:
        """Type of the accumulator; Millrace does not need this type."""
        return None


class AggregateFunction(ImperativeAggregateFunction):
    """A function from the rows of a group to one value.

    Example:
        >>> class WeightedAverage(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return [0, 0]
        ...
        ...     def accumulate(self, accumulator, value, weight):
        ...         accumulator[0] += value * weight
        ...         accumulator[1] += weight
        ...
        ...     def retract(self, accumulator, value, weight):
        ...         accumulator[0] -= value * weight
        ...         accumulator[1] -= weight
        ...
        ...     def get_value(self, accumulator):
        ...         return accumulator[0] / accumulator[1] if accumulator[1] else None
        >>> udaf(WeightedAverage(), result_type="DOUBLE")
        udaf(WeightedAverage) -> DOUBLE
    """

    @abstractmethod
    def get_value(self, accumulator: Any) -> Any:
        """The value of a group. It must not change the accumulator."""


class TableAggregateFunction(ImperativeAggregateFunction):
    """A function from the rows of a group to any number of rows.

    Example:
        >>> class Top2(TableAggregateFunction):
        ...     def create_accumulator(self):
        ...         return []
        ...
        ...     def accumulate(self, accumulator, value):
        ...         accumulator.append(value)
        ...         accumulator.sort(reverse=True)
        ...         del accumulator[2:]
        ...
        ...     def emit_value(self, accumulator):
        ...         yield from accumulator
        >>> udtaf(Top2(), result_type="ROW<a BIGINT>")
        udtaf(Top2) -> ROW<`a` BIGINT>
    """

    @abstractmethod
    def emit_value(self, accumulator: Any) -> Any:
        """The rows of a group, yielded or as a list: tuples, `Row`, or values for a single
        column."""


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
        found = annotated_result(func, method, self.MADE_BY, is_table_aggregate)
        if self._input_types is None:
            skipped = 1 if hasattr(func, self.METHOD) else 0
            self._input_types = annotated_inputs(func, self.METHOD, self.MADE_BY, skipped)
        return found

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
