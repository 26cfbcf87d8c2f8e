"""Metrics of user functions, at PyFlink's path."""

from __future__ import annotations

from millrace.common.functions.metrics import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
