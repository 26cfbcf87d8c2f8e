from __future__ import annotations

from time import process_time
from typing import Any

from millrace.common.source import (
    AssignedSplit,
    BatchDelivery,
    EnumeratorContext,
    SourceEvent,
    SourceSplit,
    SplitEnumerator,
    SplitSource,
)
from millrace.engine.source_coordinator import SourceCoordinator
from millrace.job_graph.job_graph import SourceNode
from millrace.runtime.epoch import Ack, SplitProgress
from millrace.state.serialization.payload import decode, encode


class Scripted(SplitSource[Any], SplitEnumerator):
    """Finds what `found` says, per time; is its own enumerator."""

    def __init__(self, found: dict[int, list[str]], last: int = 0, limit: int | None = None):
        self.found, self.last, self.limit = found, last, limit
        self.done = -1
        self.closed = False

    def create_enumerator(self) -> SplitEnumerator:
        return self

    def create_split_reader(self, split, position, context):
        raise AssertionError("readers live in subtasks")

    def discover(self, now: int) -> list[SourceSplit]:
        due = [time for time in sorted(self.found) if self.done < time <= now]
        self.done = now
        return [SourceSplit(name) for time in due for name in self.found[time]]

    def no_more_splits(self) -> bool:
        return self.done >= self.last

    def next_discovery(self, now: int) -> int | None:
        return now + 10

    def max_active_splits(self) -> int | None:
        return self.limit

    def snapshot_state(self) -> int:
        return self.done

    def restore_state(self, state: int) -> None:
        self.done = state

    def close(self) -> None:
        self.closed = True


def coordinator(source: Scripted, parallelism: int = 2) -> SourceCoordinator:
    return SourceCoordinator(SourceNode("uid", "name", source, 0, parallelism))


def planned(made: SourceCoordinator, parallelism: int = 2) -> list[list[tuple[str, Any]]]:
    return [
        [(plan.split.split_id, plan.position) for plan in made.plan(index, 100)]
        for index in range(parallelism)
    ]


def progress(name: str, position: Any, finished: bool = False) -> SplitProgress:
    return SplitProgress("uid", name, position, finished, 1)


def test_splits_are_spread_over_the_subtasks() -> None:
    made = coordinator(Scripted({0: ["a", "b", "c"]}))
    made.discover(0)
    assert planned(made) == [[("a", None), ("c", None)], [("b", None)]]
    assert made.no_more_splits


def test_many_splits_are_spread_in_no_time() -> None:
    """Per split, all those assigned so far were counted."""
    made = coordinator(Scripted({0: [str(number) for number in range(50_000)]}), parallelism=3)
    started = process_time()
    made.discover(0)
    assert process_time() - started < 10
    assert [len(made.plan(index, 1)) for index in range(3)] == [16_667, 16_667, 16_666]


def test_a_split_goes_on_where_the_last_epoch_ended() -> None:
    made = coordinator(Scripted({0: ["a", "b"]}))
    made.discover(0)
    planned(made)
    made.accept(progress("a", 17))
    made.accept(progress("b", 5, finished=True))
    assert planned(made) == [[("a", 17)], []]


def test_new_splits_go_where_there_is_least_to_do() -> None:
    made = coordinator(Scripted({0: ["a", "b", "c"], 10: ["d", "e"]}, last=10))
    made.discover(0)
    made.accept(progress("a", 1, finished=True))
    made.accept(progress("c", 1, finished=True))
    made.discover(10)
    assert planned(made) == [[("d", None)], [("b", None), ("e", None)]]


def test_discovery_happens_when_it_is_due() -> None:
    source = Scripted({0: ["a"], 10: ["b"]}, last=100)
    made = coordinator(source)
    made.discover(0)
    assert made.next_wakeup() == 10
    made.discover(9)
    assert planned(made) == [[("a", None)], []]
    made.discover(10)
    assert planned(made) == [[("a", None)], [("b", None)]]
    assert made.next_wakeup() == 20


