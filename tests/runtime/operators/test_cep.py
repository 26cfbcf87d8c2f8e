"""The operator that finds patterns: order, time, state."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import Any

import pytest

from millrace.common.errors import CheckpointError, JobExecutionError
from millrace.common.functions.output_tag import OutputTag
from millrace.common.functions.pattern_conditions import RichIterativeCondition, condition_of
from millrace.common.functions.pattern_functions import (
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.cep import shared_buffer
from millrace.runtime.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from millrace.runtime.cep.partial_match_limit import PartialMatchLimit, PartialMatchOverflow
from millrace.runtime.cep.pattern_model import Contiguity, Event, EventPattern, Quantifier
from millrace.runtime.cep.shared_buffer import SharedBuffer
from millrace.runtime.operators.cep import CepOperator
from millrace.testing import OperatorHarness

LATE = OutputTag("late")
OVER = OutputTag("over")


def letter(wanted: str) -> Any:
    return condition_of(lambda value: value[1][0] == wanted, "where")


class Tell(PatternProcessFunction[Any, str], TimedOutPartialMatchHandler[Any]):
    """Matches as text: key, events, time."""

    def process_match(self, match: Any, ctx: Any) -> Any:
        events = " ".join(value[1] for values in match.values() for value in values)
        yield f"{ctx.get_current_key()}: {events} @{ctx.timestamp()}"

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        for result in self.process_match(match, ctx):
            yield OVER, result


def harness(pattern: EventPattern, **options: Any) -> OperatorHarness:
    def build(stream: Any) -> Any:
        keyed = stream.key_by(itemgetter(0))
        function = Tell()
        factory = partial(CepOperator, pattern, function, keyed._key_batch, **options)
        return keyed._then("CEP", factory, function)

    return OperatorHarness(build)


AB = EventPattern((Event("a", letter("a")), Event("b", letter("b"))))
AB_SOON = EventPattern(AB.parts, within=10)


def test_events_are_taken_in_the_order_of_their_times() -> None:
    job = harness(AB)
    job.process_elements([("k", "b1"), ("k", "a1"), ("l", "b2")], [5, 3, 4])
    job.process_watermark(4)
    assert job.output() == []
    job.process_watermark(5)
    assert [(record.value, record.timestamp) for record in job.records()] == [("k: a1 b1 @5", 5)]


def test_what_comes_out_is_in_the_order_of_time_over_all_keys() -> None:
    job = harness(AB)
    events = [("k", "a1"), ("l", "a2"), ("l", "b2"), ("k", "b1"), ("l", "b3")]
    job.process_elements(events, [1, 2, 3, 4, 5])
    job.process_watermark(9)
    assert job.output() == ["l: a2 b2 @3", "k: a1 b1 @4"]


def test_events_wait_over_epochs() -> None:
    job = harness(AB)
    job.process_elements([("k", "b1"), ("k", "a1")], [8, 7])
    job = job.restored(job.snapshot())
    job.process_element(("k", "a2"), 6)
    job.process_element(("k", "b0"), 5)
    snapshot = job.snapshot()
    job = job.restored(snapshot)
    job.process_watermark(8)
    assert job.output() == ["k: a2 b1 @8", "k: a1 b1 @8"]
    job.snapshot()
    assert job.entries() == 0


def test_partial_matches_wait_over_epochs() -> None:
    job = harness(EventPattern((*AB.parts, Event("c", letter("c")))))
    for time, value in enumerate(["a1", "a2", "x", "b1", "b2", "c1"]):
        job.process_element(("k", value), time)
        job.process_watermark(time)
        job = job.restored(job.snapshot()) if value != "c1" else job
    assert job.output() == ["k: a1 b1 c1 @5", "k: a2 b1 c1 @5"]
    job.snapshot()
    assert job.entries() == 0


def test_an_aborted_epoch_leaves_nothing() -> None:
    job = harness(AB)
    job.process_element(("k", "a1"), 1)
    job.process_watermark(1)
    job.snapshot()
    job.process_element(("k", "b1"), 2)
    job.process_watermark(2)
    job.abort()
    job.process_element(("k", "a2"), 3)
    job.process_element(("k", "b2"), 4)
    job.process_watermark(4)
    assert job.output() == ["k: a1 b2 @4", "k: a2 b2 @4"]


def test_late_events() -> None:
    job = harness(AB, late_tag=LATE)
    job.process_watermark(5)
    job.process_elements([("k", "a1"), ("k", "a2"), ("k", "b1")], [5, 6, 7])
    job.process_watermark(7)
    assert job.output() == ["k: a2 b1 @7"]
    assert job.side_output(LATE) == [("k", "a1")]
    dropping = harness(AB)
    dropping.process_watermark(5)
    dropping.process_element(("k", "a1"), 5)
    assert dropping.metric("numLateRecordsDropped") == 1


@pytest.mark.parametrize("restored", [False, True])
def test_time_ends_partial_matches_of_keys_that_are_silent(restored: bool) -> None:
    job = harness(AB_SOON)
    job.process_elements([("k", "a1"), ("l", "a2")], [1, 5])
    job.process_watermark(10)
    if restored:
        job = job.restored(job.snapshot())
    job.process_watermark(11)
    assert job.side_output(OVER) == ["k: a1 @11"]
    job.process_watermark(99)
    assert job.side_output(OVER) == ["k: a1 @11", "l: a2 @15"]
    job.snapshot()
    assert job.entries() == 0


def test_the_event_at_the_limit_is_too_late() -> None:
    job = harness(AB_SOON)
    job.process_elements([("k", "a1"), ("k", "b1"), ("l", "a2"), ("l", "b2")], [1, 11, 1, 10])
    job.process_watermark(20)
    assert job.output() == ["l: a2 b2 @10"]
    assert job.side_output(OVER) == ["k: a1 @11"]


def test_events_of_one_time_are_ordered_by_the_comparator() -> None:
    job = harness(AB, comparator=lambda a, b: (a[1] > b[1]) - (a[1] < b[1]))
    job.process_elements([("k", "b1"), ("k", "a1")], [1, 1])
    job.process_watermark(1)
    assert job.output() == ["k: a1 b1 @1"]


def test_in_processing_time_the_comparator_orders_an_epoch_s_events() -> None:
    """However they are cut into batches, and up to the end of the input."""
    job = harness(AB, comparator=lambda a, b: (a[1] > b[1]) - (a[1] < b[1]), event_time=False)
    job.process_element(("k", "b1"))
    job.process_elements([("l", "b2"), ("k", "a1")])
    job.process_element(("l", "a2"))
    assert job.output() == []
    job.set_processing_time(5)
    assert sorted(job.output()) == ["k: a1 b1 @0", "l: a2 b2 @0"]
    job.clear_output()
    job.process_element(("k", "b3"))
    job.set_processing_time(6)
    job.process_element(("k", "a3"))
    job.process_watermark(MAX_WATERMARK)
    assert job.output() == [], "an earlier instant comes first"
    job = harness(AB, comparator=lambda a, b: (a[1] > b[1]) - (a[1] < b[1]), event_time=False)
    job.process_elements([("k", "b3"), ("k", "a3")])
    job.process_watermark(MAX_WATERMARK)
    assert job.output() == ["k: a3 b3 @0"]


def test_an_epoch_taken_back_leaves_no_events_to_be_ordered() -> None:
    job = harness(AB, comparator=lambda a, b: (a[1] > b[1]) - (a[1] < b[1]), event_time=False)
    job.process_element(("k", "a1"))
    job.abort()
    job.process_element(("k", "b1"))
    job.set_processing_time(5)
    assert job.output() == []


def test_processing_time() -> None:
    job = harness(AB_SOON, event_time=False)
    job.process_elements([("k", "a1"), ("l", "a2")])
    job.set_processing_time(9)
    assert job.next_wakeup() == 10
    job.process_element(("k", "b1"))
    assert job.output() == ["k: a1 b1 @9"]
    job.set_processing_time(10)
    assert job.side_output(OVER) == ["l: a2 @10"]
    assert job.next_wakeup() is None


def test_events_are_kept_once_and_given_up() -> None:
    """Every 'a' begins a partial match that takes every 'b'."""
    looping = EventPattern(
        (Event("a", letter("a")), Event("b", letter("b"), quantifier=Quantifier(1, None))), 10
    )
    job = harness(looping)
    sizes = []
    for time in range(0, 200, 2):
        job.process_elements([("k", "a"), ("k", "b")], [time, time + 1])
        job.process_watermark(time + 1)
        job.snapshot()
        sizes.append(job.entries())
    assert max(sizes) == max(sizes[:10])
    # 5 matches begin in 10 ms; 10 events; an entry for each a, and for each b after each a
    assert max(sizes) <= 5 + 5 * 2 + (5 + 5 * 6 // 2) + 2


def test_how_many_partial_matches_there_are_is_a_metric() -> None:
    job = harness(AB_SOON)
    job.process_elements([("k", "a1"), ("k", "a2"), ("l", "a3"), ("l", "x")], [1, 2, 3, 4])
    job.process_watermark(4)
    job = job.restored(job.snapshot())
    assert job.metric("numPartialMatches") == 3
    job.process_element(("k", "b"), 5)
    job.process_watermark(5)
    job.snapshot()
    assert job.metric("numPartialMatches") == 1
    job.process_element(("k", "a4"), 6)
    job.process_watermark(6)
    job.abort()
    assert job.metric("numPartialMatches") == 1
    job.process_watermark(30)
    job.snapshot()
    assert job.metric("numPartialMatches") == 0


def test_too_many_partial_matches_of_a_key_are_an_error() -> None:
    job = harness(AB, limit=PartialMatchLimit(2), event_time=False)
    job.process_elements([("k", "a1"), ("l", "a2"), ("k", "a3"), ("k", "b"), ("k", "a4")])
    with pytest.raises(JobExecutionError, match="key 'k' has 3 partial matches, more than the 2"):
        job.process_elements([("k", "a5"), ("k", "a6")])


def test_or_the_newest_are_dropped() -> None:
    limit = PartialMatchLimit(2, PartialMatchOverflow.DROP)
    job = harness(AB, limit=limit)
    job.process_elements([("k", f"a{number}") for number in range(5)], [*range(5)])
    job.process_element(("k", "b"), 5)
    job.process_watermark(5)
    assert job.output() == ["k: a0 b @5", "k: a1 b @5"]
    assert job.metric("numPartialMatchesDropped") == 3


GREEDY = Event("a", letter("a"), quantifier=Quantifier(1, None, greedy=True))


def test_matches_that_began_one_after_the_other_share_what_they_took() -> None:
    """Every 'a' begins a match and belongs to all that began before; also after a restart."""
    job = harness(EventPattern((GREEDY, letter_of("b"))))
    for time in range(60):
        job.process_element(("k", "a"), time)
        job.process_watermark(time)
        if time % 20 == 9:
            job = job.restored(job.snapshot())
    job.snapshot()
    # of each event: itself, the match that it began, and an entry
    assert job.entries() == 3 * 60 + 1
    job.process_element(("k", "b"), 60)
    job.process_watermark(60)
    assert [len(text.split()) for text in job.output()] == [63 - begun for begun in range(60)]


def test_a_chain_is_cut_off_where_the_first_match_begins() -> None:
    """In state and in memory: what is over is not kept by what began later and shares its end."""
    job = harness(EventPattern((GREEDY, letter_of("b")), 10))
    sizes, lengths = [], []
    for time in range(100):
        job.process_element(("k", "a"), time)
        job.process_watermark(time)
        job.snapshot()
        sizes.append(job.entries())
        lengths.append(_longest_chain(job))
    assert max(sizes) <= 3 * 10 + 1
    assert max(lengths) <= 10
    assert lengths[-1] > 5


def _longest_chain(job: OperatorHarness) -> int:
    longest = 0
    for live in job.operator._buffer._live.values():  # type: ignore[attr-defined]
        for match in live.of("").partial:
            length, entry = 1, match.last.before
            while entry is not None:
                length, entry = length + 1, entry.before
            longest = max(longest, length)
    return longest


def test_keys_that_are_too_many_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all of them, and with the same result."""
    read: list[Any] = []
    load = SharedBuffer._load
    monkeypatch.setattr(shared_buffer, "KEPT", 10)
    monkeypatch.setattr(
        SharedBuffer, "_load", lambda self, key: (read.append(key), load(self, key))[1]
    )
    steps = "ab" * 3
    job = harness(EventPattern((*AB.parts, letter_of("a2"), letter_of("b2"))))
    for time, step in enumerate(steps):
        job.process_elements([(key, step) for key in "abcdefghijklmnop"], [time] * 16)
        job.process_watermark(time)
        job.snapshot()
    assert len(job.output()) == 16 * 2
    assert len(read) == 16 + 6 * 5


