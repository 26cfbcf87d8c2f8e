"""Operators taken out of a subtask's state, or called otherwise."""

from __future__ import annotations

from typing import Any

from millrace.state.store import SubtaskState
from millrace.state.table_kinds import VALVE
from millrace.state_processor.rewrite_task import rewritten


def content(state: SubtaskState) -> dict[str, Any]:
    found = {}
    for name, table in state.tables.items():
        deltas = [step.delta["put"] for step in table.everything(budget=_budget())]
        found[name] = {key: value for delta in deltas for key, value in delta.items()}
    return found


def _budget() -> Any:
    from millrace.state.budget import Budget

    return Budget()


def test_uids_are_changed_and_dropped() -> None:
    """In tables and in operators' own values; a uid that begins like another is its own."""
    state = SubtaskState()
    state.table("a/count", "flat").put("k", 1)
    state.table("a/b/list", "list").append("k", 2)
    state.table("c/@event-timers", "timers").put(5, ("k", None), True)
    state.table("gone/count", "flat").put("k", 3)
    own = state.operator_table()
    own.put(VALVE, "valve")
    own.put("a/@watermark", 7)
    own.put("gone/@watermark", 8)
    result = rewritten(state, {"a": "x", "a/b": "y", "c": "c", "gone": None})
    assert content(result) == {
        "x/count": {"k": 1},
        "y/list": {"k": [2]},
        "c/@event-timers": {5: {("k", None): True}},
        "@operator": {VALVE: "valve", "x/@watermark": 7},
    }
    assert result.snapshot(1, "v") is not None
