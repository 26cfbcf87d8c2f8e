"""Accumulators of MIN and MAX over rows that are never retracted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import Columns, Signs, Slots
from millrace.expressions.aggregates.held_value import HeldValueAccumulator
from millrace.expressions.aggregates.running import running_ufunc

__all__ = ["ExtremeAccumulator"]


class ExtremeAccumulator(HeldValueAccumulator):
    """MIN or MAX.

    Args:
        argument_types: type of the values.
        result_type: the same, with null.
        greatest: MAX rather than MIN.
    """

    def __init__(
        self, argument_types: tuple[LogicalType, ...], result_type: LogicalType, greatest: bool
    ) -> None:
        super().__init__(argument_types, result_type)
        self._greatest = greatest

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        assert signs is None or (signs > 0).all(), "MIN and MAX take no row back"
        (values,) = arguments
        if values.null_count:
            slots = slots[pc.is_valid(values).to_numpy(zero_copy_only=False)]
            values = values.drop_null()
        self._take(slots, columns, self._raw(values))

    def _take(self, slots: Slots, columns: Columns, raw: Any) -> None:
        """Set the first value of new slots, then keep the best value of every slot."""
        if not len(slots):
            return
        first = columns[0][slots] == 0
        if first.any():
            columns[1][slots[first][::-1]] = raw[first][::-1]
            columns[0][slots[first]] = 1
        if self._numbers:
            with np.errstate(invalid="ignore"):  # of NaN, which stays
                (np.maximum if self._greatest else np.minimum).at(columns[1], slots, raw)
            return
        best = columns[1]
        for slot, value in zip(slots.tolist(), raw.tolist(), strict=True):
            held = best[slot]
            if value > held if self._greatest else value < held:
                best[slot] = value

    def _running(
        self, raw: NDArray[Any], valid: NDArray[np.bool_], begins: Slots, carry: Columns
    ) -> NDArray[Any] | None:
        if not self._numbers:
            return None
        if self._approximate:
            worst = -np.inf if self._greatest else np.inf
        else:
            ends = np.iinfo(np.int64)
            worst = ends.min if self._greatest else ends.max
        ufunc = np.maximum if self._greatest else np.minimum
        values = np.where(valid, raw, worst)
        values[begins] = ufunc(values[begins], np.where(carry[0] != 0, carry[1], worst))
        return running_ufunc(ufunc, values, begins)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        known = others[0][other_slots] != 0
        self._take(slots[known], columns, others[1][other_slots[known]])