def letter_of(name: str) -> Event:
    return Event(name, letter(name[0]))


def test_a_key_that_cannot_start_costs_nothing() -> None:
    job = harness(AB)
    job.process_elements([(str(number), "x") for number in range(100)], list(range(100)))
    job.process_watermark(100)
    job.snapshot()
    assert job.entries() == 0


def test_mutable_events_are_copied_for_the_user() -> None:
    class Spoil(PatternProcessFunction[Any, Any]):
        def process_match(self, match: Any, ctx: Any) -> Any:
            yield list(match["a"][0])
            match["a"][0][1] = "spoilt"

    def build(stream: Any) -> Any:
        keyed = stream.key_by(itemgetter(0))
        factory = partial(CepOperator, ANY_B, Spoil(), keyed._key_batch)
        return keyed._then("CEP", factory, Spoil())

    ANY_B = EventPattern((Event("a", letter("a")), Event("b", letter("b"), Contiguity.ANY)))
    job = OperatorHarness(build)
    job.process_elements([["k", "a"], ["k", "b"], ["k", "b"]], [1, 2, 3])
    job.process_watermark(3)
    assert job.output() == [["k", "a"], ["k", "a"]]


def test_events_before_those_taken_are_late() -> None:
    """After a restart the watermark may begin anew, if the inputs are others."""
    job = harness(AB_SOON, late_tag=LATE)
    job.process_element(("k", "a1"), 100)
    job.process_watermark(100)
    job = job.restored(job.snapshot())
    job.process_elements([("k", "a2"), ("k", "b1"), ("k", "b2"), ("l", "a3")], [5, 50, 101, 7])
    job.process_watermark(101)
    assert job.output() == ["k: a1 b2 @101"]
    assert job.side_output(LATE) == [("k", "a2"), ("k", "b1")]


