"""Base classes of the functions that programs define for SQL and the Table API.

PyFlink: ``pyflink.table.udf``, which has them here, too. They are in this room because workers
load them, and workers load neither the parser nor the planner.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from millrace.common.errors import JobDefinitionError
from millrace.common.types.changelog_mode import ChangelogMode
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.function_context import FunctionContext
from millrace.table_runtime.process_contexts import (
    ProcessTableContext,
    ProcessTimerContext,
    TimeContext,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ImperativeAggregateFunction",
    "ProcessTableFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
]


class UserDefinedFunction:
    """A function that is opened in each process that calls it, before the first call."""

    def open(self, function_context: FunctionContext) -> None:
        """Acquire the resources that calls need."""

    def close(self) -> None:
        """Release the resources. A killed process does not call it."""

    def is_deterministic(self) -> bool:
        """Whether the same arguments always give the same value."""
        return True


class ScalarFunction(UserDefinedFunction, ABC):
    """A function of values, or of columns, with state of its own that is not checkpointed.

    Example:
        >>> from millrace.table.udf import udf
        >>> class Multiply(ScalarFunction):
        ...     def open(self, function_context):
        ...         self.factor = int(function_context.get_job_parameter("factor", "12"))
        ...
        ...     def eval(self, value):
        ...         return value * self.factor
        >>> udf(Multiply(), result_type="BIGINT")
        udf(Multiply) -> BIGINT
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The value for the arguments of a row, or of a batch (``func_type="pandas"``)."""


class AsyncScalarFunction(UserDefinedFunction, ABC):
    """An asynchronous function of values, for many rows at a time.

    Example:
        >>> from millrace.table.udf import udf
        >>> class Lookup(AsyncScalarFunction):
        ...     async def eval(self, key):
        ...         return f"value of {key}"
        >>> udf(Lookup(), result_type="STRING")
        udf(Lookup) -> STRING
    """

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """The value for the arguments of a row."""


class TableFunction(UserDefinedFunction, ABC):
    """A function from its arguments to any number of rows.

    Example:
        >>> from millrace.table.udf import udtf
        >>> class Split(TableFunction):
        ...     def eval(self, line):
        ...         for word in line.split():
        ...             yield word, len(word)
        >>> udtf(Split(), result_types=["STRING", "INT"])
        udtf(Split) -> ROW<`f0` STRING, `f1` INT>
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The rows, yielded or as a list: tuples, `Row`, or values for a single column."""


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
    def get_result_type(self) -> LogicalType | str:
        """Type of the value, used if `udaf` or `udtaf` is given no type."""
        raise JobDefinitionError(
            f"{type(self).__name__} has no method get_result_type(), and no result_type was given"
        )

    def get_accumulator_type(self) -> LogicalType | str | None:
        """Type of the accumulator; Millrace does not need this type."""
        return None


class AggregateFunction(ImperativeAggregateFunction):
    """A function from the rows of a group to one value.

    Example:
        >>> from millrace.table.udf import udaf
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
        >>> from millrace.table.udf import udtaf
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


class ProcessTableFunction(UserDefinedFunction, ABC):
    """A function from tables to a table, with state and timers.

    ``eval`` takes a context, if its first parameter is annotated with `Context` or called ``ctx``;
    then state, annotated with `StateHint`; then the arguments of the call, tables among them
    annotated with an `ArgumentTrait`. It yields rows, or gives a list of them. ``on_timer`` takes a
    context of its own and the same state.

    Example:
        >>> import dataclasses
        >>> from collections.abc import Iterator
        >>> from typing import Annotated
        >>> from millrace.common.types.row import Row
        >>> from millrace.table.udf import ArgumentTrait, StateHint, udptf
        >>> @dataclasses.dataclass
        ... class Seen:
        ...     count: int = 0
        >>> class Greeting(ProcessTableFunction):
        ...     def eval(
        ...         self,
        ...         seen: Annotated[Seen, StateHint],
        ...         names: Annotated[Row, ArgumentTrait.SET_SEMANTIC_TABLE],
        ...     ) -> Iterator[str]:
        ...         seen.count += 1
        ...         yield f"Hello {names.name}, your {seen.count} time?"
        >>> udptf(Greeting())
        udptf(Greeting) -> ROW<`EXPR$0` STRING>
    """

    Context = ProcessTableContext
    OnTimerContext = ProcessTimerContext
    TimeContext = TimeContext

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """The output rows for a row of a table, yielded or as a list."""

    def get_changelog_mode(self) -> ChangelogMode:
        """Row kinds of the output. Rows that are not inserts are made with `Row.of_kind`."""
        return ChangelogMode.insert_only()
