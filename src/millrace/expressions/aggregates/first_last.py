"""Accumulators of FIRST_VALUE, LAST_VALUE and SINGLE_VALUE, which depend on the order of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.logical_type import LogicalType
from millrace.expressions.aggregates.accumulator import Columns, Signs, Slots
from millrace.expressions.aggregates.held_value import HeldValueAccumulator
from millrace.expressions.aggregates.running import valid_so_far

__all__ = ["FirstLastAccumulator", "SingleValueAccumulator"]


class FirstLastAccumulator(HeldValueAccumulator):
    """FIRST_VALUE or LAST_VALUE in the order of arrival; NULLs are skipped, as in Flink.

    Args:
        argument_types: type of the values.
        result_type: the same, with null.
        last: LAST_VALUE rather than FIRST_VALUE.
    """

    in_order = True

    def __init__(
        self, argument_types: tuple[LogicalType, ...], result_type: LogicalType, last: bool
    ) -> None:
        super().__init__(argument_types, result_type)
        self._last = last

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        assert signs is None or (signs > 0).all(), "FIRST_VALUE and LAST_VALUE take no row back"
        (values,) = arguments
        if values.null_count:
            slots = slots[pc.is_valid(values).to_numpy(zero_copy_only=False)]
            values = values.drop_null()
        self._take(slots, columns, self._raw(values))

    def _take(self, slots: Slots, columns: Columns, raw: Any) -> None:
        if not self._last:
            new = columns[0][slots] == 0
            slots, raw = slots[new][::-1], raw[new][::-1]
        # of several values for a slot NumPy keeps the one that is assigned last
        columns[1][slots] = raw
        columns[0][slots] = 1

    def _running(
        self, raw: NDArray[Any], valid: NDArray[np.bool_], begins: Slots, carry: Columns
    ) -> NDArray[Any] | None:
        sizes = np.diff(begins, append=valid.size)
        known, before = (np.repeat(column, sizes) for column in carry[:2])
        if self._last:
            place = valid_so_far(valid, begins)
        else:
            first = np.minimum.reduceat(np.where(valid, np.arange(valid.size), valid.size), begins)
            place = np.repeat(np.where(first < begins + sizes, first, -1), sizes)
            place[place > np.arange(valid.size)] = -1
            place[known != 0] = -1
        return np.where(place >= 0, raw[place], before)

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        known = others[0][other_slots] != 0
        self._take(slots[known], columns, others[1][other_slots[known]])


class SingleValueAccumulator(HeldValueAccumulator):
    """SINGLE_VALUE: the value of the only row; a second row fails the job. Flink uses it for
    scalar subqueries (``SingleValueAggFunction``)."""

    retracts = True
    in_order = True

    def columns(self) -> tuple[np.dtype[Any], ...]:
        return (*super().columns(), np.dtype(np.int64))

    def accumulate(
        self, slots: Slots, columns: Columns, arguments: list[pa.Array], signs: Signs = None
    ) -> None:
        if not len(slots):
            return
        (values,) = arguments
        self._count(slots, columns[2], np.ones(len(slots), np.int64) if signs is None else signs)
        came = np.ones(len(slots), np.bool_) if signs is None else signs > 0
        valid = pc.is_valid(values).to_numpy(zero_copy_only=False)
        columns[0][slots[came]] = valid[came]
        columns[1][slots[came & ~valid]] = None if columns[1].dtype == np.object_ else 0
        kept = came & valid & (_last_of_slots(slots, came))
        columns[1][slots[kept]] = self._raw(values.filter(pa.array(kept)))
        gone = slots[columns[2][slots] == 0]
        columns[0][gone] = 0
        columns[1][gone] = None if columns[1].dtype == np.object_ else 0

    @staticmethod
    def _count(slots: Slots, rows: Any, signs: Any) -> None:
        """Count the rows of each slot one by one, since there must never be two at any moment."""
        order = np.argsort(slots, kind="stable")
        ordered, running = slots[order], np.cumsum(signs[order], dtype=np.int64)
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        before = np.r_[0, running[starts[1:] - 1]]
        lengths = np.diff(np.r_[starts, len(ordered)])
        counts = running - np.repeat(before, lengths) + rows[ordered]
        if (counts > 1).any():
            raise JobExecutionError(
                "a subquery that stands for a value gave more than one row; let it give one: by "
                "an aggregate (SELECT MAX(x) ...), a narrower WHERE, or LIMIT 1"
            )
        rows[ordered[starts]] = counts[starts + lengths - 1]

    def merge(self, slots: Slots, columns: Columns, other_slots: Slots, others: Columns) -> None:
        filled = others[2][other_slots] > 0
        targets, sources = slots[filled], other_slots[filled]
        self._count(targets, columns[2], np.ones(len(targets), np.int64))
        columns[0][targets] = others[0][sources]
        columns[1][targets] = others[1][sources]


def _last_of_slots(slots: Slots, came: Any) -> Any:
    """Mask of the rows that came last in their slot."""
    rows = np.flatnonzero(came)
    _, firsts = np.unique(slots[rows][::-1], return_index=True)
    last = np.zeros(len(slots), np.bool_)
    last[rows[len(rows) - 1 - firsts]] = True
    return last
