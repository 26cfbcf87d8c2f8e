"""Window aggregates: each window once, of all its rows that came in time."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.logical_type import (
    BigIntType,
    RowType,
    TimestampType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.table_runtime.window_aggregate import WindowAggregateOperator, WindowAggregateSpec
from millrace.table_runtime.window_slices import WindowSlices
from millrace.table_runtime.window_time import WindowTime

LONG, TEXT, TIME = BigIntType(), VarCharType(), TimestampType(3)
INPUT = RowType.of(("k", TEXT), ("v", LONG), ("at", TIME))
SUMS = (
    AggregateCall(registry.function("COUNT"), (), LONG),
    AggregateCall(registry.function("SUM"), (1,), LONG),
)
DISTINCT = (*SUMS, AggregateCall(registry.function("COUNT"), (1,), LONG, distinct=True))
KINDS = {
    "tumble": WindowSlices(10, 10),
    "offset": WindowSlices(10, 10, 3),
    "hop": WindowSlices(12, 4),
    "uneven hop": WindowSlices(10, 4, 1),
    "hop with gaps": WindowSlices(3, 10),
    "cumulate": WindowSlices(20, 5, 0, True),
}


def at(ms: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def windows_of(window: WindowSlices, time: int) -> list[tuple[int, int]]:
    """All windows of a time, by trying."""
    found = []
    for end in range(time + 1, time + window.size + window.slide + 1):
        start = end - window.size
        if window.cumulates:
            start = (end - 1 - window.offset) // window.size * window.size + window.offset
        if (end - window.offset) % window.slide == 0 and start <= time:
            found.append((start, end))
    return found


def spec(window: WindowSlices, calls: Any, groups: tuple[int, ...] = (0,)) -> WindowAggregateSpec:
    names = [(f"g{index}", INPUT.fields[index].type) for index in groups]
    names += [(f"a{number}", each.type) for number, each in enumerate(calls)]
    names += [("s", TIME), ("e", TIME), ("t", TIME)]
    output = RowType.of(*names)
    properties = ("start", "end", "time")
    return WindowAggregateSpec(INPUT, groups, calls, window, 2, False, properties, output)


class Model:
    """What the windows should be, row by row."""

    def __init__(self, window: WindowSlices, calls: Any) -> None:
        self.window, self.calls = window, calls
        self.open: dict[tuple[int, int], dict[Any, list[Any]]] = {}
        self.watermark = -(10**9)
        self.dropped = 0

    def add(self, key: Any, value: Any, time: int) -> None:
        of_row = windows_of(self.window, time)
        left = [each for each in of_row if each[1] - 1 > self.watermark]
        self.dropped += bool(of_row) and not left
        for each in left:
            self.open.setdefault(each, {}).setdefault(key, []).append(value)

    def pass_to(self, watermark: int) -> Counter[Row]:
        self.watermark = watermark
        found: Counter[Row] = Counter()
        for window in [each for each in self.open if each[1] - 1 <= watermark]:
            for key, values in self.open.pop(window).items():
                some = [value for value in values if value is not None]
                row = [key, len(values), sum(some) if some else None]
                row += [len(set(some))] if len(self.calls) == 3 else []
                found[*row, at(window[0]), at(window[1]), at(window[1] - 1)] += 1
        return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("calls", [SUMS, DISTINCT], ids=["sums", "distinct"])
@pytest.mark.parametrize("seed", range(2))
def test_each_window_is_given_once_whatever_happens_in_between(
    kind: str, calls: Any, seed: int
) -> None:
    chance, model = random.Random(seed), Model(KINDS[kind], calls)
    subtask = Subtask(partial(WindowAggregateOperator, spec(KINDS[kind], calls)))
    watermark, lost = 0, 0
    for _ in range(15):
        rows = [
            (chance.choice(["a", "b", None]), chance.choice([None, 1, 2]), watermark + ahead)
            for ahead in chance.choices(range(-15, 30), k=chance.randrange(1, 30))
        ]
        batch = columns(INPUT, [("+I", (key, value, at(time))) for key, value, time in rows])
        watermark += chance.randrange(12)
        if chance.random() < 0.3:
            subtask.epoch([batch], watermark, abort=True)
        dropped = subtask.operator._dropped.get_count()  # type: ignore[attr-defined]
        for row in rows:
            model.add(*row)
        found = subtask.epoch([batch], watermark)
        assert Counter(row for _, row in found) == model.pass_to(watermark)
        lost += subtask.operator._dropped.get_count() - dropped  # type: ignore[attr-defined]
        if chance.random() < 0.2:
            subtask = subtask.restored()
    assert lost == model.dropped


def test_windows_come_in_the_order_of_their_ends() -> None:
    subtask = Subtask(partial(WindowAggregateOperator, spec(KINDS["hop"], SUMS)))
    batch = columns(INPUT, [("+I", ("a", 1, at(time))) for time in (50, 3, 30)])
    ends = [row[-2] for _, row in subtask.epoch([batch], 1000)]
    assert ends == sorted(ends)
    assert len(ends) == 9


def test_windows_of_all_rows_and_windows_that_rows_bring() -> None:
    alone = spec(KINDS["tumble"], SUMS, ())
    subtask = Subtask(partial(WindowAggregateOperator, alone))
    rows = [("+I", ("a", 1, at(3))), ("+I", ("b", 4, at(9)))]
    assert subtask.epoch([columns(INPUT, rows)], 9) == [("+I", (2, 5, at(0), at(10), at(9)))]
    names = ("input_type", "groups", "calls", "window", "time", "properties", "output_type")
    brought = WindowAggregateSpec(**{n: getattr(alone, n) for n in names}, attached=True)
    subtask = Subtask(partial(WindowAggregateOperator, brought))
    rows = [("+I", ("a", 1, at(10))), ("+I", ("b", 4, at(10))), ("+I", ("c", 9, at(20)))]
    assert subtask.epoch([columns(INPUT, rows)], 9) == [("+I", (2, 5, at(0), at(10), at(9)))]
    assert subtask.epoch([], 2**63 - 1) == [("+I", (1, 9, at(10), at(20), at(19)))]


def test_a_row_without_time_is_refused_with_advice() -> None:
    subtask = Subtask(partial(WindowAggregateOperator, spec(KINDS["tumble"], SUMS)))
    with pytest.raises(JobExecutionError, match="time is null.*IS NOT NULL"):
        subtask.epoch([columns(INPUT, [("+I", ("a", 1, None))])])


@pytest.mark.parametrize("calls", [SUMS, DISTINCT], ids=["merged", "by window"])
@pytest.mark.parametrize("kind", ["tumble", "hop", "cumulate"])
def test_processing_time_windows_fire_as_the_clock_passes_them(kind: str, calls: Any) -> None:
    """Whatever epochs are aborted and wherever the state is restored, each window comes once."""
    rng = random.Random(7)
    clock = WindowTime(processing=True)
    task = Subtask(partial(WindowAggregateOperator, replace(spec(KINDS[kind], calls), clock=clock)))
    expected: Counter[Any] = Counter()
    found: list[Row] = []
    for _ in range(60):
        task.now += rng.choice((0, 1, 3, 9))
        if rng.random() < 0.1:
            now, task = task.now, task.restored()
            task.now = now
        abort = rng.random() < 0.2
        rows = [("+I", (rng.choice("ab"), 1, at(0))) for _ in range(rng.randrange(3))]
        found += [row for _, row in task.epoch([columns(INPUT, rows)], abort=abort)]
        waits = task.operator.next_wakeup()
        assert abort or waits is None or waits > task.now
        assert all(row[-2] <= at(task.now) for row in found)
        if not abort:
            for _, (key, _, _) in rows:
                for start, end in windows_of(KINDS[kind], task.now):
                    expected[key, at(start), at(end)] += 1
    found += [row for _, row in task.epoch([], watermark=MAX_WATERMARK, ended=True)]
    assert task.operator.next_wakeup() is None
    counted = {(row[0], row[-3], row[-2]): row[1] for row in found}
    assert len(counted) == len(found)
    assert counted == dict(expected)
