"""The general window operator: triggers, evictors, lateness, merging, contexts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from millrace.common.errors import JobExecutionError, StateError
from millrace.datastream import MergingWindowAssigner, OutputTag, StreamExecutionEnvironment
from millrace.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    CheckpointedFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from millrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindow,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from millrace.testing import OperatorHarness

LATE = OutputTag("late")
END = 2**63 - 1
TEN = TumblingEventTimeWindows.of(10)
SESSIONS = EventTimeSessionWindows.with_gap(5)


class Numbers(ProcessWindowFunction):
    """The numbers of a window."""

    def process(self, key, context, elements):
        yield [value[1] for value in elements]


class Bounded(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield window.start, window.end, [value[1] for value in elements]


def windowed(assigner, trigger=None, evictor=None, lateness=0):
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([]).key_by(0).window(assigner).allowed_lateness(lateness)
    stream = stream.side_output_late_data(LATE)
    if evictor is not None:
        stream = stream.evictor(evictor)
    return stream if trigger is None else stream.trigger(trigger)


def harness_of(assigner, trigger=None, function=None, **rest) -> OperatorHarness:
    return OperatorHarness(windowed(assigner, trigger, **rest).process(function or Numbers()))


def feed(harness: OperatorHarness, *times: int, key: str = "a") -> None:
    """Records (key, number): the number is the event time."""
    harness.process_elements([(key, time) for time in times], list(times))


def put(harness: OperatorHarness, *numbers: int, key: str = "a") -> None:
    """Records without an event time."""
    harness.process_elements([(key, number) for number in numbers])


def emitted(harness: OperatorHarness) -> list:
    output = harness.output()
    harness.clear_output()
    return output


# -- triggers --------------------------------------------------------------------------------------


def test_event_time_trigger_with_lateness_fires_once_more_for_each_late_record() -> None:
    """As Flink's documentation has it: late firings are updated results."""
    harness = harness_of(TEN, lateness=5)
    feed(harness, 1, 2)
    harness.process_watermark(9)
    assert emitted(harness) == [[1, 2]]
    feed(harness, 3, 4)
    assert emitted(harness) == [[1, 2, 3], [1, 2, 3, 4]]
    harness.process_watermark(13)
    feed(harness, 5)
    assert emitted(harness) == [[1, 2, 3, 4, 5]]
    harness.process_watermark(14)
    feed(harness, 6)
    assert emitted(harness) == []
    assert harness.entries() == 0


def test_late_data_goes_to_the_side_only_after_the_lateness() -> None:
    harness = harness_of(TEN, lateness=5)
    harness.process_watermark(13)
    feed(harness, 1)
    assert emitted(harness) == [[1]]
    harness.process_watermark(14)
    feed(harness, 2)
    assert harness.output() == []
    assert harness.side_output(LATE) == [("a", 2)]


def test_lateness_beyond_the_end_of_time_keeps_windows_until_the_input_ends() -> None:
    """As Flink: what would overflow is the end of time."""
    harness = harness_of(TEN, lateness=2**63 - 1)
    feed(harness, 1)
    harness.process_watermark(10**15)
    feed(harness, 2)
    assert emitted(harness) == [[1], [1, 2]]
    assert harness.side_output(LATE) == []


def test_purging_trigger_deletes_what_it_fired() -> None:
    harness = harness_of(TEN, PurgingTrigger.of(EventTimeTrigger()), lateness=5)
    feed(harness, 1)
    harness.process_watermark(9)
    feed(harness, 2)
    assert emitted(harness) == [[1], [2]]


def test_count_trigger_on_the_global_window_keeps_its_records() -> None:
    """Flink: GlobalWindows with a count trigger; only a purging one forgets."""
    harness = harness_of(GlobalWindows.create(), CountTrigger.of(2))
    put(harness, 1, 2, 3, 4)
    assert emitted(harness) == [[1, 2], [1, 2, 3, 4]]


def test_purging_count_trigger_on_the_global_window_leaves_no_state() -> None:
    harness = harness_of(GlobalWindows.create(), PurgingTrigger.of(CountTrigger.of(2)))
    put(harness, 1, 2, 3, 4)
    assert emitted(harness) == [[1, 2], [3, 4]]
    assert harness.entries() == 0


def test_the_global_window_never_fires_by_itself() -> None:
    harness = harness_of(GlobalWindows.create())
    put(harness, 1, 2)
    harness.process_watermark(END)
    assert harness.output() == []
    assert isinstance(GlobalWindows.create().get_default_trigger(), NeverTrigger)


def test_an_event_time_trigger_fires_the_global_window_when_the_input_ends() -> None:
    harness = harness_of(GlobalWindows.create(), EventTimeTrigger())
    feed(harness, 1, 2)
    harness.process_watermark(10**15)
    assert harness.output() == []
    harness.process_watermark(END)
    assert emitted(harness) == [[1, 2]]


