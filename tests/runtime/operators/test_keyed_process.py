from __future__ import annotations

import pytest

from millrace.common.time.time_domain import TimeDomain
from millrace.datastream import KeyedProcessFunction, OutputTag
from millrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from millrace.testing import OperatorHarness, StreamRecord

LATE = OutputTag("late")


def first(value):
    return value[0]


class Timers(KeyedProcessFunction):
    """Does what the record says: (key, method of the timer service, time)."""

    def process_element(self, value, ctx):
        _, method, time = value
        getattr(ctx.timer_service(), method)(time)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name


def timers() -> OperatorHarness:
    return OperatorHarness(Timers(), key_by=first)


EVENT, PROCESSING = "register_event_time_timer", "register_processing_time_timer"


def test_event_timers_fire_in_order_when_the_watermark_reaches_them() -> None:
    harness = timers()
    harness.process_elements([("a", EVENT, 30), ("b", EVENT, 10), ("a", EVENT, 20)])
    harness.process_watermark(9)
    assert harness.output() == []
    harness.process_watermark(20)
    assert harness.output() == [("b", 10, "EVENT_TIME"), ("a", 20, "EVENT_TIME")]
    harness.process_watermark(100)
    assert harness.output()[2:] == [("a", 30, "EVENT_TIME")]


def test_results_of_timers_have_the_timers_time_and_come_before_the_watermark() -> None:
    harness = timers()
    harness.process_element(("a", EVENT, 10))
    harness.process_watermark(50)
    assert harness.records() == [StreamRecord(("a", 10, "EVENT_TIME"), 10)]
    assert harness.watermarks() == [50]


def test_processing_timers_fire_when_an_epoch_begins() -> None:
    harness = timers()
    harness.process_elements([("a", PROCESSING, 30), ("b", PROCESSING, 10)])
    assert harness.next_wakeup() == 10
    harness.set_processing_time(29)
    assert harness.output() == [("b", 10, "PROCESSING_TIME")]
    assert harness.next_wakeup() == 30
    harness.set_processing_time(30)
    assert harness.output()[1:] == [("a", 30, "PROCESSING_TIME")]
    assert harness.next_wakeup() is None


def test_the_same_timer_twice_is_one() -> None:
    harness = timers()
    harness.process_elements([("a", EVENT, 10)] * 3)
    harness.process_watermark(10)
    assert len(harness.output()) == 1


def test_timers_of_keys_and_domains_do_not_meet() -> None:
    harness = timers()
    harness.process_elements([("a", EVENT, 10), ("b", EVENT, 10), ("a", PROCESSING, 10)])
    harness.process_element(("a", "delete_event_time_timer", 10))
    harness.process_watermark(10)
    harness.set_processing_time(10)
    assert harness.output() == [("b", 10, "EVENT_TIME"), ("a", 10, "PROCESSING_TIME")]


def test_a_deleted_timer_can_be_set_again() -> None:
    harness = timers()
    delete = ("a", "delete_event_time_timer", 10)
    harness.process_elements([("a", EVENT, 10), delete, delete, ("a", EVENT, 10)])
    harness.process_watermark(10)
    assert harness.output() == [("a", 10, "EVENT_TIME")]


def test_a_timer_in_the_past_fires_with_the_next_watermark() -> None:
    harness = timers()
    harness.process_watermark(100)
    harness.process_element(("a", EVENT, 10))
    assert harness.output() == []
    harness.process_watermark(101)
    assert harness.output() == [("a", 10, "EVENT_TIME")]


def test_timers_are_state() -> None:
    harness = timers()
    harness.process_elements([("a", EVENT, 10), ("b", PROCESSING, 20)])
    restored = harness.restored(harness.snapshot())
    restored.process_watermark(10)
    restored.set_processing_time(20)
    assert restored.output() == [("a", 10, "EVENT_TIME"), ("b", 20, "PROCESSING_TIME")]


def test_timers_fired_in_an_aborted_epoch_fire_again() -> None:
    harness = timers()
    harness.process_element(("a", EVENT, 10))
    harness.snapshot()
    harness.process_watermark(10)
    harness.abort()
    harness.process_watermark(10)
    assert harness.output() == [("a", 10, "EVENT_TIME")]


def test_a_timer_that_sets_timers_goes_on_in_the_same_watermark() -> None:
    class Every(KeyedProcessFunction):
        def process_element(self, value, ctx):
            ctx.timer_service().register_event_time_timer(10)

        def on_timer(self, timestamp, ctx):
            yield timestamp
            ctx.timer_service().register_event_time_timer(timestamp + 10)

    harness = OperatorHarness(Every(), key_by=first)
    harness.process_element("a")
    harness.process_watermark(35)
    assert harness.output() == [10, 20, 30]
    assert harness.entries() == 1


class Context(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value, ctx):
        self.seen.update(value)
        service = ctx.timer_service()
        service.register_event_time_timer(50)
        yield ctx.get_current_key(), ctx.timestamp(), service.current_watermark()
        yield LATE, service.current_processing_time()

    def on_timer(self, timestamp, ctx):
        assert ctx.timestamp() == timestamp
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield self.seen.value(), ctx.timer_service().current_watermark()
        yield LATE, ctx.get_current_key()


def test_the_context_of_records_and_timers() -> None:
    harness = OperatorHarness(Context(), key_by=first, processing_time=7)
    harness.process_elements(["ab", "cd"], [1, 2])
    harness.process_element("ae")
    harness.process_watermark(60)
    low = -(2**63)
    expected = [("a", 1, low), ("c", 2, low), ("a", None, low), ("ae", 60), ("cd", 60)]
    assert harness.output() == expected
    assert harness.side_output(LATE) == [7, 7, 7, "a", "c"]


def test_a_function_may_return_nothing_or_a_list() -> None:
    class Lists(KeyedProcessFunction):
        def process_element(self, value, ctx):
            return [value, value] if value > 0 else None

    harness = OperatorHarness(Lists(), key_by=lambda value: value)
    harness.process_elements([1, -1, 2])
    assert harness.output() == [1, 1, 2, 2]


@pytest.mark.parametrize("timestamps", [None, [1, 2, 3]])
@pytest.mark.parametrize("emit_first", [True, False])
def test_what_was_emitted_does_not_change_with_the_state(timestamps, emit_first) -> None:
    """Flink serializes a record at once, so later changes of a list in state do not reach it."""

    class History(KeyedProcessFunction):
        def open(self, runtime_context):
            self.history = runtime_context.get_state(ValueStateDescriptor("history"))

        def process_element(self, value, ctx):
            history = self.history.value() or []
            history.append(value)
            if emit_first:
                yield history
            self.history.update(history)
            if not emit_first:
                yield history

    harness = OperatorHarness(History(), key_by=lambda value: 0)
    harness.process_elements([1, 2, 3], timestamps)
    harness.process_element(4)
    assert harness.output() == [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4]]


def test_elements_of_list_state_do_not_change_after_emission() -> None:
    class Marks(KeyedProcessFunction):
        def open(self, runtime_context):
            self.marks = runtime_context.get_list_state(ListStateDescriptor("marks"))

        def process_element(self, value, ctx):
            self.marks.add({"n": 0})
            for mark in self.marks:
                mark["n"] += 1
                yield mark

    harness = OperatorHarness(Marks(), key_by=lambda value: 0)
    harness.process_elements(["x", "y"])
    assert harness.output() == [{"n": 1}, {"n": 2}, {"n": 1}]
