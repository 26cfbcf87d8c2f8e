from __future__ import annotations

import pytest

from millrace.common import Time
from millrace.common.errors import JobExecutionError
from millrace.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from millrace.testing import OperatorHarness, StreamRecord

LATE = OutputTag("late")
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
TEN_EVERY_FIVE = SlidingEventTimeWindows.of(10, 5)


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + 1, accumulator[1] + value[1]

    def get_result(self, accumulator):
        return accumulator[1] / accumulator[0]

    def merge(self, acc_a, acc_b):
        raise AssertionError("tumbling and sliding windows do not merge")


class Collect(AggregateFunction):
    """Changes its accumulator in place."""

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        window = context.window()
        yield key, window.start, window.end, list(elements)


def windowed(assigner=TEN, late=None):
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([]).key_by(0).window(assigner)
    return stream if late is None else stream.side_output_late_data(late)


def feed(harness: OperatorHarness, *records: tuple[str, int]) -> None:
    """Records (key, event time): the value is both."""
    harness.process_elements(list(records), [time for _, time in records])


def test_tumbling_reduce_fires_per_key_and_window_in_order() -> None:
    harness = OperatorHarness(windowed().reduce(lambda a, b: (a[0], a[1] + b[1])))
    feed(harness, ("a", 12), ("a", 1), ("b", 2), ("a", 3))
    harness.process_watermark(8)
    assert harness.output() == []
    harness.process_watermark(9)
    assert harness.records() == [StreamRecord(("a", 4), 9), StreamRecord(("b", 2), 9)]
    harness.process_watermark(30)
    assert harness.records()[2:] == [StreamRecord(("a", 12), 19)]


def test_results_come_before_their_watermark_and_state_is_gone() -> None:
    harness = OperatorHarness(windowed().aggregate(Average()))
    feed(harness, ("a", 1), ("a", 2))
    harness.process_watermark(9)
    assert harness.output() == [1.5]
    assert harness.watermarks() == [9]
    assert harness.entries() == 0


def test_a_record_at_the_end_belongs_to_the_next_window() -> None:
    harness = OperatorHarness(windowed().process(Show()))
    feed(harness, ("a", 9), ("a", 10), ("a", -1))
    harness.process_watermark(100)
    assert harness.output() == [
        ("a", -10, 0, [("a", -1)]), ("a", 0, 10, [("a", 9)]), ("a", 10, 20, [("a", 10)]),
    ]  # fmt: skip


def test_offsets_move_the_windows() -> None:
    assigner = TumblingEventTimeWindows.of(10, 3)
    harness = OperatorHarness(windowed(assigner).process(Show()))
    feed(harness, ("a", 2), ("a", 3))
    harness.process_watermark(100)
    assert [result[1:3] for result in harness.output()] == [(-7, 3), (3, 13)]


def test_sliding_windows_overlap() -> None:
    harness = OperatorHarness(windowed(TEN_EVERY_FIVE).process(Show()))
    feed(harness, ("a", 7), ("a", 12))
    harness.process_watermark(100)
    assert harness.output() == [
        ("a", 0, 10, [("a", 7)]),
        ("a", 5, 15, [("a", 7), ("a", 12)]),
        ("a", 10, 20, [("a", 12)]),
    ]


def test_sliding_reduce() -> None:
    harness = OperatorHarness(windowed(TEN_EVERY_FIVE).reduce(lambda a, b: (a[0], a[1] + b[1])))
    feed(harness, ("a", 7), ("a", 12), ("b", 7))
    harness.process_watermark(100)
    assert harness.output() == [("a", 7), ("b", 7), ("a", 19), ("b", 7), ("a", 12)]


def test_late_records_go_to_the_side_output() -> None:
    harness = OperatorHarness(windowed(late=LATE).aggregate(Average()))
    harness.process_watermark(9)
    feed(harness, ("a", 9), ("a", 10), ("a", 5))
    harness.process_watermark(19)
    assert harness.output() == [10.0]
    assert harness.side_output(LATE) == [("a", 9), ("a", 5)]


def test_a_record_behind_the_watermark_is_in_time_while_its_window_is_open() -> None:
    harness = OperatorHarness(windowed(late=LATE).process(Show()))
    harness.process_watermark(8)
    feed(harness, ("a", 1))
    harness.process_watermark(9)
    assert harness.output() == [("a", 0, 10, [("a", 1)])]
    assert harness.side_output(LATE) == []


def test_sliding_a_record_is_late_only_when_all_its_windows_are() -> None:
    harness = OperatorHarness(windowed(TEN_EVERY_FIVE, LATE).process(Show()))
    harness.process_watermark(12)
    feed(harness, ("a", 7), ("a", 4))
    harness.process_watermark(100)
    assert harness.output() == [("a", 5, 15, [("a", 7)])]
    assert harness.side_output(LATE) == [("a", 4)]


def test_late_records_without_a_side_output_are_counted() -> None:
    harness = OperatorHarness(windowed().aggregate(Average()))
    harness.process_watermark(9)
    feed(harness, ("a", 9), ("a", 10), ("a", 5))
    assert harness.operator.context.metrics.counts() == {"numLateRecordsDropped": 2}


def test_an_accumulator_changed_in_place_is_taken_back() -> None:
    harness = OperatorHarness(windowed().aggregate(Collect()))
    feed(harness, ("a", 1))
    harness.snapshot()
    feed(harness, ("a", 2))
    harness.abort()
    feed(harness, ("a", 3))
    harness.process_watermark(9)
    assert harness.output() == [[1, 3]]


