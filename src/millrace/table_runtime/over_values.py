"""`over_values`: OVER functions of a bounded set of rows.

Any frame and every function of OVER.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.logical_type import BooleanType, RowField, RowType
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.expressions.resolved import AggregateCall, SortKey
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.hash_index import Positions
from millrace.state.columns.slot_table import SlotTable
from millrace.table_runtime.group_accumulators import GroupAccumulators
from millrace.table_runtime.over_frames import FrameBounds, OverFrames
from millrace.table_runtime.ranking import Numbers, ranks_of, sorted_positions

__all__ = ["OverSpec", "once", "over_values"]

_PAIRS = 1 << 20
"""Number of pairs of a row and a row of its frame that are built at a time."""
_MIRRORED = {
    built_in.COUNT: built_in.COUNT,
    built_in.SUM: built_in.SUM,
    built_in.AVG: built_in.AVG,
    built_in.MIN: built_in.MIN,
    built_in.MAX: built_in.MAX,
    built_in.FIRST_VALUE: built_in.LAST_VALUE,
    built_in.LAST_VALUE: built_in.FIRST_VALUE,
}
"""For a function, the function with the same result over the rows in reverse order."""


@dataclass(frozen=True)
class OverSpec:
    """Settings of OVER functions.

    Attributes:
        input_type: columns of the input rows.
        partition: positions of the columns of PARTITION BY.
        order: columns to order by. Empty if rows keep the order of arrival.
        bounds: bounds of the aggregates' frames.
        calls: the functions.
        output_type: the input's columns, then the functions.
    """

    input_type: RowType
    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    bounds: FrameBounds
    calls: tuple[AggregateCall, ...]
    output_type: RowType


def over_values(
    spec: OverSpec, data: pa.RecordBatch, owners: Numbers, sequence: Numbers
) -> tuple[Positions, list[pa.Array]]:
    """Positions of the rows sorted by partition and order, and for each function the column of its
    values in this order.

    Args:
        owners: one number per row; rows of a partition have the same number.
        sequence: numbers that give the sequence of rows with equal order.
    """
    order = sorted_positions(data, spec.order, owners, sequence)
    columns = [data.column(key.index) for key in spec.order]
    owners, differs = owners.take(order), np.ones(order.size, np.bool_)
    dense = ranks_of("DENSE_RANK", owners, columns, order)
    differs[1:] = dense[1:] != dense[:-1]
    given = _Sorted(spec, data.take(pa.array(order)), OverFrames.of(owners, differs), owners)
    return order, [given.value(call) for call in spec.calls]


class _Sorted:
    """All rows, after they were sorted by partition and order."""

    def __init__(
        self, spec: OverSpec, data: pa.RecordBatch, frames: OverFrames, owners: Numbers
    ) -> None:
        self._spec, self._data, self._frames = spec, data, frames
        self._partitions = np.cumsum(np.diff(owners, prepend=owners[:1]) != 0)
        self._bounds: tuple[Numbers, Numbers] | None = None

    def value(self, call: AggregateCall) -> pa.Array:
        """Value of a function for each row."""
        arguments = [self._data.column(index) for index in call.arguments]
        if call.function in NUMBERING:
            return pa.array(NUMBERING[call.function](self._frames, arguments))
        if call.function in (built_in.LAG, built_in.LEAD):
            return shifted(self._frames, arguments, call.function is built_in.LEAD)
        if self._bounds is None:
            self._bounds = self._frames_of()
        first, last = self._bounds
        bounds = self._spec.bounds
        if bounds.preceding is None and bounds.following is None:
            return self._whole(call)
        if bounds.preceding is None:
            values = self._running(call, self._data, self._partitions)
            return self._picked(call, values, last, last < self._frames.starts)
        if bounds.following is None and call.function in _MIRRORED:
            turned = np.arange(self._partitions.size - 1, -1, -1)
            mirrored = replace(call, function=_MIRRORED[call.function])
            data = self._data.take(pa.array(turned))
            values = self._running(mirrored, data, self._partitions[turned])
            return self._picked(call, values, turned.size - 1 - first, first >= self._frames.ends)
        return self._framed(call, first, last)

    def _frames_of(self) -> tuple[Numbers, Numbers]:
        order = self._spec.order
        column = self._data.column(order[0].index) if len(order) == 1 else None
        return self._frames.bounds(self._spec.bounds, column, order[0].ascending if order else True)

    def _whole(self, call: AggregateCall) -> pa.Array:
        """Aggregate over whole partitions: one value per partition."""
        data, call = once(call, self._partitions, self._data)
        table, accumulators = self._accumulators(call, data)
        of = np.unique(self._partitions)
        slots = table.slots_of([pa.array(of)], create=True)
        accumulators.accumulate(table, slots.take(self._partitions), data, None)
        (values,) = accumulators.values(slots, table.space.values)
        return values.take(pa.array(self._partitions))

    def _running(self, call: AggregateCall, data: pa.RecordBatch, partitions: Numbers) -> pa.Array:
        """Aggregate over all rows of the partition up to each row."""
        data, call = once(call, partitions, data)
        table, accumulators = self._accumulators(call, data)
        slots = table.slots_of([pa.array(partitions)], create=True)
        (values,) = accumulators.running(table, slots, data)
        return values

    def _picked(
        self, call: AggregateCall, values: pa.Array, places: Numbers, empty: npt.NDArray[np.bool_]
    ) -> pa.Array:
        """Values at the given positions. If the frame is empty, the value of an empty frame."""
        if not empty.any():
            return values.take(pa.array(places))
        (nothing,) = self._nothing(call)
        places = np.where(empty, len(values), places)
        return pa.concat_arrays([values, nothing]).take(pa.array(places))

    def _framed(self, call: AggregateCall, first: Numbers, last: Numbers) -> pa.Array:
        """Aggregate over frames, each computed by itself."""
        sizes = np.maximum(last - first + 1, 0)
        cuts = np.cumsum(sizes) // _PAIRS
        parts = []
        for cut in np.unique(cuts):
            chosen = np.flatnonzero(cuts == cut)
            size = sizes.take(chosen)
            begins = np.cumsum(size) - size
            within = np.arange(int(size.sum())) - np.repeat(begins, size)
            pairs = self._data.take(pa.array(np.repeat(first.take(chosen), size) + within))
            owners = np.repeat(np.arange(chosen.size), size)
            pairs, changed = once(call, owners, pairs)
            table, accumulators = self._accumulators(changed, pairs)
            slots = table.slots_of([pa.array(np.arange(chosen.size))], create=True)
            accumulators.accumulate(table, slots.take(owners), pairs, None)
            parts += accumulators.values(slots, table.space.values)
        return pa.concat_arrays(parts)

    def _nothing(self, call: AggregateCall) -> list[pa.Array]:
        """Value of an empty frame."""
        call = replace(call, distinct=False)
        table, accumulators = self._accumulators(call, self._data)
        slots = table.slots_of([pa.array([0])], create=True)
        return accumulators.values(slots, table.space.values)

    def _accumulators(
        self, call: AggregateCall, data: pa.RecordBatch
    ) -> tuple[SlotTable, GroupAccumulators]:
        fields = self._spec.input_type.fields
        if data.num_columns > len(fields):
            fields = (*fields, RowField("first", BooleanType()))
        accumulators = GroupAccumulators((call,), RowType(fields), False)
        table = SlotTable()
        table.bind(ColumnsOf((pa.int64(),), values=tuple(accumulators.value_columns)))
        return table, accumulators


def once(
    call: AggregateCall, owners: Numbers, data: pa.RecordBatch
) -> tuple[pa.RecordBatch, AggregateCall]:
    """The rows with an added column that marks the first row of each DISTINCT value, and the call
    with this column as its FILTER. Without DISTINCT, rows and call stay unchanged.

    Args:
        owners: one number per row; rows of a frame have the same number.
    """
    if not call.distinct:
        return data, call
    counted = np.ones(data.num_rows, np.bool_)
    arguments: list[pa.Array] = [data.column(index) for index in call.arguments]
    if call.filter is not None:
        counted = _flags(pc.fill_null(data.column(call.filter), False))
    marks = _first_of_values(owners, arguments, counted)
    name = f"f{data.num_columns}"
    columns = [*data.columns, pa.array(marks)]
    names = [*(f"f{number}" for number in range(data.num_columns)), name]
    marked = pa.RecordBatch.from_arrays(columns, names)
    return marked, replace(call, distinct=False, filter=data.num_columns)


def _first_of_values(
    owners: Numbers, columns: Sequence[pa.Array], counted: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Flags of the counted rows that are the first of their owner with their values."""
    rows = np.flatnonzero(counted)
    marks = np.zeros(owners.size, np.bool_)
    chosen = pa.array(rows)
    keys = [pa.array(owners.take(rows)), *(column.take(chosen) for column in columns)]
    table = SlotTable()
    table.bind(ColumnsOf(tuple(key.type for key in keys)))
    slots = table.slots_of(keys, create=True)
    _, first = np.unique(slots, return_index=True)
    marks[rows.take(first)] = True
    return marks