def test_with_a_limit_the_others_wait_their_turn() -> None:
    made = coordinator(Scripted({0: ["a", "b", "c"]}, limit=1))
    made.discover(0)
    assert planned(made) == [[("a", None)], [("b", None)]]
    assert not made.no_more_splits
    made.accept(progress("a", 1))
    made.accept(progress("b", 1, finished=True))
    made.discover(1)
    assert planned(made) == [[("a", 1)], [("c", None)]]
    assert made.no_more_splits


def test_news_are_new_splits_and_that_there_are_no_more() -> None:
    made = coordinator(Scripted({0: ["a", "b", "c"]}, limit=1))
    made.discover(0)
    assert made.has_news
    planned(made)
    made.accept(progress("a", 1))
    made.accept(progress("b", 1))
    assert not made.has_news, "c waits, but nobody can take it"
    made.accept(progress("a", 2, finished=True))
    assert made.has_news
    made.discover(1)
    planned(made)
    made.accept(progress("c", 2, finished=True))
    assert not made.has_news


def test_the_end_is_news_until_it_was_planned() -> None:
    made = coordinator(Scripted({}, last=0))
    made.discover(0)
    assert made.has_news
    planned(made)
    assert not made.has_news


def test_snapshots_keep_positions_waiting_splits_and_the_enumerator() -> None:
    source = Scripted({0: ["a", "b", "c", "d"], 5: ["e"]}, last=5, limit=1)
    made = coordinator(source)
    made.discover(0)
    made.accept(progress("a", 9))
    made.accept(progress("b", 9, finished=True))
    other_source = Scripted(source.found, last=5, limit=1)
    other = coordinator(other_source)
    other.restore(made.snapshot())
    assert other_source.done == 0
    other.discover(1)
    assert planned(other) == [[("a", 9)], [("c", None)]]
    other.accept(progress("a", 10, finished=True))
    other.discover(50)
    assert planned(other) == [[("d", None)], [("c", None)]]


def test_a_finished_split_takes_no_memory() -> None:
    found = {time: [f"file-{time}"] for time in range(0, 1000, 10)}
    made = coordinator(Scripted(found, last=10**6))
    for now in range(0, 1000, 10):
        made.discover(now)
        made.accept(progress(f"file-{now}", 1, finished=True))
    assert len(made.snapshot()) < 500
    assert not made._assigned


def test_closing_closes_the_enumerator() -> None:
    source = Scripted({})
    coordinator(source).close()
    assert source.closed


class Events(Scripted):
    """Gives splits to readers that ask, and answers events."""

    def __init__(self, *names: str) -> None:
        super().__init__({})
        self.names = list(names)
        self.heard: list[tuple[int, SourceEvent]] = []
        self.back: list[tuple[AssignedSplit, int]] = []

    def start(self, context: EnumeratorContext) -> None:
        self.context = context

    def no_more_splits(self) -> bool:
        return not self.names

    def handle_split_request(self, subtask: int) -> None:
        if self.names:
            self.context.assign_split(SourceSplit(self.names.pop(0)), subtask)

    def handle_source_event(self, subtask: int, event: SourceEvent) -> None:
        self.heard.append((subtask, event))
        self.context.send_source_event(1 - subtask, event)

    def add_splits_back(self, splits, subtask):
        self.back += [(split, subtask) for split in splits]
        return ()


class Ping(SourceEvent):
    """Has no content."""


def answer(subtask: int, *, asks: bool = False, sends: SourceEvent | None = None) -> Ack:
    ack = Ack(0, subtask, 0)
    ack.reading.split_requests += ["uid"] * asks
    if sends is not None:
        ack.reading.source_events["uid"] = [sends]
    return ack


def test_a_reader_that_asks_gets_a_split_with_the_next_epoch() -> None:
    made = coordinator(Events("a", "b"))
    made.discover(0)
    assert planned(made) == [[], []]
    assert not made.no_more_splits
    made.accept_events([answer(1, asks=True)])
    assert made.has_news
    assert planned(made) == [[], [("a", None)]]
    made.accept_events([answer(1, asks=True), answer(0, asks=True)])
    assert planned(made) == [[], [("a", None), ("b", None)]]
    assert made.no_more_splits


