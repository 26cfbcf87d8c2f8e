"""PyFlink's path of `JobExecutionResult`."""

from __future__ import annotations

from millrace.common.job import JobExecutionResult

__all__ = ["JobExecutionResult"]
