"""A log file that several processes write, each record in one piece."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path

__all__ = ["LogFile"]


class LogFile(logging.Handler):
    """Appends records to a file. Other processes append to the same file, and may empty it if it
    is too long."""

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self.path = str(path)
        # readable by its owner alone: what users print is theirs
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def emit(self, record: logging.LogRecord) -> None:
        """Append the record."""
        self.append_record(record)

    def append_record(self, record: logging.LogRecord) -> bool:
        """Append a record. False if the record cannot be formatted; the error is then reported."""
        try:
            text = self.format(record)
        except Exception:  # arguments that do not fit the message are no reason to fail
            self.handleError(record)
            return False
        self.append(text)
        return True

    def append(self, line: str) -> None:
        """Append a line. If the disk is full, the line is lost, because this loss cannot be
        reported anywhere.
        """
        with suppress(OSError):
            os.write(self._descriptor, f"{line}\n".encode(errors="backslashreplace"))

    def close(self) -> None:
        """Close the file."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
        super().close()
