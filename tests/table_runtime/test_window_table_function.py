"""Rows with their windows."""

from datetime import datetime, timedelta
from functools import partial

from tests.table_runtime.subtask import Row, Subtask, columns

from millrace.common.types.logical.logical_type import BigIntType, RowType, TimestampType
from millrace.planner.execution.window_aggregate import slices_of
from millrace.planner.relational.stream_rel_nodes import WindowingStrategy, WindowKind
from millrace.table_runtime.window_slices import WindowSlices
from millrace.table_runtime.window_table_function import WindowTableFunctionOperator
from millrace.table_runtime.window_time import EVENT_TIME

TIME = TimestampType(3)
INPUT = RowType.of(("v", BigIntType()), ("t", TIME))
OUTPUT = RowType.of(
    ("v", BigIntType()), ("t", TIME), ("window_start", TIME), ("window_end", TIME), ("w", TIME)
)


def at(ms: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(milliseconds=ms)


def windows(slices: WindowSlices, *rows: Row) -> list[Row]:
    subtask = Subtask(partial(WindowTableFunctionOperator, slices, 1, OUTPUT, EVENT_TIME))
    found = subtask.epoch([columns(INPUT, [("+I", row) for row in rows])])
    dropped = subtask.operator.context.metrics.metrics["numNullRowTimeRecordsDropped"]
    assert dropped.get_count() == sum(row[1] is None for row in rows)
    return [
        row[:1] + tuple((each - at(0)) // timedelta(milliseconds=1) for each in row[2:])
        for _, row in found
    ]


def test_each_row_comes_once_per_window() -> None:
    hop = WindowSlices(size=10, slide=5)
    assert windows(hop, (1, at(7)), (2, None), (3, at(-1))) == [
        (1, 0, 10, 9),
        (1, 5, 15, 14),
        (3, -10, 0, -1),
        (3, -5, 5, 4),
    ]


def test_windows_with_gaps_and_growing_ones() -> None:
    gaps = slices_of(WindowingStrategy(WindowKind.HOP, size=2, slide=5))
    assert windows(gaps, (1, at(1)), (2, at(3))) == [(1, 0, 2, 1)]
    uneven = slices_of(WindowingStrategy(WindowKind.HOP, size=7, slide=5, offset=1))
    assert windows(uneven, (1, at(7))) == [(1, 1, 8, 7), (1, 6, 13, 12)]
    cumulate = WindowSlices(size=10, slide=5, cumulates=True)
    assert windows(cumulate, (1, at(2)), (2, at(7))) == [(1, 0, 5, 4), (1, 0, 10, 9), (2, 0, 10, 9)]
