"""PyFlink's import path for `TimerService`."""

from __future__ import annotations

from millrace.common.time.timer_service import TimerService

__all__ = ["TimerService"]
