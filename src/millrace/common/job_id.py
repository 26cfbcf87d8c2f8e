"""PyFlink's import path for `JobID`."""

from __future__ import annotations

from millrace.common.job import JobID

__all__ = ["JobID"]
