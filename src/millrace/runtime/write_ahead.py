"""Write-ahead logs of sinks that write by key: writes wait until a checkpoint contains them.

A sink that writes at once leaves what a lost epoch has written, and the repeated epoch need not
touch the same keys. With a log, an epoch's writes are its committables: the checkpoint contains
them, and only then the subtask makes them. Made again after a failure, they leave the same rows.
Flink: ``GenericWriteAheadSink``.

The log has entries, which a `LoggableWriter` has made of the records: what cannot be written fails
its epoch, as without a log, and not the commit of a checkpoint that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

__all__ = [
    "LoggableWriter",
    "LoggedEpoch",
    "RepeatableSink",
    "WriteAheadSink",
    "WriteAheadWriter",
]

_ROWS, _STREAM, _COLUMNS, _ENTRIES = range(4)
"""Kinds of payloads: rows; the beginning of a stream of columns, and its next batch; entries."""


class LoggableWriter(SinkWriter[Any]):
    """Base of writers that turn records into entries, and write the entries either immediately or
    from a log.

    Functions of the user are called once for each record, and the entries that they make are
    written, however often that is repeated.
    """

    def entries(self, batch: Batch) -> Any:
        """Entries of a batch, which can be encoded. None if there are none.

        Raises:
            Exception: a record cannot be written.
        """
        raise NotImplementedError

    def last_entries(self) -> Any:
        """Entries that are known only at the end of an epoch. None if there are none."""
        return None

    def write_entries(self, entries: Any) -> None:
        """Write entries to the external system."""
        raise NotImplementedError

    def write(self, batch: RowBatch[Any]) -> None:
        self._write(self.entries(batch))

    def write_columns(self, batch: ColumnBatch) -> None:
        self._write(self.entries(batch))

    def flush(self, end_of_input: bool) -> None:
        self._write(self.last_entries())
        super().flush(end_of_input)

    def _write(self, entries: Any) -> None:
        if entries is not None:
            self.write_entries(entries)


class LoggedEpoch(NamedTuple):
    """Committable of a write-ahead log: the writes of one subtask in one epoch."""

    size: int
    """Size before the compression, in bytes."""
    compressed: bytes

    @staticmethod
    def of(payloads: Sequence[tuple[int, bytes]]) -> LoggedEpoch:
        """A committable with the given payloads and the kind of each."""
        raw = encode(list(payloads))
        return LoggedEpoch(len(raw), compressed(raw))

    def write(self, writer: SinkWriter[Any]) -> None:
        """Write the batches of the log."""
        for kind, logged in self._logged():
            if kind == _ENTRIES:
                assert isinstance(writer, LoggableWriter)
                writer.write_entries(logged)
            elif kind == _ROWS:
                writer.write(logged)
            else:
                writer.write_columns(logged)

    def _logged(self) -> Iterator[tuple[int, Any]]:
        """Entries and batches, with their kinds."""
        from millrace.runtime.column_stream import ColumnStreamReader

        columns = ColumnStreamReader()
        for kind, payload in decode(decompressed(self.compressed, self.size)):
            if kind == _ENTRIES:
                yield kind, decode(payload)
            elif kind == _ROWS:
                yield kind, RowBatch(*decode(payload))
            else:
                if kind == _STREAM:
                    columns = ColumnStreamReader()
                yield kind, columns.read(payload)


class WriteAheadWriter(SinkWriter[Any]):
    """Logs the entries that another writer makes of batches, and writes them when the checkpoint is
    complete.

    Of a writer that makes no entries, the batches themselves are logged.

    Args:
        create: function that creates the writer, before the first batch.
        run_id: id of the run, for the names of the writer's epochs.
    """

    def __init__(self, create: Callable[[], SinkWriter[Any]], run_id: str) -> None:
        self._create = create
        self._run_id = run_id
        self._payloads: list[tuple[int, bytes]] = []
        self._stream: Any = None
        """Encoder of columns of one schema. None if the log has no columns yet."""
        self._known_writer: SinkWriter[Any] | None = None
        self._epoch = WriterEpoch(0, "", 0)

    def begin_epoch(self, epoch: WriterEpoch) -> None:
        self._epoch = epoch

    def write(self, batch: RowBatch[Any]) -> None:
        writer = self._writer()
        if isinstance(writer, LoggableWriter):
            self._log(writer.entries(batch))
        else:
            self._payloads.append((_ROWS, encode_records(batch.values, batch.timestamps)))

    def write_columns(self, batch: ColumnBatch) -> None:
        from millrace.runtime.column_stream import ColumnStreamWriter

        writer = self._writer()
        if isinstance(writer, LoggableWriter):
            self._log(writer.entries(batch))
            return
        kind = _COLUMNS
        if self._stream is None or not self._stream.fits(batch):
            kind, self._stream = _STREAM, ColumnStreamWriter(batch)
        self._payloads.append((kind, self._stream.write(batch)))

    def prepare_commit(self, end_of_input: bool) -> Sequence[tuple[Any, ...]]:
        writer = self._known_writer
        if isinstance(writer, LoggableWriter):
            self._log(writer.last_entries())
        if not self._payloads:
            return ()
        logged, self._payloads, self._stream = LoggedEpoch.of(self._payloads), [], None
        return (tuple(logged),)

    def _log(self, entries: Any) -> None:
        if entries is not None:
            self._payloads.append((_ENTRIES, encode(entries)))

    def _writer(self) -> SinkWriter[Any]:
        if self._known_writer is None:
            self._known_writer = self._create()
        return self._known_writer

    def write_logged(self, logged: LoggedEpoch) -> None:
        """Write the log of an epoch whose checkpoint is complete."""
        writer = self._writer()
        number, attempt, now = self._epoch
        writer.begin_epoch(WriterEpoch(number, f"{attempt or self._run_id}-logged", now))
        logged.write(writer)
        writer.flush(False)
        writer.prepare_commit(False)

    def close(self) -> None:
        if self._known_writer is not None:
            self._known_writer.close()


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
                    f"writes of a complete checkpoint failed: {type(error).__name__}: {error}; "
                    "a job that continues from this checkpoint repeats them, so make the target "
                    "accept them, or continue from an earlier checkpoint"
                ) from error


class RepeatableSink(Sink[Any]):
    """Base of sinks whose writes may be repeated, because each record replaces the record with the
    same key.
    """

    @property
    def writes_ahead(self) -> bool:
        """Whether writes wait until their checkpoint is complete."""
        raise NotImplementedError

    def create_direct_writer(self, context: WriterContext) -> SinkWriter[Any]:
        """A writer that writes directly, and leaves nothing to commit. If it is a `LoggableWriter`,
        records that cannot be written are found before they are logged."""
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
    """A sink with a write-ahead log in front of any sink that writes by key and at least once.

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
