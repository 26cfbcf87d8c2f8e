from __future__ import annotations

import pyarrow as pa
import pytest

from millrace.common import BoundedOutOfOrdernessGenerator, Duration, WatermarkStrategy
from millrace.common.time.watermark_strategy import TimestampAssigner, WatermarkGenerator
from millrace.common.types.batch import ColumnBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.metrics import MetricRegistry
from millrace.runtime.operators.timestamps import WatermarkTracker
from millrace.testing import OperatorHarness, StreamRecord

MAX_WATERMARK = 2**63 - 1


def itself(value, record_timestamp):
    return value


class Punctuated(WatermarkGenerator):
    """Multiples of ten end a period."""

    def on_event(self, event, timestamp, output):
        if event % 10 == 0:
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output):
        pass


class Periodic(WatermarkGenerator):
    def __init__(self) -> None:
        self.highest = 0

    def on_event(self, event, timestamp, output):
        self.highest = max(self.highest, timestamp)

    def on_periodic_emit(self, output):
        output.emit_watermark(self.highest - 5)


def operator(strategy: WatermarkStrategy, **settings) -> OperatorHarness:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([]).assign_timestamps_and_watermarks(strategy)
    return OperatorHarness(stream, **settings)


def test_monotonous() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(itself)
    harness = operator(strategy)
    harness.process_elements([5, 9])
    assert harness.records() == [StreamRecord(5, 5), StreamRecord(9, 9)]
    assert harness.watermarks() == [8]


def test_bounded_out_of_orderness_and_never_back() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
    harness = operator(strategy.with_timestamp_assigner(itself))
    harness.process_elements([10, 7])
    harness.process_elements([8])
    harness.process_elements([20])
    assert harness.watermarks() == [6, 16]


