"""User-defined functions: scalar, table, aggregate and table aggregate functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.other_paths import late_directory, late_names

if TYPE_CHECKING:
    from millrace.table.data_view import ListView, MapView
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
    from millrace.table_runtime.user_defined_functions import AggregateFunction

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

# workers import this package for the base classes of functions: they need nothing else of it
if not TYPE_CHECKING:  # a type checker knows the names by their imports, and no others
    __getattr__ = late_names(__name__)
    __dir__ = late_directory(__name__)
