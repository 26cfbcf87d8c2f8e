"""Metrics are found where PyFlink has them."""

from __future__ import annotations

import millrace.metrics
from millrace.common.functions import metrics
from millrace.metrics import metricbase


def test_both_paths_give_the_interfaces() -> None:
    for name in ("Counter", "Distribution", "Meter", "Metric", "MetricGroup"):
        found = getattr(metrics, name)
        assert getattr(millrace.metrics, name) is getattr(metricbase, name) is found


def test_all_kinds_are_metrics() -> None:
    kinds = (metricbase.Counter, metricbase.Distribution, metricbase.Meter)
    assert all(issubclass(kind, metricbase.Metric) for kind in kinds)
