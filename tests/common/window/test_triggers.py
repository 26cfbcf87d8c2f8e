"""The built-in triggers, one call at a time: what they answer, and which timers they keep."""

from __future__ import annotations

import pytest

from millrace.common.errors import JobDefinitionError
from millrace.common.state import ReducingStateDescriptor
from millrace.common.time import Duration, Time
from millrace.common.window import TimeWindow
from millrace.common.window.trigger import Trigger, TriggerResult
from millrace.common.window.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)

WINDOW = TimeWindow(0, 100)
CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE


class Cell:
    """The state of one descriptor in one window."""

    def __init__(self, descriptor) -> None:
        self.reducer = getattr(descriptor, "reducer", None)
        self.held = None

    def get(self):
        return self.held

    value = get

    def add(self, value):
        self.held = value if self.held is None else self.reducer(self.held, value)

    def update(self, value):
        self.held = value

    def clear(self):
        self.held = None


class Context(Trigger.OnMergeContext):
    """Clocks held by hand, timers and state one can look at."""

    def __init__(self, watermark: int = -(2**63), now: int = 0) -> None:
        self.watermark, self.now = watermark, now
        self.event: set[int] = set()
        self.clock: set[int] = set()
        self.cells: dict[str, Cell] = {}
        self.merged: list[str] = []

    def get_current_processing_time(self):
        return self.now

    def get_current_watermark(self):
        return self.watermark

    def get_metric_group(self):
        raise AssertionError

    def register_processing_time_timer(self, time):
        self.clock.add(time)

    def register_event_time_timer(self, time):
        self.event.add(time)

    def delete_processing_time_timer(self, time):
        self.clock.discard(time)

    def delete_event_time_timer(self, time):
        self.event.discard(time)

    def get_partitioned_state(self, state_descriptor):
        return self.cells.setdefault(state_descriptor.name, Cell(state_descriptor))

    def merge_partitioned_state(self, state_descriptor):
        self.merged.append(state_descriptor.name)

    def nothing_left(self) -> bool:
        return not (self.event or self.clock or any(c.held for c in self.cells.values()))


def test_processing_time_trigger() -> None:
    trigger, context = ProcessingTimeTrigger.create(), Context()
    assert trigger.on_element("a", 5, WINDOW, context) is CONTINUE
    assert context.clock == {99}
    assert trigger.on_event_time(99, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, context) is FIRE
    trigger.clear(WINDOW, context)
    assert context.nothing_left()


def test_processing_time_trigger_of_a_merged_window() -> None:
    """Its timer is set unless the time is past."""
    trigger = ProcessingTimeTrigger()
    assert trigger.can_merge()
    early, late = Context(now=98), Context(now=99)
    trigger.on_merge(WINDOW, early)
    trigger.on_merge(WINDOW, late)
    assert (early.clock, late.clock) == ({99}, set())


def test_count_trigger() -> None:
    """It begins to count anew after each firing."""
    trigger, context = CountTrigger.of(3), Context()
    answers = [trigger.on_element("a", 0, WINDOW, context) for _ in range(7)]
    assert answers == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE, CONTINUE]
    assert trigger.on_event_time(99, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, context) is CONTINUE
    trigger.clear(WINDOW, context)
    assert context.nothing_left()


def test_count_trigger_merges_its_count() -> None:
    context = Context()
    CountTrigger.of(3).on_merge(WINDOW, context)
    assert CountTrigger.of(3).can_merge()
    assert context.merged == ["count"]


def test_continuous_event_time_trigger() -> None:
    trigger, context = ContinuousEventTimeTrigger.of(Time.milliseconds(30)), Context()
    assert trigger.on_element("a", 40, WINDOW, context) is CONTINUE
    assert context.event == {60, 99}
    assert trigger.on_element("b", 1, WINDOW, context) is CONTINUE
    assert context.event == {60, 99}, "the first record decides"
    assert trigger.on_event_time(59, WINDOW, context) is CONTINUE
    assert trigger.on_event_time(60, WINDOW, context) is FIRE
    assert trigger.on_event_time(90, WINDOW, context) is FIRE
    assert context.event == {60, 90, 99}, "fired timers are deleted by who fires them"
    assert trigger.on_event_time(99, WINDOW, context) is FIRE
    assert trigger.on_processing_time(60, WINDOW, context) is CONTINUE


def test_continuous_event_time_trigger_clears_its_next_firing() -> None:
    trigger, context = ContinuousEventTimeTrigger.of(Duration.of_millis(30)), Context()
    trigger.on_element("a", 40, WINDOW, context)
    trigger.clear(WINDOW, context)
    context.delete_event_time_timer(99)  # as for every window
    assert context.nothing_left()
    trigger.clear(WINDOW, context)


def test_continuous_event_time_trigger_after_the_end() -> None:
    trigger, context = ContinuousEventTimeTrigger(30), Context(watermark=99)
    assert trigger.on_element("a", 40, WINDOW, context) is FIRE
    assert context.nothing_left()


def test_continuous_triggers_merge_their_next_firing() -> None:
    """The earliest of all the windows'."""
    event, clock = ContinuousEventTimeTrigger(30), ContinuousProcessingTimeTrigger(30)
    for trigger in (event, clock):
        context = Context()
        context.get_partitioned_state(ReducingStateDescriptor("fire-time", min)).add(60)
        trigger.on_merge(WINDOW, context)
        assert context.merged == ["fire-time"]
        assert context.event | context.clock == {60}
        assert trigger.can_merge()
        nothing = Context()
        trigger.on_merge(WINDOW, nothing)
        assert nothing.nothing_left()


