"""`OverFrames`: the frame of each row, for rows in order, those of a partition together.

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
    """Where frames begin and end.

    Attributes:
        rows: whether bounds count rows, else they are of the values of the order (ms of times).
        preceding: so far before the row, or with a minus behind it; None: all before.
        following: so far behind the row, or with a minus before it; None: all behind.
    """

    rows: bool
    preceding: int | None
    following: int | None


@dataclass(frozen=True)
class OverFrames:
    """Frames of rows, and what their numbers are made of.

    Attributes:
        starts: the place of the first row of each row's partition.
        ends: that behind its last row.
        peers: the first and the last row that is equal in the order.
    """

    starts: Numbers
    ends: Numbers
    peers: tuple[Numbers, Numbers]

    @classmethod
    def of(cls, owners: Numbers, differs: npt.NDArray[np.bool_]) -> OverFrames:
        """Of rows with the numbers of their partitions, and whether they differ in the order from
        the row before."""
        count = owners.size
        begins = np.ones(count, np.bool_)
        begins[1:] = owners[1:] != owners[:-1]
        starts, ends = _runs(begins)
        first, behind = _runs(begins | differs)
        return cls(starts, ends, (first, behind - 1))

    def bounds(
        self, bounds: FrameBounds, order: pa.Array | None, ascending: bool
    ) -> tuple[Numbers, Numbers]:
        """The first and the last row of each row's frame; the last before the first: none.

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
        """Where in each row's partition a value would stand that is so far from its own; of rows
        without a value, those without."""
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
        found: Numbers = np.searchsorted(line, query, side=side)  # type: ignore[call-overload]
        return found


def _marks(count: int, places: Numbers) -> npt.NDArray[np.bool_]:
    made = np.zeros(count, np.bool_)
    made[places] = True
    return made


def _runs(begins: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Of each row, the place where its run begins, and that behind its end."""
    first = np.flatnonzero(begins)
    sizes = np.diff(first, append=begins.size)
    return np.repeat(first, sizes), np.repeat(first + sizes, sizes)


def _numbers(column: pa.Array | None) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """The values of an order as numbers, of times in ms; 0 for null."""
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