def test_results_of_the_global_window_have_the_last_timestamp_there_is() -> None:
    harness = harness_of(GlobalWindows.create(), CountTrigger(1))
    feed(harness, 1)
    assert [record.timestamp for record in harness.records()] == [END]


def test_continuous_event_time_trigger_fires_every_interval_and_at_the_end() -> None:
    """Interval 3 on a window of 10: at 3, 6 and 9, which is the end too."""
    harness = harness_of(TEN, ContinuousEventTimeTrigger.of(3))
    feed(harness, 1)
    harness.process_watermark(2)
    assert emitted(harness) == []
    harness.process_watermark(3)
    assert emitted(harness) == [[1]]
    feed(harness, 5)
    harness.process_watermark(7)
    assert emitted(harness) == [[1, 5]]
    harness.process_watermark(9)
    assert emitted(harness) == [[1, 5]]
    assert harness.entries() == 0


def test_continuous_event_time_trigger_fires_all_intervals_that_the_watermark_passes() -> None:
    harness = harness_of(TEN, ContinuousEventTimeTrigger.of(4))
    feed(harness, 1)
    harness.process_watermark(9)
    assert emitted(harness) == [[1], [1], [1]]
    assert harness.entries() == 0


def test_continuous_event_time_trigger_fires_a_late_record_at_once() -> None:
    harness = harness_of(TEN, ContinuousEventTimeTrigger.of(4), lateness=10)
    harness.process_watermark(9)
    feed(harness, 1)
    assert emitted(harness) == [[1]]


def test_continuous_event_time_trigger_on_the_global_window_ends_with_the_input() -> None:
    """It would otherwise count intervals up to the end of time."""
    harness = harness_of(GlobalWindows.create(), ContinuousEventTimeTrigger.of(10))
    feed(harness, 1)
    harness.process_watermark(25)
    assert emitted(harness) == [[1], [1]]
    harness.process_watermark(END)
    assert emitted(harness) == [[1], [1]]


def test_continuous_event_time_trigger_merges() -> None:
    """The next firing of the merged session is the earliest of its parts'."""
    harness = harness_of(SESSIONS, ContinuousEventTimeTrigger.of(4), Bounded())
    feed(harness, 1, 9, 5)
    harness.process_watermark(4)
    assert emitted(harness) == [(1, 14, [1, 9, 5])]
    harness.process_watermark(8)
    assert emitted(harness) == [(1, 14, [1, 9, 5])]
    harness.process_watermark(13)
    assert emitted(harness) == [(1, 14, [1, 9, 5]), (1, 14, [1, 9, 5])]
    harness.process_watermark(100)
    assert emitted(harness) == []
    assert harness.entries() == 0


def test_continuous_processing_time_trigger() -> None:
    harness = harness_of(TumblingProcessingTimeWindows.of(10), ContinuousProcessingTimeTrigger(4))
    harness.set_processing_time(1)
    put(harness, 1)
    assert harness.next_wakeup() == 5
    harness.set_processing_time(5)
    assert emitted(harness) == [[1]]
    put(harness, 2)
    harness.set_processing_time(9)
    assert emitted(harness) == [[1, 2]]
    harness.set_processing_time(10)
    assert emitted(harness) == [[1, 2]]
    assert harness.next_wakeup() is None
    assert harness.entries() == 0


def test_continuous_processing_time_trigger_on_windows_of_event_time() -> None:
    """Early firings by the clock; the watermark only deletes the window."""
    harness = harness_of(TEN, ContinuousProcessingTimeTrigger.of(100))
    feed(harness, 1)
    harness.set_processing_time(101)
    assert emitted(harness) == [[1]]
    harness.process_watermark(9)
    assert emitted(harness) == []
    assert harness.entries() == 0


def test_continuous_processing_time_trigger_merges() -> None:
    harness = harness_of(
        ProcessingTimeSessionWindows.with_gap(10), ContinuousProcessingTimeTrigger(4)
    )
    put(harness, 1)
    harness.set_processing_time(3)
    put(harness, 2)
    harness.set_processing_time(5)
    assert emitted(harness) == [[1, 2]]
    harness.set_processing_time(13)
    assert emitted(harness) == [[1, 2], [1, 2]]
    assert harness.entries() == 0


def test_processing_time_windows() -> None:
    """A window fires once its last millisecond is over: until then records still come."""
    harness = harness_of(TumblingProcessingTimeWindows.of(10, 3), function=Bounded())
    put(harness, 1)
    assert harness.next_wakeup() == 3
    harness.set_processing_time(2)
    assert emitted(harness) == []
    put(harness, 2)
    harness.set_processing_time(3)
    assert emitted(harness) == [(-7, 3, [1, 2])]
    put(harness, 3)
    harness.set_processing_time(20)
    assert emitted(harness) == [(3, 13, [3])]
    assert harness.entries() == 0


