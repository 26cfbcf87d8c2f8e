"""Values in a few characters."""

from __future__ import annotations

import json

from millrace.common.types.short_values import shown
from millrace.common.window.time_window import TimeWindow
from millrace.state.kinds.state_shape import StateShape
from millrace.state.snapshot_diff import DifferingEntry, StateDiff
from millrace.state.snapshot_diff_json import diff_as_json as as_json
from millrace.state.table_id import TableId

LONG = 10**6000


def test_integers_that_python_does_not_write() -> None:
    assert shown(LONG).startswith("0x")
    assert len(shown(LONG)) <= 60
    assert shown({"n": -LONG}).startswith("{'n': -0x")
    assert shown(10**100) == "1" + "0" * 27 + "..." + "0" * 28
    assert shown(TimeWindow(0, LONG)) == "<TimeWindow>"


def test_they_are_no_obstacle_for_json() -> None:
    sample = DifferingEntry("changed", LONG, None, 1, LONG)
    diff = StateDiff(TableId("a", "b"), "a", StateShape.VALUE, True, True, samples=[sample])
    [told] = json.loads(json.dumps(as_json(diff)))["samples"]
    assert told["old"] == 1
    assert told["key"] == told["new"] == shown(LONG)
