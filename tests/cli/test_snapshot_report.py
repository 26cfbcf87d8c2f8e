"""Where sources stand, told without running anybody's code."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

from millrace.cli.snapshot_report import describe_source
from millrace.common.source import SourceSplit
from millrace.connectors.index_range import IndexRangeSplit
from millrace.state.serialization.payload import TAGGED
from millrace.state.serialization.tagged_values import dump_tagged


def snapshot(assigned: list[Any], waiting: tuple[Any, ...] = ()) -> bytes:
    return TAGGED + dump_tagged(
        {"enumerator": None, "assigned": assigned, "waiting": list(waiting), "all": True}
    )


def test_splits_and_how_far_they_are() -> None:
    begun, fresh = IndexRangeSplit("numbers-0", 0, 10), IndexRangeSplit("numbers-1", 10, 20)
    data = snapshot([(begun, 0, 7), (fresh, 1, None)], waiting=((SourceSplit("later"), None),))
    assert describe_source(data) == [
        "split numbers-0: read up to 7",
        "split numbers-1: not begun",
        "1 splits that no subtask reads yet",
    ]


def test_many_splits() -> None:
    data = snapshot([(SourceSplit(f"s{i}"), 0, i) for i in range(12)])
    assert describe_source(data)[-1] == "and 2 more splits"


def test_all_is_read() -> None:
    assert describe_source(snapshot([])) == ["no split is being read"]


class Bomb:
    """Unpickling it would leave a directory behind."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


class OwnSplit(SourceSplit):
    pass


def test_nothing_is_run(tmp_path: Any) -> None:
    trap = tmp_path / "trap"
    for split in (Bomb(str(trap)), OwnSplit("mine"), deque([Bomb(str(trap))])):
        [line] = describe_source(snapshot([(split, 0, 1)]))
        assert line.startswith("its position is in objects of the job's own")
    assert not trap.exists()


def test_damage_is_no_failure() -> None:
    for data in (
        b"",
        b"x123",
        TAGGED,
        TAGGED + dump_tagged([1, 2]),
        TAGGED + dump_tagged({"assigned": 3}),
    ):
        assert "of the job's own" in describe_source(data)[0]
