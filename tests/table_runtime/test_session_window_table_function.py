"""Rows with their sessions against sessions that are merged row by row."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from functools import partial
from typing import Any

import pytest
from tests.table_runtime.subtask import Subtask, columns
from tests.table_runtime.test_session_aggregate import GAP, Model
from tests.table_runtime.test_window_aggregate import INPUT, TIME, at

from millrace.common.types.logical.logical_type import RowField, RowType
from millrace.table_runtime.session_window_table_function import (
    SessionWindowSpec,
    SessionWindowTableFunctionOperator,
)

WINDOW = tuple(RowField(name, TIME) for name in ("s", "e", "t"))
SPEC = SessionWindowSpec(INPUT, (0,), GAP, 2, RowType((*INPUT.fields, *WINDOW)))


def summed(changes: list[Any]) -> Counter[Any]:
    """Rows as the aggregates of the model, which are those of their sessions."""
    values: dict[Any, list[Any]] = defaultdict(list)
    for kind, (key, value, time, start, end, last) in changes:
        assert kind == "+I"
        assert start <= time <= last < end
        values[key, start, end, last].append(value)
    found: Counter[Any] = Counter()
    for (key, *window), each in values.items():
        some = [value for value in each if value is not None]
        sums = (sum(some), max(some)) if some else (None, None)
        found[key, len(each), *sums, *window] += 1
    return found


@pytest.mark.parametrize("seed", range(3))
def test_each_row_is_given_once_whatever_happens_in_between(seed: int) -> None:
    chance, model = random.Random(seed), Model()
    subtask = Subtask(partial(SessionWindowTableFunctionOperator, SPEC))
    watermark, lost = 0, 0
    for _ in range(25):
        rows = [
            (chance.choice(["a", "b", None]), chance.choice([None, 1, 2]), watermark + ahead)
            for ahead in chance.choices(range(-15, 40), k=chance.randrange(1, 12))
        ]
        changes = [("+I", (key, value, at(time))) for key, value, time in rows]
        batch = columns(INPUT, [*changes, ("+I", ("a", 1, None))])
        watermark += chance.randrange(12)
        if chance.random() < 0.3:
            subtask.epoch([batch], watermark, abort=True)
        dropped = subtask.operator._late.get_count()  # type: ignore[attr-defined]
        model.add(rows)
        assert summed(subtask.epoch([batch], watermark)) == model.pass_to(watermark)
        assert subtask.operator._timeless.get_count()  # type: ignore[attr-defined]
        lost += subtask.operator._late.get_count() - dropped  # type: ignore[attr-defined]
        if chance.random() < 0.2:
            subtask = subtask.restored()
    assert lost == model.dropped
