"""Log level and target of workers, depending on where they run."""

from __future__ import annotations

import os
from dataclasses import replace

from millrace.runtime.logs.log_settings import LogSettings
from millrace.spark.gateway import LOG_VARIABLE

__all__ = ["worker_log"]


def worker_log(settings: LogSettings, master: str) -> LogSettings:
    """The settings for the workers of an application.

    Workers of a local master write to the log that the JVM writes to, or to the terminal; others
    are on machines whose files nobody wants to look for.

    Example:
        >>> worker_log(LogSettings(), "spark://here:7077")
        LogSettings(level='INFO', levels={}, json=False, ships=True, file=None)
    """
    ships = not master.startswith("local") or master.startswith("local-cluster")
    file = None if ships else os.environ.get(LOG_VARIABLE)
    level = settings.level or ("INFO" if ships or file else None)
    return replace(settings, level=level, ships=ships, file=file)
