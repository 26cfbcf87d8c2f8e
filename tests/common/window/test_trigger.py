"""Triggers."""

from __future__ import annotations

from millrace.common.state import State, StateDescriptor
from millrace.common.window import TimeWindow
from millrace.common.window.trigger import Trigger, TriggerResult
from millrace.common.window.triggers import EventTimeTrigger

WINDOW = TimeWindow(0, 10)


class Context(Trigger.OnMergeContext):
    """A watermark and a set of event-time timers."""

    def __init__(self, watermark: int) -> None:
        self.watermark = watermark
        self.timers: set[int] = set()

    def get_current_watermark(self) -> int:
        return self.watermark

    def register_event_time_timer(self, time: int) -> None:
        self.timers.add(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.timers.discard(time)

    def get_current_processing_time(self) -> int:
        raise AssertionError("event time only")

    def get_metric_group(self):
        raise AssertionError("no metrics")

    def register_processing_time_timer(self, time: int) -> None:
        raise AssertionError("event time only")

    def delete_processing_time_timer(self, time: int) -> None:
        raise AssertionError("event time only")

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        raise AssertionError("no state")

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        raise AssertionError("no state")


def test_results() -> None:
    """Two questions, four answers."""
    answers = {result.name: (result.is_fire(), result.is_purge()) for result in TriggerResult}
    assert answers == {
        "CONTINUE": (False, False),
        "FIRE": (True, False),
        "FIRE_AND_PURGE": (True, True),
        "PURGE": (False, True),
    }


def test_an_element_before_the_end_sets_a_timer() -> None:
    """For the last timestamp of the window."""
    context = Context(watermark=8)
    result = EventTimeTrigger.create().on_element("a", 5, WINDOW, context)
    assert (result, context.timers) == (TriggerResult.CONTINUE, {9})


def test_an_element_after_the_end_fires_at_once() -> None:
    """It came late, but within the allowed lateness."""
    context = Context(watermark=9)
    result = EventTimeTrigger().on_element("a", 5, WINDOW, context)
    assert (result, context.timers) == (TriggerResult.FIRE, set())


def test_only_the_timer_of_the_window_fires_it() -> None:
    """Other timers belong to others."""
    trigger, context = EventTimeTrigger(), Context(watermark=9)
    assert trigger.on_event_time(9, WINDOW, context) is TriggerResult.FIRE
    assert trigger.on_event_time(8, WINDOW, context) is TriggerResult.CONTINUE
    assert trigger.on_processing_time(9, WINDOW, context) is TriggerResult.CONTINUE


def test_clear_deletes_the_timer() -> None:
    """Nothing is left of a window that is gone."""
    context = Context(watermark=0)
    context.timers = {9, 19}
    EventTimeTrigger().clear(WINDOW, context)
    assert context.timers == {19}


def test_a_merged_window_gets_a_timer_unless_it_is_over() -> None:
    """Then `on_element` fires it at once."""
    trigger = EventTimeTrigger()
    assert trigger.can_merge()
    early, late = Context(watermark=8), Context(watermark=9)
    trigger.on_merge(WINDOW, early)
    trigger.on_merge(WINDOW, late)
    assert (early.timers, late.timers) == ({9}, set())
