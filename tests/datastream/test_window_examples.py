"""What Flink's documentation says of windows, as facts: what goes in and what comes out.

Pages "Windows" and "Windowing" of the DataStream API. Times of day there are milliseconds here.
"""

from __future__ import annotations

import pytest

from millrace.common import Duration, Time, WatermarkStrategy
from millrace.datastream import OutputTag, StreamExecutionEnvironment
from millrace.datastream.functions import (
    AggregateFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from millrace.datastream.state import ValueStateDescriptor
from millrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimeWindow,
    TumblingEventTimeWindows,
)
from millrace.testing import OperatorHarness, run_local

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def keyed(records=(), strategy=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(records))
    if strategy is not None:
        stream = stream.assign_timestamps_and_watermarks(strategy)
    return stream.key_by(lambda value: value[0])


def by_time(delay: int = 0):
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))
    return strategy.with_timestamp_assigner(lambda value, _: value[1])


class Elements(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield context.window(), [value[1] for value in elements]


def test_tumbling_windows_are_aligned_with_the_epoch() -> None:
    """Hourly windows are 1:00:00.000 - 1:59:59.999, 2:00:00.000 - 2:59:59.999 and so on."""
    (window,) = TumblingEventTimeWindows.of(Time.hours(1)).assign_windows("a", HOUR + 1)
    assert window == TimeWindow(HOUR, 2 * HOUR)
    assert window.max_timestamp() == 2 * HOUR - 1


def test_an_offset_of_fifteen_minutes() -> None:
    """1:15:00.000 - 2:14:59.999, 2:15:00.000 - 3:14:59.999 and so on."""
    assigner = TumblingEventTimeWindows.of(Time.hours(1), Time.minutes(15))
    (window,) = assigner.assign_windows("a", 2 * HOUR)
    assert window == TimeWindow(HOUR + 15 * MINUTE, 2 * HOUR + 15 * MINUTE)


def test_days_in_china() -> None:
    """Time.hours(-8): days begin at 16:00 UTC."""
    assigner = TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8))
    (window,) = assigner.assign_windows("a", 17 * HOUR)
    assert window == TimeWindow(16 * HOUR, 16 * HOUR + DAY)


def test_sliding_windows_of_an_hour_each_half_hour() -> None:
    """1:00 - 1:59:59.999, 1:30 - 2:29:59.999 and so on."""
    assigner = SlidingEventTimeWindows.of(Time.hours(1), Time.minutes(30))
    assert assigner.assign_windows("a", HOUR + 45 * MINUTE) == [
        TimeWindow(HOUR + 30 * MINUTE, 2 * HOUR + 30 * MINUTE),
        TimeWindow(HOUR, 2 * HOUR),
    ]


def test_sliding_windows_of_an_hour_each_half_hour_moved_by_a_quarter() -> None:
    """1:15 - 2:14:59.999, 1:45 - 2:44:59.999 and so on."""
    assigner = SlidingEventTimeWindows.of(Time.hours(1), Time.minutes(30), Time.minutes(15))
    windows = assigner.assign_windows("a", 2 * HOUR)
    assert [window.start for window in windows] == [HOUR + 45 * MINUTE, HOUR + 15 * MINUTE]


def test_ten_minutes_every_five_hold_the_last_ten_minutes() -> None:
    """Every 5 minutes a window with the elements of the last 10 minutes."""
    records = [("a", minute * MINUTE) for minute in (1, 6, 11)]
    with run_local():
        stream = keyed(records, by_time()).window(
            SlidingEventTimeWindows.of(Time.minutes(10), Time.minutes(5))
        )
        results = list(stream.process(Elements()).execute_and_collect())
    minutes = [
        (window.start // MINUTE, [time // MINUTE for time in times]) for window, times in results
    ]
    assert minutes == [(-5, [1]), (0, [1, 6]), (5, [6, 11]), (10, [11])]


def test_sessions_end_after_a_gap_and_are_not_aligned() -> None:
    """A session closes when nothing came for the gap; an element between two of them joins them."""
    harness = OperatorHarness(
        keyed().window(EventTimeSessionWindows.with_gap(Time.minutes(10))).process(Elements())
    )
    for minute in (0, 9, 25, 17):
        harness.process_element(("a", minute * MINUTE), minute * MINUTE)
    harness.process_element(("a", 36 * MINUTE), 36 * MINUTE)
    harness.process_watermark(35 * MINUTE - 1)
    assert harness.output() == [
        (TimeWindow(0, 35 * MINUTE), [0, 9 * MINUTE, 25 * MINUTE, 17 * MINUTE])
    ]


def test_reduce_sums_the_second_fields() -> None:
    """The page's ReduceFunction: (v1.f0, v1.f1 + v2.f1)."""
    harness = OperatorHarness(
        keyed()
        .window(TumblingEventTimeWindows.of(10))
        .reduce(lambda v1, v2: (v1[0], v1[1] + v2[1]))
    )
    harness.process_elements([("a", 1), ("a", 2), ("b", 5)], [1, 2, 3])
    harness.process_watermark(9)
    assert harness.output() == [("a", 3), ("b", 5)]


class AverageAggregate(AggregateFunction):
    """The page's AverageAggregate: a sum and a count."""

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(10),
        SlidingEventTimeWindows.of(10, 10),
        EventTimeSessionWindows.with_gap(7),
    ],
)
def test_the_average_of_the_second_field(assigner) -> None:
    harness = OperatorHarness(keyed().window(assigner).aggregate(AverageAggregate()))
    harness.process_elements([("a", 1), ("a", 2), ("a", 6)], [0, 1, 2])
    harness.process_watermark(9)
    assert harness.output() == [3.0]


