"""PyFlink's import path for `TimeDomain`."""

from __future__ import annotations

from millrace.common.time.time_domain import TimeDomain

__all__ = ["TimeDomain"]
