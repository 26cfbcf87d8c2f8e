"""Tumbling and sliding windows of processing time."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError
from millrace.common.time import Time
from millrace.common.window import (
    ProcessingTimeTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)


class Clock(WindowAssigner.WindowAssignerContext):
    def __init__(self, now: int) -> None:
        self.now = now

    def get_current_processing_time(self):
        return self.now

    def get_runtime_context(self):
        raise AssertionError


@given(st.integers(-(10**6), 10**15), st.integers(1, 50), st.integers(1, 50), st.data())
def test_they_assign_what_those_of_event_time_assign_to_now(now, size, slide, data) -> None:
    """The record's own time does not matter."""
    offset = data.draw(st.integers(-min(size, slide) + 1, min(size, slide) - 1))
    for clocked, timed in [
        (TumblingProcessingTimeWindows, TumblingEventTimeWindows),
        (SlidingProcessingTimeWindows, SlidingEventTimeWindows),
    ]:
        amounts = (size, offset) if clocked is TumblingProcessingTimeWindows else (size, slide)
        found = clocked.of(*amounts).assign_windows("a", 3, Clock(now))
        assert found == timed.of(*amounts).assign_windows("a", now)


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingProcessingTimeWindows.of(Time.seconds(5), Time.seconds(1)),
        SlidingProcessingTimeWindows.of(Time.seconds(5), Time.seconds(2), Time.seconds(1)),
    ],
)
def test_what_goes_with_them(assigner) -> None:
    assert not assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(None), ProcessingTimeTrigger)
    assert isinstance(assigner.get_window_serializer(), TimeWindowSerializer)
    assert (assigner.size, assigner.offset) == (5000, 1000)
    assert pickle.loads(pickle.dumps(assigner)) == assigner


@pytest.mark.parametrize(
    ("of", "parameters"),
    [
        (TumblingProcessingTimeWindows.of, (0,)),
        (TumblingProcessingTimeWindows.of, (-5,)),
        (TumblingProcessingTimeWindows.of, (5, 5)),
        (SlidingProcessingTimeWindows.of, (0, 5)),
        (SlidingProcessingTimeWindows.of, (5, 0)),
        (SlidingProcessingTimeWindows.of, (5, 2, -2)),
    ],
)
def test_wrong_parameters_are_refused(of, parameters) -> None:
    with pytest.raises(JobDefinitionError, match="ProcessingTimeWindows need size > 0"):
        of(*parameters)