def test_the_least_reading_with_the_start_of_its_window() -> None:
    """The page's incremental aggregation with a ReduceFunction and a ProcessWindowFunction."""

    class MyProcessWindowFunction(ProcessWindowFunction):
        def process(self, key, context, readings):
            (least,) = readings
            yield context.window().start, least

    stream = keyed().window(TumblingEventTimeWindows.of(10))
    harness = OperatorHarness(
        stream.reduce(lambda r1, r2: r2 if r1[1] > r2[1] else r1, MyProcessWindowFunction())
    )
    harness.process_elements([("a", 7), ("a", 3), ("a", 5)], [11, 12, 13])
    harness.process_watermark(19)
    assert harness.output() == [(10, ("a", 3))]


def test_the_average_with_its_key() -> None:
    """The page's incremental aggregation with an AggregateFunction."""

    class MyProcessWindowFunction(ProcessWindowFunction):
        def process(self, key, context, averages):
            yield key, *averages

    stream = keyed().window(TumblingEventTimeWindows.of(10))
    harness = OperatorHarness(stream.aggregate(AverageAggregate(), MyProcessWindowFunction()))
    harness.process_elements([("a", 1), ("a", 2)], [1, 2])
    harness.process_watermark(9)
    assert harness.output() == [("a", 1.5)]


def test_counting_with_a_process_window_function() -> None:
    """The page's example: "Window: ... count: ..."."""

    class MyProcessWindowFunction(ProcessWindowFunction):
        def process(self, key, context, elements):
            count = 0
            for _ in elements:
                count += 1
            yield f"Window: {context.window()} count: {count}"

    harness = OperatorHarness(
        keyed()
        .window(TumblingEventTimeWindows.of(Time.minutes(5)))
        .process(MyProcessWindowFunction())
    )
    harness.process_elements([("a", 1), ("a", 2)], [1, 2])
    harness.process_watermark(5 * MINUTE)
    assert harness.output() == ["Window: TimeWindow(start=0, end=300000) count: 2"]


def test_a_thousand_keys_have_a_thousand_windows() -> None:
    """Per-window state: the window is defined, each key has an instance of it."""

    class Once(ProcessWindowFunction):
        def process(self, key, context, elements):
            fired = context.window_state().get_state(ValueStateDescriptor("fired"))
            assert fired.value() is None
            fired.update(key)
            yield key

        def clear(self, context):
            fired = context.window_state().get_state(ValueStateDescriptor("fired"))
            assert fired.value() is not None
            fired.clear()

    harness = OperatorHarness(keyed().window(TumblingEventTimeWindows.of(10)).process(Once()))
    harness.process_elements([(number, 0) for number in range(1000)], [5] * 1000)
    harness.process_watermark(9)
    assert sorted(harness.output()) == list(range(1000))
    assert harness.entries() == 0


def test_a_purging_trigger_keeps_the_window_and_its_state_not_its_contents() -> None:
    """PURGE only removes the contents; meta data and trigger state stay."""
    harness = OperatorHarness(
        keyed()
        .window(TumblingEventTimeWindows.of(10))
        .trigger(PurgingTrigger.of(CountTrigger.of(2)))
        .process(Elements())
    )
    for time in (1, 2, 3):
        harness.process_element(("a", time), time)
    assert harness.output() == [(TimeWindow(0, 10), [1, 2])]
    harness.process_watermark(9)
    assert len(harness.output()) == 1, "the default trigger was replaced, not added to"
    assert harness.entries() == 0


