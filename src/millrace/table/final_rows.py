"""`final_rows`: the final rows of a changelog, as an Arrow table."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from millrace.common.types.logical.logical_type import RowType
from millrace.state.columns.fingerprints import fingerprints
from millrace.state.columns.key_columns import first_rows
from millrace.table_runtime.columns import schema_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

__all__ = ["final_rows"]

_TAKES_BACK = (1, 3)
"""Numbers of the kinds of rows that take one back: UPDATE_BEFORE and DELETE."""


def final_rows(changes: Iterable[tuple[Any, Any]], row_type: RowType) -> pyarrow.Table:
    """Rows that were added and not retracted, in the order of their arrival. If there are equal
    rows, the last one is retracted first.

    Args:
        changes: batches of columns by position, with the numbers of their row kinds; None instead
            of the numbers if all rows are added.

    Example:
        >>> import pyarrow as pa
        >>> from millrace.common.types.logical.logical_type import BigIntType
        >>> batch = pa.record_batch([pa.array([1, 2, 1])], ["0"])
        >>> kinds = pa.array([0, 0, 3], pa.int8())
        >>> final_rows([(batch, kinds)], RowType.of(("n", BigIntType()))).to_pylist()
        [{'n': 2}]
    """
    import numpy as np
    import pyarrow as pa

    schema, batches, signs = schema_of(row_type), [], []
    for data, kinds in changes:
        batches.append(pa.RecordBatch.from_arrays(data.columns, schema=schema))
        numbers = None if kinds is None else kinds.to_numpy(zero_copy_only=False)
        taken = np.zeros(data.num_rows, bool) if numbers is None else np.isin(numbers, _TAKES_BACK)
        signs.append(np.where(taken, -1, 1))
    rows = pa.Table.from_batches(batches, schema)
    sign = np.concatenate(signs) if signs else np.zeros(0, np.int64)
    if not (sign < 0).any():
        return rows
    [whole] = rows.combine_chunks().to_batches()
    seeds = (secrets.randbits(64), secrets.randbits(64))
    numbers = first_rows(fingerprints(whole.columns, rows.num_rows, seeds))[1]
    return rows.take(pa.array(_left(numbers, sign)))


def _left(numbers: npt.NDArray[Any], sign: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Positions of the remaining rows, where each retraction removes the last equal row before it.

    Per distinct row, the number of those there are is a walk up and down; a row is left if the walk
    never comes below its height again.
    """
    import numpy as np

    order = np.argsort(numbers, kind="stable")
    steps, of = sign[order], numbers[order]
    # walks of distinct rows lie so far apart that one pass over all of them keeps them apart
    apart = of.astype(np.int64) * (2 * len(of) + 2)
    heights = np.cumsum(steps)
    begins = np.concatenate(([True], of[1:] != of[:-1]))
    before = (heights - steps)[begins]
    heights = heights - before[np.cumsum(begins) - 1]
    # what is taken back and was not there does not count
    lowest = np.minimum.accumulate(np.minimum(heights, 0) - apart) + apart
    heights = heights - lowest
    later = np.minimum.accumulate((heights + apart)[::-1])[::-1] - apart
    return np.sort(order[(steps > 0) & (later >= heights)])
