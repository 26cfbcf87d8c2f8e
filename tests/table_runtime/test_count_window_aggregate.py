"""Aggregates of windows of so many rows against lists of the rows of each key."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import partial
from typing import Any

import pytest
from tests.table_runtime.subtask import MAXIMUM, Subtask, columns
from tests.table_runtime.test_window_aggregate import INPUT, LONG, SUMS, at

from millrace.common.types.logical.logical_type import RowType
from millrace.expressions import registry
from millrace.expressions.resolved import AggregateCall
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.table_runtime.count_window_aggregate import (
    CountWindowAggregateOperator,
    CountWindowAggregateSpec,
)

CALLS = (
    *SUMS,
    AggregateCall(registry.function("MAX"), (1,), LONG),
    AggregateCall(registry.function("COUNT"), (1,), LONG, True),
)


def spec(groups: tuple[int, ...], size: int, slide: int) -> CountWindowAggregateSpec:
    names = [(f"g{index}", INPUT.fields[index].type) for index in groups]
    names += [(f"a{number}", each.type) for number, each in enumerate(CALLS)]
    return CountWindowAggregateSpec(INPUT, groups, CALLS, size, slide, RowType.of(*names))


class Model:
    """All rows of each key."""

    def __init__(self, size: int, slide: int) -> None:
        self._size, self._slide = size, slide
        self._rows: dict[Any, list[int | None]] = defaultdict(list)

    def add(self, key: tuple[Any, ...], value: int | None) -> list[tuple[Any, ...]]:
        """The windows that a row completes."""
        rows = self._rows[key]
        rows.append(value)
        start = len(rows) - self._size
        if start < 0 or start % self._slide:
            return []
        some = [each for each in rows[start:] if each is not None]
        totals = (sum(some), max(some)) if some else (None, None)
        return [(*key, self._size, *totals, len(set(some)))]


@pytest.mark.parametrize("groups", [(0,), ()], ids=["keys", "no keys"])
@pytest.mark.parametrize(("size", "slide"), [(3, 3), (1, 1), (5, 2), (4, 1), (2, 5), (6, 3)])
def test_windows_of_rows(groups: tuple[int, ...], size: int, slide: int) -> None:
    """In the order of the rows that complete them, with aborts, restores and a rescale."""
    chance, model = random.Random(size * 10 + slide), Model(size, slide)
    made = spec(groups, size, slide)
    subtasks = [Subtask(partial(CountWindowAggregateOperator, made))]
    for step in range(24):
        if step == 12 and groups:
            subtasks = [subtasks[0].restored(index, 2) for index in (0, 1)]
        elif step % 5 == 4 and len(subtasks) == 1:
            subtasks = [subtasks[0].restored()] if step < 12 or not groups else subtasks
        rows = [
            (chance.choice(["a", "b", None]), chance.choice([None, 1, 2, 3]))
            for _ in range(chance.randrange(9))
        ]
        expected = [each for key, n in rows for each in model.add((key,) if groups else (), n)]
        found = []
        for index, subtask in enumerate(subtasks):
            own = key_group_range(index, len(subtasks), MAXIMUM)
            taken = [row for row in rows if not groups or key_group_of(row[0], MAXIMUM) in own]
            half = len(taken) // 2
            batches = [
                columns(INPUT, [("+I", (key, n, at(0))) for key, n in part])
                for part in (taken[:half], taken[half:])
            ]
            if chance.random() < 0.3:
                subtask.epoch(batches, abort=True)
            found += [row for _, row in subtask.epoch(batches)]
        if len(subtasks) == 1:
            assert found == expected
        else:
            assert sorted(found, key=str) == sorted(expected, key=str)