def test_a_clock_that_is_set_back_stands_still() -> None:
    job = harness(AB_SOON, event_time=False)
    job.set_processing_time(100)
    job.process_element(("k", "a1"))
    job.set_processing_time(50)
    job.process_element(("k", "a2"))
    job.set_processing_time(109)
    job.process_element(("k", "b1"))
    assert job.output() == ["k: a1 b1 @109", "k: a2 b1 @109"]


def test_what_was_held_back_is_found_when_nothing_is_skipped_any_more() -> None:
    def answers(value: Any, ctx: Any) -> bool:
        return value[1] == "b" + ctx.get_events_for_pattern("a")[0][1][1]

    parts = (AB.parts[0], Event("b", condition_of(answers, "where")))
    job = harness(EventPattern(parts, 10, AfterMatchSkipStrategy.skip_to_next()))
    job.process_elements([("k", "a1"), ("k", "a2"), ("k", "b2")], [1, 2, 3])
    job.process_watermark(3)
    assert job.output() == []
    job = changed(job, EventPattern(parts, 10))
    job.process_watermark(20)
    assert job.output() == ["k: a2 b2 @20"]
    job.snapshot()
    assert job.entries() == 0


def test_no_condition_keeps_others_from_being_closed() -> None:
    closed = []

    class Stubborn(RichIterativeCondition[Any]):
        def filter(self, value: Any, ctx: Any) -> bool:
            return True

        def close(self) -> None:
            closed.append(self)
            raise OSError

    names = "ab"
    events = tuple(Event(name, condition_of(Stubborn(), "where")) for name in names)
    job = harness(EventPattern(events))
    job.close()
    assert len(closed) == 2


