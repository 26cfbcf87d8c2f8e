"""What workers log, and where it goes: that depends on where they run."""

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
        LogSettings(level='INFO', levels={}, json=False, ships=True)
    """
    ships = not master.startswith("local") or master.startswith("local-cluster")
    to_file = ships or LOG_VARIABLE in os.environ
    return replace(settings, level=settings.level or ("INFO" if to_file else None), ships=ships)