def test_events_arrive_once_per_accepted_epoch() -> None:
    source, ping = Events(), Ping()
    made = coordinator(source)
    made.discover(0)
    made.accept_events([answer(0, sends=ping)])
    assert source.heard == [(0, ping)]
    assert made.has_news
    assert (made.events(0), made.events(1)) == ((), (ping,))
    assert made.events(1) == (ping,), "the epoch failed and is planned again"
    made.accept_events([])
    assert made.events(1) == ()


def test_events_that_have_not_arrived_are_in_the_snapshot() -> None:
    made = coordinator(Events())
    made.discover(0)
    made.accept_events([answer(0, sends=Ping())])
    restored = coordinator(Events())
    restored.restore(made.snapshot())
    assert [type(event) for event in restored.events(1)] == [Ping]


def test_what_a_failed_epoch_was_to_begin_is_given_back() -> None:
    source = Events("a", "b")
    made = coordinator(source)
    made.discover(0)
    made.accept_events([answer(0, asks=True)])
    made.accept(progress("a", 5))
    made.accept_events([answer(1, asks=True)])
    made.give_back()
    assert source.back == [(AssignedSplit(SourceSplit("b")), 1)], "a has been begun"
    assert planned(made) == [[("a", 5)], []]


def test_splits_that_come_back_are_placed_again_unless_the_enumerator_takes_them() -> None:
    made = coordinator(Scripted({0: ["a", "b"]}))
    made.discover(0)
    made.give_back()
    made.discover(1)
    assert sorted(split for subtask in planned(made) for split in subtask) == [
        ("a", None),
        ("b", None),
    ]


class Listing(Scripted):
    """Reports all that is there at every look, as the listing of a directory does."""

    def discover(self, now: int) -> list[SourceSplit]:
        self.done = now
        return [
            SourceSplit(name) for time in self.found if time <= now for name in self.found[time]
        ]


def read_all(made: SourceCoordinator, now: int) -> list[str]:
    """The splits in the order in which they come to their end, one per subtask at a time."""
    ended: list[str] = []
    while any(plans := planned(made)):
        for name in [name for subtask in plans for name, _ in subtask]:
            made.accept(progress(name, 1, finished=True))
            ended.append(name)
        made.discover(now)
    return ended


def test_a_split_that_waits_and_is_found_again_is_read_once() -> None:
    made = coordinator(Listing({0: ["a", "b", "c", "d"]}, last=30, limit=1))
    made.discover(0)
    made.discover(10)
    made.discover(20)
    assert sorted(read_all(made, 20)) == ["a", "b", "c", "d"]


def test_a_split_that_comes_back_and_is_found_again_is_read_once_and_goes_on() -> None:
    made = coordinator(Listing({0: ["a", "b", "c"]}, last=30, limit=1))
    made.discover(0)
    made.give_back()
    made.discover(10)
    assert sorted(read_all(made, 10)) == ["a", "b", "c"]
    restored = coordinator(Listing({0: ["a", "b", "c"]}, last=30, limit=1), parallelism=1)
    made = coordinator(Listing({0: ["a", "b", "c"]}, last=30, limit=1))
    made.discover(0)
    made.accept(progress("b", 7))
    restored.restore(made.snapshot())
    restored.discover(10)
    waiting = {split.split_id: at for split, at in decode(restored.snapshot())["waiting"]}
    assert waiting == {"a": None, "b": 7}


def test_a_split_that_is_found_and_assigned_is_read_once() -> None:
    class Both(Listing):
        def start(self, context: EnumeratorContext) -> None:
            self.context = context

        def handle_split_request(self, subtask: int) -> None:
            self.context.assign_split(SourceSplit("c"), subtask)

    made = coordinator(Both({0: ["a", "b", "c"]}, last=0, limit=1))
    made.discover(0)
    made.accept_events([answer(0, asks=True)])
    assert decode(made.snapshot())["waiting"] == []


