"""Write-ahead logs of sinks that write by key: writes wait until a checkpoint contains them.

A sink that writes at once leaves what a lost epoch has written, and the repeated epoch need not
touch the same keys. With a log, an epoch's writes are its committables: the checkpoint contains
them, and only then the subtask makes them. Made again after a failure, they leave the same rows.
Flink: ``GenericWriteAheadSink``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from millrace.common.compression import compressed, decompressed
from millrace.common.errors import JobExecutionError, MillraceError
from millrace.common.sink import (
    CommitMode,
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
    WriterEpoch,
)
from millrace.common.types.batch import Batch, ColumnBatch, RowBatch
from millrace.state.serialization.payload import decode, encode, encode_records

__all__ = ["LoggedEpoch", "RepeatableSink", "WriteAheadSink", "WriteAheadWriter"]

_ROWS, _STREAM, _COLUMNS = range(3)
"""Kinds of payloads: rows; the beginning of a stream of columns, and its next batch."""


class LoggedEpoch(NamedTuple):
    """Writes of one subtask in one epoch: a committable."""

    size: int
    """Size before the compression, in bytes."""
    compressed: bytes

    @staticmethod
    def of(payloads: Sequence[tuple[int, bytes]]) -> LoggedEpoch:
        """A log of payloads, each with its kind."""
        raw = encode(list(payloads))
        return LoggedEpoch(len(raw), compressed(raw))

    def batches(self) -> list[Batch]:
        """The logged batches."""
        from millrace.runtime.column_stream import ColumnStreamReader

        columns = ColumnStreamReader()
        batches: list[Batch] = []
        for kind, payload in decode(decompressed(self.compressed, self.size)):
            if kind == _ROWS:
                batches.append(RowBatch(*decode(payload)))
                continue
            if kind == _STREAM:
                columns = ColumnStreamReader()
            batches.append(columns.read(payload))
        return batches


class WriteAheadWriter(SinkWriter[Any]):
    """Logs batches. When their checkpoint is complete, another writer writes them directly.

    Args:
        create: function that creates the writer, before the first write.
        run_id: id of the run, for the names of the writer's epochs.
    """

    def __init__(self, create: Callable[[], SinkWriter[Any]], run_id: str) -> None:
        self._create = create
        self._run_id = run_id
        self._payloads: list[tuple[int, bytes]] = []
        self._stream: Any = None
        """Encoder of columns of one schema. None if the log has no columns yet."""
        self._writer: SinkWriter[Any] | None = None
        self._epoch = WriterEpoch(0, "", 0)

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._epoch = epoch

    def write(self, batch: RowBatch[Any]) -> None:
        self._payloads.append((_ROWS, encode_records(batch.values, batch.timestamps)))

    def write_columns(self, batch: ColumnBatch) -> None:
        from millrace.runtime.column_stream import ColumnStreamWriter

        kind = _COLUMNS
        if self._stream is None or not self._stream.fits(batch):
            kind, self._stream = _STREAM, ColumnStreamWriter(batch)
        self._payloads.append((kind, self._stream.write(batch)))

    def prepare_commit(self, end_of_input: bool) -> Sequence[tuple[Any, ...]]:
        if not self._payloads:
            return ()
        logged, self._payloads, self._stream = LoggedEpoch.of(self._payloads), [], None
        return (tuple(logged),)

    def write_logged(self, logged: LoggedEpoch) -> None:
        """Write the batches of an epoch whose checkpoint is complete."""
        writer = self._writer = self._writer or self._create()
        number, attempt, now = self._epoch
        writer.begin_epoch(WriterEpoch(number, f"{attempt or self._run_id}-logged", now))
        for batch in logged.batches():
            if isinstance(batch, ColumnBatch):
                writer.write_columns(batch)
            else:
                writer.write(batch)
        writer.flush(False)
        writer.prepare_commit(False)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _WriteAheadCommitter(Committer):
    """Executes the logged writes, in the order of their epochs.

    Args:
        writer: the subtask's writer.
    """

    def __init__(self, writer: WriteAheadWriter) -> None:
        self._writer = writer

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        """Make the writes.

        Raises:
            JobExecutionError: a write failed. The job fails, as when a sink writes at once: writes
                that were tried again alone would come after later ones to the same keys.
        """
        for request in requests:
            try:
                self._writer.write_logged(LoggedEpoch(*request.committable))
            except MillraceError:
                raise
            except Exception as error:
                raise JobExecutionError(
                    f"writes of a complete checkpoint failed: {type(error).__name__}: {error}"
                ) from error


class RepeatableSink(Sink[Any]):
    """Base of sinks whose writes may be repeated, because each record replaces the record with the
    same key.
    """

    @property
    def writes_ahead(self) -> bool:
        """Whether writes wait for their checkpoint."""
        raise NotImplementedError

    def create_direct_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """A writer that writes directly, and leaves nothing to commit."""
        raise NotImplementedError

    @property
    def commit_mode(self) -> CommitMode:
        return CommitMode.IN_SUBTASK if self.writes_ahead else super().commit_mode

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        if not self.writes_ahead:
            return self.create_direct_writer(context)
        return WriteAheadWriter(lambda: self.create_direct_writer(context), context.run_id)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        if not self.writes_ahead:
            return None
        assert isinstance(context.writer, WriteAheadWriter)
        return _WriteAheadCommitter(context.writer)


class WriteAheadSink(RepeatableSink):
    """Any sink that writes by key and at least once, behind a write-ahead log.

    Args:
        sink: the sink.
    """

    writes_ahead = True

    def __init__(self, sink: Sink[Any]) -> None:
        self._sink = sink
        self.takes = sink.takes

    def __repr__(self) -> str:
        return repr(self._sink)

    @property
    def exclusive_id(self) -> str | None:
        return self._sink.exclusive_id

    def create_direct_writer(self, context: WriterContext) -> SinkWriter[Any]:
        return self._sink.create_writer(context, None)
