"""Formats of the log: text lines for people, and JSON for machines."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from millrace.runtime.logs.log_origin import LogOriginFilter

__all__ = ["JsonLogFormat", "TextLogFormat", "log_format", "placed", "readable", "use_format"]

TEXT = "%(asctime)s %(levelname)s %(name)s: "


class TextLogFormat(logging.Formatter):
    """Text lines for people. The operator and subtask come before the message.

    Example:
        >>> record = logging.makeLogRecord(
        ...     {"msg": "no price", "levelname": "INFO", "name": "shop", "operator": "Map",
        ...      "subtask": 1, "job": "count"}
        ... )
        >>> TextLogFormat().format(record)[24:]
        'INFO shop: [Map 1] no price'
    """

    def __init__(self) -> None:
        super().__init__(TEXT + "%(place)s%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The record as text. Tracebacks follow on lines of their own."""
        operator = getattr(record, "operator", None)
        record.place = "" if operator is None else f"[{operator} {getattr(record, 'subtask')}] "  # noqa: B009
        return super().format(record)


class JsonLogFormat(logging.Formatter):
    """A JSON object on one line.

    Example:
        >>> record = logging.makeLogRecord({"msg": "no price", "levelname": "INFO", "job": "count"})
        >>> json.loads(JsonLogFormat().format(record))["message"]
        'no price'
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        time = datetime.fromtimestamp(record.created, UTC)
        content: dict[str, Any] = {
            "time": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("job", "operator", "subtask"):
            if (value := getattr(record, name, None)) is not None:
                content[name] = value
        content["process"], content["thread"] = record.process, record.threadName
        if record.exc_info:
            content["exception"] = self.formatException(record.exc_info)
        elif record.exc_text:
            content["exception"] = record.exc_text
        return json.dumps(content, ensure_ascii=False, default=repr)


def log_format(as_json: bool) -> logging.Formatter:
    """Formatter for JSON or for text."""
    return JsonLogFormat() if as_json else TextLogFormat()


def use_format(as_json: bool, logger: str = "millrace") -> None:
    """Set the format of a logger's handlers that already have a format of this module, and of the
    handler of last resort if it has one.
    """
    for handler in (*logging.getLogger(logger).handlers, logging.lastResort):
        if handler and isinstance(handler.formatter, TextLogFormat | JsonLogFormat):
            handler.setFormatter(log_format(as_json))


def placed(handler: logging.Handler, as_json: bool = False) -> logging.Handler:
    """The handler, after it got a format, and a filter that adds the origin to each record."""
    handler.setFormatter(log_format(as_json))
    handler.addFilter(LogOriginFilter())
    return handler


def readable(text: str) -> str:
    """Lines of a log for people. JSON lines are replaced by their messages.

    Example:
        >>> print(readable('begun\\n{"message": "no price", "exception": "KeyError: 3"}\\n{3'))
        begun
        no price
        KeyError: 3
        {3
    """
    return "\n".join(map(_said, text.split("\n")))


def _said(line: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        content = json.loads(line)
        parts = [content["message"], content.get("exception")]
        return "\n".join(str(part) for part in parts if part)
    except (ValueError, KeyError, RecursionError):
        return line
