"""Times of rows and bounds of windows, in ms and as columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.errors import JobExecutionError

__all__ = ["required_times", "window_property"]


def required_times(column: pa.Array, operator: str) -> npt.NDArray[np.int64]:
    """Times of rows. Every row must have one.

    Raises:
        JobExecutionError: one is null.
    """
    if column.null_count:
        raise JobExecutionError(
            f"operator '{operator}' got a row whose time is null, and so is in no "
            "window; filter such rows: WHERE time IS NOT NULL"
        )
    times: npt.NDArray[np.int64] = (
        column.cast(pa.timestamp("ms", column.type.tz), safe=False)
        .view(pa.int64())
        .to_numpy(zero_copy_only=False)
    )
    return times


def window_property(times: npt.NDArray[np.int64]) -> pa.Array:
    """Arrow column of window starts, ends or times."""
    return pa.array(times).cast(pa.timestamp("ms"))
