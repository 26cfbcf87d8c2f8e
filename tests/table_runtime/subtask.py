"""Drives one operator of SQL, epoch by epoch, with aborts and restores in between."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millrace.common.types.batch import Batch, ColumnBatch
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.epoch import EpochContext
from millrace.runtime.operator import Operator, OperatorContext
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.table_runtime.columns import schema_of

MAXIMUM = 16
Row = tuple[Any, ...]
KINDS = ("+I", "-U", "+U", "-D")


class Collected:
    """Takes what an operator emits."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, Row]] = []
        self.watermarks: list[int] = []

    def emit(self, batch: Batch) -> None:
        assert isinstance(batch, ColumnBatch)
        rows = list(zip(*(column.to_pylist() for column in batch.data.columns), strict=True))
        kinds = [0] * len(rows) if batch.row_kinds is None else batch.row_kinds.to_pylist()
        self.changes += zip([KINDS[kind] for kind in kinds], rows, strict=True)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks.append(timestamp)


def columns(row_type: Any, changes: Sequence[tuple[str, Row]]) -> ColumnBatch:
    """A batch of rows with their kinds."""
    schema = schema_of(row_type)
    arrays = [
        pa.array([row[number] for _, row in changes], field.type)
        for number, field in enumerate(schema)
    ]
    kinds = [KINDS.index(kind) for kind, _ in changes]
    row_kinds = pa.array(kinds, pa.int8()) if any(kinds) else None
    return ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), None, row_kinds, "row")


def materialised(changes: Sequence[tuple[str, Row]]) -> Counter[Row]:
    """The rows that a changelog leaves; it takes back nothing that it has not given."""
    found: Counter[Row] = Counter()
    for kind, row in changes:
        if kind in ("+I", "+U"):
            found[row] += 1
        else:
            assert found[row] > 0, f"{kind} {row} without such a row"
            found[row] -= 1
    return +found


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


class Subtask:
    """One subtask of an operator.

    Args:
        flushes: chance of a flush after each batch, as on resident tasks.
    """

    def __init__(
        self,
        factory: Callable[[], Operator],
        state: SubtaskState | None = None,
        index: int = 0,
        parallelism: int = 1,
        flushes: float = 0.0,
    ) -> None:
        self._flushes, self._chance = flushes, random.Random(17)
        self._factory = factory
        self._place = (index, parallelism)
        self.state = state or SubtaskState()
        self.deltas: list[StateDelta] = []
        self.version = self.state.version
        self.changes: list[tuple[str, Row]] = []
        self.now = 0
        self._new_instance()

    def _new_instance(self) -> None:
        self.operator = self._factory()
        self.output = Collected()
        context = OperatorContext("op", "op", *self._place, MAXIMUM, self.state, lambda: self.now)
        self.operator.setup(context, self.output, {})
        self.operator.open()
        self.operator.restore()

    def epoch(
        self,
        batches: Sequence[ColumnBatch],
        watermark: int | None = None,
        abort: bool = False,
        ended: bool = False,
        inputs: Sequence[int] = (),
    ) -> list[tuple[str, Row]]:
        """Run an epoch; an aborted one leaves nothing. ``inputs``: of each batch, by default 0."""
        epoch = len(self.deltas) + 1
        self.operator.begin_epoch(EpochContext(epoch, self.now))
        self.operator.advance_processing_time(self.now)
        for number, batch in zip(inputs or [0] * len(batches), batches, strict=True):
            self.operator.process_columns(number, batch)
            if self._chance.random() < self._flushes:
                self.operator.flush()
        if ended:  # the last watermark comes with it
            watermark = MAX_WATERMARK
        if watermark is not None:
            self.operator.process_watermark(watermark)
        self.operator.end_epoch(ended)
        found, self.output.changes = self.output.changes, []
        version = f"v{epoch}{'x' if abort else ''}"
        delta = self.state.snapshot(epoch, version)
        if abort:
            self.state.align(self.version, self.deltas, load)
            self._new_instance()
            return []
        if delta is not None:
            self.deltas.append(delta)
            self.version = version
            self.state.align(version, self.deltas, load)
        self.changes += found
        return found

    def restored(self, index: int = 0, parallelism: int = 1) -> Subtask:
        """A subtask of a new worker that has the part of the state that is its own."""
        state, own = SubtaskState(), key_group_range(index, parallelism, MAXIMUM)
        values = state.take(
            self.deltas, load, lambda *_: True, lambda key: key_group_of(key, MAXIMUM) in own
        )
        state.operator_table().data.update(values)
        state.adopt("restored")
        return Subtask(self._factory, state, index, parallelism, self._flushes)