# -- what is wrong ---------------------------------------------------------------------------------


def test_a_condition_that_raises_names_pattern_and_event() -> None:
    fails = condition_of(lambda value: value[2] > 0, "where")
    job = harness(EventPattern((Event("a", letter("a")), Event("big", fails))))
    job.process_elements([("k", "a"), ("k", "b")], [1, 2])
    with pytest.raises(IndexError) as caught:
        job.process_watermark(2)
    assert caught.value.__notes__ == [
        "raised by the condition of 'big' for the event ('k', 'b')",
    ]


def test_a_first_condition_that_raises_does_so_too() -> None:
    job = harness(EventPattern((Event("first", condition_of(lambda value: value[2], "where")),)))
    job.process_element(("k", "a"), 1)
    with pytest.raises(IndexError) as caught:
        job.process_watermark(2)
    assert caught.value.__notes__ == ["raised by the condition of 'first' for the event ('k', 'a')"]


def test_what_is_neither_true_nor_false_is_named() -> None:
    class Neither:
        def __bool__(self) -> bool:
            raise ValueError("ambiguous")

    neither = condition_of(lambda value: Neither(), "where")
    job = harness(EventPattern((Event("first", neither),)))
    job.process_element(("k", "a"), 1)
    with pytest.raises(ValueError, match="ambiguous") as caught:
        job.process_watermark(2)
    assert caught.value.__notes__ == ["raised by the condition of 'first' for the event ('k', 'a')"]


