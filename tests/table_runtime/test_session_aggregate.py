"""Aggregates of sessions against sessions that are merged row by row."""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from typing import Any

import pytest
from tests.table_runtime.subtask import Row, Subtask, columns
from tests.table_runtime.test_window_aggregate import INPUT, LONG, SUMS, TIME, at

from millrace.common.errors import JobExecutionError
from millrace.common.types.logical.logical_type import RowType
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall
from millrace.table_runtime.session_aggregate import (
    SessionAggregateOperator,
    SessionAggregateSpec,
)

GAP = 5
CALLS = (*SUMS, AggregateCall(registry.function("MAX"), (1,), LONG))


def spec(groups: tuple[int, ...] = (0,)) -> SessionAggregateSpec:
    names = [(f"g{index}", INPUT.fields[index].type) for index in groups]
    names += [(f"a{number}", each.type) for number, each in enumerate(CALLS)]
    names += [("s", TIME), ("e", TIME), ("t", TIME)]
    properties = ("start", "end", "time")
    return SessionAggregateSpec(INPUT, groups, CALLS, GAP, 2, properties, RowType.of(*names))


class Model:
    """Sessions as lists of rows, merged one row at a time."""

    def __init__(self) -> None:
        self.open: dict[Any, list[list[tuple[int, Any]]]] = {}
        self.watermark = -(10**9)
        self.dropped = 0

    def add(self, rows: list[tuple[Any, Any, int]]) -> None:
        """Rows that are late by themselves are tried when the others are in."""
        late = []
        for row in rows:
            if row[2] + GAP - 1 > self.watermark:
                self._join(row)
            else:
                late.append(row)
        while any(self._touched(row) for row in late):
            joined = [row for row in late if self._touched(row)]
            late = [row for row in late if not self._touched(row)]
            for row in joined:
                self._join(row)
        self.dropped += len(late)

    def _touched(self, row: tuple[Any, Any, int]) -> list[list[tuple[int, Any]]]:
        key, _, time = row
        return [
            session
            for session in self.open.get(key, [])
            if session[0][0] <= time + GAP and time <= max(t for t, _ in session) + GAP
        ]

    def _join(self, row: tuple[Any, Any, int]) -> None:
        key, value, time = row
        touched = self._touched(row)
        left = [each for each in self.open.get(key, []) if all(each is not one for one in touched)]
        merged = [pair for session in touched for pair in session] + [(time, value)]
        self.open[key] = [*left, sorted(merged, key=lambda pair: pair[0])]

    def pass_to(self, watermark: int) -> Counter[Row]:
        self.watermark = watermark
        found: Counter[Row] = Counter()
        for key, sessions in self.open.items():
            for session in sessions:
                start, end = session[0][0], session[-1][0] + GAP
                if end - 1 <= watermark:
                    some = [value for _, value in session if value is not None]
                    sums = (
                        (len(session), sum(some), max(some)) if some else (len(session), None, None)
                    )
                    found[key, *sums, at(start), at(end), at(end - 1)] += 1
            self.open[key] = [each for each in sessions if each[-1][0] + GAP - 1 > watermark]
        return found


@pytest.mark.parametrize("groups", [(0,), ()], ids=["keys", "no keys"])
@pytest.mark.parametrize("seed", range(4))
def test_each_session_is_given_once_whatever_happens_in_between(
    groups: tuple[int, ...], seed: int
) -> None:
    chance, model = random.Random(seed), Model()
    subtask = Subtask(partial(SessionAggregateOperator, spec(groups)))
    watermark, lost = 0, 0
    for _ in range(30):
        rows = [
            (chance.choice(["a", "b", None]), chance.choice([None, 1, 2]), watermark + ahead)
            for ahead in chance.choices(range(-15, 40), k=chance.randrange(1, 12))
        ]
        batch = columns(INPUT, [("+I", (key, value, at(time))) for key, value, time in rows])
        watermark += chance.randrange(12)
        if chance.random() < 0.3:
            subtask.epoch([batch], watermark, abort=True)
        dropped = subtask.operator._dropped.get_count()  # type: ignore[attr-defined]
        model.add(rows if groups else [("", value, time) for _, value, time in rows])
        found = Counter(row for _, row in subtask.epoch([batch], watermark))
        expected = model.pass_to(watermark)
        if not groups:
            expected = Counter({row[1:]: count for row, count in expected.items()})
        assert found == expected
        lost += subtask.operator._dropped.get_count() - dropped  # type: ignore[attr-defined]
        if chance.random() < 0.2:
            subtask = subtask.restored()
    assert lost == model.dropped
    assert lost


def test_sessions_that_touch_are_one_and_come_in_the_order_of_their_ends() -> None:
    subtask = Subtask(partial(SessionAggregateOperator, spec()))
    rows = [("+I", ("a", 1, at(time))) for time in (20, 0, 5, 11)]
    found = subtask.epoch([columns(INPUT, rows)], 1_000)
    assert [(row[1], row[4], row[5]) for _, row in found] == [
        (2, at(0), at(10)),
        (1, at(11), at(16)),
        (1, at(20), at(25)),
    ]


def test_a_row_without_time_is_refused_with_advice() -> None:
    subtask = Subtask(partial(SessionAggregateOperator, spec()))
    with pytest.raises(JobExecutionError, match="time is null.*IS NOT NULL"):
        subtask.epoch([columns(INPUT, [("+I", ("a", 1, None))])])
