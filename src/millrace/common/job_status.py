"""PyFlink's import path for `JobStatus`."""

from __future__ import annotations

from millrace.common.job import JobStatus

__all__ = ["JobStatus"]
