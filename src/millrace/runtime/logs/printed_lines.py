"""Printed output as whole lines. `print` writes a line in pieces, and other writers of the same
log could write between the pieces."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO

from millrace.runtime.logs.log_file import LogFile
from millrace.runtime.logs.log_formats import JsonLogFormat

__all__ = ["MOST_BEGUN", "STDERR", "STDOUT", "PrintedLines", "log_printed", "printed_record"]

MOST_BEGUN = 64_000
"""Characters of an incomplete line after which it is passed on in pieces."""
STDOUT, STDERR = "stdout", "stderr"
"""Names under which prints are logged."""


class PrintedLines(io.TextIOBase):
    """Replaces standard output or standard error, and passes on whole lines.

    Args:
        stream: the replaced stream.
        take: called with each line, without its end, in the thread that prints or calls `finish`.
            Text that it prints itself goes to the stream, as that may be an error of its own.
    """

    def __init__(self, stream: TextIO, take: Callable[[str], None]) -> None:
        self.stream = stream
        self._take = take
        self._own = threading.local()
        self._begun: dict[_Writer, str] = {}
        self._left: dict[_Writer, str] = {}
        """Incomplete lines at the last call of `finish`."""

    def write(self, text: str) -> int:
        """Pass on the complete lines. Each thread has its own incomplete line."""
        writer = self._writer()
        if writer.hands_on:
            with suppress(OSError, ValueError):  # it is broken or closed: nowhere to say so
                self.stream.write(text)
        elif text:
            self._add(writer, text)
        return len(text)

    def _add(self, writer: _Writer, text: str) -> None:
        before = self._begun.pop(writer, "")  # at once: another thread may finish it
        new = text.removeprefix("\n") if writer.was_cut else text
        writer.was_cut = False
        if len(before) > MOST_BEGUN and not new.startswith("\n"):  # progress bars never end it
            self._hand_on(before)
            before = ""
        *lines, begun = (before + new).split("\n")
        if begun:
            self._begun[writer] = begun
        for line in lines:
            self._hand_on(line)

    def finish(self, everything: bool = False) -> None:
        """Pass on the incomplete lines that will not be completed: of this thread, of ended
        threads, and lines that have not grown since the last call.

        Args:
            everything: whether lines that other threads have only just begun are included.
        """
        own = self._writer()
        for writer, text in list(self._begun.items()):
            ended = writer is own or not writer.thread.is_alive()
            if everything or ended or self._left.get(writer) is text:
                self._cut(writer)
        self._left = dict(self._begun)

    def _cut(self, writer: _Writer) -> None:
        text = self._begun.pop(writer, "")
        if text:
            writer.was_cut = True
            with suppress(OSError, ValueError):  # nobody waits for it that could be told
                self._hand_on(text)

    def _hand_on(self, line: str) -> None:
        writer = self._writer()
        writer.hands_on = True
        try:
            self._take(line)
        finally:
            writer.hands_on = False

    def _writer(self) -> _Writer:
        writer: _Writer | None = getattr(self._own, "writer", None)
        if writer is None:
            writer = self._own.writer = _Writer()
        return writer

    def flush(self) -> None:
        """Flush the stream. Incomplete lines wait for their end."""
        self.stream.flush()

    def fileno(self) -> int:
        """File descriptor of the stream, for processes that a function starts."""
        return self.stream.fileno()

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return self.stream.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the stream."""
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """Error handling of the stream's encoding."""
        return self.stream.errors

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Writer:
    """A thread that prints, with its incomplete line."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self.was_cut = False
        """Whether the thread's incomplete line was passed on as a line, so that its end is
        ignored."""
        self.hands_on = False
        """Whether the thread is passing on a line."""


def log_printed(handler: logging.Handler | None, name: str, stream: TextIO, line: str) -> None:
    """Write a printed line to the job's log: as a record if the format is JSON, otherwise as the
    plain line.

    Args:
        handler: handler of the records. None if there is no log yet.
        name: `STDOUT` or `STDERR`.
        stream: stream for lines that the log does not take.
    """
    if handler is not None and isinstance(handler.formatter, JsonLogFormat):
        handler.handle(printed_record(name, line))
    elif isinstance(handler, LogFile):
        handler.append(line)
    else:
        stream.write(f"{line}\n")


def printed_record(name: str, line: str) -> logging.LogRecord:
    """A log record with a printed line.

    Args:
        name: `STDOUT` or `STDERR`.
    """
    content = {"name": name, "msg": line, "levelno": logging.INFO, "levelname": "INFO"}
    return logging.makeLogRecord(content)
