"""The world of windows in one place: windows, assigners and triggers."""

from __future__ import annotations

from millrace.common.time_window import TimeWindow, TimeWindowSerializer, Window
from millrace.common.trigger import EventTimeTrigger, Trigger, TriggerResult
from millrace.common.window_assigner import (
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)

__all__ = [
    "EventTimeTrigger",
    "SlidingEventTimeWindows",
    "TimeWindow",
    "TimeWindowSerializer",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "Window",
    "WindowAssigner",
]