def test_sliding_windows_of_processing_time() -> None:
    harness = harness_of(SlidingProcessingTimeWindows.of(10, 5), function=Bounded())
    harness.set_processing_time(7)
    put(harness, 1)
    harness.set_processing_time(12)
    put(harness, 2)
    harness.set_processing_time(30)
    assert emitted(harness) == [(0, 10, [1]), (5, 15, [1, 2]), (10, 20, [2])]
    assert harness.entries() == 0


def test_sessions_of_processing_time() -> None:
    harness = harness_of(ProcessingTimeSessionWindows.with_gap(10), function=Bounded())
    put(harness, 1)
    harness.set_processing_time(8)
    put(harness, 2)
    harness.set_processing_time(17)
    assert emitted(harness) == []
    harness.set_processing_time(18)
    assert emitted(harness) == [(0, 18, [1, 2])]
    assert harness.entries() == 0


def test_dynamic_sessions_of_processing_time() -> None:
    assigner = ProcessingTimeSessionWindows.with_dynamic_gap(lambda value: value[1])
    harness = harness_of(assigner, function=Bounded())
    put(harness, 3)
    harness.set_processing_time(1)
    put(harness, 20)
    harness.set_processing_time(21)
    assert emitted(harness) == [(0, 21, [3, 20])]
    assert not assigner.is_event_time()


def test_processing_time_windows_take_no_notice_of_lateness_and_watermarks() -> None:
    harness = harness_of(TumblingProcessingTimeWindows.of(10), lateness=100)
    harness.process_watermark(1000)
    feed(harness, 1)
    harness.set_processing_time(10)
    assert emitted(harness) == [[1]]
    assert harness.side_output(LATE) == []
    assert harness.entries() == 0


def test_a_processing_time_trigger_on_windows_of_event_time() -> None:
    """It fires when the clock is at the window's end."""
    harness = harness_of(TEN, ProcessingTimeTrigger.create())
    feed(harness, 1)
    harness.process_watermark(8)
    assert harness.output() == []
    harness.set_processing_time(10)
    assert emitted(harness) == [[1]]
    harness.process_watermark(9)
    assert emitted(harness) == []
    assert harness.entries() == 0


def test_delta_trigger_compares_with_the_record_that_fired_last() -> None:
    """Flink's example: fire whenever the car has gone more than 10."""
    trigger = DeltaTrigger.of(10, lambda old, new: new[1] - old[1])
    harness = harness_of(GlobalWindows.create(), PurgingTrigger.of(trigger))
    put(harness, 0, 10, 11, 20, 22, 30)
    assert emitted(harness) == [[0, 10, 11], [20, 22]]


def test_delta_state_goes_with_the_window() -> None:
    harness = harness_of(TEN, DeltaTrigger.of(3, lambda old, new: new[1] - old[1]))
    feed(harness, 1, 5, 8, 9)
    assert emitted(harness) == [[1, 5], [1, 5, 8, 9]]
    harness.process_watermark(9)
    assert harness.entries() == 0


def test_count_trigger_counts_across_merged_sessions() -> None:
    """Two records in each of two sessions: the fifth joins them and is past three."""
    harness = harness_of(SESSIONS, CountTrigger.of(3))
    feed(harness, 0, 1, 9, 10)
    assert emitted(harness) == []
    feed(harness, 5)
    assert emitted(harness) == [[0, 1, 9, 10, 5]]
    harness.process_watermark(100)
    assert emitted(harness) == []
    assert harness.entries() == 0


def test_never_trigger_on_sessions_drops_them_in_silence() -> None:
    harness = harness_of(SESSIONS, NeverTrigger())
    feed(harness, 1, 3)
    harness.process_watermark(100)
    assert (harness.output(), harness.entries()) == ([], 0)


class EarlyAndOnTime(Trigger):
    """Fires for the first record, then 3 ms of the clock later, then at the window's end, and
    counts what it did in state of its own."""

    FIRINGS = ReducingStateDescriptor("firings", lambda a, b: a + b)
    SEEN = ListStateDescriptor("seen")

    def on_element(self, element, timestamp, window, ctx):
        ctx.get_partitioned_state(self.SEEN).add(timestamp)
        ctx.register_event_time_timer(window.max_timestamp())
        firings = ctx.get_partitioned_state(self.FIRINGS)
        if firings.get() is not None:
            return TriggerResult.CONTINUE
        firings.add(1)
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 3)
        ctx.get_metric_group().counter("early").inc()
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        ctx.get_partitioned_state(self.FIRINGS).add(1)
        return TriggerResult.FIRE

    def on_event_time(self, time, window, ctx):
        assert ctx.get_current_watermark() >= time
        return TriggerResult.FIRE_AND_PURGE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.merge_partitioned_state(self.FIRINGS)
        ctx.merge_partitioned_state(self.SEEN)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        ctx.get_partitioned_state(self.FIRINGS).clear()
        ctx.get_partitioned_state(self.SEEN).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


