"""Rows in the order of their time, whatever the epochs."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from functools import partial

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns

from millrace.common.types.logical.logical_type import BigIntType, RowType, TimestampType
from millrace.expressions.resolved import SortKey
from millrace.state.columns.row_log import RowLog
from millrace.table_runtime.temporal_sort import TemporalSortOperator

INPUT = RowType.of(("at", TimestampType(3)), ("v", BigIntType()))
KEYS = (SortKey(0), SortKey(1, ascending=False))


def row(ms: int, value: int) -> Row:
    return (datetime(1970, 1, 1) + timedelta(milliseconds=ms), value)


@pytest.mark.parametrize("seed", range(6))
def test_rows_come_in_order_once_the_watermark_has_passed_them(seed: int) -> None:
    chance, watermark = random.Random(seed), 0
    subtask = Subtask(partial(TemporalSortOperator, INPUT, KEYS, 0))
    expected: list[Row] = []
    for _ in range(12):
        rows = [row(chance.randrange(100), chance.randrange(5)) for _ in range(10)]
        batch = columns(INPUT, [("+I", each) for each in rows])
        if chance.random() < 0.3:
            subtask.epoch([batch], watermark=100, abort=True)
        expected += [each for each in rows if each > row(watermark, 9)]
        watermark = min(watermark + chance.randrange(15), 99)
        subtask.epoch([batch], watermark=watermark)
    expected.sort(key=lambda each: (each[0], -each[1]))
    due = [each for each in expected if each <= row(watermark, 9)]
    assert [each for _, each in subtask.changes] == due
    again = subtask.restored()
    assert [each for _, each in again.epoch([], watermark=1000)] == expected[len(due) :]


def test_by_processing_time_an_epoch_gives_its_rows() -> None:
    subtask = Subtask(partial(TemporalSortOperator, INPUT, KEYS[1:], None))
    batch = columns(INPUT, [("+I", row(0, value)) for value in (1, 3, 2)])
    assert [each[1] for _, each in subtask.epoch([batch])] == [3, 2, 1]
    assert subtask.epoch([]) == []


def test_by_processing_time_a_flush_gives_the_rows_that_wait() -> None:
    subtask = Subtask(partial(TemporalSortOperator, INPUT, KEYS[1:], None), flushes=1.0)
    batches = [
        columns(INPUT, [("+I", row(0, value)) for value in values]) for values in ((1, 3), (2, 5))
    ]
    assert [each[1] for _, each in subtask.epoch(batches)] == [3, 1, 5, 2]


def test_a_watermark_looks_only_at_the_rows_that_it_emits(monkeypatch: pytest.MonkeyPatch) -> None:
    subtask = Subtask(partial(TemporalSortOperator, INPUT, KEYS, 0))
    batch = columns(INPUT, [("+I", row(ms, ms)) for ms in range(100)])
    subtask.epoch([batch], watermark=0)

    def fail(log: RowLog) -> None:
        raise AssertionError("all rows are looked at")

    monkeypatch.setattr(RowLog, "live_rows", fail)
    assert [each for _, each in subtask.epoch([], watermark=2)] == [row(1, 1), row(2, 2)]
