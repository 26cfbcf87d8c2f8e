"""Shipped log: records and printed lines of workers on other machines, which travel to the
driver with answers."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Iterable
from types import FrameType

from millrace.runtime.logs.log_line import LogLine
from millrace.runtime.logs.log_origin import LogOrigin, LogOriginFilter, log_origin

__all__ = ["MOST_CHARACTERS", "MOST_LINES", "ShippedLog", "replay"]

MOST_CHARACTERS = 4_000
"""Maximum number of characters of a record. Longer printed lines are split into records of this
length."""
MOST_LINES = 1_000
"""Maximum number of lines in one acknowledgement. If there are more, the newest are kept."""


class ShippedLog(logging.Handler):
    """Keeps records for the next answer to the driver. A worker has one such handler."""

    def __init__(self) -> None:
        super().__init__()
        self.addFilter(LogOriginFilter())
        self._lines: deque[LogLine] = deque(maxlen=MOST_LINES)
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the record for the next answer to the driver."""
        try:
            text = record.getMessage()
            if record.exc_info:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
        except Exception:  # arguments that do not fit the message are no reason to fail
            self.handleError(record)
            return
        origin = LogOrigin.of(record)
        self.add(record.created, record.levelno, record.name, text, origin)

    def add(self, created: float, level: int, logger: str, text: str, origin: LogOrigin) -> None:
        """Keep a line for the next answer to the driver."""
        if len(self._lines) == MOST_LINES:
            self._left_out += 1
        self._lines.append(LogLine(created, level, logger, text[:MOST_CHARACTERS], *origin))

    def take(self) -> list[LogLine]:
        """Lines logged since the last call."""
        if not self._lines:
            return []
        taken = [self._lines.popleft() for _ in range(len(self._lines))]
        if self._left_out:
            text = f"{self._left_out} lines before this one were left out"
            taken.insert(0, LogLine(taken[0].created, logging.WARNING, "millrace", text))
            self._left_out = 0
        return taken

    def printed(self, name: str, line: str) -> None:
        """Keep a printed line, in pieces if it is long. If another log handler printed this line
        for a record that this handler also keeps, the line is dropped.
        """
        if self._keeps_record_of(sys._getframe(1)):
            return
        created, origin = time.time(), log_origin()
        for begin in range(0, max(len(line), 1), MOST_CHARACTERS):
            piece = line[begin : begin + MOST_CHARACTERS]
            self.add(created, logging.INFO, name, piece, origin)

    def _keeps_record_of(self, frame: FrameType | None) -> bool:
        """Whether another log handler is printing a record that this handler keeps as well.
        Reports of errors in logging do not count. Compares function names, because libraries
        wrap these methods."""
        while frame is not None and frame.f_code.co_name != "handleError":
            if frame.f_code.co_name == "callHandlers":
                logger = frame.f_locals.get("self")
                return isinstance(logger, logging.Logger) and self._hears(logger)
            frame = frame.f_back
        return False

    def _hears(self, logger: logging.Logger) -> bool:
        heard: logging.Logger | None = logger
        while heard is not None and self not in heard.handlers:
            heard = heard.parent if heard.propagate else None
        return heard is not None


def replay(lines: Iterable[LogLine]) -> None:
    """Log the lines of a worker in the driver, under ``millrace.worker``."""
    for line in lines:
        name = f"millrace.worker.{line.logger}"
        record = logging.makeLogRecord(
            {
                "name": name,
                "levelno": line.level,
                "levelname": logging.getLevelName(line.level),
                "msg": line.message,
                "created": line.created,
                "msecs": (line.created % 1) * 1000,
                "job": line.job,
                "operator": line.operator,
                "subtask": line.subtask,
            }
        )
        logging.getLogger(name).handle(record)
