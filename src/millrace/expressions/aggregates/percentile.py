"""PERCENTILE: the value below which a given fraction of the values lies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millrace.expressions.aggregates.accumulator import Columns, Slots
from millrace.expressions.aggregates.collecting import CollectingAccumulator
from millrace.expressions.evaluation_error import EvaluationError

__all__ = ["PercentileAccumulator"]


class PercentileAccumulator(CollectingAccumulator):
    """PERCENTILE, interpolated between the two nearest values. Flink: ``PercentileAggFunction``.

    Items are of a value, the share or shares, and how often the value counts.
    """

    def _items(self, arguments: list[pa.Array]) -> list[Any]:
        values = arguments[0].cast(pa.float64(), safe=False).to_pylist()
        shares = [
            tuple(map(_share, share)) if isinstance(share, list) else _share(share)
            for share in arguments[1].to_pylist()
        ]
        times = arguments[2].to_pylist() if len(arguments) > 2 else [1] * len(values)
        if any(count < 0 for count in times):
            raise EvaluationError(f"PERCENTILE: a value cannot be there {min(times)} times")
        return list(zip(values, shares, times, strict=True))

    def value(self, slots: Slots, columns: Columns) -> pa.Array:
        return pa.array([_of(items) for items in columns[0][slots].tolist()], self.arrow)


def _share(given: Any) -> float:
    if given is None or not 0 <= given <= 1:
        raise EvaluationError(f"PERCENTILE: a share must be a number from 0 to 1, not {given}")
    return float(given)


def _of(items: tuple[Any, ...] | None) -> Any:
    if not items:
        return None
    values, shares, times = (list(column) for column in zip(*items, strict=True))
    order = np.argsort(values, kind="stable")
    ordered, ends = np.array(values)[order], np.cumsum(np.array(times, np.float64)[order])
    if not ends[-1]:
        return None
    share = shares[-1]
    if isinstance(share, tuple):
        return [_at(ordered, ends, fraction) for fraction in share]
    return _at(ordered, ends, share)


def _at(ordered: Any, ends: Any, share: float) -> float:
    """The interpolated value at a share of the way through sorted values; ``ends`` are the
    cumulated counts of the values."""
    place = (ends[-1] - 1) * share
    low, high = np.floor(place), np.ceil(place)
    below, above = ordered[np.searchsorted(ends, (low, high), side="right")].tolist()
    return float(below if low == high else (high - place) * below + (place - low) * above)
