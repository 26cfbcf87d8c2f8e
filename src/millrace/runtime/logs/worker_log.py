"""Sets up logging in a worker process, before the first function runs in it."""

from __future__ import annotations

import logging
import sys

from millrace.runtime.logs.log_formats import JsonLogFormat, TextLogFormat, log_format, placed
from millrace.runtime.logs.log_line import LogLine
from millrace.runtime.logs.log_place import PlaceFilter
from millrace.runtime.logs.log_settings import LogSettings
from millrace.runtime.logs.shipped_log import ShippedLog

__all__ = ["set_up_worker_log", "take_shipped"]

_shipped = ShippedLog()


def set_up_worker_log(settings: LogSettings) -> None:
    """Let the root logger write to standard error, which Spark brings into the log, and to the
    driver if it is on another machine. Handlers that the job's modules have set up stay."""
    root = logging.getLogger()
    root.setLevel(settings.level or logging.WARNING)
    settings.apply_levels()
    ours = [h for h in root.handlers if isinstance(h.formatter, TextLogFormat | JsonLogFormat)]
    others = [h for h in root.handlers if h not in (*ours, _shipped)]
    if ours:
        ours[0].setFormatter(log_format(settings.json))
    elif others:
        for handler in others:
            if not any(isinstance(one, PlaceFilter) for one in handler.filters):
                handler.addFilter(PlaceFilter())
    else:
        root.addHandler(placed(logging.StreamHandler(sys.stderr), settings.json))
    if settings.ships and _shipped not in root.handlers:
        root.addHandler(_shipped)
        _shipped.tee_stdout()


def take_shipped() -> list[LogLine]:
    """What the driver has yet to log."""
    return _shipped.take()