def test_event_times_are_needed() -> None:
    with pytest.raises(JobExecutionError, match="carry no event time"):
        harness(AB).process_element(("k", "a"))


def changed(job: OperatorHarness, pattern: EventPattern) -> OperatorHarness:
    """The job with another pattern, going on from a savepoint."""
    other = harness(pattern)
    other._load([job.snapshot()])
    return other


def test_a_pattern_may_change_where_its_names_still_fit() -> None:
    job = harness(EventPattern((*AB.parts, Event("c", letter("c")))))
    job.process_elements([("k", "a"), ("l", "a"), ("l", "b")], [1, 2, 3])
    job.process_watermark(3)
    upper = condition_of(lambda value: value[1] == "C", "where")
    job = changed(job, EventPattern((*AB.parts, Event("c", upper), Event("d", letter("d")))))
    events = [("k", "b"), ("k", "C"), ("l", "c"), ("l", "C"), ("k", "d"), ("l", "d")]
    job.process_elements(events, [4, 5, 6, 7, 8, 9])
    job.process_watermark(9)
    assert job.output() == ["k: a b C d @8", "l: a b C d @9"]


def test_a_pattern_without_a_place_for_a_partial_match_is_refused() -> None:
    job = harness(AB)
    job.process_element(("k", "a"), 1)
    job.process_watermark(1)
    renamed = EventPattern((Event("begin", letter("a")), Event("b", letter("b"))))
    with pytest.raises(CheckpointError, match=r"has taken 'a'; .* \(it has 'begin', 'b'\)"):
        changed(job, renamed)


def test_names_of_what_was_taken_must_still_be_there() -> None:
    """Not only where a partial match has come to: it would be found with names that are gone."""
    abc = (*AB.parts, Event("c", letter("c")))
    job = harness(EventPattern(abc))
    job.process_elements([("k", "a"), ("k", "b")], [1, 2])
    job.process_watermark(2)
    renamed = EventPattern((Event("x", letter("a")), *abc[1:]))
    with pytest.raises(CheckpointError, match="has taken 'a', 'b'; "):
        changed(job, renamed)
    swapped = EventPattern((abc[1], abc[0], abc[2]))
    with pytest.raises(CheckpointError, match="has taken 'a', 'b'; "):
        changed(job, swapped)
