"""What the driver knows of loops: what is fed back next, and which loops have run dry."""

from __future__ import annotations

from millrace.engine.feedback_coordinator import FeedbackCoordinator
from millrace.job_graph.job_graph import LoopNode
from millrace.runtime.epoch import Ack, LoopReport

LOOP = LoopNode("loop", stage=1, parallelism=2, body=frozenset({1, 2}))


def acks(feedback=(), held=(), wakeups=()) -> list[Ack]:
    """The answers of stages 0 to 3: who takes feedback, who holds the end, who wants to wake."""
    made = [Ack(stage, subtask, 0) for stage in range(4) for subtask in range(2)]
    for ack in made:
        place = (ack.stage, ack.subtask)
        if place in feedback:
            ack.loops.feedback = {"loop": 3}
        if place in held:
            ack.loops.held = ["loop"]
        if place in wakeups:
            ack.progress.next_wakeup = 5
    return made


HEADS = [(1, 0), (1, 1)]


def test_a_loop_has_news_while_a_tail_has_taken_something() -> None:
    loops = FeedbackCoordinator([LOOP])
    assert not loops.pending
    loops.accept(acks(feedback=[(2, 1)]))
    assert loops.pending
    assert loops.has_news
    loops.accept(acks())
    assert not loops.has_news


def test_a_loop_is_empty_when_all_heads_hold_the_end_and_nothing_comes_back() -> None:
    loops = FeedbackCoordinator([LOOP])
    loops.accept(acks(held=[(1, 0)]))
    assert loops.drained(1) == ()
    loops.accept(acks(held=HEADS, feedback=[(2, 0)]))
    assert loops.drained(1) == ()
    loops.accept(acks(held=HEADS, wakeups=[(2, 1)]))
    assert loops.drained(1) == (), "a timer in the loop may still give something"
    loops.accept(acks(held=HEADS, wakeups=[(3, 1)]))
    assert loops.drained(1) == ("loop",), "one behind it does not"
    assert loops.drained(2) == ()
    assert loops.has_news


def test_an_inner_loop_that_is_busy_keeps_the_outer_one() -> None:
    outer = LoopNode("outer", stage=1, parallelism=1, body=frozenset({1, 2, 3}))
    inner = LoopNode("loop", stage=2, parallelism=1, body=frozenset({2, 3}))
    loops = FeedbackCoordinator([outer, inner])
    holding = Ack(1, 0, 0, loops=LoopReport(held=["outer"]))
    loops.accept([holding, Ack(3, 0, 0, loops=LoopReport({"loop": 1}))])
    assert loops.drained(1) == ()
    loops.accept([holding, Ack(3, 0, 0)])
    assert loops.drained(1) == ("outer",)


def test_a_request_inside_a_loop_keeps_it() -> None:
    loops = FeedbackCoordinator([LOOP])
    asking = acks(held=HEADS)
    asking[4].loops.waits_for_requests = True  # stage 2
    loops.accept(asking)
    assert not loops.has_run_dry
    loops.accept(acks(held=HEADS))
    assert loops.has_run_dry
