"""`ColumnAccumulator`: an aggregate function over many groups together, stored in columns by slot.

An accumulator knows nothing of tables of state: it is given its columns as NumPy arrays, long
enough for every slot, and the slots that rows belong to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from millrace.common.types.logical.arrow_type import arrow_type
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.function_context import FunctionContext

__all__ = ["ColumnAccumulator", "Columns", "Signs", "Slots"]

Slots = NDArray[np.int64]
Signs = NDArray[np.int8] | None
Columns = tuple[NDArray[Any], ...]


class ColumnAccumulator(ABC):
    """An aggregate function whose accumulators are stored in columns by slot.

    Args:
        argument_types: types of the arguments.
        result_type: type of the value.
    """

    retracts = True
    """Whether the accumulator supports retractions: ``signs`` of -1."""
    takes_nulls = False
    """Whether rows count whose arguments are null, where values are counted for it."""
    in_order = False
    """Whether the value depends on the order of rows, so that slices cannot be merged."""

    context = FunctionContext({})
    """For functions of the user."""

    def __init__(self, argument_types: tuple[LogicalType, ...], result_type: LogicalType) -> None:
        self.argument_types = argument_types
        self.result_type = result_type
        self.arrow = arrow_type(result_type)

    @abstractmethod
    def columns(self) -> tuple[np.dtype[Any], ...]:
        """Types of the accumulator's columns; a new slot holds zeros (None in columns of
        objects)."""

    @abstractmethod
    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        """Add rows, or retract those with sign -1.

        Args:
            slots: slot of each row.
            columns: changed in place.
            arguments: columns of the rows.
            signs: +1 or -1 for each row; None if all are +1.
        """

    def running(
        self,
        carry: Columns,
        begins: Slots,
        arguments: list[pa.Array],
        counted: NDArray[np.bool_] | None,
    ) -> Columns | None:
        """The accumulator's columns after each row. The rows of a slot must be adjacent and in
        order.

        Args:
            carry: the accumulator's columns before these rows, with one value per slot.
            begins: position of each slot's first row.
            arguments: columns of the rows.
            counted: mask of the rows to add; None for all rows.

        Returns:
            None if the accumulator can only add the rows of a slot one by one.
        """
        return None

    @abstractmethod
    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        """Merge accumulators from other columns into slots. Several accumulators may go to the same
        slot.
        """

    @abstractmethod
    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        """Value of each slot, in the Arrow type of the result."""
