"""A source of text from a TCP socket. Flink docs: "Data Sources", socket based."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from millrace.common.errors import JobDefinitionError
from millrace.common.source import (
    Boundedness,
    ReaderContext,
    SourceSplit,
    SplitEnumerator,
    SplitReader,
    SplitSource,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch
from millrace.connectors.errors import SocketSourceError
from millrace.connectors.wake_ups import SAFETY_MS
from millrace.formats.charset import require_charset

__all__ = ["SocketTextSource"]

_CONNECT_TIMEOUT_S = 10.0
_RECEIVE_BYTES = 1 << 16
_CHUNKS_AHEAD = 64


class SocketPosition(NamedTuple):
    """Number of records read, and whether the peer has closed the connection."""

    records: int
    ended: bool


class SocketTextSource(SplitSource[str]):
    """Texts that a server sends, split at a delimiter; read by one subtask.

    **At most once**: a socket cannot be read again, so what was received but not processed is
    lost when the job or a worker fails. For tests and demonstrations. The source ends when the
    server closes the connection.

    Args:
        host: the server's host name or address.
        port: the server's port.
        delimiter: end of a record (default: a line feed; a carriage return before it is cut).
        charset: the encoding of the text.

    Raises:
        JobDefinitionError: the delimiter is empty or the port out of range.
        SocketSourceError: the connection fails; raised while the job runs.

    Example, beside a server started with ``nc -lk 9999``::

        lines = env.from_source(SocketTextSource("localhost", 9999), watermarks, "lines")
    """

    def __init__(self, host: str, port: int, delimiter: str = "\n", charset: str = "utf-8") -> None:
        if not delimiter:
            raise JobDefinitionError("a socket source needs a delimiter of at least one character")
        require_charset(charset)
        if not 0 < port < 65536:
            raise JobDefinitionError(f"{port!r} is not a TCP port (1 to 65535)")
        self._host = host
        self._port = port
        self._delimiter = delimiter
        self._charset = charset

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit(f"{self._host}:{self._port}")])

    def create_split_reader(
        self, split: SourceSplit, position: Any, context: ReaderContext
    ) -> SplitReader[str]:
        position = position or SocketPosition(0, ended=False)
        if position.ended:
            return SocketTextReader(None, position)
        connection = SocketConnection(
            self._host, self._port, self._delimiter, self._charset, context.wake_up
        )
        return SocketTextReader(connection, position, is_woken=context.wake_up is not None)


class SocketTextReader(SplitReader[str]):
    """Takes the text that the connection has received so far.

    Args:
        is_woken: whether the connection wakes the loop that polls the reader.
    """

    def __init__(
        self,
        connection: SocketConnection | None,
        position: SocketPosition,
        is_woken: bool = False,
    ) -> None:
        self._connection = connection
        self._is_woken = is_woken
        self._records, self._ended = position

    def read(self, max_records: int) -> RowBatch[str]:
        if self._connection is None or self._ended:
            return RowBatch([])
        values = self._connection.take(max_records)
        self._records += len(values)
        self._ended = self._connection.ended
        return RowBatch(values)

    def position(self) -> SocketPosition:
        return SocketPosition(self._records, self._ended)

    def finished(self) -> bool:
        return self._ended

    def next_wakeup(self, now: int) -> int | None:
        return now + SAFETY_MS if self._is_woken else None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class SocketConnection:
    """A connection with a thread that receives into a bounded queue, so that reads never wait."""

    def __init__(
        self,
        host: str,
        port: int,
        delimiter: str,
        charset: str,
        wake_up: Callable[[], None] | None = None,
    ) -> None:
        self.ended = False
        self._end_seen = False
        self._pending: list[str] = []
        self._chunks: queue.Queue[list[str] | SocketSourceError | None] = queue.Queue(_CHUNKS_AHEAD)
        receiver = _Receiver(host, port, delimiter, charset, self._chunks, wake_up)
        # The thread knows only the receiver, so dropping the connection ends the thread.
        self._close = weakref.finalize(self, receiver.stop)
        threading.Thread(target=receiver.run, name=f"socket {host}:{port}", daemon=True).start()

    def take(self, max_records: int) -> list[str]:
        """At most ``max_records`` of the records received and not yet taken."""
        while len(self._pending) < max_records and not self._chunks.empty():
            chunk = self._chunks.get_nowait()
            if not isinstance(chunk, list):
                self._end(chunk)
                break
            self._pending += chunk
        taken, self._pending = self._pending[:max_records], self._pending[max_records:]
        self.ended = self._end_seen and not self._pending
        return taken

    def _end(self, error: SocketSourceError | None) -> None:
        if error is not None:
            raise error
        self._end_seen = True

    def close(self) -> None:
        """Close the connection and end its thread."""
        self._close()


class _Receiver:
    """The receiving part, which runs in the connection's thread."""

    def __init__(
        self,
        host: str,
        port: int,
        delimiter: str,
        charset: str,
        chunks: queue.Queue[list[str] | SocketSourceError | None],
        wake_up: Callable[[], None] | None,
    ) -> None:
        self._wake_up = wake_up
        self._address = (host, port)
        self._delimiter = delimiter.encode(charset)
        self._charset = charset
        self._chunks = chunks
        self._stopped = threading.Event()
        self._socket: socket.socket | None = None

    def run(self) -> None:
        try:
            with socket.create_connection(self._address, _CONNECT_TIMEOUT_S) as connection:
                connection.settimeout(None)
                self._socket = connection
                self._receive(connection)
            self._put(None)
        except (OSError, UnicodeDecodeError) as error:
            self._put(self._explain(error))

    def stop(self) -> None:
        self._stopped.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):  # the peer may have been first
                self._socket.shutdown(socket.SHUT_RDWR)

    def _receive(self, connection: socket.socket) -> None:
        rest = b""
        while not self._stopped.is_set():
            data = connection.recv(_RECEIVE_BYTES)
            if not data:
                break
            *records, rest = (rest + data).split(self._delimiter)
            self._put_records(records)
        if rest:
            self._put_records([rest])

    def _put_records(self, records: list[bytes]) -> None:
        texts = [record.decode(self._charset) for record in records]
        if self._delimiter == b"\n":
            texts = [text.removesuffix("\r") for text in texts]
        if texts:
            self._put(texts)

    def _put(self, chunk: list[str] | SocketSourceError | None) -> None:
        while not self._stopped.is_set():
            try:
                self._chunks.put(chunk, timeout=0.2)
            except queue.Full:
                continue
            if self._wake_up is not None:
                self._wake_up()
            return

    def _explain(self, error: Exception) -> SocketSourceError:
        host, port = self._address
        if isinstance(error, UnicodeDecodeError):
            return SocketSourceError(f"{host}:{port} sent bytes that are not {self._charset}")
        return SocketSourceError(
            f"cannot read from {host}:{port}: {error}. A socket source connects as a client: "
            f"start the server first, for example with `nc -lk {port}`"
        )
