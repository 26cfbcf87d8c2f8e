"""Gathered rows: small row batches for one input, joined to one batch before processing."""

from __future__ import annotations

from typing import Any

from millrace.common.types.batch import Batch, ImmutableRows, RowBatch
from millrace.runtime.output import Output


class GatheredRows:
    """Consecutive row batches for the same input, with no watermark between them.

    With many producers each sends a few records only, and a batch costs about as much as ten
    records in it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._input: Output | None = None
        self._values: list[Any] = []
        self._timestamps: list[int] | None = None
        self._kind: type[RowBatch[Any]] = RowBatch

    def add(self, to: Output, batch: Batch) -> None:
        """Add a decoded batch for an input. Columns are passed on immediately."""
        if not isinstance(batch, RowBatch):
            self.hand_on()
            to.emit(batch)
            return
        timed = batch.timestamps is not None
        if to is not self._input or timed is not (self._timestamps is not None):
            self.hand_on()
            self._input, self._values, self._timestamps = to, batch.values, batch.timestamps
            self._kind = ImmutableRows if isinstance(batch, ImmutableRows) else RowBatch
        else:
            self._values += batch.values
            if not isinstance(batch, ImmutableRows):
                self._kind = RowBatch
            if self._timestamps is not None and batch.timestamps is not None:
                self._timestamps += batch.timestamps
        if len(self._values) >= self._limit:
            self.hand_on()

    def hand_on(self) -> None:
        """Process the gathered rows as one batch."""
        to, self._input = self._input, None
        if to is not None:
            to.emit(self._kind(self._values, self._timestamps))
