"""Running values are those of accumulators that get row by row."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millrace.common.types.logical import logical_type as logical
from millrace.common.types.logical.arrow_type import arrow_type
from millrace.expressions import registry
from millrace.expressions.aggregates.accumulators import accumulator

LONG, DOUBLE, TEXT = logical.BigIntType(), logical.DoubleType(), logical.VarCharType()
MONEY = logical.DecimalType(38, 2)
VALUES: dict[Any, list[Any]] = {
    LONG: [None, 0, 1, -7, 2**63 - 1, -(2**63)],
    DOUBLE: [None, 0.5, -2.25, 1e300, -1e300, math.inf, math.nan],
    MONEY: [None, Decimal("0.01"), Decimal("-12345678901234567890.50"), Decimal(9) * 10**35],
    TEXT: [None, "a", "b", ""],
}

NAMES = ["COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE"]
CASES = [
    (name, kind)
    for name in NAMES
    for kind in VALUES
    if kind is not TEXT or name[:3] not in "SUMAVG"
]


@pytest.mark.parametrize(("name", "kind"), CASES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_after_each_row(name: str, kind: Any, seed: int) -> None:
    chance = random.Random(seed)
    result = LONG if name == "COUNT" else kind
    aggregate = accumulator(registry.function(name), (kind,), result)
    groups = [chance.choice((1, 2, 5, 50)) for _ in range(6)]
    slots = np.repeat(np.array([3, 0, 5, 1, 2, 4]), groups)
    state = tuple(np.zeros(6, dtype) for dtype in aggregate.columns())
    for column in state:
        if column.dtype == np.object_:
            column[:] = None
    before = [chance.choice(VALUES[kind]) for _ in range(4)]
    held = np.array([3, 3, 1, 5])
    aggregate.accumulate(held, state, [pa.array(before, arrow_type(kind))])
    values = pa.array([chance.choice(VALUES[kind]) for _ in slots], arrow_type(kind))
    counted = np.array([chance.random() < 0.8 for _ in slots]) if seed % 2 else None
    begins = np.flatnonzero(np.diff(slots, prepend=-1))
    carry = tuple(column[slots[begins]] for column in state)
    found = aggregate.running(carry, begins, [values], counted)
    if found is None:
        assert kind in (TEXT, MONEY)
        assert name in ("MIN", "MAX")
        return
    shown = aggregate.value(np.arange(slots.size), found)
    for row, slot in enumerate(slots.tolist()):
        if counted is None or counted[row]:
            with np.errstate(all="ignore"):
                aggregate.accumulate(np.array([slot]), state, [values.slice(row, 1)])
        (expected,) = aggregate.value(np.array([slot]), state).to_pylist()
        actual = shown[row].as_py()
        assert repr(actual) == repr(expected)  # of NaN too
