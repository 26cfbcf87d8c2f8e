"""PyFlink's import path for `JobExecutionResult`."""

from __future__ import annotations

from millrace.common.job import JobExecutionResult, JobID

__all__ = [
    "JobExecutionResult",
    "JobID",
]