def test_an_assigner_object_sees_the_former_timestamp() -> None:
    class Later(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            return record_timestamp + value

    harness = operator(WatermarkStrategy.no_watermarks().with_timestamp_assigner(Later()))
    harness.process_element(5, 100)
    harness.process_element(5)
    assert harness.records() == [StreamRecord(5, 105), StreamRecord(5, 5 - 2**63)]


def test_without_an_assigner_timestamps_stay() -> None:
    harness = operator(WatermarkStrategy.for_monotonous_timestamps())
    harness.process_element("a", 100)
    assert harness.records() == [StreamRecord("a", 100)]
    assert harness.watermarks() == [99]


def test_punctuated_watermarks_stand_right_behind_their_record() -> None:
    """Records up to the punctuation come before it: none of them may be late downstream."""
    order: list[object] = []
    strategy = WatermarkStrategy.for_generator(Punctuated).with_timestamp_assigner(itself)
    harness = operator(strategy)
    recorder = harness.operator.output
    recorder.emit = lambda batch: order.extend(batch.values)  # type: ignore[method-assign]
    recorder.emit_watermark = lambda mark: order.append(f"W{mark}")  # type: ignore[method-assign]
    harness.process_elements([1, 10, 12, 20, 21])
    assert order == [1, 10, "W10", 12, 20, "W20", 21]


def test_periodic_watermarks() -> None:
    strategy = WatermarkStrategy.for_generator(Periodic).with_timestamp_assigner(itself)
    harness = operator(strategy)
    harness.process_elements([10, 30, 20])
    assert harness.watermarks() == [25]


def test_a_generator_may_emit_at_the_end_of_an_epoch() -> None:
    class Slow(Periodic):
        calls = 0

        def on_periodic_emit(self, output):
            self.calls += 1
            if self.calls == 2:
                output.emit_watermark(self.highest)

    strategy = WatermarkStrategy.for_generator(Slow).with_timestamp_assigner(itself)
    harness = operator(strategy)
    harness.process_element(10)
    assert harness.watermarks() == []
    harness.snapshot()
    assert harness.watermarks() == [10]


def test_watermarks_from_upstream_end_here_but_for_the_last() -> None:
    harness = operator(WatermarkStrategy.for_monotonous_timestamps())
    harness.process_watermark(1000)
    assert harness.watermarks() == []
    harness.process_watermark(MAX_WATERMARK)
    assert harness.watermarks() == [MAX_WATERMARK]


def test_the_watermark_is_state() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    harness = operator(strategy)
    harness.process_element("a", 100)
    restored = harness.restored(harness.snapshot())
    restored.process_element("b", 50)
    restored.process_element("c", 200)
    assert restored.watermarks() == [199]


def test_an_aborted_epochs_watermark_is_forgotten() -> None:
    harness = operator(WatermarkStrategy.for_monotonous_timestamps())
    harness.process_element("a", 10)
    harness.snapshot()
    harness.process_element("a", 100)
    harness.abort()
    harness.process_element("b", 50)
    assert harness.watermarks() == [49]


def test_idleness() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(30)
    harness = operator(strategy, processing_time=1000)
    harness.process_element("a", 1)
    assert harness.next_wakeup() == 1030
    harness.set_processing_time(1029)
    assert not harness.operator.output_idle(False)
    harness.set_processing_time(1030)
    assert harness.operator.output_idle(False)
    harness.process_element("b", 2)
    assert not harness.operator.output_idle(False)
    assert harness.operator.output_idle(True)


def test_a_subtask_that_never_gets_a_record_becomes_idle() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(30)
    harness = operator(strategy, processing_time=1000)
    harness.set_processing_time(1001)
    harness.set_processing_time(1030)
    assert harness.operator.output_idle(False)


@pytest.mark.parametrize("idle", [True, False])
def test_a_generator_decides_about_idleness(idle: bool) -> None:
    class Says(Periodic):
        def on_event(self, event, timestamp, output):
            (output.mark_idle if event else output.mark_active)()

        def on_periodic_emit(self, output):
            pass

    harness = operator(WatermarkStrategy.for_generator(Says))
    harness.process_element(idle, 1)
    assert harness.operator.output_idle(False) is idle


def test_batch_mode_has_timestamps_but_no_watermarks_before_the_end() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(itself)
    harness = operator(strategy, batch_mode=True)
    harness.process_elements([5, 9, 1])
    harness.process_watermark(MAX_WATERMARK)
    assert [record.timestamp for record in harness.records()] == [5, 9, 1]
    assert harness.watermarks() == [MAX_WATERMARK]


class PunctuatedToo(BoundedOutOfOrdernessGenerator):
    def on_event(self, event, timestamp, output):
        super().on_event(event, timestamp, output)
        if event % 10 == 0:
            output.emit_watermark(timestamp)


def test_a_generator_made_from_a_known_one_sees_every_event() -> None:
    strategy = WatermarkStrategy.for_generator(lambda: PunctuatedToo(100))
    harness = operator(strategy.with_timestamp_assigner(itself))
    harness.process_elements([9, 10, 11])
    assert harness.watermarks() == [10]


FAR = 4_102_444_800_000
"""The year 2100."""
LIMITED = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(itself)


def test_a_record_of_the_year_2100_moves_no_watermark() -> None:
    harness = operator(LIMITED.with_clock_limit(100))
    harness.process_elements([5, FAR])
    harness.process_elements([FAR])
    harness.process_elements([9, 100])
    assert [record.timestamp for record in harness.records()] == [5, FAR, FAR, 9, 100]
    assert harness.watermarks() == [4, 99]


def test_timestamps_ahead_of_the_clock_can_be_capped() -> None:
    harness = operator(LIMITED.with_clock_limit(100, cap=True))
    harness.process_elements([5, FAR, 100])
    assert [record.timestamp for record in harness.records()] == [5, 100, 100]
    assert harness.watermarks() == [99]


def test_a_generator_does_not_see_what_is_ahead_of_the_clock() -> None:
    strategy = WatermarkStrategy.for_generator(Periodic).with_timestamp_assigner(itself)
    harness = operator(strategy.with_clock_limit(100))
    harness.process_elements([5, FAR, 9])
    assert max(harness.watermarks()) < 100


@pytest.mark.parametrize("cap", [False, True])
def test_the_clock_limit_of_columns_and_its_metric(cap: bool) -> None:
    registry = MetricRegistry()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_clock_limit(100, cap)
    tracker = WatermarkTracker(strategy, False, registry)
    times = pa.array([5, FAR, FAR, 7], pa.int64())
    [piece] = tracker.pieces(ColumnBatch(pa.record_batch({"x": [1, 2, 3, 4]}), times), 1_000)
    assert piece.timestamps.to_pylist() == ([5, 1100, 1100, 7] if cap else times.to_pylist())
    assert tracker.watermark == (1099 if cap else 6)
    assert tracker._ahead.get_count() == 2
