"""What a process prints, line by line: `print` writes the pieces of a line one after the other, and
who else writes to the same log would get in between."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Callable
from typing import Any, TextIO

__all__ = ["MOST_CHARACTERS", "STDERR", "STDOUT", "PrintedLines", "printed_record"]

MOST_CHARACTERS = 4_000
"""Of a line; a longer one is taken in pieces."""
STDOUT, STDERR = "stdout", "stderr"
"""The names under which prints are logged."""


class PrintedLines(io.TextIOBase):
    """Stands for standard output or standard error, and hands on whole lines.

    Args:
        stream: what it stands for.
        take: is given each line, without its end; called in the thread that prints.
    """

    def __init__(self, stream: TextIO, take: Callable[[str], None]) -> None:
        self.stream = stream
        self._take = take
        self._begun = threading.local()

    def write(self, text: str) -> int:
        """Hand on the lines that are complete; each thread has its own that are not."""
        *lines, begun = (getattr(self._begun, "text", "") + text).split("\n")
        if len(begun) > MOST_CHARACTERS:  # progress bars never end their line
            lines.append(begun)
            begun = ""
        self._begun.text = begun
        for line in lines:
            self._take(line)
        return len(text)

    def finish(self) -> None:
        """Hand on what this thread has begun and will not end."""
        begun, self._begun.text = getattr(self._begun, "text", ""), ""
        if begun:
            self._take(begun)

    def flush(self) -> None:
        """Of the stream; a line that is not complete waits for its end."""
        self.stream.flush()

    def fileno(self) -> int:
        """Of the stream, for processes that a function starts."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self.stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream."""
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the stream treats what it cannot encode."""
        return self.stream.errors

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def printed_record(name: str, line: str) -> logging.LogRecord:
    """A line that was printed, as a record.

    Args:
        name: `STDOUT` or `STDERR`.
    """
    content = {"name": name, "msg": line, "levelno": logging.INFO, "levelname": "INFO"}
    return logging.makeLogRecord(content)
