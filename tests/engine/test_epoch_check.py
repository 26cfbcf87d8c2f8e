from __future__ import annotations

from dataclasses import replace

import pytest

from millrace.engine.epoch_check import (
    EpochRefusedError,
    check,
    state_misses,
    storage_failure,
    user_failure,
)
from millrace.runtime.epoch import Ack, Failure, FailureKind
from millrace.runtime.program import Exchange, JobEdge, LoopEnds, Program, Stage


def stage(number: int, *inputs: int) -> Stage:
    return Stage(number, f"s{number}", f"s{number}", min(number, 1), 2, (), inputs)


PROGRAM = Program("run", "job", 128, (stage(0), stage(1, 0)), (JobEdge(0, 0, 1, Exchange.KEYED),))


def answers() -> list[Ack]:
    """Producers ran as attempts 10 and 11, consumers as 20 and 21."""
    producers = [Ack(0, index, 10 + index) for index in (0, 1)]
    consumers = [Ack(1, i, 20 + i, consumed={0: (10, 11)}) for i in (0, 1)]
    return producers + consumers


def failed(kind: FailureKind) -> Failure:
    return Failure("Map", None, "text", kind)


def test_answers_that_fit_are_accepted() -> None:
    check(PROGRAM, answers())


def test_a_missing_answer() -> None:
    with pytest.raises(EpochRefusedError, match=r"no answer from subtasks \[\(1, 1\)\]"):
        check(PROGRAM, answers()[:-1])


def test_an_answer_twice() -> None:
    acks = answers()
    acks[2].attempt = 99
    with pytest.raises(EpochRefusedError, match=r"answered twice \(attempts 99 and 20\)"):
        check(PROGRAM, [*acks, answers()[2]])


def test_consumers_of_different_attempts() -> None:
    acks = answers()
    acks[3].consumed[0] = (10, 12)
    with pytest.raises(EpochRefusedError, match="used attempt 12 of producer 1, but attempt 11"):
        check(PROGRAM, acks)


def test_a_producer_that_ran_again_after_it_was_read() -> None:
    acks = answers()
    acks[0].attempt = 30
    with pytest.raises(EpochRefusedError, match="used attempt 10 of producer 0, but attempt 30"):
        check(PROGRAM, acks)


def test_a_failure_refuses() -> None:
    acks = answers()
    acks[3].failure = failed(FailureKind.INCOMPLETE)
    with pytest.raises(EpochRefusedError, match="text"):
        check(PROGRAM, acks)


def test_a_users_failure_is_found_among_those_it_caused() -> None:
    acks = answers()
    acks[2].failure = failed(FailureKind.INCOMPLETE)
    acks[3].failure = failed(FailureKind.USER)
    assert user_failure(acks) is acks[3].failure
    assert user_failure(answers()) is None


def test_state_misses() -> None:
    acks = answers()
    acks[1].failure = failed(FailureKind.STATE_MISS)
    acks[2].failure = failed(FailureKind.INCOMPLETE)
    assert state_misses(PROGRAM, acks) == {(0, 1)}


def test_who_ends_a_loop_is_restored_with_who_begins_it() -> None:
    looped = replace(PROGRAM, loops=(LoopEnds("loop", 0, 1, "uid"),))
    acks = answers()
    acks[1].failure = failed(FailureKind.STATE_MISS)
    assert state_misses(looped, acks) == {(0, 1), (1, 1)}


def test_a_stage_may_end_several_loops() -> None:
    loops = (LoopEnds("outer", 0, 1, "outer end"), LoopEnds("inner", 1, 1, "inner end"))
    acks = answers()
    acks[1].failure = failed(FailureKind.STATE_MISS)
    assert state_misses(replace(PROGRAM, loops=loops), acks) == {(0, 1), (1, 1)}


def test_storage_failures() -> None:
    acks = answers()
    acks[1].failure = failed(FailureKind.STORAGE)
    assert storage_failure(acks) is acks[1].failure
    assert storage_failure(answers()) is None
