"""Division: every entry goes to the owner of its key, what is of no key to all."""

from __future__ import annotations

from typing import Any

import pytest

from millrace.state.delta_payload import split
from millrace.state.division import TableDivision
from millrace.state.key_groups import key_group_of, key_group_range
from millrace.state.kinds.layout import Layout
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import OPERATOR_TABLE, TableId
from millrace.state.table_kinds import FLAT, MAP, PANES, SPLIT_LIST, TABLE_KINDS, UNION_LIST

MAXIMUM = 16
COUNTS, LISTED = TableId("op", "counts"), TableId("op", "listed")


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
    parts = state.divided(TableDivision(parallelism, MAXIMUM))
    assert parts is not None
    whole = filled().snapshot(1, "v")
    assert whole is not None
    for index, (rows, rest) in enumerate(parts):
        own = key_group_range(index, parallelism, MAXIMUM)
        filtered = SubtaskState()
        filtered.take(
            [whole],
            load,
            lambda name, kind: True,
            lambda key, own=own: key_group_of(key, MAXIMUM) in own,
        )
        part = SubtaskState()
        part.restore("v", [StateDelta(1, "r", 1, rows), StateDelta(1, "v", 1, rest)], load)
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


def test_the_first_delta_after_parts_repeats_no_rows() -> None:
    """Two owners become one: its parts and its first delta are its state."""
    owners = [SubtaskState(), SubtaskState()]
    for number, owner in enumerate(owners):
        values = owner.table(COUNTS, FLAT)
        for key in range(1000):
            if key % 2 == number:
                values.put(key, number)
        owner.table(LISTED, SPLIT_LIST).put((0, number), number)
    parts = [owner.divided(TableDivision(1, MAXIMUM)) for owner in owners]
    rows, rest = zip(*(part[0] for part in parts if part is not None), strict=True)
    taken = SubtaskState()
    for number in range(2):
        deltas = [StateDelta(1, f"{name}{number}", 1, data[number])
                  for name, data in (("rows", rows), ("rest", rest))]  # fmt: skip
        taken.take(deltas, load, lambda name, kind: True, None)
    taken.adopt("taken", follows_parts=True)
    for attempt in ("refused", "accepted"):
        taken.table(COUNTS, FLAT).put(7, attempt)
        first = taken.snapshot(2, attempt)
        assert first is not None
        assert taken.follows_parts
        assert first.size() < 1000 < len(rows[0])
        taken.settle("accepted")
    assert not taken.follows_parts
    again = SubtaskState()
    base = [StateDelta(2, f"rows{number}", 2, data) for number, data in enumerate(rows)]
    again.restore("accepted", [*base, first], load)
    assert contents(again) == contents(taken)
    assert again.tables[COUNTS].data == {  # type: ignore[attr-defined]
        key: "accepted" if key == 7 else key % 2 for key in range(1000)
    }
    taken.table(COUNTS, FLAT).put(8, "next")
    second = taken.snapshot(3, "second")
    assert second is not None
    assert second.low_epoch <= 2
    assert not taken.follows_parts


def contents(state: SubtaskState) -> dict[TableId, Any]:
    return {name: table.data for name, table in state.tables.items()}  # type: ignore[attr-defined]


def test_who_changes_most_rows_writes_all() -> None:
    owner = filled()
    parts = owner.divided(TableDivision(1, MAXIMUM))
    assert parts is not None
    taken = SubtaskState()
    deltas = [StateDelta(1, "a", 1, parts[0][0]), StateDelta(1, "b", 1, parts[0][1])]
    taken.take(deltas, load, lambda name, kind: True, None)
    taken.adopt("taken", follows_parts=True)
    for table in taken.tables.values():
        table.clear()
    taken.table(COUNTS, FLAT).put(1, 1)
    whole = taken.snapshot(2, "whole")
    assert whole is not None
    assert not taken.follows_parts
    again = SubtaskState()
    again.restore("whole", [whole], load)
    assert again.tables[COUNTS].data == {1: 1}  # type: ignore[attr-defined]


class Walked(dict[Any, Any]):
    """Entries that count how often they are walked through."""

    walks = 0

    def items(self) -> Any:
        self.walks += 1
        return super().items()


@pytest.mark.parametrize("parallelism", [2, 8, 16, 128])
def test_many_owners_take_few_walks(parallelism: int) -> None:
    """With a walk for each owner, a division among 128 would take seven times as long."""
    entries = Walked({key: (key,) for key in range(3000)})
    parts = TableDivision(parallelism, 128).divide(FLAT, {"put": entries, "del": []})
    assert entries.walks <= 10
    for index, part in enumerate(parts):
        own = key_group_range(index, parallelism, 128)
        assert list(part["put"].items()) == [
            (key, (key,)) for key in range(3000) if key_group_of(key, 128) in own
        ]
