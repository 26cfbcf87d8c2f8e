"""Intake: input of a subtask between its gate and its operators, in pieces of limited size.

Small batches are joined, since a batch costs about as much as ten records in it. Large ones are
cut, so that the loop of the worker gets its turn, and the subtasks downstream are not flooded.

A watermark comes after all records that are joined with those before it: the piece of a few
milliseconds delays it, but makes no record late. With one watermark per buffer, which is usual for
a busy source, nothing would be joined otherwise. Nothing else delays it: a batch that does not
belong to the piece waits, and the watermark after that batch has not been heard yet.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from millrace.common.types.batch import Batch, ColumnBatch, ImmutableRows, RowBatch
from millrace.runtime.buffer import Buffer, BufferKind, ends_idle
from millrace.runtime.output import Output
from millrace.runtime.resident.gate import InputGate
from millrace.runtime.subtask import Subtask
from millrace.runtime.watermark_valve import Channel

__all__ = ["Intake"]


class Intake:
    """Takes buffers from the gate of a subtask, and passes pieces of them to its operators."""

    def __init__(self, subtask: Subtask, gate: InputGate) -> None:
        self._subtask = subtask
        self._gate = gate
        self._batch: Batch | None = None
        self._at = 0
        """Records of the batch that have been processed."""
        self._input: Output | None = None
        self._columns: list[ColumnBatch] = []
        """Columnar batches that are joined to the waiting one before it is processed."""
        self._size = 0
        """Records of the waiting batch and of those that are joined to it."""
        self._rest: deque[Batch] = deque()
        """Batches of the current piece that fit into no common batch with the waiting one."""
        self._next: _Arrived | None = None
        """Batch that begins the next piece, as it did not fit into the current one."""
        self._is_watermark_due = False
        """Whether the watermark advances after the records that were taken."""
        self.takes_columns = False
        """Whether the last batch consisted of columns."""
        self.taken: dict[Channel, int] = {}
        """Records per channel that were taken, until the owner replaces the dict."""

    @property
    def is_empty(self) -> bool:
        """Whether no input waits in this object. Buffers may still wait in the gate."""
        return not (self._batch is not None or self._rest or self._next or self._is_watermark_due)

    def step(self, limit: int) -> int | None:
        """Process one piece of at most ``limit`` records, or a watermark. Returns the number of
        records; None if there is no input."""
        if self._batch is None:
            if self._rest:
                self._batch = self._rest.popleft()
            elif not self._is_watermark_due:  # further input would put it off without end
                self._fill(limit)
        batch, to = self._batch, self._input
        if batch is None:
            if not self._is_watermark_due:
                return None
            self._is_watermark_due = False
            self._subtask.pass_watermark()
            return 0
        assert to is not None
        self.takes_columns = isinstance(batch, ColumnBatch)
        left = len(batch) - self._at
        if left <= limit and not self._at:
            self._batch = None
            to.emit(batch)
            return left
        count = min(left, limit)
        piece = batch.slice(self._at, self._at + count)
        self._at += count
        if count == left:
            self._batch, self._at = None, 0
        to.emit(piece)
        return count

    def _fill(self, limit: int) -> None:
        """Take and join buffers until there are ``limit`` records, or one does not fit."""
        if self._next is not None:
            arrived, self._next = self._next, None
            self._begin(arrived)
        while not (self._next or (self._batch and self._size >= limit)):
            taken = self._gate.take()
            if taken is None:
                break
            self._take(*taken, limit)
        if self._columns:
            self._join_columns()

    def _take(self, channel: Channel, buffer: Buffer, limit: int) -> None:
        """Take a buffer. Its batch is joined, or is the next one."""
        if buffer.kind == BufferKind.STATUS:
            self._hear(channel, buffer.watermark, ends_idle(buffer))
            return
        to, batch = self._subtask.decoded(channel, buffer)
        self.taken[channel] = self.taken.get(channel, 0) + buffer.size
        arrived = _Arrived(to, batch, channel, buffer.watermark)
        if self._batch is None:
            # many pieces would put off a watermark that is due already
            if self._is_watermark_due and len(batch) > limit:
                self._next = arrived
            else:
                self._begin(arrived)
        elif self._size + len(batch) <= limit and self._input is to and self._joined(batch):
            self._size += len(batch)
            self._hear(channel, buffer.watermark)
        else:
            self._next = arrived

    def _begin(self, arrived: _Arrived) -> None:
        """Begin a piece."""
        self._input, self._batch, self._size = arrived.to, arrived.batch, len(arrived.batch)
        self._hear(arrived.channel, arrived.watermark)

    def _hear(self, channel: Channel, watermark: int, idle: bool = False) -> None:
        if self._subtask.hear(channel, watermark, idle):
            self._is_watermark_due = True

    def _joined(self, batch: Batch) -> bool:
        """Join a batch to the waiting one, if they are alike."""
        first = self._batch
        if isinstance(first, ColumnBatch) and isinstance(batch, ColumnBatch):
            is_alike = batch.same_columns(first)
            if is_alike:
                self._columns.append(batch)
            return is_alike
        if not isinstance(first, RowBatch) or not isinstance(batch, RowBatch):
            return False
        if (first.timestamps is None) is not (batch.timestamps is None):
            return False
        if isinstance(first, ImmutableRows) and not isinstance(batch, ImmutableRows):
            first = self._batch = RowBatch(first.values, first.timestamps)
        first.values += batch.values
        if first.timestamps is not None and batch.timestamps is not None:
            first.timestamps += batch.timestamps
        return True

    def _join_columns(self) -> None:
        """Join all waiting columnar batches to one."""
        from millrace.runtime.column_partitions import joined

        assert isinstance(self._batch, ColumnBatch)
        waiting, self._columns = [self._batch, *self._columns], []
        # dictionaries with small indices may have too many values for one batch
        self._batch, *others = joined(waiting)
        self._rest.extend(others)


class _Arrived(NamedTuple):
    """A batch that arrived in a buffer.

    Args:
        to: input to which the batch goes.
        watermark: watermark after the batch, which the subtask has not heard.
    """

    to: Output
    batch: Batch
    channel: Channel
    watermark: int
