"""Columnar state of SQL operators: ns per look-up, and what an epoch with few updates costs."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from bar import Data, Row, Section, table

from millrace.common.types.batch import Batch, ColumnBatch
from millrace.common.types.logical.logical_type import (
    BigIntType,
    LogicalType,
    RowType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import OperatorContext
from millrace.state.columns.columnar_table import ColumnsOf
from millrace.state.columns.positions import ValueColumn
from millrace.state.columns.slot_table import SlotTable
from millrace.state.store import SubtaskState
from millrace.table_runtime.columns import schema_of
from millrace.table_runtime.group_aggregate import GroupAggregateOperator, GroupAggregateSpec

TITLE = "Columnar state"
BAR = 1.5
"""An epoch with 1,000 updates at 5M groups against one at 10K groups."""
BATCH = 200_000
UPDATES = 1_000
EPOCHS = 60
KINDS: dict[str, tuple[list[pa.DataType], Callable[[np.ndarray], list[pa.Array]]]] = {
    "BIGINT": ([pa.int64()], lambda n: [pa.array(n)]),
    "STRING": ([pa.string()], lambda n: [pa.array([f"user-{i}" for i in n.tolist()])]),
    "BIGINT, BIGINT": ([pa.int64()] * 2, lambda n: [pa.array(n), pa.array(n % 7)]),
}


def measure(quick: bool) -> Data:
    sizes = (10_000,) if quick else (100_000, 1_000_000)
    lookups = {kind: [_lookup(kind, size) for size in sizes] for kind in KINDS}
    groups = (10_000, 50_000 if quick else 5_000_000)
    return {
        "sizes": sizes,
        "lookups": lookups,
        "epochs": [_epoch(count) for count in groups],
        "grouped": {kind: _grouped(kind, 500_000) for kind in ("BIGINT", "STRING")},
    }


def _table(kind: str, count: int) -> SlotTable:
    found, (types, keys) = SlotTable(), KINDS[kind]
    sums = (ValueColumn(np.dtype("i8")), ValueColumn(np.dtype("i8")))
    found.bind(ColumnsOf(tuple(types), values=sums))
    for start in range(0, count, BATCH):
        found.slots_of(keys(np.arange(start, min(start + BATCH, count)) * 7919), create=True)
        found.seal()
    return found


def _lookup(kind: str, count: int) -> float:
    """Nanoseconds per look-up of a random key."""
    found = _table(kind, count)
    numbers = np.random.default_rng(1).integers(0, count, BATCH) * 7919
    keys = KINDS[kind][1](numbers)
    times = []
    for _ in range(7):
        start = time.process_time_ns()
        found.slots_of(keys, create=True)
        times.append((time.process_time_ns() - start) / BATCH)
    return min(times)


class _Nowhere:
    """Takes what an operator emits."""

    def emit(self, batch: Batch) -> None:
        pass

    def emit_watermark(self, timestamp: int) -> None:
        pass


class _Grouping:
    """SELECT k, COUNT(*), SUM(v) GROUP BY k, in one subtask with a checkpoint per epoch."""

    def __init__(self, key: LogicalType) -> None:
        self.input = RowType.of(("k", key), ("v", BigIntType()))
        calls = (
            AggregateCall(registry.function("COUNT"), (), BigIntType()),
            AggregateCall(registry.function("SUM"), (1,), BigIntType()),
        )
        output = RowType.of(("k", key), ("n", BigIntType()), ("s", BigIntType()))
        spec = GroupAggregateSpec(self.input, (0,), calls, output, retracts=False)
        self.state, self.version, self.number = SubtaskState(), "", 0
        self.operator = GroupAggregateOperator(spec)
        context = OperatorContext("op", "op", 0, 1, 128, self.state, lambda: 0)
        self.operator.setup(context, _Nowhere(), {})
        self.operator.open()
        self.operator.restore()

    def epoch(self, keys: pa.Array) -> float:
        """Milliseconds of processor time."""
        columns = [keys, pa.array(np.arange(len(keys)))]
        data = pa.RecordBatch.from_arrays(columns, schema=schema_of(self.input))
        self.number += 1
        start = time.process_time_ns()
        self.operator.begin_epoch(EpochContext(self.number, 0))
        self.operator.advance_processing_time(0)
        for row in range(0, len(keys), 65_536):
            self.operator.process_columns(0, ColumnBatch(data.slice(row, 65_536), form="row"))
        self.operator.end_epoch(False)
        delta = self.state.snapshot(self.number, f"v{self.number}")
        assert delta is not None
        self.state.align(delta.version, [delta], lambda found: b"")
        return (time.process_time_ns() - start) / 1e6


def _epoch(groups: int) -> float:
    """Milliseconds of an epoch of some updates, with its delta and its part of the compaction."""
    grouping, chance = _Grouping(BigIntType()), np.random.default_rng(1)
    for start in range(0, groups, 500_000):
        grouping.epoch(pa.array(np.arange(start, min(start + 500_000, groups)) * 7919))
    keys = (pa.array(chance.integers(0, groups, UPDATES) * 7919) for _ in range(EPOCHS))
    return float(np.median([grouping.epoch(each) for each in keys]))


def _grouped(kind: str, rows: int) -> float:
    """Million rows per second of processor time, grouped by 100,000 keys."""
    grouping = _Grouping(BigIntType() if kind == "BIGINT" else VarCharType())
    numbers = np.random.default_rng(1).integers(0, 100_000, rows)
    keys = KINDS[kind][1](numbers)[0]
    return rows / min(grouping.epoch(keys) for _ in range(4)) / 1e3


def section(data: Data) -> Section:
    small, large = data["epochs"]
    row = Row(
        "GROUP BY: epoch of 1,000 updates at 5M groups against 10K, in one process",
        f"{BAR} times",
        f"{large / small:.2f} times ({large:.2f} ms and {small:.2f} ms)",
        large <= BAR * small,
    )
    lines = [[kind, *(f"{each:.0f}" for each in found)] for kind, found in data["lookups"].items()]
    header = ["key", *(f"ns per look-up among {size:,} keys" for size in data["sizes"])]
    rates = ", ".join(f"{kind} {rate:.1f}M" for kind, rate in data["grouped"].items())
    text = f"COUNT and SUM by 100,000 keys, operator with checkpoint, rows/s and core: {rates}."
    return Section([row], [table(header, lines), text])
