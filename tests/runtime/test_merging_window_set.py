"""The merging windows of a key: which there are, and where their contents stay."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from millrace.common.window import EventTimeSessionWindows, TimeWindow
from millrace.runtime.merging_window_set import MergingWindowSet
from millrace.state.store import SubtaskState
from millrace.state.table_id import TableId
from millrace.state.table_kinds import MAP


class Harness:
    """Windows of one key whose contents are numbers, kept where `MergingWindowSet` says."""

    def __init__(self) -> None:
        table = SubtaskState().table(TableId("op", "windows"), MAP)
        self.windows = MergingWindowSet(EventTimeSessionWindows.with_gap(1), table)
        self.table = table
        self.contents: dict = {}
        self.merges: list = []

    def add(self, start: int, end: int, number: int = 0) -> TimeWindow:
        window = self.windows.add("k", TimeWindow(start, end), self.on_merge)
        place = self.windows.state_window("k", window)
        self.contents.setdefault(place, []).append(number)
        return window

    def on_merge(self, result, merged, state_window, others) -> None:
        self.merges.append((result, merged))
        for other in others:
            self.contents.setdefault(state_window, []).extend(self.contents.pop(other))

    def found(self) -> dict:
        windows = [TimeWindow(*namespace) for namespace in self.table.data.get("k", {})]
        state = {window: self.windows.state_window("k", window) for window in windows}
        return {window: sorted(self.contents[place]) for window, place in state.items()}


def test_a_window_alone_is_its_own_place() -> None:
    harness = Harness()
    assert harness.add(0, 5) == TimeWindow(0, 5)
    assert harness.windows.state_window("k", TimeWindow(0, 5)) == TimeWindow(0, 5)
    assert harness.windows.state_window("k", TimeWindow(0, 6)) is None
    assert harness.merges == []


def test_contents_stay_where_they_were_first_put() -> None:
    """However often the window grows."""
    harness = Harness()
    for start in (0, 3, 6):
        harness.add(start, start + 5, start)
    assert harness.windows.state_window("k", TimeWindow(0, 11)) == TimeWindow(0, 5)
    assert harness.found() == {TimeWindow(0, 11): [0, 3, 6]}
    assert harness.merges == [
        (TimeWindow(0, 8), [TimeWindow(0, 5)]),
        (TimeWindow(0, 11), [TimeWindow(0, 8)]),
    ]


def test_a_window_inside_another_changes_nothing() -> None:
    harness = Harness()
    harness.add(0, 10)
    assert harness.add(2, 5) == TimeWindow(0, 10)
    assert harness.add(0, 10) == TimeWindow(0, 10)
    assert harness.merges == []


def test_a_window_between_two_joins_them() -> None:
    harness = Harness()
    harness.add(0, 5, 1)
    harness.add(10, 15, 2)
    assert harness.add(4, 11, 3) == TimeWindow(0, 15)
    assert harness.merges == [(TimeWindow(0, 15), [TimeWindow(0, 5), TimeWindow(10, 15)])]
    assert harness.found() == {TimeWindow(0, 15): [1, 2, 3]}


def test_a_retired_window_is_forgotten() -> None:
    harness = Harness()
    harness.add(0, 5)
    harness.windows.retire("k", TimeWindow(0, 5))
    assert harness.found() == {}
    assert harness.table.entry_count() == 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 6)), max_size=15))
def test_whatever_the_order_the_windows_are_the_same(spans) -> None:
    """Every number is in the one window that covers its span; no two windows touch."""
    harness = Harness()
    for number, (start, length) in enumerate(spans):
        window = harness.add(start, start + length, number)
        assert window.start <= start
        assert start + length <= window.end
    found = harness.found()
    windows = sorted(found)
    for one, other in pairwise(windows):
        assert one.end < other.start
    for number, (start, length) in enumerate(spans):
        holders = [window for window, numbers in found.items() if number in numbers]
        assert len(holders) == 1
        assert holders[0].start <= start
        assert start + length <= holders[0].end


def test_keys_do_not_meet() -> None:
    harness = Harness()
    first = harness.windows.add("k", TimeWindow(0, 5), harness.on_merge)
    second = harness.windows.add("l", TimeWindow(1, 6), harness.on_merge)
    assert (first, second) == (TimeWindow(0, 5), TimeWindow(1, 6))
