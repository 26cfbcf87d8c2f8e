"""Log of a worker process, set up before the first function runs in the process."""

from __future__ import annotations

import logging
import sys
from functools import partial
from typing import TextIO, cast

from millrace.runtime.logs.job_notices import NoticeHandler
from millrace.runtime.logs.log_file import LogFile
from millrace.runtime.logs.log_formats import JsonLogFormat, TextLogFormat, log_format, placed
from millrace.runtime.logs.log_line import LogLine
from millrace.runtime.logs.log_origin import LogOriginFilter
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.logs.printed_lines import (
    STDERR,
    STDOUT,
    PrintedLines,
    log_printed,
)
from millrace.runtime.logs.shipped_log import ShippedLog

__all__ = ["finish_prints", "set_up_worker_log", "take_shipped"]

log = logging.getLogger(__name__)

_shipped = ShippedLog()
_notices = NoticeHandler()


class _WorkerLog:
    """Destination of a worker's log records and printed lines, as its newest job has set it."""

    def __init__(self) -> None:
        self.settings = LogSettings()
        self.handler: logging.Handler = logging.NullHandler()
        """Handler that writes to the job's log, or to standard error, which Spark copies to its own
        log."""
        self._handlers: dict[str | None, logging.Handler] = {}
        self._printed_lines: dict[str, PrintedLines] = {}

    def use(self, settings: LogSettings) -> str | None:
        """Send all records and prints to the destination of these settings.

        Returns:
            The error of the job's log file, if standard error is used instead. None if there is
            none.
        """
        self.settings = settings
        complaint = None
        try:
            self.handler = self._handler(settings.file)
        except OSError as error:  # a log is no reason for the job to fail
            complaint = f"cannot open the log {settings.file} ({error.strerror})"
            self.handler = self._handler(None)
        self.handler.setFormatter(log_format(settings.json))
        return complaint

    def _handler(self, file: str | None) -> logging.Handler:
        placed_handler = self._handlers.get(file)
        if placed_handler is None:
            handler = StandardErrorHandler(_original(STDERR)) if file is None else LogFile(file)
            placed_handler = self._handlers[file] = placed(handler)
        return placed_handler

    def take_prints(self) -> None:
        """Capture printed lines from now on, if they belong in the same log as the records."""
        if not (self.settings.ships or self.settings.json or self.settings.file):
            return
        for name in (STDOUT, STDERR):
            stream = getattr(sys, name)
            if not isinstance(stream, PrintedLines):
                lines = PrintedLines(stream, partial(self._printed, name, stream))
                self._printed_lines[name] = lines
                setattr(sys, name, lines)

    def finish_prints(self) -> None:
        """Pass on the incomplete lines that will not be completed."""
        for lines in self._printed_lines.values():
            lines.finish()

    def _printed(self, name: str, stream: TextIO, line: str) -> None:
        if self.settings.ships:
            _shipped.printed(name, line)
        log_printed(self.handler, name, stream, line)


_log = _WorkerLog()


def set_up_worker_log(settings: LogSettings) -> None:
    """Send the records of the root logger and printed lines to the job's log, and also to the
    driver if it is on another machine. Warnings always go to the driver. Handlers that the job's
    modules have set up stay.
    """
    root = logging.getLogger()
    root.setLevel(settings.level or logging.WARNING)
    settings.apply_levels()
    ours = [h for h in root.handlers if isinstance(h.formatter, TextLogFormat | JsonLogFormat)]
    others = [h for h in root.handlers if h not in (*ours, _shipped, _notices)]
    for handler in ours:  # an earlier job may have had another log
        root.removeHandler(handler)
    for handler in others:
        if not any(isinstance(one, LogOriginFilter) for one in handler.filters):
            handler.addFilter(LogOriginFilter())
    complaint = _log.use(settings)
    if not others:
        root.addHandler(_log.handler)
    if settings.ships and _shipped not in root.handlers:
        root.addHandler(_shipped)
    if _notices not in root.handlers:
        root.addHandler(_notices)
    _log.take_prints()
    if complaint is not None:
        log.warning("%s: output of functions goes to standard error", complaint)


def finish_prints() -> None:
    """Write incomplete printed lines of functions to the log."""
    _log.finish_prints()


def take_shipped() -> list[LogLine]:
    """Lines for the driver to log, including incomplete lines that functions have printed."""
    finish_prints()
    return _shipped.take()


def _original(name: str) -> TextIO:
    stream = getattr(sys, name)
    return cast(TextIO, stream.stream if isinstance(stream, PrintedLines) else stream)


class StandardErrorHandler(logging.StreamHandler[TextIO]):
    """Writes records to standard error, which may be broken, full or closed."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Report an error, unless the stream itself is broken: then it cannot be reported
        anywhere."""
        if not isinstance(sys.exception(), OSError) and not self.stream.closed:
            super().handleError(record)
