"""`OverFrames`: the frame of each row. The rows are sorted by partition and order.

A frame is a run of rows, given by its first and its last place; it is empty if the last one is
before the first. Semantics: SQL's ROWS and RANGE; Flink: ``OverWindowFrame``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.table_runtime.ranking import Numbers

__all__ = ["FrameBounds", "OverFrames"]


@dataclass(frozen=True)
class FrameBounds:
    """Bounds of OVER frames.

    Attributes:
        rows: whether the bounds count rows (ROWS). Else they are distances in the values of the
            order (RANGE); for times in ms.
        preceding: distance of the first row before the current row; negative if it is after it.
            None if the frame begins with the partition.
        following: distance of the last row after the current row; negative if it is before it.
            None if the frame ends with the partition.
    """

    rows: bool
    preceding: int | None
    following: int | None


@dataclass(frozen=True)
class OverFrames:
    """Frames of sorted rows, and the positions that rank numbers are computed from.

    Attributes:
        starts: position of the first row of each row's partition.
        ends: position after the last row of the partition.
        peers: first and last row that are equal in the order.
    """

    starts: Numbers
    ends: Numbers
    peers: tuple[Numbers, Numbers]

    @classmethod
    def of(cls, owners: Numbers, differs: npt.NDArray[np.bool_]) -> OverFrames:
        """Frames of rows, given their partition numbers and, for each row, whether its order
        differs from that of the row before.
        """
        count = owners.size
        begins = np.ones(count, np.bool_)
        begins[1:] = owners[1:] != owners[:-1]
        starts, ends = _runs(begins)
        first, behind = _runs(begins | differs)
        return cls(starts, ends, (first, behind - 1))

    def bounds(
        self, bounds: FrameBounds, order: pa.Array | None, ascending: bool
    ) -> tuple[Numbers, Numbers]:
        """First and last row of each row's frame. For an empty frame, the last row is before the
        first.

        Args:
            order: the only column of the order, for bounds of values.
        """
        places = np.arange(self.starts.size)
        if bounds.rows:
            first = self.starts if bounds.preceding is None else places - bounds.preceding
            last = self.ends - 1 if bounds.following is None else places + bounds.following
            return np.maximum(first, self.starts), np.minimum(last, self.ends - 1)
        first, last = self.peers
        if bounds.preceding is None:
            first = self.starts
        elif bounds.preceding:
            first = self._found(order, ascending, -bounds.preceding, "left")
        if bounds.following is None:
            last = self.ends - 1
        elif bounds.following:
            last = self._found(order, ascending, bounds.following, "right") - 1
        # distances may be negative: where the last row would be before the first, there is none
        return first, np.maximum(last, first - 1)

    def _found(self, order: pa.Array | None, ascending: bool, distance: int, side: str) -> Numbers:
        """For each row, the sorted position at which its order value plus ``distance`` would be
        inserted into its partition. A row with NULL gets the start or end of the partition's
        NULL rows."""
        values, valid = _numbers(order)
        values = values if ascending else -values
        # in one line of numbers: by partition, and within it those with a value apart
        block = 2 * np.cumsum(np.diff(self.starts, prepend=0) != 0)
        flips = np.flatnonzero(np.diff(valid.astype(np.int8), prepend=valid[:1]) != 0)
        block[:] = np.cumsum(_marks(block.size, flips) | (np.diff(block, prepend=0) != 0))
        wanted = np.where(valid, values + distance, values)
        ranks = np.unique(np.concatenate([values, wanted]), return_inverse=True)[1]
        width = int(ranks.max(initial=0)) + 1
        line = block * width + ranks[: values.size]
        query = block * width + ranks[values.size :]
        positions: Numbers = np.searchsorted(line, query, side=side)  # type: ignore[call-overload]
        return positions


def _marks(count: int, places: Numbers) -> npt.NDArray[np.bool_]:
    made = np.zeros(count, np.bool_)
    made[places] = True
    return made


def _runs(begins: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Start of each row's run, and the position after its end."""
    first = np.flatnonzero(begins)
    sizes = np.diff(first, append=begins.size)
    return np.repeat(first, sizes), np.repeat(first + sizes, sizes)


def _numbers(column: pa.Array | None) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Values of the order column as numbers; times in ms. 0 for NULL."""
    if column is None:
        raise JobExecutionError("RANGE with a bound needs one column to order by")
    kind = column.type
    valid: npt.NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        column = column.cast(pa.timestamp("ms", getattr(kind, "tz", None)), safe=False)
        column = column.view(pa.int64())
    elif pa.types.is_time(kind):
        column = column.cast(pa.time32("ms"), safe=False).view(pa.int32())
    elif pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    kind_of = np.float64 if values.dtype.kind == "f" else np.int64
    return values.astype(kind_of), valid
