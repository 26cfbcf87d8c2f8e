"""`clock_of`: the clock of windows. Flink: ``TimeWindowUtil``."""

from __future__ import annotations

from millrace.expressions.session_settings import SessionSettings
from millrace.planner.execution.translation import Translator
from millrace.planner.relational.stream_rel_nodes import WindowingStrategy
from millrace.table_runtime.window_time import WindowTime

__all__ = ["clock_of"]


def clock_of(window: WindowingStrategy, translator: Translator) -> WindowTime:
    """The clock of windows; windows over TIMESTAMP_LTZ follow the wall clock of the session's
    time zone."""
    session = translator.settings.session or SessionSettings()
    local = window.local and session.time_zone != "UTC"
    return WindowTime(session.time_zone if local else None, window.processing)
