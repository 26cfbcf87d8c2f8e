"""Both ends of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime.buffer import MAX_WATERMARK
from millrace.runtime.epoch import Ack, EpochContext, ProgressReport
from millrace.runtime.operator import OperatorContext
from millrace.runtime.operators.iteration import (
    MAX_ROUNDS,
    IterationHeadOperator,
    IterationTailOperator,
    fed_back,
)
from millrace.runtime.output import Discard
from millrace.state.serialization.payload import decode, encode_records
from millrace.state.store import SubtaskState
from millrace.testing import OperatorHarness


def head() -> OperatorHarness:
    env = StreamExecutionEnvironment.get_execution_environment()
    harness = OperatorHarness(env.from_collection([]).iterate())
    assert isinstance(harness.operator, IterationHeadOperator)
    return harness


def answer(harness: OperatorHarness) -> Ack:
    ack = Ack(0, 0, 0, progress=ProgressReport(ended=True))
    harness.operator.contribute(ack)
    return ack


def test_what_was_fed_back_comes_first() -> None:
    with head() as harness:
        fed_back = [encode_records([1], [11]), encode_records([2], None)]
        harness.operator.begin_epoch(EpochContext(1, 5, feedback={"loop-1": fed_back}))
        harness.process_element(3, 13)
        assert [tuple(r) for r in harness.records()] == [(1, 11), (2, None), (3, 13)]


def test_the_end_is_held_until_the_loop_is_empty() -> None:
    with head() as harness:
        harness.process_watermark(7)
        assert (answer(harness).loops.held, answer(harness).progress.ended) == ([], True)
        harness.process_watermark(MAX_WATERMARK)
        assert (answer(harness).loops.held, answer(harness).progress.ended) == (["loop-1"], False)
        assert harness.watermarks() == [7]
        harness.operator.begin_epoch(EpochContext(1, 5, drained=["loop-1"]))
        assert harness.watermarks() == [7, MAX_WATERMARK]
        assert (answer(harness).loops.held, answer(harness).progress.ended) == ([], True)


def test_what_follows_does_not_know_of_a_held_end_after_a_restore() -> None:
    with head() as harness:
        harness.process_watermark(7)
        harness.process_watermark(MAX_WATERMARK)
        taken = harness.snapshot()
    with harness.restored(taken) as other:
        other.operator.watermark = MAX_WATERMARK  # as the input channels say
        other.operator.restore()
        assert other.operator.watermark == 7
        assert answer(other).loops.held == ["loop-1"]


def test_an_end_that_did_not_count_is_not_held() -> None:
    with head() as harness:
        harness.process_watermark(MAX_WATERMARK)
        harness.abort()
        assert answer(harness).loops.held == []


def tail() -> IterationTailOperator:
    env = StreamExecutionEnvironment.get_execution_environment()
    loop = env.from_collection([]).iterate()
    loop.close_with(loop.map(abs))
    tail = env._sinks[-1].factory()
    assert isinstance(tail, IterationTailOperator)
    context = OperatorContext("tail", "tail", 0, 1, 1, SubtaskState(), lambda: 0)
    tail.setup(context, Discard(), {})
    tail.open()
    return tail


def kept(tail: IterationTailOperator) -> list[Any]:
    return [decode(batch) for batch in fed_back(tail.context.state, "tail")]


def told(tail: IterationTailOperator) -> dict[str, int]:
    ack = Ack(0, 0, 0)
    tail.contribute(ack)
    return ack.loops.feedback


def test_what_the_tail_took_is_its_state_until_the_next_epoch() -> None:
    end = tail()
    end.begin_epoch(EpochContext(0, 0))
    end.process([1, 2], [11, 12])
    end.process([3], None)
    end.process([4], None)
    end.end_epoch(False)
    assert kept(end) == [([1, 2], [11, 12]), ([3, 4], None)]
    assert told(end) == {"loop-1": 4}
    end.begin_epoch(EpochContext(1, 0))
    assert kept(end) == []
    end.end_epoch(False)
    assert told(end) == {}


def test_in_one_chain_records_go_round_within_the_epoch_up_to_a_bound() -> None:
    with head() as harness:
        end = harness.operator.tail = tail()
        end.begin_epoch(EpochContext(0, 0))
        end.process([0], None)
        emitted = []

        def body(batch: RowBatch[int]) -> None:
            emitted.extend(batch.values)
            end.process([value + 1 for value in batch.values], None)

        harness.operator.output = Body(body)
        harness.operator.end_epoch(False)
        assert emitted == list(range(MAX_ROUNDS))
        assert not harness.operator.output_idle(True)
        end.end_epoch(False)
        assert kept(end) == [([MAX_ROUNDS], None)]


class Body(Discard):
    """What is between both ends of a loop."""

    def __init__(self, body: Callable[[RowBatch[int]], None]) -> None:
        self.emit = body
