"""PERCENTILE: the value below which a share of all values are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.expressions.aggregates.accumulator import Columns, Slots
from millrace.expressions.aggregates.collecting import CollectingAccumulator

__all__ = ["PercentileAccumulator"]


class PercentileAccumulator(CollectingAccumulator):
    """Interpolated between the two values next to the place. Flink: ``PercentileAggFunction``.

    Items are of a value, the share or shares, and how often the value counts.
    """

    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        values = arguments[0].cast(pa.float64(), safe=False).to_pylist()
        shares = [
            tuple(map(float, each)) if isinstance(each, list) else float(each)
            for each in arguments[1].to_pylist()
        ]
        times = arguments[2].to_pylist() if len(arguments) > 2 else [1] * len(values)
        return list(zip(values, shares, times, strict=True))

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        return pa.array([_of(each) for each in columns[0][slots].tolist()], self.arrow)


def _of(items: tuple[Any, ...] | None) -> Any:
    if not items:
        return None
    values, shares, times = zip(*items, strict=True)
    spread = np.repeat(np.array(values), np.array(times, np.int64))
    return np.quantile(spread, shares[-1]).tolist() if len(spread) else None
