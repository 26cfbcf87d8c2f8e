"""OVER functions without a frame, such as rank numbers, for all rows of sorted partitions at
once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from millrace.common.errors import JobExecutionError
from millrace.expressions import built_in
from millrace.expressions.function_definition import FunctionDefinition
from millrace.table_runtime.over_frames import OverFrames
from millrace.table_runtime.ranking import Numbers

__all__ = ["NUMBERING", "shifted"]

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
    found: Numbers = (frames.peers[0] - frames.starts) / np.maximum(others, 1)
    return found


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
    found: Numbers = np.where(
        places < in_larger,
        places // (small + 1),
        larger + (places - in_larger) // np.maximum(small, 1),
    )
    return found + 1


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
    """LAG, or LEAD with ``behind``: the value a number of rows away, or the default.

    Args:
        arguments: the value, the number of rows (1 if omitted), and the default (null if omitted).
    """
    values = arguments[0]
    by: Numbers = np.ones(len(values), np.int64)
    if len(arguments) > 1:
        by = arguments[1].cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    places = np.arange(len(values)) + (by if behind else -by)
    outside = (places < frames.starts) | (places >= frames.ends)
    found = values.take(pa.array(places, mask=outside))
    if len(arguments) < 3 or not outside.any():
        return found
    return pa.compute.if_else(pa.array(outside), arguments[2].cast(values.type), found)
