"""Check whether an epoch may be accepted: all subtasks have answered, and about the same
attempts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millrace.runtime.epoch import Ack, Failure, FailureKind
from millrace.runtime.program import Program

SubtaskId = tuple[int, int]


class EpochRefusedError(Exception):
    """The answers are inconsistent; the epoch must run again."""


def user_failure(acks: Sequence[Ack]) -> Failure | None:
    """First failure that the user's code caused."""
    for ack in acks:
        if ack.failure is not None and ack.failure.kind is FailureKind.USER:
            return ack.failure
    return None


def storage_failure(acks: Sequence[Ack]) -> Failure | None:
    """First failure of a subtask to write or read its state."""
    for ack in acks:
        if ack.failure is not None and ack.failure.kind is FailureKind.STORAGE:
            return ack.failure
    return None


def state_misses(program: Program, acks: Sequence[Ack]) -> set[SubtaskId]:
    """Subtasks whose workers lack state and need all deltas. The head of a loop reads the state of
    the loop's tail, so the state of either may be missing.
    """
    missed = {
        (ack.stage, ack.subtask)
        for ack in acks
        if ack.failure is not None and ack.failure.kind is FailureKind.STATE_MISS
    }
    tails = {
        (loop.tail_stage, index)
        for loop in program.loops
        for stage, index in missed
        if stage == loop.head_stage
    }
    return missed | tails


def evicted(acks: Iterable[Ack]) -> set[SubtaskId]:
    """Subtasks that have answered, but have since been dropped by their workers, together with
    their state.
    """
    return {(ack.stage, ack.subtask) for ack in acks if ack.state.evicted}


def check(program: Program, acks: Sequence[Ack]) -> None:
    """Raises EpochRefusedError unless every subtask has answered once and without failure. The
    answers must also fit together: each consumer has used the buffers of the attempt in which
    its producer answered."""
    by_subtask = _by_subtask(acks)
    expected = {(s.id, i) for s in program.stages for i in range(s.parallelism)}
    if by_subtask.keys() != expected:
        missing = sorted(expected - by_subtask.keys())
        raise EpochRefusedError(f"no answer from subtasks {missing}")
    answered = {
        stage.id: tuple(by_subtask[stage.id, i].attempt for i in range(stage.parallelism))
        for stage in program.stages
    }
    producers = {edge.id: edge.source_stage for edge in program.edges}
    for ack in acks:
        if ack.failure is not None:
            raise EpochRefusedError(ack.failure.user_traceback)
        for edge, attempts in ack.consumed.items():
            if attempts != answered[producers[edge]]:
                raise EpochRefusedError(_mixture(ack, attempts, answered[producers[edge]]))


def _mixture(ack: Ack, used: Sequence[int], answered: Sequence[int]) -> str:
    pairs = zip(used, answered, strict=True)
    channel = next(i for i, (one, other) in enumerate(pairs) if one != other)
    return (
        f"subtask {ack.subtask} of stage {ack.stage} used attempt {used[channel]} of producer "
        f"{channel}, but attempt {answered[channel]} answered"
    )


def _by_subtask(acks: Sequence[Ack]) -> dict[SubtaskId, Ack]:
    by_subtask: dict[SubtaskId, Ack] = {}
    for ack in acks:
        other = by_subtask.setdefault((ack.stage, ack.subtask), ack)
        if other is not ack:
            raise EpochRefusedError(
                f"subtask {ack.subtask} of stage {ack.stage} answered twice "
                f"(attempts {other.attempt} and {ack.attempt})"
            )
    return by_subtask
