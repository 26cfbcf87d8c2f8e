from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.time.watermark_strategy import WatermarkStrategy
from millrace.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from millrace.datastream.state import ValueStateDescriptor
from millrace.testing import OperatorHarness, StreamRecord

ODD = OutputTag("odd")


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count
        if count % 2:
            yield ODD, value


def harness() -> OperatorHarness:
    return OperatorHarness(Count(), key_by=lambda value: value)


def test_records_come_out_with_their_times() -> None:
    count = harness()
    count.process_element("a", 7)
    count.process_element("a")
    assert count.records() == [StreamRecord(("a", 1), 7), StreamRecord(("a", 2), None)]


def test_side_outputs_and_clearing() -> None:
    count = harness()
    count.process_elements(["a", "a", "b"])
    assert count.side_output(ODD) == ["a", "b"]
    count.clear_output()
    assert count.output() == count.side_output(ODD) == []


def test_a_snapshot_does_not_see_what_comes_after_it() -> None:
    count = harness()
    count.process_element("a")
    snapshot = count.snapshot()
    count.process_element("a")
    restored = count.restored(snapshot)
    restored.process_element("a")
    assert restored.output() == [("a", 2)]


def test_several_snapshots_add_up() -> None:
    count = harness()
    for _ in range(5):
        count.process_elements(["a", "b"])
        snapshot = count.snapshot()
    restored = count.restored(snapshot)
    restored.process_elements(["b", "c"])
    assert restored.output() == [("b", 6), ("c", 1)]


def test_an_aborted_epoch_leaves_nothing() -> None:
    count = harness()
    count.process_element("a")
    count.snapshot()
    count.process_elements(["a", "b"])
    count.abort()
    count.process_elements(["a", "b"])
    assert count.output() == [("a", 2), ("b", 1)]


def test_rescaling_gives_each_subtask_its_key_groups() -> None:
    keys = list(range(50))
    count = harness()
    count.process_elements(keys)
    snapshot = count.snapshot()
    halves = [count.restored(snapshot, subtask_index=i, parallelism=2) for i in (0, 1)]
    assert sum(half.entries() for half in halves) == len(keys)
    whole = count.restored(*(half.snapshot() for half in halves))
    whole.process_elements(keys)
    assert whole.output() == [(key, 2) for key in keys]


def test_any_operator_of_the_api() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([]).map(str.upper)
    mapping = OperatorHarness(stream)
    mapping.process_element("a")
    assert mapping.output() == ["A"]


def test_what_is_no_operator_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="key_by"):
        OperatorHarness("a")  # type: ignore[arg-type]


def test_it_is_a_context_manager() -> None:
    closed = []

    class Closing(Count):
        def close(self):
            closed.append(True)

    with OperatorHarness(Closing(), key_by=lambda value: value):
        pass
    assert closed == [True]


def test_operator_state_is_redistributed_as_in_a_job() -> None:
    """Not only what has keys: of two subtasks' watermarks the lesser one counts."""
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(lambda value, _: value)
    snapshots = []
    for index, time in enumerate((20, 10)):
        harness = OperatorHarness(
            lambda stream: stream.assign_timestamps_and_watermarks(strategy),
            subtask_index=index,
            parallelism=2,
        )
        harness.process_element(time)
        snapshots.append(harness.snapshot())
    assert harness.restored(*snapshots).operator.watermark == 9
    alone = harness.restored(snapshots[0], parallelism=1)
    assert alone.operator.watermark == -(2**63), "what one never said cannot be said for all"