def test_a_trigger_replaces_the_default_one() -> None:
    """A CountTrigger on event-time windows: no firing by time any more."""
    stream = keyed().window(TumblingEventTimeWindows.of(10)).trigger(CountTrigger.of(5))
    harness = OperatorHarness(stream.process(Elements()))
    harness.process_element(("a", 1), 1)
    harness.process_watermark(100)
    assert harness.output() == []


def test_the_top_speed_of_cars() -> None:
    """TopSpeedWindowing: the last 10 seconds whenever a car has gone 50 metres, and the fastest."""
    cars = [
        # car, time, distance, speed
        ("a", 1_000, 10, 50),
        ("a", 5_000, 40, 90),
        ("a", 12_000, 65, 60),
        ("a", 14_000, 100, 55),
        ("a", 23_000, 120, 70),
    ]
    stream = (
        keyed()
        .window(GlobalWindows.create())
        .evictor(TimeEvictor.of(Time.seconds(10)))
        .trigger(DeltaTrigger.of(50, lambda old, new: new[2] - old[2]))
        .reduce(lambda one, other: one if one[3] > other[3] else other)
    )
    harness = OperatorHarness(stream)
    for car in cars:
        harness.process_element(car, car[1])
    assert harness.output() == [("a", 5_000, 40, 90), ("a", 23_000, 120, 70)]


def test_a_count_window_is_a_global_one_with_trigger_and_evictor() -> None:
    """The JVM API's sliding count window: the last 3 each 2 records, also before there are 3."""
    stream = (
        keyed()
        .window(GlobalWindows.create())
        .trigger(CountTrigger.of(2))
        .evictor(CountEvictor.of(3))
        .process(Elements())
    )
    harness = OperatorHarness(stream)
    harness.process_elements([("a", number) for number in range(1, 7)])
    assert [numbers for _, numbers in harness.output()] == [[1, 2], [2, 3, 4], [4, 5, 6]]


def test_late_elements_make_a_window_fire_again() -> None:
    """Allowed lateness: the first firing, then one per late element; GlobalWindows have no late
    data, for their end is the end of time."""
    late = OutputTag("late-data")

    class Count(WindowFunction):
        def apply(self, key, window, inputs):
            return [(key, window.start, len(list(inputs)))]

    stream = (
        keyed()
        .window(TumblingEventTimeWindows.of(10))
        .allowed_lateness(Time.milliseconds(5))
        .side_output_late_data(late)
        .apply(Count())
    )
    harness = OperatorHarness(stream)
    harness.process_element(("a", 1), 1)
    harness.process_watermark(9)
    harness.process_element(("a", 2), 2)
    harness.process_watermark(14)
    harness.process_element(("a", 3), 3)
    assert harness.output() == [("a", 0, 1), ("a", 0, 2)]
    assert harness.side_output(late) == [("a", 3)]
    forever = keyed().window(GlobalWindows.create()).trigger(CountTrigger.of(1)).apply(Totals())
    harness = OperatorHarness(forever)
    harness.process_watermark(1000)
    harness.process_element(("a", 3), 3)
    assert harness.output() == [1]


class Totals(WindowFunction):
    def apply(self, key, window, inputs):
        return [len(list(inputs))]


def test_consecutive_windowed_operations() -> None:
    """Sums per key of 5 seconds, then the same 5 seconds over all keys: results have the end of
    their window as event time, so they are in the same window again."""
    records = [("a", 1_000), ("b", 2_000), ("a", 3_000), ("a", 6_000)]
    window = TumblingEventTimeWindows.of(Time.seconds(5))

    class Sum(ProcessWindowFunction):
        def process(self, key, context, elements):
            yield key, len(list(elements))

    with run_local(epoch_records=1):
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        stream = env.from_collection(records).assign_timestamps_and_watermarks(by_time())
        sums = stream.key_by(lambda value: value[0]).window(window).process(Sum())
        top = sums.window_all(window).reduce(lambda one, other: max(one, other, key=itemgetter(1)))
        assert list(top.execute_and_collect()) == [("a", 2), ("a", 1)]


def itemgetter(position: int):
    return lambda value: value[position]


def test_a_record_is_in_size_over_slide_windows() -> None:
    """Size considerations: a day by a second is 86,400 windows, which share what they hold where
    the program says that they may."""
    stream = keyed().window(SlidingEventTimeWindows.of(Time.days(1), Time.seconds(1)))
    assert len(stream._spec.assigner.assign_windows("a", 5)) == 86_400
    harness = OperatorHarness(stream.share_panes().reduce(lambda one, other: one))
    harness.process_element(("a", 5), 5)
    assert harness.entries() == 1
