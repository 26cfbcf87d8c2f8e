"""PyFlink's import path for `RuntimeExecutionMode`."""

from __future__ import annotations

from millrace.common.config.execution_mode import RuntimeExecutionMode

__all__ = ["RuntimeExecutionMode"]