def test_a_trigger_of_ones_own() -> None:
    harness = harness_of(TEN, EarlyAndOnTime())
    feed(harness, 1, 2)
    assert emitted(harness) == [[1]]
    harness.set_processing_time(4)
    assert emitted(harness) == [[1, 2]]
    harness.process_watermark(9)
    assert emitted(harness) == [[1, 2]]
    assert harness.entries() == 0
    assert harness.operator.context.metrics.counts()["early"] == 1


def test_a_trigger_of_ones_own_whose_windows_merge() -> None:
    """State is merged, timers of the windows that are gone do nothing."""
    harness = harness_of(SESSIONS, EarlyAndOnTime(), Bounded())
    feed(harness, 1, 8)
    assert emitted(harness) == [(1, 6, [1]), (8, 13, [8])]
    feed(harness, 5)
    assert emitted(harness) == []
    harness.set_processing_time(4)
    assert emitted(harness) == []
    harness.process_watermark(7)
    assert emitted(harness) == []
    harness.process_watermark(12)
    assert emitted(harness) == [(1, 13, [1, 8, 5])]
    assert harness.entries() == 0


class Replacing(EventTimeTrigger):
    """Keeps one clock timer per window: each record sets it anew."""

    AT = ValueStateDescriptor("at")

    def on_element(self, element, timestamp, window, ctx):
        at = ctx.get_partitioned_state(self.AT)
        if at.value() is not None:
            ctx.delete_processing_time_timer(at.value())
        at.update(ctx.get_current_processing_time() + 5)
        ctx.register_processing_time_timer(at.value())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        ctx.get_partitioned_state(self.AT).clear()
        return TriggerResult.PURGE if window.start >= 10 else TriggerResult.FIRE


def test_timers_can_be_deleted_and_windows_purged_without_firing() -> None:
    harness = harness_of(TEN, Replacing())
    feed(harness, 1, 11)
    harness.set_processing_time(3)
    feed(harness, 2)
    assert harness.next_wakeup() == 6
    harness.set_processing_time(6)
    assert emitted(harness) == []
    harness.set_processing_time(9)
    assert emitted(harness) == [[1, 2]]
    feed(harness, 12)
    harness.set_processing_time(13)
    feed(harness, 3)
    harness.set_processing_time(20)
    assert emitted(harness) == [[1, 2, 3]]


def test_state_that_cannot_be_merged_is_refused() -> None:
    class Wrong(EventTimeTrigger):
        def on_merge(self, window, ctx):
            ctx.merge_partitioned_state(Replacing.AT)

    harness = harness_of(SESSIONS, Wrong())
    with pytest.raises(StateError, match="only list, reducing and aggregating state can be merged"):
        feed(harness, 1, 3)


def test_a_trigger_that_gives_nothing_is_told_what_to_give() -> None:
    class Forgetful(EventTimeTrigger):
        def on_element(self, element, timestamp, window, ctx):
            pass

    with pytest.raises(
        JobExecutionError, match=r"gave None; its methods .* return a TriggerResult"
    ):
        feed(harness_of(TEN, Forgetful()), 1)


def test_trigger_state_and_timers_survive() -> None:
    """Failures take back what the epoch did, a new instance goes on with the timers."""
    harness = harness_of(GlobalWindows.create(), CountTrigger.of(3))
    put(harness, 1)
    harness.snapshot()
    put(harness, 2, 3)
    harness.abort()
    put(harness, 4)
    harness = harness.restored(harness.snapshot())
    put(harness, 5)
    assert emitted(harness) == [[1, 4, 5]]
    clock = harness_of(TumblingProcessingTimeWindows.of(10))
    put(clock, 1)
    clock = clock.restored(clock.snapshot())
    assert clock.next_wakeup() == 10
    clock.set_processing_time(10)
    assert emitted(clock) == [[1]]


# -- evictors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evictor", "outputs"),
    [
        (CountEvictor.of(2), [[2, 5], [5, 6]]),
        (CountEvictor.of(2, do_evict_after=True), [[1, 2, 5], [2, 5, 6]]),
        (TimeEvictor.of(4), [[2, 5], [5, 6]]),
        (TimeEvictor.of(4, do_evict_after=True), [[1, 2, 5], [2, 5, 6]]),
        (DeltaEvictor.of(4, lambda one, last: last[1] - one[1]), [[2, 5], [5, 6]]),
        (DeltaEvictor.of(4, lambda one, last: last[1] - one[1], True), [[1, 2, 5], [2, 5, 6]]),
        (CountEvictor(10), [[1, 2, 5], [1, 2, 5, 6]]),
    ],
)
def test_built_in_evictors(evictor, outputs) -> None:
    """Before the function or after it; what was evicted is gone for later firings."""
    harness = harness_of(TEN, evictor=evictor, lateness=5)
    feed(harness, 1, 2, 5)
    harness.process_watermark(9)
    feed(harness, 6)
    assert emitted(harness) == outputs
    harness.process_watermark(100)
    assert harness.entries() == 0


