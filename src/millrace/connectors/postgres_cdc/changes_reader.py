"""Reader of the changes of all captured tables from a replication slot."""

from __future__ import annotations

from dataclasses import dataclass
from logging import Logger
from typing import Any

from millrace.connectors.postgres_cdc.change import TableChange
from millrace.connectors.postgres_cdc.connection import (
    PostgresCdcError,
    PostgresConnection,
    RetryTimer,
    import_psycopg,
)
from millrace.connectors.postgres_cdc.log_cursor import LogChange, LogCursor
from millrace.connectors.postgres_cdc.log_position import StreamPosition
from millrace.connectors.postgres_cdc.replication_stream import ReplicationStream
from millrace.connectors.postgres_cdc.row_decoder import RowDecoder
from millrace.connectors.postgres_cdc.server_setup import (
    end_readers,
    require_position,
    require_unchanged,
)
from millrace.connectors.postgres_cdc.snapshot_filter import SnapshotFilter
from millrace.connectors.postgres_cdc.splits import ChangesSplit

__all__ = ["ChangesReader", "SlotSettings"]


@dataclass(frozen=True)
class SlotSettings:
    """Settings for reading changes.

    Attributes:
        slot: name of the replication slot.
        publication: name of the publication.
        heartbeat_interval: seconds between signs of life to the server.
        patience: seconds for which a lost connection is made anew.
        skips_truncates: whether ``TRUNCATE`` goes unnoticed.
    """

    slot: str
    publication: str
    heartbeat_interval: float = 10.0
    patience: float = 60.0
    skips_truncates: bool = False


@dataclass
class _Session:
    """Resources that are open while a connection is open."""

    sql: Any
    stream: ReplicationStream
    cursor: LogCursor
    decoder: RowDecoder

    def close(self) -> None:
        self.stream.close()
        self.sql.close()


class ChangesReader:
    """Reads changes, and continues at its position after the connection was lost.

    Args:
        position: position after the last change read; None for the start of the split.
        run_end: the position at which the run ends, if it is to end before the split does.
    """

    def __init__(
        self,
        split: ChangesSplit,
        position: StreamPosition | None,
        run_end: int | None,
        connection: PostgresConnection,
        settings: SlotSettings,
        logger: Logger,
    ) -> None:
        self.split = split
        self.position = position or StreamPosition(split.start_lsn)
        self.goes_on = run_end is not None
        """Whether another run goes on behind the end."""
        self._end = split.end_lsn if run_end is None else run_end
        self._connection = connection
        self._settings = settings
        self._logger = logger
        self._session: _Session | None = None
        self._filter = SnapshotFilter(dict(split.pages))
        self._retry = RetryTimer(settings.patience)

    @property
    def at_end(self) -> bool:
        """Whether all changes up to the end position are read."""
        return self._end is not None and self.position.lsn >= self._end

    @property
    def is_bounded(self) -> bool:
        """Whether the reader has an end position."""
        return self._end is not None

    @property
    def descriptor(self) -> int | None:
        """File descriptor of the connection, which becomes readable when the server has sent
        something. None if the reader must be polled, because it has no connection or requests the
        end of the log.
        """
        return None if self._session is None or self.is_bounded else self._session.stream.descriptor

    def read(self, max_records: int) -> list[TableChange]:
        """The changes that have arrived; none while the server is unreachable.

        Raises:
            PostgresCdcError: the server is away for too long, or no longer has the changes.
        """
        if self.at_end or not self._retry.due:
            return []
        psycopg = import_psycopg()
        try:
            session = self._session or self._open()
            changes = self._read(session, max_records)
        except (psycopg.OperationalError, psycopg.errors.ObjectInUse) as error:
            self._lost(error)
            return []
        except psycopg.Error as error:
            raise PostgresCdcError(
                f"cannot read replication slot '{self._settings.slot}' of {self._connection}: "
                f"{error}"
            ) from error
        self._retry.succeeded()
        return changes

    def _read(self, session: _Session, max_records: int) -> list[TableChange]:
        log_changes = session.cursor.read(max_records)
        if log_changes:
            if self.split.pages:
                log_changes = self._filter.unseen(session.sql, log_changes)
            self._require_rows(log_changes)
        elif self._end is not None:
            session.stream.ask_for_end()
        session.stream.keep_alive()
        changes = session.decoder.decode(log_changes)
        self.position = session.cursor.position
        return changes

    def _require_rows(self, changes: list[LogChange]) -> None:
        for change in changes:
            if change.op == "t":
                raise PostgresCdcError(
                    f"TRUNCATE has emptied table {change.table.table.full_name} "
                    f"(transaction {change.transaction.xid}), which no change of a row "
                    "shows: start without a checkpoint, so that the table is read again, or "
                    "build the source with skip_truncates()"
                )

    def _open(self) -> _Session:
        name, settings = self.split.reader_name, self._settings
        sql = self._connection.connect(name)
        try:
            require_position(sql, settings.slot, self.position.lsn)
            require_unchanged(sql, settings.publication, self.split.tables)
            end_readers(sql, settings.slot, name)
            stream = ReplicationStream(
                self._connection,
                name,
                settings.slot,
                settings.publication,
                self.position.lsn,
                settings.heartbeat_interval,
            )
        except BaseException:
            sql.close()
            raise
        cursor = LogCursor(
            stream, self.position, self._end, self.split.tables, settings.skips_truncates
        )
        decoder = RowDecoder(sql, self._connection.database)
        self._session = _Session(sql, stream, cursor, decoder)
        return self._session

    def _lost(self, error: Exception) -> None:
        self.close()
        if not self._retry.failed():
            raise PostgresCdcError(
                f"cannot read replication slot '{self._settings.slot}' of {self._connection}: "
                f"{error}. Tried for {self._settings.patience:g} s"
            ) from error
        self._logger.warning("%s: %s; trying again", self._connection, str(error).strip())

    def confirm(self) -> None:
        """Confirm the position after a complete checkpoint, so that the server may discard
        earlier changes."""
        if self._session is None:
            return
        try:
            self._session.stream.confirm(self.position.lsn)
        except import_psycopg().OperationalError as error:
            self._lost(error)

    def close(self) -> None:
        """Release the slot."""
        if self._session is not None:
            session, self._session = self._session, None
            session.close()
