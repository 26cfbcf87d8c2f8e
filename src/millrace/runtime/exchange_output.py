"""Exchange outputs: common base of the exchanges, which distribute records among subtasks in
buffers.

Rows wait per target until a buffer is full; columns wait undivided, until there are enough to make
a full buffer for every target. A watermark does not force buffers out: it goes with the next one
(that only delays it), and at the end of the epoch with the END buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from millrace.common.functions.runtime_context import RuntimeContext
from millrace.common.types.batch import Batch, ColumnBatch, ImmutableRows, RowBatch
from millrace.runtime.buffer import MIN_WATERMARK, Buffer, BufferKind, end_of, status_of
from millrace.runtime.detached import are_immutable
from millrace.runtime.program import JobEdge
from millrace.state.serialization.payload import encode_records

if TYPE_CHECKING:
    from millrace.runtime.column_stream import ColumnStreamWriter

_FEWEST_TARGETS = 16
"""Minimum number of targets for which columns wait until they fill buffers."""
_MOST_BYTES = 16 << 20
"""Maximum number of bytes of waiting columns, and of one buffer with more than one record."""

_UNKNOWN_STATUS = (MIN_WATERMARK - 1, False)
"""Status that differs from all that targets are told of."""


class ExchangeOutput:
    """Common base of all exchanges: waiting records, full buffers, the end of an epoch."""

    def __init__(self, edge: JobEdge, channel: int, targets: int, buffer_records: int) -> None:
        self._edge = edge.id
        self._channel = channel
        self._targets = targets
        self.tasks = targets
        """Number of tasks that run the targets. Target n is part of task n modulo this number."""
        self.hands_over = False
        """Whether targets of the same task get immutable records as they are, since they are in
        this process."""
        self._limit = buffer_records
        self._attempt = 0
        self._timed = False
        self._sent = [0] * targets
        self._values: list[list[Any]] = [[] for _ in range(targets)]
        self._timestamps: list[list[int]] = [[] for _ in range(targets)]
        self._columns: list[ColumnBatch] = []
        self._column_rows = self._column_bytes = 0
        self._watermark_before = MIN_WATERMARK
        """Watermark when the first of the waiting columns came. They may be sent in several pieces,
        and a later watermark on the first piece would make records of the others late."""
        self._streams: dict[int, ColumnStreamWriter] = {}
        self.watermark = MIN_WATERMARK
        self.restored_watermark = MIN_WATERMARK
        """Watermark that the operator had reached when its state was restored."""
        self._told = (MIN_WATERMARK, False)
        """Last watermark and status that all targets were told of."""
        self.full: list[Buffer] = []
        """Buffers ready to be sent. The subtask takes them from here."""
        self.records = 0

    def open(self, context: RuntimeContext) -> None:
        """Open the user's code of this exchange, if there is any. ``context`` is the operator's
        runtime context."""

    def close(self) -> None:
        """Close the user's code of this exchange."""

    def begin_epoch(self, epoch: int, attempt: int) -> None:
        """Start counting for a new epoch, run by this task attempt."""
        self._attempt = attempt
        self._timed = False
        # receivers know what was sent in accepted epochs; an aborted one must not leak in
        self.watermark = self.restored_watermark
        self._sent = [0] * self._targets
        for waiting in (*self._values, *self._timestamps):
            waiting.clear()
        self._columns = []
        self._column_rows = self._column_bytes = 0
        self._streams = {}
        self._told = (MIN_WATERMARK, False)
        self.full.clear()
        self.records = 0

    @property
    def has_emitted(self) -> bool:
        """Whether the operator has emitted records in this epoch."""
        return self.records > 0 or bool(self._columns) or any(self._values)

    def emit(self, batch: Batch) -> None:
        """Distribute a batch among the targets."""
        if isinstance(batch, RowBatch):
            if self._columns:
                self._flush_columns()
            self.spread(batch.values, batch.timestamps)
        elif len(batch):
            self._gather(batch)

    def spread(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Distribute records among the targets."""
        raise NotImplementedError

    def divide(self, batch: ColumnBatch) -> Iterable[tuple[int, ColumnBatch]]:
        """Divide a columnar batch: pairs of a target and its part."""
        raise NotImplementedError

    def emit_watermark(self, timestamp: int) -> None:
        """Remember the watermark, which is sent with the next buffer."""
        self.watermark = timestamp

    def end_epoch(self, idle: bool) -> None:
        """Send the waiting records, and the END buffer to every task."""
        self.flush()
        for task in range(min(self.tasks, self._targets)):
            sent = self._sent[task :: self.tasks]
            end = end_of(task, self._edge, self._channel, self._attempt, self.watermark, idle, sent)
            self.full.append(end)

    def send_status(self, idle: bool) -> None:
        """Send the watermark and the status to every task immediately, if they have changed.
        Called after `flush`."""
        status = (self.watermark, idle)
        if status == self._told:
            return
        self._told = status
        for task in range(min(self.tasks, self._targets)):
            self.full.append(
                status_of(task, self._edge, self._channel, self._attempt, self.watermark, idle)
            )

    def flush(self) -> None:
        """Send the waiting records."""
        if self._columns:
            self._flush_columns()
        self._flush_rows()

    # -- rows --------------------------------------------------------------------------------

    def _expect(self, timestamps: list[int] | None) -> None:
        """Send the waiting records first, if the new records differ from them in having event
        times or not: records with and without event times never share a buffer."""
        timed = timestamps is not None
        if timed is not self._timed:
            self._flush_rows()
            self._timed = timed

    def _flush_full(self) -> None:
        limit = self._limit
        for target, values in enumerate(self._values):
            if len(values) >= limit:
                self._flush(target)

    def _flush_rows(self) -> None:
        for target in range(self._targets):
            self._flush(target)

    def _flush(self, target: int) -> None:
        values = self._values[target]
        if not values:
            return
        timestamps = self._timestamps[target]
        if self._is_handed_to(target) and are_immutable(values):
            rows = ImmutableRows(values.copy(), timestamps.copy() if timestamps else None)
            self._hand_over(target, rows, self.watermark)
        else:
            self._append_rows(target, values, timestamps if timestamps else None, self.watermark)
        self.records += len(values)
        # cleared in place: the append methods of these lists are remembered per key
        values.clear()
        timestamps.clear()

    def _append_rows(
        self, target: int, values: list[Any], timestamps: list[int] | None, watermark: int
    ) -> None:
        """Add a buffer of rows; several if they are big. The watermark goes with the last one, so
        that it makes no record late."""
        payload = encode_records(values, timestamps)
        half = len(values) // 2
        if len(payload) <= _MOST_BYTES or not half:
            self._append(target, BufferKind.RECORDS, watermark, len(values), payload)
            return
        del payload  # before its parts are made
        for part, mark in ((slice(half), MIN_WATERMARK), (slice(half, None), watermark)):
            self._append_rows(target, values[part], timestamps and timestamps[part], mark)

    # -- columns -----------------------------------------------------------------------------

    def _gather(self, batch: ColumnBatch) -> None:
        """Add a batch to the waiting columns. Dividing many records together makes few buffers
        instead of many small ones."""
        self._flush_rows()
        if self._columns and not batch.same_columns(self._columns[0]):
            self._flush_columns()
        if not self._columns:
            self._watermark_before = self.watermark
        self._columns.append(batch)
        self._column_rows += len(batch)
        self._column_bytes += batch.data.nbytes
        enough = self._limit * max(self._targets, _FEWEST_TARGETS)
        if self._column_rows >= enough or self._column_bytes >= _MOST_BYTES:
            self._flush_columns()

    def _flush_columns(self) -> None:
        from millrace.runtime.column_partitions import joined

        waiting, self._columns = self._columns, []
        self._column_rows = self._column_bytes = 0
        for batch in joined(waiting):
            self.send_columns(batch)

    def send_columns(self, batch: ColumnBatch) -> None:
        """Divide a columnar batch and send the parts."""
        for target, part in self.divide(batch):
            self._send([target], part)

    def _send(self, targets: Sequence[int], batch: ColumnBatch) -> None:
        """Send the same columns to some targets, which always get the same columns."""
        here = [target for target in targets if self._is_handed_to(target)]
        others = [target for target in targets if target not in here] if here else targets
        if here:
            from millrace.runtime.column_stream import check_columns

            check_columns(batch.data.schema)
        for piece in _bounded(batch):
            self.records += len(piece) * len(targets)
            for target in here:
                self._hand_over(target, piece, self._watermark_before)
            if others:
                payload, kind = self._encoded(others[0], piece)
            for target in others:
                self._append(target, kind, self._watermark_before, len(piece), payload)

    def _is_handed_to(self, target: int) -> bool:
        return self.hands_over and target % self.tasks == self._channel % self.tasks

    def _hand_over(self, target: int, batch: Batch, watermark: int) -> None:
        self._append(target, BufferKind.HANDED_OVER, watermark, len(batch), b"", batch)

    def _encoded(self, stream: int, batch: ColumnBatch) -> tuple[bytes, BufferKind]:
        writer = self._streams.get(stream)
        if writer is not None and writer.fits(batch):
            return writer.write(batch), BufferKind.COLUMNS
        from millrace.runtime.column_stream import ColumnStreamWriter

        writer = self._streams[stream] = ColumnStreamWriter(batch)
        return writer.write(batch), BufferKind.COLUMNS_BEGIN

    def _append(
        self,
        target: int,
        kind: BufferKind,
        watermark: int,
        count: int,
        payload: bytes,
        batch: Batch | None = None,
    ) -> None:
        sequence = self._sent[target]
        self._sent[target] = sequence + 1
        if self._told[1]:  # this target now takes the channel for an active one, the others do not
            self._told = _UNKNOWN_STATUS
        self.full.append(
            Buffer(
                target, self._edge, self._channel, self._attempt, sequence, kind,
                watermark, count, payload, batch,
            )
        )  # fmt: skip


def _bounded(batch: ColumnBatch) -> Iterator[ColumnBatch]:
    """The batch, in pieces if it is big."""
    rows = len(batch)
    step = max(1, rows * _MOST_BYTES // max(batch.data.nbytes, _MOST_BYTES))
    if step >= rows:
        yield batch
        return
    for start in range(0, rows, step):
        yield batch.slice(start, min(start + step, rows))