def test_a_time_evictor_keeps_records_without_event_times() -> None:
    harness = harness_of(GlobalWindows.create(), CountTrigger(3), evictor=TimeEvictor.of(1))
    put(harness, 1, 2, 3)
    assert emitted(harness) == [[1, 2, 3]]


class OddOnes(Evictor):
    """Takes the even numbers out before the function and, on request in place, the first after."""

    def __init__(self, in_place: bool) -> None:
        self.in_place = in_place

    def evict_before(self, elements, size, window, ctx):
        assert size == len(elements)
        assert ctx.get_current_watermark() == 9
        assert ctx.get_current_processing_time() == 0
        if not self.in_place:
            return [element for element in elements if element.value[1] % 2]
        elements[:] = [element for element in elements if element.value[1] % 2]
        return None

    def evict_after(self, elements, size, window, ctx):
        assert size == len(elements)
        if not self.in_place:
            return elements[1:]
        del elements[0]
        return None


@pytest.mark.parametrize("in_place", [False, True])
def test_an_evictor_of_ones_own(in_place) -> None:
    harness = harness_of(TEN, evictor=OddOnes(in_place), lateness=5)
    feed(harness, 1, 2, 3, 5)
    harness.process_watermark(9)
    assert emitted(harness) == [[1, 3, 5]]
    feed(harness, 7)
    assert emitted(harness) == [[3, 5, 7]]


class Sum(AggregateFunction):
    def create_accumulator(self):
        return [0]

    def add(self, value, accumulator):
        accumulator[0] += value[1]
        return accumulator

    def get_result(self, accumulator):
        return accumulator[0]

    def merge(self, acc_a, acc_b):
        acc_a[0] += acc_b[0]
        return acc_a