def test_another_parallelism_gives_splits_back_with_their_positions() -> None:
    made = coordinator(Scripted({0: ["a", "b"]}))
    made.discover(0)
    made.accept(progress("b", 3))
    source = Events()
    restored = coordinator(source, parallelism=3)
    snapshot = decode(made.snapshot())
    snapshot["enumerator"] = 0
    restored.restore(encode(snapshot))
    assert source.back == [
        (AssignedSplit(SourceSplit("a")), 0),
        (AssignedSplit(SourceSplit("b"), 3), 1),
    ]


class Keeps(Events):
    """Assigns what came back when a reader asks again."""

    def no_more_splits(self) -> bool:
        return not self.names and not self.back

    def handle_split_request(self, subtask: int) -> None:
        if self.back:
            self.context.assign_split(self.back.pop()[0], subtask)
        else:
            super().handle_split_request(subtask)


def test_the_input_goes_on_while_the_enumerator_keeps_what_came_back() -> None:
    made = coordinator(Keeps("a"))
    made.discover(0)
    made.accept_events([answer(0, asks=True)])
    assert made.no_more_splits
    made.give_back()
    made.discover(1)
    assert not made.no_more_splits
    assert planned(made) == [[], []]
    made.accept_events([answer(1, asks=True)])
    assert planned(made) == [[], [("a", None)]]
    assert made.no_more_splits


def test_another_parallelism_does_not_end_the_input_that_the_enumerator_keeps() -> None:
    made = coordinator(Keeps("a"))
    made.discover(0)
    made.accept_events([answer(0, asks=True)])
    restored = coordinator(Keeps(), parallelism=3)
    restored._enumerator.restore_state = lambda state: None  # type: ignore[method-assign]
    restored.restore(made.snapshot())
    restored.discover(1)
    assert not restored.no_more_splits


def test_a_halted_source_has_neither_news_nor_an_end() -> None:
    made = coordinator(Scripted({0: ["a"]}))
    made.discover(0)
    assert made.no_more_splits
    made.halt()
    assert not made.no_more_splits
    assert not made.has_news
    assert planned(made) == [[], []]


def test_events_wait_while_nothing_is_read() -> None:
    """One that says what to read must not be answered by a subtask without splits."""
    source = Scripted({}, last=9)
    made = coordinator(source)
    made.discover(0)
    made._events.append((0, Ping()))
    assert made.events(0)  # with an epoch that fails
    made.halt()
    assert made.events(0) == made.events(1) == ()
    made.accept_events([answer(0)])
    made.halt(False)
    assert len(made.events(0)) == 1


def test_deliveries_are_not_in_the_snapshot() -> None:
    """What the executor holds ends with its process; the enumerator offers it again."""
    made = coordinator(Scripted({}, last=9))
    made._events += [(0, Ping()), (0, BatchDelivery("feed", 3))]
    restored = coordinator(Scripted({}, last=9))
    restored.restore(made.snapshot())
    assert [type(event) for event in restored.events(0)] == [Ping]


def test_an_enumerator_has_metrics() -> None:
    source = Events()
    made = coordinator(source)
    made.discover(0)
    source.context.metrics.counter("files").inc(2)
    assert made.metrics.counts() == {"files": 2}


def test_a_split_that_is_found_while_an_epoch_is_open_is_news_until_it_is_planned() -> None:
    made = coordinator(Scripted({0: ["a"], 50: ["b"]}, last=100))
    made.discover(0)
    assert made.has_unplanned_news
    planned(made)
    made.discover(20)
    assert not made.has_unplanned_news  # although "a" is not read yet
    made.discover(50)
    assert made.has_unplanned_news
    planned(made)
    assert not made.has_unplanned_news


def test_what_comes_after_the_input_was_ended_is_no_news() -> None:
    """It is in no plan, so each epoch would end at once because of it."""
    source = Scripted({0: ["a"], 10: ["b"]}, last=20)
    made = coordinator(source)
    made.discover(0)
    made.drain()
    assert made.has_news
    made.plan(0, 10)  # tells that no more splits come
    made.discover(10)
    assert not made.has_news
    assert not made.has_unplanned_news
