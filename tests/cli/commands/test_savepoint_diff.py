"""``millrace savepoint diff``: what changed, for people and for machines."""

from __future__ import annotations

import json
from typing import Any


def test_the_way_from_one_to_the_other(place: Any, millrace: Any) -> None:
    """b has gone, c has come, a counts one more; d stays."""
    first = place.savepoint("abd", id="a" * 12, parallelism=1)
    second = place.savepoint("aacd", id="b" * 12, parallelism=2)
    told = millrace("savepoint", "diff", first, second)
    assert told.out.splitlines() == [
        "count (count)",
        "  count (value): 1 added, 1 changed, 1 removed",
        *sorted(["    + 'c': 1", "    ~ 'a': 1 -> 2", "    - 'b': 1"], key=told.out.index),
    ]
    again = json.loads(
        millrace("savepoint", "diff", "aaaa", "bbbb", "--json", "--samples", "0").out
    )
    [state] = [state for state in again if state["state"] == "count"]
    assert (state["added"], state["changed"], state["removed"]) == (1, 1, 1)
    assert state["samples"] == []


def test_nothing_differs(place: Any, millrace: Any) -> None:
    path = place.savepoint("ab")
    assert millrace("savepoint", "diff", path, path).out == "no state differs\n"


def test_a_savepoint_that_is_not_there(place: Any, millrace: Any) -> None:
    told = millrace("savepoint", "diff", place.savepoint("ab"), "nowhere")
    assert told.code == 1
    assert "/nowhere, which does not exist" in told.err
