"""`aggregate_function`: makes a function definition from a user's Python aggregate function.

PyFlink: ``udaf(f, result_type=..., func_type="general" | "pandas")`` and ``udtaf``; ``"arrow"`` is
ours. Its calls hold the definition, whose kernel makes their accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millrace.common.types.logical.logical_type import ArrayType, LogicalType, RowType
from millrace.common.types.logical.parser import parse_type
from millrace.expressions.aggregates.accumulator import ColumnAccumulator
from millrace.expressions.aggregates.imperative import ImperativeAccumulator, OpenedFunction
from millrace.expressions.aggregates.vectorized import VectorizedAccumulator
from millrace.expressions.arity import taken_arguments
from millrace.expressions.function_definition import (
    FunctionDefinition,
    FunctionKind,
    FunctionResolutionError,
)
from millrace.expressions.scalar_functions import Adjustment, ConstantResult, pandas_argument
from millrace.expressions.table_functions import row_values

__all__ = ["AggregateKernel", "aggregate_function", "table_aggregate_function"]

_COLUMNS: dict[str, Callable[[Any], Any]] = {
    "pandas": pandas_argument,
    "arrow": lambda column: column,
}
"""Conversion of a column to the argument of a vectorised function."""


def aggregate_function(
    name: str,
    function: Any,
    result_type: LogicalType | str,
    func_type: str = "general",
    deterministic: bool = True,
    input_types: Sequence[LogicalType | str] | None = None,
) -> FunctionDefinition:
    """Definition of a user's aggregate function.

    Args:
        name: name of the function in calls and errors.
        function: with ``create_accumulator``, ``accumulate``, ``get_value``, perhaps ``retract``
            and ``merge`` (``general``); or of columns (``pandas``, ``arrow``).
        result_type: type of the value, possibly as text.
        func_type: ``general``, ``pandas`` or ``arrow``.
        deterministic: the same rows give the same value.
        input_types: types that arguments are cast to where that is possible without loss; None:
            it takes any.

    Raises:
        FunctionResolutionError: the ``func_type`` is unknown, or methods are missing.
    """
    kind = _declared(result_type)
    if func_type in _COLUMNS:
        kernel: AggregateKernel = _Vectorized(name, function, func_type)
    elif func_type == "general":
        kernel = _Imperative(name, function, "get_value")
    else:
        raise FunctionResolutionError(
            f"{name}: func_type must be general, pandas or arrow, not {func_type!r}"
        )
    return _definition(name, kernel, kind, deterministic, input_types)


def table_aggregate_function(
    name: str,
    function: Any,
    row_type: RowType,
    deterministic: bool = True,
    input_types: Sequence[LogicalType | str] | None = None,
) -> FunctionDefinition:
    """Definition of a user's table aggregate function; its value is an array of rows.

    Args:
        function: with ``create_accumulator``, ``accumulate``, ``emit_value``, perhaps ``retract``
            and ``merge``.
        row_type: columns of the rows.
        name, deterministic, input_types: see `aggregate_function`.

    Raises:
        FunctionResolutionError: methods are missing.
    """
    result = ArrayType(row_type.not_null(), nullable=False)
    kernel = _Imperative(name, function, "emit_value")
    return _definition(name, kernel, result, deterministic, input_types)


def _definition(
    name: str,
    kernel: AggregateKernel,
    result: LogicalType,
    deterministic: bool,
    input_types: Sequence[LogicalType | str] | None,
) -> FunctionDefinition:
    inputs = None if input_types is None else tuple(map(_declared, input_types))
    function = kernel.function
    arity = taken_arguments(function, "accumulate", int(hasattr(function, "accumulate")))
    return FunctionDefinition(
        name,
        (arity.signature if inputs is None else ("<ANY>",) * len(inputs),),
        ConstantResult(result),
        kernel,
        FunctionKind.AGGREGATE,
        adjust=None if inputs is None else Adjustment(inputs),
        deterministic=deterministic,
        built_in=False,
        category="User-defined",
        text="An aggregate function of the user.",
        parameters=arity.names if inputs is None else tuple(map(str, inputs)),
    )


def _declared(kind: LogicalType | str) -> LogicalType:
    return parse_type(kind) if isinstance(kind, str) else kind


class AggregateKernel:
    """Kernel that creates the accumulators of a user's aggregate function.

    Args:
        name: name of the function in errors.
        function: the user's function.
    """

    def __init__(self, name: str, function: Any) -> None:
        self.name, self.function = name, function

    def __call__(
        self, argument_types: tuple[LogicalType, ...], result_type: LogicalType, retracts: bool
    ) -> ColumnAccumulator:
        """The accumulator of a call.

        Args:
            argument_types: types of the arguments.
            result_type: type of the value.
            retracts: whether rows may be taken back.

        Raises:
            FunctionResolutionError: they may, and the function cannot.
        """
        raise NotImplementedError


class _Imperative(AggregateKernel):
    """Kernel of an aggregate function that is called once for each row."""

    def __init__(self, name: str, function: Any, value_method: str) -> None:
        super().__init__(name, function)
        for method in ("create_accumulator", "accumulate", value_method):
            if not hasattr(function, method):
                raise FunctionResolutionError(
                    f"{name} has no method {method}(); an aggregate function has "
                    f"create_accumulator(), accumulate() and {value_method}()"
                )
        self._value_method = value_method

    def __call__(
        self, argument_types: tuple[LogicalType, ...], result_type: LogicalType, retracts: bool
    ) -> ColumnAccumulator:
        if retracts and not self._has("retract"):
            raise FunctionResolutionError(
                f"{self.name} needs a method retract(accumulator, *args) here: rows of the query "
                "that it aggregates may be updated or deleted"
            )
        value_of = _value if self._value_method == "get_value" else _rows
        rows = result_type.element_type if isinstance(result_type, ArrayType) else result_type
        declared = result_type if value_of is _value else rows.with_nullable(True)
        opened = OpenedFunction(self.name, self.function, declared)
        return ImperativeAccumulator(
            argument_types, result_type, opened, value_of, self._has("merge")
        )

    def _has(self, method: str) -> bool:
        """Whether the function implements a method. A method of the base class that only raises
        an error does not count."""
        implementation = getattr(type(self.function), method, None)
        return implementation is not None and not getattr(implementation, "is_refusal", False)


class _Vectorized(AggregateKernel):
    """Kernel of an aggregate function that is called with whole columns."""

    def __init__(self, name: str, function: Any, func_type: str) -> None:
        super().__init__(name, function)
        if not callable(function) and not hasattr(function, "accumulate"):
            raise FunctionResolutionError(
                f"{name} is neither a function nor an object with a method accumulate()"
            )
        self._func_type = func_type

    def __call__(
        self, argument_types: tuple[LogicalType, ...], result_type: LogicalType, retracts: bool
    ) -> ColumnAccumulator:
        if not argument_types:
            raise FunctionResolutionError(f"{self.name} needs a column: there are no arguments")
        opened = OpenedFunction(self.name, self.function, result_type)
        return VectorizedAccumulator(
            argument_types,
            result_type,
            opened,
            _COLUMNS[self._func_type],
            self._func_type == "pandas",
        )


def _value(function: Any, accumulator: Any) -> Any:
    return function.get_value(accumulator)


def _rows(function: Any, accumulator: Any) -> list[tuple[Any, ...]]:
    return [row_values(row) for row in function.emit_value(accumulator) or ()]
