"""An HTTP server: runs an ASGI application with uvicorn, in this thread or in another one."""

from __future__ import annotations

import contextlib
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millrace.common.errors import ConfigurationError
from millrace.rest.connection_limit import ConnectionLimit

if TYPE_CHECKING:
    import uvicorn

__all__ = ["HttpServer", "TlsFiles"]

BACKLOG = 256
KEEP_ALIVE = 30
"""Seconds without a request after which a connection is closed."""
GRACE = 3
"""Seconds in which open requests are still answered when the server ends."""
STARTED_POLL = 0.01


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Certificate and key of a server, as PEM files."""

    certificate: Path
    key: Path | None = None
    """Path of the key; None if the certificate's file contains it."""

    def check(self) -> None:
        """Raise ConfigurationError unless certificate and key can be used."""
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                self.certificate, self.key
            )
        except (OSError, ssl.SSLError) as error:
            own = "; if the key has a file of its own, give that with --tls-key"
            hint = own if self.key is None and isinstance(error, ssl.SSLError) else ""
            raise ConfigurationError(
                f"the certificate {self.certificate} and its key cannot be used: {error}{hint}"
            ) from None


class HttpServer:
    """Serves an application. Connections are accepted as soon as the object exists, and wait until
    the server runs.

    Args:
        application: ASGI application.
        host: name or address to bind to.
        port: 0 for any that is free.
        tls: certificate and key; None for plain HTTP.
        limit: limit of connections; None for no limit.

    Raises:
        OSError: the address cannot be bound.
        ConfigurationError: the certificate cannot be used.
    """

    def __init__(
        self,
        application: Any,
        host: str,
        port: int,
        tls: TlsFiles | None = None,
        limit: ConnectionLimit | None = None,
    ) -> None:
        if tls is not None:
            tls.check()
        self._socket = _bound(host, port)
        self.port: int = self._socket.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{'http' if tls is None else 'https'}://{shown}:{self.port}"
        self._server = _server(application, tls, limit)
        self._thread: threading.Thread | None = None

    def run(self) -> None:
        """Serve in this thread until `end` is called or a signal ends it."""
        with self._ending_by_signals():
            self._server.run([self._socket])

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="millrace-http", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Request the end, from any thread."""
        self._server.should_exit = True

    def close(self) -> None:
        """Stop the server, and wait until it has ended."""
        self.end()
        if self._thread is not None:
            self._thread.join()
        self._socket.close()

    @contextlib.contextmanager
    def _ending_by_signals(self) -> Iterator[None]:
        def ask(number: int, frame: Any) -> None:
            if self._server.should_exit:
                self._server.force_exit = True
            self.end()

        former = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)


def _bound(host: str, port: int) -> socket.socket:
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = addresses[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address[0], port, *address[2:]))  # as given: it has taken 70000 for 4464
        bound.listen(BACKLOG)
        bound.set_inheritable(False)
    except BaseException:
        bound.close()
        raise
    return bound


def _server(
    application: Any, tls: TlsFiles | None, limit: ConnectionLimit | None
) -> uvicorn.Server:
    import uvicorn

    class Server(uvicorn.Server):
        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Leave signals to the server's caller: uvicorn would raise them again at its end,
            before anything is cleaned up."""
            yield

    config = uvicorn.Config(
        application,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        interface="asgi3",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        http="httptools" if limit is None else limit.protocol(),
        ssl_certfile=None if tls is None else tls.certificate,
        ssl_keyfile=None if tls is None or tls.key is None else tls.key,
    )
    return Server(config)
