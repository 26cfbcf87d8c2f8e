"""Windows, their assigners and triggers."""

from __future__ import annotations

from millrace.common.window import (
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
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
