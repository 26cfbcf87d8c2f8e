"""`ImperativeAccumulator`: a user's aggregate function that is called row by row.

Each group has an accumulator, made by `create_accumulator`. It is copied before the rows of a batch
change it, so that an aborted epoch returns to the former object. PyFlink:
``ImperativeAggregateFunction``.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from millrace.common.types.logical.logical_type import LogicalType
from millrace.common.types.logical.python_values import arrow_column, python_values
from millrace.common.types.row import Row
from millrace.expressions.aggregates.accumulator import ColumnAccumulator, Columns, Signs, Slots
from millrace.expressions.evaluation_error import EvaluationError
from millrace.expressions.function_context import FunctionContext
from millrace.expressions.misfit import CONVERSION_ERRORS, misfit_of

__all__ = ["ImperativeAccumulator", "OpenedFunction"]

_SHOWN = 200
_UNCHANGEABLE = (int, float, str, bytes)
_ATOMS = frozenset({int, float, str, bytes, bool, complex, type(None)})


class OpenedFunction:
    """A user function that is opened at its first call in a process.

    Args:
        name: name of the function in errors.
        function: function, optionally with methods ``open`` and ``close``.
        declared: the type of its value, or of its rows, as the program says it, for errors.
    """

    def __init__(self, name: str, function: Any, declared: LogicalType) -> None:
        self.name, self._function, self.declared = name, function, declared
        self._opened = False

    def get(self, context: FunctionContext) -> Any:
        """The function, opened if necessary."""
        if not self._opened:
            if hasattr(self._function, "open"):
                self._function.open(context)
            if hasattr(self._function, "close"):
                weakref.finalize(self, self._function.close)
            self._opened = True
        return self._function


class ImperativeAccumulator(ColumnAccumulator):
    """Keeps the accumulator object of each group in one column; None for a group without one.

    Args:
        argument_types: types of the arguments.
        result_type: type of the value.
        function: object with ``create_accumulator``, ``accumulate`` and the other methods that a
            call needs.
        value_method: name of the method that returns the result: ``get_value``, or ``emit_value``
            of a table aggregate function.
        merges: whether the function has a method ``merge``.
    """

    takes_nulls = True

    def __init__(
        self,
        argument_types: tuple[LogicalType, ...],
        result_type: LogicalType,
        function: OpenedFunction,
        value_of: Callable[[Any, Any], Any],
        merges: bool,
    ) -> None:
        super().__init__(argument_types, result_type)
        self._function, self._value_of = function, value_of
        self.in_order = not merges

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (np.dtype(object),)

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        function, held = self._function.get(self.context), columns[0]
        pairs = zip(arguments, self.argument_types, strict=True)
        values = [python_values(*pair) for pair in pairs]
        changing: dict[int, Any] = {}
        back = None if signs is None else (signs < 0).tolist()
        row: tuple[Any, ...] = ()
        try:
            for index, slot in enumerate(slots.tolist()):
                accumulator = changing.get(slot)
                if accumulator is None:
                    former = held[slot]
                    made = self._new(function) if former is None else _copied(former)
                    accumulator = changing[slot] = made
                row = tuple(column[index] for column in values)
                if back is not None and back[index]:
                    function.retract(accumulator, *row)
                else:
                    function.accumulate(accumulator, *row)
        except Exception as error:
            shown = ", ".join(repr(value)[:_SHOWN] for value in row)
            self._note(error, f"for the arguments ({shown})")
            raise
        for slot, accumulator in changing.items():
            held[slot] = accumulator

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        function, held = self._function.get(self.context), columns[0]
        changed: set[int] = set()
        for slot, other in zip(slots.tolist(), others[0][other_slots].tolist(), strict=True):
            if other is None:
                continue
            if slot not in changed:
                former = held[slot]
                held[slot] = function.create_accumulator() if former is None else _copied(former)
                changed.add(slot)
            try:
                function.merge(held[slot], [_copied(other)])
            except Exception as error:
                self._note(error, "when accumulators were merged")
                raise

    def _new(self, function: Any) -> Any:
        made = function.create_accumulator()
        if isinstance(made, _UNCHANGEABLE):
            raise EvaluationError(
                f"{self._function.name}.create_accumulator() gave {made!r}, which accumulate() "
                f"cannot change: let it give a list that has it, [{made!r}], or an object"
            )
        return made

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        function = self._function.get(self.context)
        values: list[Any] = []
        try:
            for accumulator in columns[0][slots].tolist():
                given = function.create_accumulator() if accumulator is None else accumulator
                values.append(self._value_of(function, given))
        except Exception as error:
            self._note(error, "when the value was asked for")
            raise
        return self._array(values)

    def _array(self, values: list[Any]) -> pa.Array:
        try:
            return arrow_column(values, self.result_type)
        except CONVERSION_ERRORS as error:
            raise EvaluationError(
                f"{self._function.name} gave {misfit_of(values, self.result_type, error)}; its "
                f"result_type is {self._function.declared}"
            ) from None

    def _note(self, error: Exception, where: str) -> None:
        error.add_note(f"in the function {self._function.name}, called in a statement, {where}")


def _copied(value: Any) -> Any:
    """A deep copy of a value; common containers are copied without the cost of `copy.deepcopy`."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is list:
        return [item if type(item) in _ATOMS else _copied(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in _ATOMS else _copied(item) for key, item in value.items()}
    if kind is Row:
        return copy.copy(value) if all(type(item) in _ATOMS for item in value) else _deep(value)
    return _deep(value)


_deep = copy.deepcopy