class Window0(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield context.window().start, list(elements)


def test_evictors_before_incremental_functions() -> None:
    """All records are kept; the aggregate is made from those that stay."""
    evicting = windowed(TEN, evictor=CountEvictor.of(2), lateness=5)
    for stream, outputs in [
        (evicting.aggregate(Sum()), [7, 11]),
        (evicting.aggregate(Sum(), Window0()), [(0, [7]), (0, [11])]),
        (evicting.reduce(lambda a, b: (a[0], a[1] - b[1])), [("a", -3), ("a", -1)]),
    ]:
        harness = OperatorHarness(stream)
        feed(harness, 1, 2, 5)
        harness.process_watermark(9)
        feed(harness, 6)
        assert emitted(harness) == outputs


def test_evictors_and_sessions() -> None:
    harness = harness_of(SESSIONS, evictor=TimeEvictor.of(6), function=Bounded())
    feed(harness, 1, 9, 5)
    harness.process_watermark(100)
    assert emitted(harness) == [(1, 14, [9, 5])]
    assert harness.entries() == 0


def test_an_empty_window_after_evicting_still_calls_the_function() -> None:
    """As Flink: the function sees no elements, and nothing is kept."""

    class Nothing(OddOnes):
        def evict_before(self, elements, size, window, ctx):
            return []

        def evict_after(self, elements, size, window, ctx):
            return elements

    harness = harness_of(TEN, evictor=Nothing(False))
    feed(harness, 1)
    harness.process_watermark(9)
    assert emitted(harness) == [[]]
    assert harness.entries() == 0


# -- assigners -------------------------------------------------------------------------------------


class Parity(WindowAssigner):
    """Two windows that last for ever, one for even and one for odd numbers; none for zero."""

    def assign_windows(self, element, timestamp, context):
        assert context.get_current_processing_time() == 0
        return [] if element[1] == 0 else [Half(element[1] % 2)]

    def get_default_trigger(self, env):
        return CountTrigger.of(2)

    def get_window_serializer(self):
        raise AssertionError("windows are pickled")

    def is_event_time(self):
        return False


@dataclass(frozen=True)
class Half(Window):
    rest: int

    def max_timestamp(self):
        return END


class Rest(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield context.window().rest, [value[1] for value in elements]


def test_an_assigner_of_ones_own_with_windows_of_its_own() -> None:
    harness = harness_of(Parity(), function=Rest())
    put(harness, 1, 2, 0, 3)
    assert emitted(harness) == [(1, [1, 3])]
    harness = harness.restored(harness.snapshot())
    put(harness, 4)
    assert emitted(harness) == [(0, [2, 4])]
    assert harness.side_output(LATE) == []


class Meetings(MergingWindowAssigner):
    """Windows [a, a + 10) that become one when they start in the same hundred."""

    def assign_windows(self, element, timestamp, context):
        return [TimeWindow(timestamp, timestamp + 10)]

    def merge_windows(self, windows, callback):
        hundreds = {}
        for window in windows:
            hundreds.setdefault(window.start // 100, []).append(window)
        for members in hundreds.values():
            result = members[0]
            for window in members:
                result = result.cover(window)
            callback.merge(members, result)  # also for groups of one

    def get_default_trigger(self, env):
        return EventTimeTrigger.create()

    def get_window_serializer(self):
        raise AssertionError("windows are pickled")

    def is_event_time(self):
        return True


@pytest.mark.parametrize("aggregated", [False, True])
def test_a_merging_assigner_of_ones_own(aggregated) -> None:
    stream = windowed(Meetings())
    harness = OperatorHarness(
        stream.aggregate(Sum(), Window0()) if aggregated else stream.process(Bounded())
    )
    feed(harness, 150, 20, 60, 40, 199)
    harness.process_watermark(68)
    assert harness.output() == []
    harness = harness.restored(harness.snapshot())
    harness.process_watermark(1000)
    assert emitted(harness) == (
        [(20, [120]), (150, [349])]
        if aggregated
        else [(20, 70, [20, 60, 40]), (150, 209, [150, 199])]
    )
    assert harness.entries() == 0


def test_a_merge_into_the_past_is_an_error() -> None:
    """Flink refuses it too."""

    class Backwards(Meetings):
        def merge_windows(self, windows, callback):
            windows = list(windows)
            if len(windows) > 1:
                callback.merge(windows, TimeWindow(0, 1))

    harness = harness_of(Backwards())
    feed(harness, 5)
    harness.process_watermark(7)
    with pytest.raises(JobExecutionError, match="must not end before its parts"):
        feed(harness, 6)


def test_a_session_that_comes_late_but_reaches_a_live_one_is_not_late() -> None:
    harness = harness_of(SESSIONS, function=Bounded())
    feed(harness, 8)
    harness.process_watermark(10)
    feed(harness, 3, 2)
    assert harness.side_output(LATE) == []
    harness.process_watermark(12)
    assert emitted(harness) == [(2, 13, [8, 3, 2])]
    feed(harness, 8)
    assert harness.side_output(LATE) == [("a", 8)]
    assert harness.entries() == 0


def test_sessions_with_lateness_merge_with_those_that_fired() -> None:
    harness = harness_of(SESSIONS, function=Bounded(), lateness=10)
    feed(harness, 1)
    harness.process_watermark(6)
    assert emitted(harness) == [(1, 6, [1])]
    feed(harness, 4)
    assert emitted(harness) == []
    harness.process_watermark(8)
    assert emitted(harness) == [(1, 9, [1, 4])]
    feed(harness, 0)
    assert emitted(harness) == [(0, 9, [1, 4, 0])]
    harness.process_watermark(100)
    assert (emitted(harness), harness.entries()) == ([], 0)


# -- what window functions can ask -----------------------------------------------------------------


class Curious(ProcessWindowFunction):
    """Counts firings per window and per key, and forgets the former in time."""

    HERE = ValueStateDescriptor("here")
    EVER = ValueStateDescriptor("ever")
    cleared: ClassVar[list] = []

    def process(self, key, context, elements):
        here = context.window_state().get_state(self.HERE)
        ever = context.global_state().get_state(self.EVER)
        here.update((here.value() or 0) + 1)
        ever.update((ever.value() or 0) + 1)
        yield context.window().start, here.value(), ever.value(), len(list(elements))
        yield LATE, (context.current_watermark(), context.current_processing_time())

    def clear(self, context):
        self.cleared.append((context.window().start, context.current_watermark()))
        context.window_state().get_state(self.HERE).clear()


@pytest.mark.parametrize("aggregated", [False, True])
def test_state_per_window_and_over_all_of_them(aggregated) -> None:
    Curious.cleared = []
    stream = windowed(TEN, lateness=5)
    stream = stream.aggregate(Sum(), Curious()) if aggregated else stream.process(Curious())
    harness = OperatorHarness(stream, processing_time=77)
    feed(harness, 1, 2, 11)
    harness.process_watermark(9)
    feed(harness, 3)
    harness.process_watermark(19)
    size = (lambda n: 1) if aggregated else int
    assert harness.output() == [(0, 1, 1, size(2)), (0, 2, 2, size(3)), (10, 1, 3, size(1))]
    assert harness.side_output(LATE) == [(9, 77), (9, 77), (19, 77)]
    assert Curious.cleared == [(0, 19)]
    harness.process_watermark(24)
    assert Curious.cleared == [(0, 19), (10, 24)]
    assert harness.entries() == 1, "the state over all windows"


@pytest.mark.parametrize(
    "stream",
    [
        windowed(TEN).process(Curious()),
        windowed(TEN).aggregate(Sum(), Curious()),
        windowed(SlidingEventTimeWindows.of(10, 10)).aggregate(Sum(), Curious()),
        windowed(TEN, PurgingTrigger(EventTimeTrigger())).process(Curious()),
    ],
)
def test_window_state_is_cleared_by_every_operator(stream) -> None:
    Curious.cleared = []
    harness = OperatorHarness(stream)
    feed(harness, 1)
    feed(harness, 1, key="b")
    harness.process_watermark(9)
    assert Curious.cleared == [(0, 9), (0, 9)]
    harness.snapshot()
    assert harness.entries() == 2


class Stateful(ProcessWindowFunction):
    """Uses every kind of state, of the window or over all of them, and changes it in place."""

    KINDS = (
        ("get_state", ValueStateDescriptor("value")),
        ("get_list_state", ListStateDescriptor("list")),
        ("get_map_state", MapStateDescriptor("map")),
        ("get_reducing_state", ReducingStateDescriptor("reducing", lambda a, b: a + b)),
        ("get_aggregating_state", AggregatingStateDescriptor("aggregating", Sum())),
    )

    def __init__(self, scope: str) -> None:
        self.scope = scope

    def states(self, context):
        store = getattr(context, self.scope)()
        return [getattr(store, method)(descriptor) for method, descriptor in self.KINDS]

    def process(self, key, context, elements):
        value, listed, mapped, reducing, aggregating = self.states(context)
        newest = list(elements)[-1]
        numbers = value.value() or []
        numbers.append(newest[1])
        value.update(numbers)
        listed.add(newest[1])
        mapped.put(newest[1], True)
        reducing.add(newest[1])
        aggregating.add(newest)
        yield (
            list(value.value()),
            list(listed.get()),
            list(mapped.keys()),
            reducing.get(),
            aggregating.get(),
        )

    def clear(self, context):
        if self.scope == "window_state":
            for state in self.states(context):
                state.clear()


@pytest.mark.parametrize("scope", ["window_state", "global_state"])
def test_every_kind_of_state_survives_and_is_taken_back(scope) -> None:
    harness = OperatorHarness(windowed(TEN, lateness=5).process(Stateful(scope)))
    feed(harness, 1)
    harness.process_watermark(9)
    harness.snapshot()
    assert emitted(harness) == [([1], [1], [1], 1, 1)]
    feed(harness, 2)
    assert emitted(harness) == [([1, 2], [1, 2], [1, 2], 3, 3)]
    harness.abort()
    harness.process_watermark(9)
    feed(harness, 3)
    harness = harness.restored(harness.snapshot())
    harness.process_watermark(9)
    feed(harness, 4)
    assert emitted(harness) == [([1, 3, 4], [1, 3, 4], [1, 3, 4], 8, 8)]
    feed(harness, 5, key="b")
    assert emitted(harness) == [([5], [5], [5], 5, 5)]
    harness.process_watermark(14)
    harness.snapshot()
    assert (harness.entries() == 0) is (scope == "window_state")


def test_global_state_and_that_of_the_runtime_context_are_the_same() -> None:
    """As in Flink: both are the state of the key."""

    class Both(ProcessWindowFunction):
        def open(self, runtime_context):
            self.count = runtime_context.get_state(ValueStateDescriptor("count"))

        def process(self, key, context, elements):
            self.count.update((self.count.value() or 0) + 1)
            yield context.global_state().get_state(ValueStateDescriptor("count")).value()

    for assigner in (TEN, SESSIONS):
        harness = OperatorHarness(windowed(assigner).process(Both()))
        feed(harness, 1, 21)
        feed(harness, 1, key="b")
        harness.process_watermark(100)
        assert sorted(emitted(harness)) == [1, 1, 2]


@pytest.mark.parametrize("aggregated", [False, True])
def test_window_state_of_sessions_is_refused(aggregated) -> None:
    """It would be lost as they merge; Flink refuses it too."""
    stream = windowed(SESSIONS)
    stream = stream.aggregate(Sum(), Curious()) if aggregated else stream.process(Curious())
    harness = OperatorHarness(stream)
    feed(harness, 1)
    with pytest.raises(StateError, match=r"windows that merge .*use context.global_state"):
        harness.process_watermark(100)


def test_a_window_function_may_emit_nothing() -> None:
    class Silent(WindowFunction):
        def apply(self, key, window, inputs):
            return None

    for assigner in (TEN, SESSIONS):
        harness = OperatorHarness(windowed(assigner).apply(Silent()))
        feed(harness, 1)
        harness.process_watermark(100)
        assert (harness.output(), harness.entries()) == ([], 0)


# -- without keys ----------------------------------------------------------------------------------


class AllNumbers(ProcessAllWindowFunction):
    def process(self, context, elements):
        state = context.window_state().get_state(Curious.HERE)
        state.update(1)
        firings = context.global_state().get_state(Curious.EVER)
        firings.update((firings.value() or 0) + 1)
        times = context.current_watermark(), context.current_processing_time()
        yield context.window().start, sorted(elements), firings.value(), times

    def clear(self, context):
        context.window_state().get_state(Curious.HERE).clear()


class AllApply(AllWindowFunction):
    def apply(self, window, inputs):
        return [(window.start, list(inputs))]


def all_windowed(assigner):
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([]).window_all(assigner)


def test_window_all_sees_every_record() -> None:
    harness = OperatorHarness(all_windowed(TEN).process(AllNumbers()))
    harness.process_elements([3, 1, 12], [3, 1, 12])
    harness.process_watermark(9)
    harness.process_watermark(19)
    assert emitted(harness) == [(0, [1, 3], 1, (9, 0)), (10, [12], 2, (19, 0))]
    assert harness.entries() == 1


@pytest.mark.parametrize(
    ("build", "outputs"),
    [
        (lambda w: w.apply(AllApply()), [(0, [3, 1]), (10, [12])]),
        (lambda w: w.reduce(lambda a, b: a - b), [2, 12]),
        (lambda w: w.reduce(lambda a, b: a - b, AllApply()), [(0, [2]), (10, [12])]),
        (lambda w: w.aggregate(Total()), [4, 12]),
        (lambda w: w.aggregate(Total(), AllApply()), [(0, [4]), (10, [12])]),
        (lambda w: w.trigger(CountTrigger(2)).apply(AllApply()), [(0, [3, 1])]),
        (lambda w: w.evictor(CountEvictor(1)).apply(AllApply()), [(0, [1]), (10, [12])]),
    ],
)
def test_window_all_computes_what_keyed_windows_do(build, outputs) -> None:
    harness = OperatorHarness(build(all_windowed(TEN)))
    harness.process_elements([3, 1, 12], [3, 1, 12])
    harness.process_watermark(100)
    assert emitted(harness) == outputs


class Total(Sum):
    def add(self, value, accumulator):
        return super().add((None, value), accumulator)


def test_window_all_with_lateness() -> None:
    stream = all_windowed(TEN).allowed_lateness(5).side_output_late_data(LATE).apply(AllApply())
    harness = OperatorHarness(stream)
    harness.process_watermark(12)
    harness.process_elements([1], [1])
    harness.process_watermark(14)
    harness.process_elements([2], [2])
    assert harness.output() == [(0, [1])]
    assert harness.side_output(LATE) == [2]


class Remembering(ProcessAllWindowFunction, CheckpointedFunction):
    """Counts in operator state."""

    def initialize_state(self, context):
        self.kept = context.get_operator_state_store().get_list_state(ListStateDescriptor("kept"))
        self.count = sum(self.kept.get())

    def snapshot_state(self, context):
        self.kept.update([self.count])

    def process(self, context, elements):
        self.count += 1
        yield self.count


def test_window_functions_may_have_operator_state() -> None:
    harness = OperatorHarness(all_windowed(TEN).process(Remembering()))
    harness.process_elements([1], [1])
    harness.process_watermark(9)
    harness = harness.restored(harness.snapshot())
    harness.process_elements([11], [11])
    harness.process_watermark(19)
    assert emitted(harness) == [2]


# -- count windows ---------------------------------------------------------------------------------


def keyed():
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([]).key_by(0)


def test_count_windows_fire_when_they_are_full() -> None:
    harness = OperatorHarness(keyed().count_window(2).process(Numbers()))
    put(harness, 1, 2, 3)
    put(harness, 4, key="b")
    harness = harness.restored(harness.snapshot())
    put(harness, 5)
    harness.process_watermark(END)
    assert emitted(harness) == [[3, 5]]


def test_sliding_count_windows() -> None:
    """Size 3, a new one every 2 records: only full ones fire, as in PyFlink."""
    harness = OperatorHarness(keyed().count_window(3, 2).process(Numbers()))
    put(harness, *range(1, 8))
    assert emitted(harness) == [[1, 2, 3], [3, 4, 5], [5, 6, 7]]


def test_count_windows_with_holes() -> None:
    harness = OperatorHarness(keyed().count_window(2, 3).process(Numbers()))
    put(harness, *range(1, 9))
    assert emitted(harness) == [[1, 2], [4, 5], [7, 8]]


def test_count_windows_forget_what_they_fired() -> None:
    harness = OperatorHarness(keyed().count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1])))
    for number in range(100):
        put(harness, number)
    assert len(harness.output()) == 50
    assert harness.entries() == 1, "how many records there were"


def test_count_window_all() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([])
    for windows, outputs in [
        (stream.count_window_all(2), [3, 7]),
        (stream.count_window_all(3, 1), [6, 9, 12]),
    ]:
        harness = OperatorHarness(windows.reduce(lambda a, b: a + b))
        harness.process_elements([1, 2, 3, 4, 5])
        assert emitted(harness) == outputs


def test_the_global_window_is_one() -> None:
    assert GlobalWindow.get() == GlobalWindow()
    assert GlobalWindow.get().max_timestamp() == END
