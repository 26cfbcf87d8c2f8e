"""PERCENTILE against NumPy's, with frequencies, and rows that are taken back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millrace.common.types.logical.logical_type import BigIntType, DoubleType
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulators import accumulator


def test_percentiles_are_interpolated_and_values_taken_back() -> None:
    made = accumulator(
        registry.function("PERCENTILE"), (DoubleType(), DoubleType(), BigIntType()), DoubleType()
    )
    columns = tuple(np.full(2, None, kind) for kind in made.columns())
    slots = np.zeros(4, np.int64)
    arguments = [
        pa.array([4.0, -7.0, None, 1.0]),
        pa.array([0.25] * 4),
        pa.array([1, 3, 1, 2], pa.int64()),
    ]
    made.accumulate(slots, columns, arguments)
    both = np.array([0, 1], np.int64)
    expected = float(np.quantile([4.0, -7.0, -7.0, -7.0, 1.0, 1.0], 0.25))
    assert made.value(both, columns).to_pylist() == [expected, None]
    back = [each.slice(1, 1) for each in arguments]
    made.accumulate(slots[:1], columns, back, np.array([-1], np.int64))
    assert made.value(both, columns).to_pylist() == [
        float(np.quantile([4.0, 1.0, 1.0], 0.25)),
        None,
    ]