def test_continuous_processing_time_trigger() -> None:
    trigger, context = ContinuousProcessingTimeTrigger.of(30), Context(now=40)
    assert trigger.on_element("a", 1, WINDOW, context) is CONTINUE
    assert trigger.on_element("a", 1, WINDOW, context) is CONTINUE
    assert context.clock == {60}
    assert trigger.on_processing_time(59, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(60, WINDOW, context) is FIRE
    assert trigger.on_processing_time(90, WINDOW, context) is FIRE
    assert context.clock == {60, 90, 99}
    assert trigger.on_processing_time(99, WINDOW, context) is FIRE
    assert trigger.on_processing_time(99, WINDOW, context) is CONTINUE, "there is no next time"
    assert trigger.on_event_time(60, WINDOW, context) is CONTINUE


def test_continuous_processing_time_trigger_clears_its_next_firing() -> None:
    trigger, context = ContinuousProcessingTimeTrigger(30), Context(now=40)
    trigger.on_element("a", 1, WINDOW, context)
    trigger.clear(WINDOW, context)
    assert context.nothing_left()
    trigger.clear(WINDOW, context)


def test_delta_trigger() -> None:
    """More than the threshold, from the record that fired last."""
    trigger, context = DeltaTrigger.of(5, lambda old, new: new - old), Context()
    answers = [trigger.on_element(value, 0, WINDOW, context) for value in (1, 6, 7, 12, 13)]
    assert answers == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE]
    assert trigger.on_event_time(99, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, context) is CONTINUE
    assert not trigger.can_merge(), "of two last records neither is the last"
    trigger.clear(WINDOW, context)
    assert context.nothing_left()


def test_never_trigger() -> None:
    trigger, context = NeverTrigger(), Context(watermark=2**63 - 1)
    assert trigger.on_element("a", 0, WINDOW, context) is CONTINUE
    assert trigger.on_event_time(99, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, context) is CONTINUE
    trigger.on_merge(WINDOW, context)
    trigger.clear(WINDOW, context)
    assert trigger.can_merge()
    assert context.nothing_left()


class Scripted(Trigger):
    """Answers what it is told to, and notes what is passed on to it."""

    def __init__(self, answer, mergeable=True) -> None:
        self.answer, self.mergeable = answer, mergeable
        self.calls: list[str] = []

    def on_element(self, element, timestamp, window, ctx):
        return self.answer

    def on_processing_time(self, time, window, ctx):
        return self.answer

    def on_event_time(self, time, window, ctx):
        return self.answer

    def can_merge(self):
        return self.mergeable

    def on_merge(self, window, ctx):
        self.calls.append("merge")

    def clear(self, window, ctx):
        self.calls.append("clear")


@pytest.mark.parametrize(
    ("answer", "purged"),
    [
        (CONTINUE, CONTINUE),
        (FIRE, FIRE_AND_PURGE),
        (PURGE, PURGE),
        (FIRE_AND_PURGE, FIRE_AND_PURGE),
    ],
)
def test_purging_trigger(answer, purged) -> None:
    trigger, context = PurgingTrigger.of(Scripted(answer)), Context()
    assert trigger.on_element("a", 0, WINDOW, context) is purged
    assert trigger.on_event_time(99, WINDOW, context) is purged
    assert trigger.on_processing_time(99, WINDOW, context) is purged


def test_purging_trigger_passes_everything_on() -> None:
    nested = Scripted(FIRE)
    trigger = PurgingTrigger(nested)
    trigger.on_merge(WINDOW, Context())
    trigger.clear(WINDOW, Context())
    assert nested.calls == ["merge", "clear"]
    assert trigger.can_merge()
    assert not PurgingTrigger(Scripted(FIRE, mergeable=False)).can_merge()


def test_a_trigger_cannot_merge_unless_it_says_so() -> None:
    class Plain(Scripted):
        can_merge = Trigger.can_merge

    assert not Plain(FIRE).can_merge()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CountTrigger.of(0), "CountTrigger needs a count > 0, got 0"),
        (lambda: ContinuousEventTimeTrigger.of(0), "needs an interval > 0 ms, got 0"),
        (lambda: ContinuousProcessingTimeTrigger.of(Time.seconds(-1)), "> 0 ms, got -1000"),
        (lambda: DeltaTrigger.of(1, None), "DeltaTrigger needs a function of two records"),
        (lambda: PurgingTrigger.of(3), "PurgingTrigger wraps a Trigger, got 3"),
    ],
)
def test_wrong_parameters_are_refused(make, message) -> None:
    with pytest.raises(JobDefinitionError, match=message):
        make()


@pytest.mark.parametrize(
    ("trigger", "shown"),
    [
        (EventTimeTrigger(), "EventTimeTrigger()"),
        (ProcessingTimeTrigger(), "ProcessingTimeTrigger()"),
        (NeverTrigger(), "NeverTrigger()"),
        (PurgingTrigger(CountTrigger(2)), "PurgingTrigger(CountTrigger(2))"),
        (ContinuousProcessingTimeTrigger(7), "ContinuousProcessingTimeTrigger(7)"),
        (DeltaTrigger(1.5, min), "DeltaTrigger(1.5)"),
    ],
)
def test_triggers_can_be_read_in_error_messages(trigger, shown) -> None:
    assert repr(trigger) == shown
