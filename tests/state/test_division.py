"""Division: every entry goes to the owner of its key, what is of no key to all."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.state.delta_payload import split
from millrace.state.division import Division
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.kinds.layout import Layout
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import OPERATOR_TABLE, TableId
from millrace.state.table_kinds import MAP, PANES, SPLIT_LIST, TABLE_KINDS, UNION_LIST

MAXIMUM = 16


def filled() -> SubtaskState:
    """A table of every kind, with a hundred keys where it has keys."""
    state = SubtaskState()
    for kind in [each for each in TABLE_KINDS.values() if each.columnar is None]:
        table = state.table(TableId("op", kind.name), kind)
        for key in range(100):
            place: Any = ((0, 9), key) if kind.windowed else key
            place = (0, key) if kind in (SPLIT_LIST, UNION_LIST) else place
            if kind is PANES:
                table.put((0, 9), key, "value")
            elif kind.key is not None and kind.key.inner:
                table.put(17, (key, None), True)
            elif kind.layout is Layout.NESTED:
                table.put(place, "inner", "value")
            elif kind.layout is Layout.LIST:
                table.append(place, "value")
            else:
                table.put(place, "value")
    return state


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


@pytest.mark.parametrize("parallelism", [1, 3, 16])
def test_the_parts_are_what_filtering_gives(parallelism: int) -> None:
    state = filled()
    parts = state.divided(Division(parallelism, MAXIMUM))
    assert parts is not None
    whole = filled().snapshot(1, "v")
    assert whole is not None
    for index, payload in enumerate(parts):
        own = key_group_range(index, parallelism, MAXIMUM)
        filtered = SubtaskState()
        filtered.take(
            [whole],
            load,
            lambda name, kind: True,
            lambda key, own=own: key_group_of(key, MAXIMUM) in own,
        )
        part = SubtaskState()
        part.restore("v", [StateDelta(1, "v", 1, payload)], load)
        names = set(state.tables) - {OPERATOR_TABLE}
        assert {n: part.tables[n].data for n in names} == {
            n: filtered.tables[n].data for n in names
        }


def test_what_is_taken_need_not_be_all() -> None:
    """By table, and by key."""
    delta = filled().snapshot(1, "v")
    assert delta is not None
    assert len(list(split(load(delta)))) >= 1
    state = SubtaskState()
    state.operator_table()
    values = state.take([delta], load, lambda name, kind: kind is MAP, lambda key: key < 10)
    assert values == {}
    assert set(state.tables) == {OPERATOR_TABLE, TableId("op", "map")}
    assert sorted(state.tables[TableId("op", "map")].data) == list(range(10))
