"""The stream of a replication slot. PostgreSQL docs: "Streaming Replication Protocol"."""

from __future__ import annotations

import time
from struct import Struct
from typing import Any, NamedTuple

from millrace.connectors.postgres_cdc.connection import PostgresConnection, import_psycopg
from millrace.connectors.postgres_cdc.log_position import format_lsn

__all__ = ["LogData", "LogEnd", "ReplicationStream"]

_STATUS = Struct(">cQQQqB").pack
_EPOCH_S = 946_684_800
_EIGHT = Struct(">Q").unpack_from
_DATA = ord("w")
_KEEPALIVE = ord("k")


class LogData(NamedTuple):
    """A message of the output plugin."""

    lsn: int
    """Position of the change in the log; 0 if the message has no change."""
    payload: bytes


class LogEnd(NamedTuple):
    """The server has sent all transactions that were committed before this position."""

    lsn: int


class ReplicationStream:
    """Receives the changes of a slot from a position on, without waiting.

    Args:
        slot: name of the slot, which no other stream may read.
        publication: publication that selects the changes.
        lsn: start position; transactions committed before it are not sent again.
        status_interval: seconds between status messages to the server.

    Raises:
        psycopg.Error: the slot cannot be read now, or at all.
    """

    def __init__(
        self,
        connection: PostgresConnection,
        application_name: str,
        slot: str,
        publication: str,
        lsn: int,
        status_interval: float,
    ) -> None:
        self._psycopg = import_psycopg()
        self._interval = status_interval
        self._received = lsn
        self._confirmed = 0
        self._next_status = 0.0
        self._connection = connection.connect_for_replication(application_name)
        self._copying = self._psycopg.pq.ExecStatus.COPY_BOTH
        literal = publication.replace('"', '""').replace("'", "''")
        self._command(
            f'START_REPLICATION SLOT "{slot}" LOGICAL {format_lsn(lsn)} '
            f"(proto_version '1', publication_names '\"{literal}\"')"
        )

    def _command(self, command: str) -> None:
        result = self._connection.exec_(command.encode())
        if result.status != self._copying:
            self._connection.finish()
            raise self._error(result)

    def _error(self, result: Any) -> Exception:
        field = self._psycopg.pq.DiagnosticField
        sqlstate = (result.error_field(field.SQLSTATE) or b"").decode()
        text = (result.error_field(field.MESSAGE_PRIMARY) or result.error_message).decode()
        try:
            kind = self._psycopg.errors.lookup(sqlstate)
        except KeyError:
            kind = self._psycopg.OperationalError
        error: Exception = kind(text.strip())
        return error

    @property
    def descriptor(self) -> int:
        """File descriptor of the socket, which becomes readable when the server has sent
        something."""
        return int(self._connection.socket)

    def receive(self) -> LogData | LogEnd | None:
        """Next message; None if no message has arrived.

        Raises:
            psycopg.OperationalError: the connection is lost.
        """
        size, data = self._connection.get_copy_data(1)
        if size == 0:
            self._connection.consume_input()
            size, data = self._connection.get_copy_data(1)
            if size == 0:
                return None
        if size < 0:
            raise self._ended()
        kind = data[0]
        if kind == _DATA:
            return LogData(_EIGHT(data, 1)[0], bytes(data[25:]))
        if kind == _KEEPALIVE:
            self._received = max(self._received, _EIGHT(data, 1)[0])
            if data[17]:
                self._send_status()
            return LogEnd(_EIGHT(data, 1)[0])
        return None

    def _ended(self) -> Exception:
        result = self._connection.get_result()
        if result is not None and result.status == self._psycopg.pq.ExecStatus.FATAL_ERROR:
            return self._error(result)
        ended: Exception = self._psycopg.OperationalError("the server has ended the stream")
        return ended

    def confirm(self, lsn: int) -> None:
        """Confirm to the server that all transactions committed before ``lsn`` are processed."""
        if lsn > self._confirmed:
            self._confirmed = lsn
            self._send_status()

    def keep_alive(self) -> None:
        """Send a status message to the server at each interval, and request its position."""
        if time.monotonic() >= self._next_status:
            self._send_status(reply=True)

    def ask_for_end(self) -> None:
        """Request a `LogEnd` from the server."""
        self._send_status(reply=True)

    def _send_status(self, reply: bool = False) -> None:
        now = int((time.time() - _EPOCH_S) * 1e6)
        received = max(self._received, self._confirmed)
        data = _STATUS(b"r", received, self._confirmed, self._confirmed, now, reply)
        self._connection.put_copy_data(data)
        self._connection.flush()
        self._next_status = time.monotonic() + self._interval

    def close(self) -> None:
        """Close the connection. The server then ends the stream, too."""
        self._connection.finish()
