"""Operators taken out of deltas, or called otherwise."""

from __future__ import annotations

from typing import Any

from millrace.common import Types
from millrace.state.state_delta import StateDelta
from millrace.state.store import SubtaskState
from millrace.state.table_id import OPERATOR_TABLE, VALVE, TableId
from millrace.state.table_kinds import EVENT_TIMER_QUEUE, FLAT, LIST
from millrace.state_processor.savepoint_writer import rewritten


def load(delta: StateDelta) -> bytes:
    assert isinstance(delta.data, bytes)
    return delta.data


def content(state: SubtaskState) -> dict[str, Any]:
    return {name: dict(table.data) for name, table in state.tables.items()}  # type: ignore[attr-defined]


def test_uids_are_changed_and_dropped() -> None:
    """In tables and in operators' own values, over several deltas; a uid that begins like another
    is its own."""
    state = SubtaskState()
    state.table(TableId("a", "count"), FLAT, Types.LONG()).put("k", 1)
    for number in range(20):
        state.table(TableId("a", "many"), FLAT).put(number, number)
    state.table(TableId("a/b", "list"), LIST).append("k", 2)
    state.table(TableId("c", "@event-timers"), EVENT_TIMER_QUEUE).put(5, ("k", None), True)
    state.table(TableId("gone", "count"), FLAT).put("k", 3)
    own = state.operator_table()
    own.put(VALVE, "valve")
    own.put(("a", "@watermark"), 7)
    own.put(("gone", "@watermark"), 8)
    first = state.snapshot(1, "v1")
    assert first is not None
    state.align("v1", [first], load)
    state.table(TableId("a", "count"), FLAT).put("k", 9)
    state.table(TableId("gone", "count"), FLAT).put("l", 3)
    own.remove(("gone", "@watermark"))
    own.remove(("a", "@watermark"))
    second = state.snapshot(2, "v2")
    assert second is not None

    uids = {"a": "x", "a/b": "y", "c": "c", "gone": None}
    deltas = [rewritten(delta, load, uids) for delta in (first, second)]
    result = SubtaskState()
    result.restore("v2", deltas, load)
    assert content(result) == {
        ("x", "count"): {"k": 9},
        ("x", "many"): {number: number for number in range(20)},
        ("y", "list"): {"k": [2]},
        ("c", "@event-timers"): {5: {("k", None): True}},
        OPERATOR_TABLE: {VALVE: "valve"},
    }
    assert result.schema(TableId("x", "count")) == state.schema(TableId("a", "count"))
    assert [delta.version for delta in deltas] == ["v1", "v2"]
