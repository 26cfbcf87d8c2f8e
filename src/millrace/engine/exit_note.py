"""The exit note of a process that a job server has started: with which code it has ended.

The system tells an exit code only to the process that has started the other. If that server is
killed, the next one reads the note, and does not run again what has been done.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from millrace.common.errors import CheckpointError
from millrace.state.checkpoint.files import write_file

__all__ = ["EXIT_NOTE", "ExitNote", "PendingNote", "read_exit_note"]

EXIT_NOTE = "MILLRACE_EXIT_NOTE"
"""The environment variable that names the file."""


@dataclass(frozen=True, slots=True)
class ExitNote:
    """How a process has ended."""

    pid: int
    host: str
    since: int
    """When it began, ms since the epoch of Unix."""
    code: int


class PendingNote:
    """Writes the note of this process at its very end, if a server wants one.

    To be made before the program runs: what is registered first at Python's end is done last, after
    the program's own handlers and threads.
    """

    def __init__(self) -> None:
        self.code: int | None = None
        """With which the process is about to end; None: not known, so nothing is noted."""
        self._since = time.time_ns() // 1_000_000
        # not for what the program starts
        self._path = os.environ.pop(EXIT_NOTE, None)
        if self._path is not None:
            atexit.register(self._write)

    def _write(self) -> None:
        if self.code is None or self._path is None:
            return
        note = ExitNote(os.getpid(), socket.gethostname(), self._since, self.code)
        with suppress(CheckpointError):  # then the process counts as one that has died
            write_file(self._path, (json.dumps(asdict(note)).encode(),), durable=True)


def read_exit_note(path: Path) -> ExitNote | None:
    """The note of the last process; None: it has not ended, or was ended from outside."""
    try:
        note = ExitNote(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    numbers = all(type(number) is int for number in (note.pid, note.since, note.code))
    return note if numbers and isinstance(note.host, str) else None
