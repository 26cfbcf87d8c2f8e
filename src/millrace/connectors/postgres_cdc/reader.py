"""Reader of a CDC source's subtask: reads chunks of tables, and the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from millrace.common.source import (
    AssignedSplit,
    ReaderContext,
    SourceEvent,
    SourceReader,
    SplitRecords,
)
from millrace.connectors.postgres_cdc.change import TableChange
from millrace.connectors.postgres_cdc.changes_reader import ChangesReader, SlotSettings
from millrace.connectors.postgres_cdc.chunk_reader import ChunkReader, open_snapshot_connection
from millrace.connectors.postgres_cdc.connection import (
    PostgresCdcError,
    PostgresConnection,
    RetryTimer,
    import_psycopg,
)
from millrace.connectors.postgres_cdc.deserialization import CdcDeserializationSchema
from millrace.connectors.postgres_cdc.splits import ChunkFinished, ChunkSplit, NewChanges, RunEnded
from millrace.connectors.wake_ups import EMPTY_ROUNDS, SAFETY_MS, SocketWaiter

__all__ = ["PostgresCdcReader"]

_EXPECTANT_EPOCHS = 20
"""Epochs for which the log is looked at in quick succession when it has grown."""


class PostgresCdcReader(SourceReader[Any]):
    """Reads several chunks through one connection, and the log through a second."""

    def __init__(
        self,
        connection: PostgresConnection,
        settings: SlotSettings,
        schema: CdcDeserializationSchema[Any],
        context: ReaderContext,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._schema = schema
        self._context = context
        self._sql: Any = None
        """For chunks."""
        self._retry = RetryTimer(settings.patience)
        self._chunks: dict[str, ChunkReader] = {}
        self._changes: ChangesReader | None = None
        self._left: ChangesReader | None = None
        """Reader of changes that are left to another run."""
        self._busy = False
        self._expectant = _EXPECTANT_EPOCHS
        self._empty_rounds = 0
        self._waiter: SocketWaiter | None = None
        group = context.metrics.add_group("PostgresCdcSourceReader")
        self._rows_read = group.counter("snapshotRows")
        self._changes_read = group.counter("changes")
        group.gauge("currentLsn", lambda: self._changes.position.lsn if self._changes else 0)

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        for split, position, end in splits:
            if isinstance(split, ChunkSplit):
                reader = ChunkReader(split, position, self._connection.database)
                self._chunks[split.split_id] = reader
            else:
                self._close_changes()
                self._changes = ChangesReader(
                    split, position, end, self._connection, self._settings, self._context.logger
                )
                self._expectant = _EXPECTANT_EPOCHS

    def begin_epoch(self, max_records_per_split: int) -> None:
        self._empty_rounds = 0 if self._busy else self._empty_rounds + 1
        self._busy = False
        self._expectant = max(0, self._expectant - 1)

    def handle_source_event(self, event: SourceEvent) -> None:
        if isinstance(event, NewChanges):
            self._expectant = _EXPECTANT_EPOCHS

    def next_wakeup(self, now: int) -> int | None:
        if self._busy:  # more come while the epoch ends
            return now
        if self._context.wake_up is not None:
            return self._woken_by(self._context.wake_up, now)
        bounded = self._changes is not None and self._changes.is_bounded
        if self._expectant or self._chunks or bounded:
            return None
        return now + self._heartbeat_ms

    @property
    def _heartbeat_ms(self) -> int:
        return int(1000 * self._settings.heartbeat_interval)

    def _woken_by(self, wake_up: Callable[[], None], now: int) -> int | None:
        """Time of the next poll, while a thread waits for the server to send something. None if
        the reader is to be polled within milliseconds, because nothing can be waited for."""
        descriptor = None if self._changes is None else self._changes.descriptor
        if descriptor is None and self._waiter is not None:
            self._waiter.forget()
        if descriptor is None or self._chunks or self._empty_rounds < EMPTY_ROUNDS:
            return None
        if self._waiter is None:
            self._waiter = SocketWaiter(wake_up, "PostgreSQL changes")
        self._waiter.wait(descriptor)
        return now + min(SAFETY_MS, self._heartbeat_ms)

    def poll(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        polled = [*self._poll_changes(max_records), *self._poll_chunks(max_records)]
        self._busy = self._busy or bool(polled)
        return polled

    # -- the log -----------------------------------------------------------------------

    def _poll_changes(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        reader = self._changes
        if reader is None:
            return ()
        changes = reader.read(max_records)
        self._changes_read.inc(len(changes))
        if reader.at_end:
            return [self._end_changes(reader, changes)]
        return [self._records(reader.split.split_id, changes)] if changes else ()

    def _end_changes(
        self, reader: ChangesReader, changes: Sequence[TableChange]
    ) -> SplitRecords[Any]:
        self._close_changes()
        records = self._records(reader.split.split_id, changes)
        if reader.goes_on:
            self._left = reader
            self._context.send_source_event(RunEnded(reader.position.lsn))
            return records._replace(at_end=True)
        return records._replace(finished=True)

    def _records(self, split_id: str, changes: Sequence[TableChange]) -> SplitRecords[Any]:
        return SplitRecords(split_id, self._schema.deserialize_batch(changes))

    def _close_changes(self) -> None:
        if self._waiter is not None:
            self._waiter.forget()
        if self._changes is not None:
            self._changes.close()
            self._changes = None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._changes is not None:
            self._changes.confirm()

    # -- chunks ------------------------------------------------------------------------

    def _poll_chunks(self, max_records: int) -> Sequence[SplitRecords[Any]]:
        """Records of the next page of the first chunk."""
        if not self._chunks or not self._retry.due:
            return ()
        psycopg = import_psycopg()
        split_id, chunk = next(iter(self._chunks.items()))
        try:
            rows = chunk.read(self._connected(), max_records)
        except psycopg.OperationalError as error:
            self._lost(error)
            return ()
        except psycopg.Error as error:
            raise PostgresCdcError(
                f"cannot read table {chunk.split.table.full_name} of {self._connection}: {error}"
            ) from error
        self._retry.succeeded()
        self._rows_read.inc(len(rows))
        records = self._records(split_id, rows)
        if not chunk.finished:
            return [records]
        del self._chunks[split_id]
        split, pages = chunk.split, chunk.position.pages
        self._context.send_source_event(ChunkFinished(split.table.full_name, split.number, pages))
        return [records._replace(finished=True)]

    def _connected(self) -> Any:
        if self._sql is None:
            self._sql = open_snapshot_connection(self._connection.connect("millrace-cdc-chunks"))
        return self._sql

    def _lost(self, error: Exception) -> None:
        self._close_sql()
        if not self._retry.failed():
            raise PostgresCdcError(f"cannot reach {self._connection}: {error}") from error
        self._context.logger.warning("%s: %s; trying again", self._connection, str(error).strip())

    def _close_sql(self) -> None:
        if self._sql is not None:
            self._sql.close()
            self._sql = None

    def snapshot_state(self) -> Mapping[str, Any]:
        positions: dict[str, Any] = {name: c.position for name, c in self._chunks.items()}
        for reader in (self._changes, self._left):
            if reader is not None:
                positions[reader.split.split_id] = reader.position
        return positions

    def close(self) -> None:
        if self._waiter is not None:
            self._waiter.close()
        self._close_changes()
        self._close_sql()
