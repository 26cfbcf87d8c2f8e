"""Exit note of a process that a job server has started: the exit code of the process.

The operating system reports an exit code only to the parent process, which is the server. If the
server is killed, the next one reads the note, and does not run a finished job again.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from millrace.common.errors import CheckpointError
from millrace.state.checkpoint.files import write_file

__all__ = ["EXIT_NOTE", "ExitNote", "PendingNote", "read_exit_note"]

EXIT_NOTE = "MILLRACE_EXIT_NOTE"
"""Environment variable with the path of the file."""


@dataclass(frozen=True, slots=True)
class ExitNote:
    """End of a process: its id, host, start and exit code."""

    pid: int
    host: str
    since: int
    """Start of the process, ms since the epoch of Unix."""
    code: int


class PendingNote:
    """Writes the note of this process at its very end, if a server requests one.

    Must be created before the program runs: handlers registered first run last at Python's end,
    after the program's own handlers and threads. `os._exit`, which runs no handlers, is replaced by
    a function that writes the note first.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        """Exit code with which the process is about to end; None if it is not known, and no note
        is written."""
        self._pid = os.getpid()
        self._since = time.time_ns() // 1_000_000
        # not for what the program starts
        self._path = os.environ.pop(EXIT_NOTE, None)
        if self._path is not None:
            atexit.register(self._write)
            os._exit = self._noting(os._exit)  # type: ignore[assignment]

    def _noting(self, end: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
        def noted_exit(status: int) -> NoReturn:
            self.code = status
            self._write()
            end(status)

        return noted_exit

    def _write(self) -> None:
        # what the program has forked has this object, too, and may end after it
        if self.code is None or self._path is None or os.getpid() != self._pid:
            return
        # what the system tells of an exit code is its last byte
        note = ExitNote(self._pid, socket.gethostname(), self._since, self.code & 0xFF)
        with suppress(CheckpointError):  # then the process counts as one that has died
            write_file(self._path, (json.dumps(asdict(note)).encode(),), durable=True)


def read_exit_note(path: Path) -> ExitNote | None:
    """Note of the last process; None if the process has not ended, or was killed before it could
    write the note."""
    try:
        note = ExitNote(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    numbers = all(type(number) is int for number in (note.pid, note.since, note.code))
    return note if numbers and isinstance(note.host, str) else None