@pytest.mark.parametrize("kind", ["aggregate", "process"])
def test_panes_are_state(kind: str) -> None:
    stream = windowed().aggregate(Average(), Show()) if kind == "aggregate" else None
    harness = OperatorHarness(stream or windowed().process(Show()))
    feed(harness, ("a", 1), ("b", 2))
    harness.snapshot()
    feed(harness, ("a", 3))
    restored = harness.restored(harness.snapshot())
    restored.process_watermark(9)
    contents = [result[3] for result in restored.output()]
    everything = [[("a", 1), ("a", 3)], [("b", 2)]]
    assert contents == ([[2.0], [2.0]] if kind == "aggregate" else everything)


def test_windows_fired_in_an_aborted_epoch_fire_again() -> None:
    harness = OperatorHarness(windowed().process(Show()))
    feed(harness, ("a", 1))
    harness.snapshot()
    harness.process_watermark(9)
    harness.abort()
    harness.process_watermark(9)
    assert harness.output() == [("a", 0, 10, [("a", 1)])]


def test_apply_gets_key_window_and_elements() -> None:
    class Apply(WindowFunction):
        def apply(self, key, window, inputs):
            return [(key, window.max_timestamp(), len(list(inputs)))]

    harness = OperatorHarness(windowed().apply(Apply()))
    feed(harness, ("a", 1), ("a", 2), ("b", 3))
    harness.process_watermark(9)
    assert harness.output() == [("a", 9, 2), ("b", 9, 1)]


@pytest.mark.parametrize("shape", ["reduce", "aggregate"])
def test_a_window_function_gets_the_aggregate(shape: str) -> None:
    stream = (
        windowed().reduce(lambda a, b: (a[0], a[1] + b[1]), Show())
        if shape == "reduce"
        else windowed().aggregate(Average(), Show())
    )
    harness = OperatorHarness(stream)
    feed(harness, ("a", 1), ("a", 2))
    harness.process_watermark(9)
    expected = {"reduce": [("a", 3)], "aggregate": [1.5]}[shape]
    assert harness.output() == [("a", 0, 10, expected)]


class Stateful(ProcessWindowFunction):
    """Counts calls per key and window, and per key."""

    def __init__(self, tidy: bool = True) -> None:
        self.tidy = tidy

    def process(self, key, context, elements):
        fired = context.window_state().get_state(ValueStateDescriptor("fired"))
        fired.update((fired.value() or 0) + 1)
        starts = context.global_state().get_list_state(ListStateDescriptor("starts"))
        starts.add(context.window().start)
        yield key, fired.value(), list(starts), context.current_watermark()
        yield LATE, context.current_processing_time()

    def clear(self, context):
        if self.tidy:
            context.window_state().get_state(ValueStateDescriptor("fired")).clear()


def test_window_state_and_global_state() -> None:
    harness = OperatorHarness(windowed().process(Stateful()), processing_time=77)
    feed(harness, ("a", 1), ("b", 2), ("a", 11))
    harness.process_watermark(50)
    assert harness.output() == [("a", 1, [0], 50), ("b", 1, [0], 50), ("a", 1, [0, 10], 50)]
    assert harness.side_output(LATE) == [77, 77, 77]
    assert harness.entries() == 2


def test_window_state_that_is_not_cleared_stays_per_window() -> None:
    harness = OperatorHarness(windowed().process(Stateful(tidy=False)))
    feed(harness, ("a", 1), ("a", 11))
    harness.process_watermark(50)
    assert [result[1] for result in harness.output()] == [1, 1]
    assert harness.entries() == 3


def test_window_state_follows_its_key_when_rescaled() -> None:
    harness = OperatorHarness(windowed().process(Stateful(tidy=False)))
    keys = [str(n) for n in range(20)]
    feed(harness, *[(key, 1) for key in keys])
    harness.process_watermark(9)
    snapshot = harness.snapshot()
    halves = [harness.restored(snapshot, subtask_index=i, parallelism=2) for i in (0, 1)]
    assert sum(half.entries() for half in halves) == harness.entries()
    assert all(half.entries() for half in halves)


def test_batches_of_one_key_and_many_windows() -> None:
    harness = OperatorHarness(windowed().aggregate(Average()))
    feed(harness, *[("a", time) for time in range(99, -1, -1)])
    harness.process_watermark(1000)
    assert harness.output() == [start + 4.5 for start in range(0, 100, 10)]


def test_records_without_event_time_are_an_error_that_says_what_to_do() -> None:
    harness = OperatorHarness(windowed().aggregate(Average()))
    with pytest.raises(JobExecutionError, match="assign_timestamps_and_watermarks"):
        harness.process_element(("a", 1))


def test_functions_are_opened_and_closed() -> None:
    calls: list[str] = []

    class Loud(Average):
        def open(self, runtime_context):
            calls.append("open aggregate")

        def close(self):
            calls.append("close aggregate")

    class LoudShow(Show):
        def open(self, runtime_context):
            calls.append(f"open {runtime_context.get_task_name()}")

        def close(self):
            calls.append("close")

    with OperatorHarness(windowed().aggregate(Loud(), LoudShow())):
        assert calls == ["open aggregate", "open Window Aggregate"]
    assert calls[2:] == ["close aggregate", "close"]
