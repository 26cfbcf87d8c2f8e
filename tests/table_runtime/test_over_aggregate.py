"""OVER: what each row's frame gives, whatever the epochs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns

from millrace.common.types.logical.logical_type import (
    BigIntType,
    RowType,
    TimestampType,
    VarCharType,
)
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall, SortKey
from millrace.state.columns.row_log import RowLog
from millrace.table_runtime.over_aggregate import OverAggregateOperator, OverAggregateSpec

LONG = BigIntType()
INPUT = RowType.of(("k", VarCharType()), ("at", TimestampType(3)), ("v", LONG))
CALLS = tuple(
    AggregateCall(registry.function(function), arguments, LONG)
    for function, arguments in [("COUNT", ()), ("SUM", (2,)), ("MIN", (2,)), ("MAX", (2,))]
)
OUTPUT = RowType((*INPUT.fields, *RowType.of(*((f"a{n}", LONG) for n in range(4))).fields))
START = datetime(1970, 1, 1)


def spec(rows: bool, preceding: int | None, rowtime: bool = True) -> OverAggregateSpec:
    order = (SortKey(1),) if rowtime else ()
    return OverAggregateSpec(INPUT, (0,), order, rows, preceding, CALLS, OUTPUT, rowtime)


def expected(rows: list[Row], of: OverAggregateSpec) -> Counter[Row]:
    """Each row's frame, found by looking at all rows."""
    found: Counter[Row] = Counter()
    for key in {row[0] for row in rows}:
        line = [row for row in rows if row[0] == key]
        if of.rowtime:
            line.sort(key=lambda row: row[1])
        for number, row in enumerate(line):
            if of.rows or not of.rowtime:
                begin = 0 if of.preceding is None else max(0, number - of.preceding)
                frame = line[begin : number + 1]
            else:
                frame = [each for each in line if each[1] <= row[1]]
                if of.preceding is not None:
                    lowest = row[1] - timedelta(milliseconds=of.preceding)
                    frame = [each for each in frame if each[1] >= lowest]
            values = [each[2] for each in frame if each[2] is not None]
            sums = (sum(values), min(values), max(values)) if values else (None,) * 3
            found[(*row, len(frame), *sums)] += 1
    return found


def some_rows(chance: random.Random, low: int) -> list[Row]:
    return [
        (
            chance.choice([None, "a", "b"]),
            START + timedelta(milliseconds=low + chance.randrange(1, 30)),
            chance.choice([None, -3, 1, 8]),
        )
        for _ in range(chance.randrange(1, 12))
    ]


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("preceding", [None, 0, 2, 15])
@pytest.mark.parametrize("seed", range(3))
def test_by_event_time(rows: bool, preceding: int | None, seed: int) -> None:
    chance, watermark = random.Random(seed), 0
    of = spec(rows, preceding)
    subtask = Subtask(partial(OverAggregateOperator, of))
    came: list[Row] = []
    for number in range(10):
        if chance.random() < 0.3:
            lost = [("+I", row) for row in some_rows(chance, watermark)]
            subtask.epoch([columns(INPUT, lost)], watermark=watermark + 20, abort=True)
        new = some_rows(chance, watermark)
        came += new
        watermark += chance.randrange(12)
        subtask.epoch([columns(INPUT, [("+I", row) for row in new])], watermark=watermark)
        due = [row for row in came if row[1] <= START + timedelta(milliseconds=watermark)]
        full = expected(came, of)
        assert Counter(row for _, row in subtask.changes) == Counter(
            {row: count for row, count in full.items() if row[1] <= max(_at(watermark), START)}
        ), (number, due)
    again = subtask.restored()
    left = [row for _, row in again.epoch([], watermark=100_000)]
    assert Counter([row for _, row in subtask.changes] + left) == expected(came, of)
    again.epoch([], watermark=200_000)
    if preceding is None:
        assert again.operator._log.entry_count() == 0  # type: ignore[attr-defined]


def _at(milliseconds: int) -> datetime:
    return START + timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize("flushes", [0.0, 1.0])
@pytest.mark.parametrize("preceding", [None, 2])
def test_by_processing_time_rows_are_in_the_order_in_which_they_came(
    preceding: int | None, flushes: float
) -> None:
    chance, of = random.Random(5), spec(True, preceding, rowtime=False)
    subtask = Subtask(partial(OverAggregateOperator, of), flushes=flushes)
    came: list[Row] = []
    for _ in range(6):
        new = [some_rows(chance, 0) for _ in range(2)]
        came += new[0] + new[1]
        subtask.epoch([columns(INPUT, [("+I", row) for row in rows]) for rows in new])
        assert Counter(row for _, row in subtask.changes) == expected(came, of)


def test_rows_that_no_frame_reaches_are_freed() -> None:
    for of, left in ((spec(True, 2), 2), (spec(False, 10), 1)):
        subtask = Subtask(partial(OverAggregateOperator, of))
        rows = [("+I", ("a", _at(number * 10), 1)) for number in range(1, 20)]
        subtask.epoch([columns(INPUT, rows)], watermark=195)
        assert subtask.operator._log.entry_count() == left  # type: ignore[attr-defined]


@pytest.mark.parametrize("preceding", [None, 5])
@pytest.mark.parametrize("rowtime", [False, True])
def test_a_partition_without_rows_for_its_time_to_live_begins_anew(
    preceding: int | None, rowtime: bool
) -> None:
    of = replace(spec(True, preceding, rowtime), state_ttl=100)
    subtask = Subtask(partial(OverAggregateOperator, of))

    def counts(now: int, *keys: str) -> dict[str, int]:
        subtask.now = now
        rows = [("+I", (key, _at(now + 1), 1)) for key in keys]
        found = subtask.epoch([columns(INPUT, rows)], watermark=now + 1 if rowtime else None)
        return {row[0]: row[3] for _, row in found}

    assert counts(0, "a", "b") == {"a": 1, "b": 1}
    assert counts(90, "a") == {"a": 2}
    # its first row came too long ago, its last one did not
    assert counts(150, "a", "b") == {"a": 3, "b": 1}
    assert counts(1_000) == {}
    assert sum(table.entry_count() for table in subtask.state.tables.values()) <= 1


def test_a_partition_with_rows_that_wait_does_not_expire() -> None:
    of = replace(spec(True, None), state_ttl=100)
    subtask = Subtask(partial(OverAggregateOperator, of))
    subtask.epoch([columns(INPUT, [("+I", ("a", _at(10), 1))])], watermark=10)
    subtask.epoch([columns(INPUT, [("+I", ("a", _at(20), 1))])])
    subtask.now = 500
    subtask.epoch([columns(INPUT, [("+I", ("a", _at(30), 1))])])
    found = subtask.epoch([], watermark=30)
    assert [row[3] for _, row in found] == [2, 3]


@pytest.mark.parametrize("preceding", [None, 5])
@pytest.mark.parametrize("rows", [False, True])
def test_a_watermark_looks_only_at_due_rows_and_their_frames(
    preceding: int | None, rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    subtask = Subtask(partial(OverAggregateOperator, spec(rows, preceding)))
    came = [("a", START + timedelta(milliseconds=n), 1) for n in range(1, 100)]
    subtask.epoch([columns(INPUT, [("+I", row) for row in came])], watermark=0)

    def fail(log: RowLog) -> None:
        raise AssertionError("all rows are looked at")

    monkeypatch.setattr(RowLog, "live_rows", fail)
    assert [row[3] for _, row in subtask.epoch([], watermark=3)] == [1, 2, 3]
