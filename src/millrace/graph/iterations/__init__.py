"""Aggregators, and the parts that the three models of iteration share."""

from __future__ import annotations

from millrace.graph.iterations.aggregators import (
    Aggregator,
    DoubleMaxAggregator,
    DoubleMinAggregator,
    DoubleSumAggregator,
    LongMaxAggregator,
    LongMinAggregator,
    LongSumAggregator,
)

__all__ = [
    "Aggregator",
    "DoubleMaxAggregator",
    "DoubleMinAggregator",
    "DoubleSumAggregator",
    "LongMaxAggregator",
    "LongMinAggregator",
    "LongSumAggregator",
]