def _flags(column: pa.Array) -> npt.NDArray[np.bool_]:
    flags: npt.NDArray[np.bool_] = column.to_numpy(zero_copy_only=False)
    return flags


Arguments = list[pa.Array]


def _row_number(frames: OverFrames, _: Arguments) -> Numbers:
    numbers: Numbers = np.arange(frames.starts.size) - frames.starts + 1
    return numbers


def _rank(frames: OverFrames, _: Arguments) -> Numbers:
    return frames.peers[0] - frames.starts + 1


def _dense_rank(frames: OverFrames, _: Arguments) -> Numbers:
    places = np.arange(frames.starts.size)
    groups: Numbers = np.cumsum(frames.peers[0] == places)
    return groups - groups.take(frames.starts) + 1


def _percent_rank(frames: OverFrames, _: Arguments) -> Numbers:
    others = frames.ends - frames.starts - 1
    ranks: Numbers = (frames.peers[0] - frames.starts) / np.maximum(others, 1)
    return ranks


def _cume_dist(frames: OverFrames, _: Arguments) -> Numbers:
    return (frames.peers[1] - frames.starts + 1) / (frames.ends - frames.starts)


def _ntile(frames: OverFrames, arguments: Arguments) -> Numbers:
    """Buckets whose sizes differ by at most one. The larger ones come first."""
    buckets = arguments[0].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if (buckets <= 0).any():
        raise JobExecutionError("NTILE takes a number of buckets above 0")
    places = np.arange(frames.starts.size) - frames.starts
    small, larger = np.divmod(frames.ends - frames.starts, buckets)
    in_larger = larger * (small + 1)
    numbers: Numbers = np.where(
        places < in_larger,
        places // (small + 1),
        larger + (places - in_larger) // np.maximum(small, 1),
    )
    return numbers + 1


NUMBERING: dict[FunctionDefinition, Callable[[OverFrames, Arguments], Numbers]] = {
    built_in.ROW_NUMBER: _row_number,
    built_in.RANK: _rank,
    built_in.DENSE_RANK: _dense_rank,
    built_in.PERCENT_RANK: _percent_rank,
    built_in.CUME_DIST: _cume_dist,
    built_in.NTILE: _ntile,
}
"""Functions that number the rows of a partition."""


def shifted(frames: OverFrames, arguments: Arguments, behind: bool) -> pa.Array:
    """LAG or, with ``behind``, LEAD: the value that is a number of rows away, or the default.

    Args:
        arguments: the value, the number of rows (1 if omitted), and the default (null if omitted).
    """
    values = arguments[0]
    by: Numbers = np.ones(len(values), np.int64)
    if len(arguments) > 1:
        by = arguments[1].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    places = np.arange(len(values)) + (by if behind else -by)
    outside = (places < frames.starts) | (places >= frames.ends)
    moved = values.take(pa.array(places, mask=outside))
    if len(arguments) < 3 or not outside.any():
        return moved
    return pa.compute.if_else(pa.array(outside), arguments[2].cast(values.type), moved)
