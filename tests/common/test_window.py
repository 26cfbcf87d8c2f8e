"""Windows and their assigners."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace.common.errors import JobDefinitionError, JobExecutionError
from millrace.common.time import Duration, Time
from millrace.common.time.watermark_generator import MIN_WATERMARK
from millrace.common.window import (
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)

TIMES = st.integers(min_value=-(2**45), max_value=2**45)
SIZES = st.integers(min_value=1, max_value=10**9)


def test_time_window() -> None:
    """Its end does not belong to it."""
    window = TimeWindow(10, 20)
    assert window.max_timestamp() == 19
    assert window.cover(TimeWindow(15, 30)) == TimeWindow(10, 30)
    assert window.intersects(TimeWindow(20, 30))
    assert not window.intersects(TimeWindow(21, 30))


def test_time_windows_are_small_ordered_values() -> None:
    """They are part of keys and of state."""
    windows = [TimeWindow(10, 20), TimeWindow(0, 20), TimeWindow(0, 10)]
    assert sorted(windows) == [TimeWindow(0, 10), TimeWindow(0, 20), TimeWindow(10, 20)]
    assert len({TimeWindow(0, 1), TimeWindow(0, 1), TimeWindow(0, 2)}) == 2
    assert TimeWindow(0, 1) != (0, 1)
    assert pickle.loads(pickle.dumps(windows)) == windows
    assert not hasattr(TimeWindow(0, 1), "__dict__")


@given(TIMES, SIZES, st.data())
def test_window_start(timestamp: int, size: int, data: st.DataObject) -> None:
    """Aligned to the offset, and no later than the timestamp, before the epoch as after it."""
    offset = data.draw(st.integers(min_value=-size + 1, max_value=size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


@given(TIMES, SIZES)
def test_tumbling_assigns_the_one_window_that_holds_the_record(timestamp: int, size: int) -> None:
    """Exactly one."""
    (window,) = TumblingEventTimeWindows.of(size).assign_windows("a", timestamp)
    assert window.start <= timestamp <= window.max_timestamp()
    assert window.end - window.start == size
    assert window.start % size == 0


@given(TIMES, st.integers(1, 200), st.integers(1, 200), st.data())
def test_sliding_assigns_every_window_that_holds_the_record(
    timestamp: int, size: int, slide: int, data: st.DataObject
) -> None:
    """Against the definition: all aligned starts in the last ``size`` milliseconds."""
    offset = data.draw(st.integers(min_value=-slide + 1, max_value=slide - 1))
    assigner = SlidingEventTimeWindows.of(size, slide, offset)
    starts = [
        start for start in range(timestamp, timestamp - size, -1) if (start - offset) % slide == 0
    ]
    expected = [TimeWindow(start, start + size) for start in starts]
    assert assigner.assign_windows("a", timestamp) == expected


def test_sizes_are_public_milliseconds() -> None:
    """The runtime's fast path reads them; any amount of time does."""
    tumbling = TumblingEventTimeWindows.of(Time.hours(1), Time.minutes(-5))
    assert (tumbling.size, tumbling.offset) == (3_600_000, -300_000)
    sliding = SlidingEventTimeWindows.of(Duration.of_seconds(10), Time.seconds(5))
    assert (sliding.size, sliding.slide, sliding.offset) == (10_000, 5_000, 0)
    assert pickle.loads(pickle.dumps((tumbling, sliding))) == (tumbling, sliding)


@pytest.mark.parametrize(
    ("of", "parameters"),
    [
        (TumblingEventTimeWindows.of, (0,)),
        (TumblingEventTimeWindows.of, (-5,)),
        (TumblingEventTimeWindows.of, (5, 5)),
        (SlidingEventTimeWindows.of, (0, 5)),
        (SlidingEventTimeWindows.of, (5, 0)),
        (SlidingEventTimeWindows.of, (5, 2, -2)),
    ],
)
def test_wrong_parameters_are_refused(of: Any, parameters: tuple[int, ...]) -> None:
    """As Flink does, when the program is built."""
    with pytest.raises(JobDefinitionError, match="EventTimeWindows need size > 0"):
        of(*parameters)


@pytest.mark.parametrize("timestamp", [None, MIN_WATERMARK])
@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(5), SlidingEventTimeWindows.of(5, 1)]
)
def test_a_record_without_timestamp_is_an_error(assigner: Any, timestamp: Any) -> None:
    """The error names the record and the fix."""
    with pytest.raises(JobExecutionError, match=r"'a' has no timestamp.*assign_timestamps_and_wat"):
        assigner.assign_windows("a", timestamp)


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(5), SlidingEventTimeWindows.of(5, 1)]
)
def test_assigners_belong_to_event_time(assigner: Any) -> None:
    """With the trigger that goes with it."""
    assert assigner.is_event_time()
    assert isinstance(assigner.get_default_trigger(None), EventTimeTrigger)


@given(TIMES, SIZES)
def test_windows_survive_their_serializer(start: int, size: int) -> None:
    """One after the other in one stream."""
    serializer = TumblingEventTimeWindows.of(5).get_window_serializer()
    stream = BytesIO()
    windows = [TimeWindow(start, start + size), TimeWindow(0, 1)]
    for window in windows:
        serializer.serialize(window, stream)
    stream.seek(0)
    assert [serializer.deserialize(stream) for _ in windows] == windows
