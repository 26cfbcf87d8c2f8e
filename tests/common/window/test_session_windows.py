"""Session windows."""

from __future__ import annotations

import pickle

import pytest

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.time import Duration, Time
from millrace.common.window import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from millrace.common.window.merging_window_assigner import MergingWindowAssigner
from millrace.common.window.time_window import TimeWindow


class Clock(WindowAssigner.WindowAssignerContext):
    """A context in which it is 1000."""

    def get_current_processing_time(self):
        return 1000

    def get_runtime_context(self):
        raise AssertionError


class Length(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return len(element)


def test_event_time_sessions_begin_with_their_record() -> None:
    """One window per record, from its time to the gap's end."""
    sessions = EventTimeSessionWindows.with_gap(Time.seconds(5))
    assert sessions.assign_windows("a", 1_000) == (TimeWindow(1_000, 6_000),)
    assert sessions.assign_windows("a", -1) == (TimeWindow(-1, 4_999),)


def test_processing_time_sessions_begin_now() -> None:
    """The record's own time does not matter."""
    sessions = ProcessingTimeSessionWindows.with_gap(Duration.of_millis(5))
    assert sessions.assign_windows("a", 7, Clock()) == (TimeWindow(1000, 1005),)


@pytest.mark.parametrize("extractor", [Length(), len, lambda record: Duration.of_millis(3)])
@pytest.mark.parametrize("fixed", [EventTimeSessionWindows, ProcessingTimeSessionWindows])
def test_dynamic_gaps(fixed, extractor) -> None:
    """From an extractor as in Flink, or from any function."""
    (window,) = fixed.with_dynamic_gap(extractor).assign_windows("abc", 1000, Clock())
    assert window == TimeWindow(1000, 1003)


def test_dynamic_assigners_can_be_named() -> None:
    """Both ways give the same."""
    assert DynamicEventTimeSessionWindows.with_dynamic_gap(len) == (
        EventTimeSessionWindows.with_dynamic_gap(len)
    )
    assert DynamicProcessingTimeSessionWindows.with_dynamic_gap(len) == (
        ProcessingTimeSessionWindows.with_dynamic_gap(len)
    )


@pytest.mark.parametrize(
    ("assigner", "event_time", "trigger"),
    [
        (EventTimeSessionWindows.with_gap(5), True, EventTimeTrigger),
        (EventTimeSessionWindows.with_dynamic_gap(len), True, EventTimeTrigger),
        (ProcessingTimeSessionWindows.with_gap(5), False, ProcessingTimeTrigger),
        (ProcessingTimeSessionWindows.with_dynamic_gap(len), False, ProcessingTimeTrigger),
    ],
)
def test_time_domain_and_trigger(assigner, event_time, trigger) -> None:
    assert assigner.is_event_time() is event_time
    assert type(assigner.get_default_trigger(None)) is trigger
    assert pickle.loads(pickle.dumps(assigner)) == assigner
    assert isinstance(assigner, MergingWindowAssigner)


@pytest.mark.parametrize("gap", [0, -1, Time.seconds(-1)])
@pytest.mark.parametrize("fixed", [EventTimeSessionWindows, ProcessingTimeSessionWindows])
def test_gaps_that_are_none_are_refused(fixed, gap) -> None:
    """When the program is built."""
    with pytest.raises(JobDefinitionError, match=f"{fixed.__name__} need a gap > 0 ms, got -?[01]"):
        fixed.with_gap(gap)


@pytest.mark.parametrize("fixed", [EventTimeSessionWindows, ProcessingTimeSessionWindows])
def test_dynamic_gaps_that_are_none_are_refused(fixed) -> None:
    """The error names the record and the fix."""
    with pytest.raises(JobExecutionError, match=r"gap of record '' is 0 ms.*must give more than 0"):
        fixed.with_dynamic_gap(len).assign_windows("", 5, Clock())


@pytest.mark.parametrize("assigner", [EventTimeSessionWindows.with_gap(5), Length()])
def test_a_record_without_timestamp_is_an_error(assigner) -> None:
    if isinstance(assigner, Length):
        assigner = EventTimeSessionWindows.with_dynamic_gap(assigner)
    with pytest.raises(JobExecutionError, match=r"'a' has no timestamp.*assign_timestamps_and_wat"):
        assigner.assign_windows("a", None)


class Merges(MergingWindowAssigner.MergeCallback):
    """Notes what becomes what."""

    def __init__(self) -> None:
        self.found: list = []

    def merge(self, to_be_merged, merge_result) -> None:
        self.found.append((sorted(to_be_merged), merge_result))


def test_windows_that_overlap_or_touch_become_one() -> None:
    """Group by group; windows that stand alone are not mentioned."""
    windows = [(30, 40), (0, 10), (9, 15), (15, 20), (50, 60), (31, 35), (70, 71)]
    callback = Merges()
    EventTimeSessionWindows.with_gap(5).merge_windows([TimeWindow(*w) for w in windows], callback)
    assert callback.found == [
        ([TimeWindow(0, 10), TimeWindow(9, 15), TimeWindow(15, 20)], TimeWindow(0, 20)),
        ([TimeWindow(30, 40), TimeWindow(31, 35)], TimeWindow(30, 40)),
    ]


def test_nothing_to_merge() -> None:
    callback = Merges()
    ProcessingTimeSessionWindows.with_gap(5).merge_windows([TimeWindow(0, 5)], callback)
    TimeWindow.merge_windows([], callback)
    assert callback.found == []
