"""Latencies from sources to subtasks, from the answers of epochs."""

from __future__ import annotations

from millrace.engine.latency_tracker import LatencyTracker
from millrace.runtime.epoch import Ack, TimeReport
from millrace.runtime.program import Exchange, JobEdge, OperatorNode, Program, Stage


def stage(id: int, *inputs: int) -> Stage:
    return Stage(id, f"s{id}", f"S{id}", id, 1, (OperatorNode(f"o{id}", "O", b""),), inputs)


# 0 and 1 are sources; 0 -> 2 -> 3 <- 1, and 4 gets nothing of 0
PROGRAM = Program(
    "r",
    "count",
    128,
    (stage(0), stage(1), stage(2, 0), stage(3, 1, 2), stage(4, 3)),
    (
        JobEdge(0, 0, 2, Exchange.KEYED),
        JobEdge(1, 2, 3, Exchange.KEYED),
        JobEdge(2, 1, 3, Exchange.KEYED),
        JobEdge(3, 1, 4, Exchange.KEYED),
    ),
)


def acks(began: float, done: float) -> list[Ack]:
    ends = {0: done - 5, 1: done - 5, 2: done - 3, 3: done, 4: done}
    return [Ack(id, 0, 0, time=TimeReport(began, ends[id])) for id in range(5)]


def test_each_source_to_what_its_records_come_to() -> None:
    tracker = LatencyTracker(PROGRAM, interval=1)
    tracker.accepted(acks(1_000, 1_020), 2_000)
    found = {(one.source, one.stage): one.max for one in tracker.details}
    assert found == {
        ("s0", "s0"): 15,
        ("s0", "s2"): 17,
        ("s0", "s3"): 20,
        ("s1", "s1"): 15,
        ("s1", "s3"): 20,
        ("s1", "s4"): 20,
    }


def test_quantiles_of_the_last_markers() -> None:
    tracker = LatencyTracker(PROGRAM, interval=1, history=100)
    for number in range(150):
        tracker.accepted(acks(0, number + 1), 1_000 + number)
    (last,) = (one for one in tracker.details if (one.source, one.stage) == ("s0", "s3"))
    assert (last.number, last.min, last.max, last.sum) == (100, 51, 150, sum(range(51, 151)))
    assert (last.quantiles[0.5], last.quantiles[0.95], last.quantiles[0.99]) == (101, 146, 150)


def test_no_more_often_than_the_interval() -> None:
    tracker = LatencyTracker(PROGRAM, interval=100)
    for now in (1_000, 1_050, 1_099, 1_100):
        tracker.accepted(acks(0, 10), now)
    assert {one.number for one in tracker.details} == {2}
    none = LatencyTracker(PROGRAM, interval=0)
    none.accepted(acks(0, 10), 1_000)
    assert none.details == ()


def test_clocks_that_differ() -> None:
    tracker = LatencyTracker(PROGRAM, interval=1)
    tracker.accepted(acks(1_000, 900), 2_000)
    assert {one.max for one in tracker.details} == {0}
