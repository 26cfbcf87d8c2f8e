"""PyFlink's import path for `millrace.common.functions.metrics`."""

from __future__ import annotations

from millrace.common.functions.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
