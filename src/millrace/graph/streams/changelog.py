"""Changes of results as rows of a changelog, and the pace at which operators emit them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from millrace.common.types.batch import BatchForm, ColumnBatch
from millrace.runtime.operator import Operator

__all__ = ["SHARE", "PacedOperator", "changelog"]

_INSERT, _UPDATE_BEFORE, _UPDATE_AFTER, _DELETE = range(4)
SHARE = 4
"""Times as long as the last round of results an operator waits for further changes before the next
one."""

Mask = npt.NDArray[np.bool_]


def changelog(
    schema: pa.Schema,
    old: Sequence[pa.Array],
    new: Sequence[pa.Array],
    before: Mask,
    now: Mask,
) -> ColumnBatch | None:
    """Changes of result rows, each as an update, or a deletion of the former row and an insert of
    the new row. None if there are no changes.

    Args:
        schema: columns of the rows.
        old: columns of the former rows, undefined where there was none.
        new: columns of the present rows, undefined where there is none.
        before: whether there was a row.
        now: whether there is a row.
    """
    gone, came = pa.array(before), pa.array(now)
    columns = [
        pa.concat_arrays([one.filter(gone).cast(field.type), two.filter(came).cast(field.type)])
        for one, two, field in zip(old, new, schema, strict=True)
    ]
    kinds = np.concatenate(
        [
            np.where(now[before], _UPDATE_BEFORE, _DELETE),
            np.where(before[now], _UPDATE_AFTER, _INSERT),
        ]
    ).astype(np.int8)
    if not kinds.size:
        return None
    data = pa.RecordBatch.from_arrays(columns, schema=schema)
    return ColumnBatch(data, None, pa.array(kinds) if kinds.any() else None, "row")


class PacedOperator(Operator):
    """Base of operators that compute results only at intervals, because computing a result costs
    more than processing the changes that lead to it.

    Within an epoch, results are given when there is no more input for now, but not again before
    several times the duration of the last round has passed. At the end of an epoch they are always
    up to date.
    """

    takes = BatchForm.COLUMNS

    def open(self) -> None:
        self._due = 0
        self._wakeup: int | None = None

    @abstractmethod
    def has_changes(self) -> bool:
        """Whether anything has changed since the last round."""

    @abstractmethod
    def give_results(self) -> None:
        """Bring the results up to date, and emit their changes."""

    def flush(self) -> None:
        if not self.has_changes():
            return
        if self.context.clock() < self._due:
            self._wakeup = self._due
        else:
            self._run()

    def advance_processing_time(self, now: int) -> None:
        if self._wakeup is not None and now >= self._wakeup:
            self._wakeup = None
            if self.has_changes():
                self._run()

    def next_wakeup(self) -> int | None:
        return self._wakeup

    def end_epoch(self, ended: bool) -> None:
        self._wakeup = None
        if self.has_changes():
            self._run()

    def _run(self) -> None:
        began = time.perf_counter()
        self.give_results()
        seconds = time.perf_counter() - began
        self._due = self.context.clock() + round(1000 * SHARE * seconds)
