"""Files and objects by which the driver tells source subtasks to end their reading."""

from __future__ import annotations

import os
import secrets
import tempfile
from contextlib import suppress
from threading import Event, Lock, Thread

from millrace.filesystem.location import is_local
from millrace.filesystem.registry import file_system_of
from millrace.runtime.reading_end import SUFFIX
from millrace.runtime.watchdog import REPORTS
from millrace.state.checkpoint.files import delete_quietly

__all__ = ["EndFiles", "EndWish"]


class EndFiles:
    """Names the files that tell workers to end their reading, one file per attempt of an epoch;
    see `millrace.runtime.reading_end`."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(8)
        """Random text that makes the names of the files unique."""

    def paths(self, job_dir: str, epoch: int, attempt: int) -> tuple[str, str | None]:
        """Path of the file for an attempt, and the address of the object; None instead of the
        object, unless the job's directory is in an object store."""
        name = f"millrace-{self._token}-{epoch}-{attempt}{SUFFIX}"
        if is_local(job_dir):
            return os.path.join(job_dir, REPORTS, name), None
        # beside an object store: good for workers on this machine
        return os.path.join(tempfile.gettempdir(), name), f"{job_dir}/{REPORTS}/{name}"


class EndWish:
    """Request that workers end the reading of one attempt of an epoch.

    Args:
        path: file that tells the workers; None if there is no request.
        shared: location of the object that tells workers on other machines.
    """

    def __init__(self, path: str | None, shared: str | None = None) -> None:
        self._path, self._shared = path, shared
        self._lock = Lock()
        self._writer: Thread | None = None
        self._over = Event()

    def make(self) -> None:
        """Send the request to the workers. May be called in any thread, and repeatedly."""
        with self._lock:
            if self._path is None or self._over.is_set():
                return
            _touch(self._path)
            if self._shared is not None and self._writer is None:
                self._writer = Thread(target=self._share, args=(self._shared,), daemon=True)
                self._writer.start()

    def forget(self) -> None:
        """Remove the request, because the attempt is over."""
        with self._lock:
            self._over.set()
            if self._path is not None:
                delete_quietly(self._path)

    def _share(self, location: str) -> None:
        """Create an object in the store, and delete it when the attempt is over. Runs in a
        thread of its own, because the store may be slow. If the store refuses the object,
        workers on other machines read up to the epoch's limit."""
        with suppress(Exception):
            store = file_system_of(location)
            store.write_if(location, b"", None)
            self._over.wait()
            store.delete(location)


def _touch(path: str) -> None:
    """Create an empty file, if it does not exist. If this fails, the epoch reads up to its
    limit."""
    with suppress(OSError):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
