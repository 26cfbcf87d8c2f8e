"""Leadership by a file lock, which the operating system takes back from a process that dies."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from millrace.common.errors import StateError
from millrace.filesystem.file_system import FileLock
from millrace.filesystem.local_file_system import LocalFileSystem
from millrace.server.leadership import ServerIdentity
from millrace.server.sql_registry import SqlRegistry

__all__ = ["LockLeadership", "RegistryTakenError", "SoleLeadership"]

log = logging.getLogger(__name__)


class RegistryTakenError(StateError):
    """Another server holds the registry, and this server is configured not to wait."""


class LockLeadership:
    """Leadership for as long as the server holds the lock of a file; for servers of one machine.

    A server that is stopped, but not dead, keeps the lock: nobody takes over from it.

    Args:
        path: path of the lock file.
        last_token: the greatest fencing token so far.
        period: milliseconds between two attempts.
    """

    def __init__(
        self,
        path: Path,
        identity: ServerIdentity,
        last_token: Callable[[], int],
        period: int = 500,
    ) -> None:
        self._path = path
        self._said = path.with_name(f"{path.name}.leader")
        self._identity = identity
        self._last_token = last_token
        self._period = period
        self._lock: FileLock | None = None
        self._token: int | None = None
        self._closed = Event()
        self._thread = Thread(target=self._run, name="millrace-leadership", daemon=True)

    def start(self) -> None:
        self.step()
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        self._token = None
        if self._lock is not None:
            self._said.unlink(missing_ok=True)
            self._lock.release()

    def token(self) -> int | None:
        return self._token

    def leader(self) -> ServerIdentity | None:
        if self._token is not None:
            return self._identity
        said = None
        with suppress(OSError):
            said = ServerIdentity.decoded(self._said.read_bytes())
        return None if said is None or said.has_died else said

    def is_left_to(self) -> ServerIdentity | None:
        return None if self._token is not None else self.leader()

    def step(self) -> None:
        """Try to get the lock of the file."""
        self._lock = self._lock or LocalFileSystem().lock(str(self._path))
        if self._lock is None:
            return
        token = self._last_token() + 1
        written = self._said.with_name(f"{self._said.name}.{os.getpid()}")
        written.write_text(self._identity.encoded())
        written.replace(self._said)
        log.info("this server leads, with the fencing token %d", token)
        self._token = token

    def _run(self) -> None:
        while self._token is None and not self._closed.wait(self._period / 1000):
            try:
                self.step()
            except (OSError, StateError) as error:
                log.warning("this server cannot become the leader: %s", error)


class SoleLeadership:
    """Leadership of a server without other servers (Flink: ``NONE``): the start fails if another
    server has the registry."""

    def __init__(self, registry: SqlRegistry, identity: ServerIdentity) -> None:
        self._registry = registry
        self._identity = identity
        self._token: int | None = None

    def start(self) -> None:
        if not self._registry.claim():
            raise RegistryTakenError(
                "end it, or name another registry; a server with a high-availability.type waits "
                "until the other one has ended"
            )
        self._token = self._registry.last_token()

    def close(self) -> None:
        self._token = None

    def token(self) -> int | None:
        return self._token

    def leader(self) -> ServerIdentity | None:
        return self._identity if self._token is not None else None

    def is_left_to(self) -> ServerIdentity | None:
        return None
