"""User-defined functions: scalar, table, aggregate and table aggregate functions."""

from __future__ import annotations

from millrace.table.data_view import ListView, MapView
from millrace.table.functions.aggregate_functions import AggregateFunction
from millrace.table.functions.built_in_aggregates import (
    AvgAggFunction,
    Count1AggFunction,
    CountAggFunction,
    DecimalSum0AggFunction,
    FirstValueAggFunction,
    FirstValueWithRetractAggFunction,
    FloatSum0AggFunction,
    IntSum0AggFunction,
    LastValueAggFunction,
    LastValueWithRetractAggFunction,
    ListAggFunction,
    ListAggWithRetractAggFunction,
    ListAggWsWithRetractAggFunction,
    MaxAggFunction,
    MaxWithRetractAggFunction,
    MinAggFunction,
    MinWithRetractAggFunction,
    Sum0AggFunction,
    SumAggFunction,
    SumWithRetractAggFunction,
    WelfordM2AggFunction,
)

__all__ = [
    "AggregateFunction",
    "AvgAggFunction",
    "Count1AggFunction",
    "CountAggFunction",
    "DecimalSum0AggFunction",
    "FirstValueAggFunction",
    "FirstValueWithRetractAggFunction",
    "FloatSum0AggFunction",
    "IntSum0AggFunction",
    "LastValueAggFunction",
    "LastValueWithRetractAggFunction",
    "ListAggFunction",
    "ListAggWithRetractAggFunction",
    "ListAggWsWithRetractAggFunction",
    "ListView",
    "MapView",
    "MaxAggFunction",
    "MaxWithRetractAggFunction",
    "MinAggFunction",
    "MinWithRetractAggFunction",
    "Sum0AggFunction",
    "SumAggFunction",
    "SumWithRetractAggFunction",
    "WelfordM2AggFunction",
]
