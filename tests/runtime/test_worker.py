from __future__ import annotations

from dataclasses import replace

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.job_graph.stages import build_job_graph
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
from millrace.runtime.program import Program
from millrace.runtime.subtask import Subtask
from millrace.runtime.worker import Worker, resident_bytes
from millrace.state.serialization.payload import decode
from millrace.state.state_delta import StateDelta


def program(**settings) -> Program:
    """Levels of 1, 3 and 2 subtasks; one branch goes from the source straight to the last."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = env.from_collection([1, 2, 3])
    middle = source.rebalance().map(str).set_parallelism(3)
    both = middle.map(int).set_parallelism(2).union(source.rebalance())
    last = both.map(float).set_parallelism(2)
    sink = last._collecting("Collect")
    sink.parallelism = 2
    return build_job_graph([sink], "run", "job", max_parallelism=128, **settings).program


def load(delta: StateDelta) -> bytes:
    raise AssertionError(delta)


def plan_of(program: Program) -> EpochPlan:
    subtasks = {(s.id, i): SubtaskPlan() for s in program.stages for i in range(s.parallelism)}
    return EpochPlan(0, 0, 0, None, False, subtasks)


def run(program: Program, worker: Worker) -> list[Ack]:
    plan = plan_of(program)
    waiting: list[list[bytes]] = [[] for _ in range(program.width(0))]
    for level in range(program.levels):
        last = level + 1 == program.levels
        following: list[list[bytes]] = [[] for _ in range(1 if last else program.width(level + 1))]
        for partition, elements in enumerate(waiting):
            for target, element in worker.run_level(
                program, level, partition, plan, 1, elements, load
            ):
                following[target].append(element)
        waiting = following
    buffers = [Buffer.unpack(element) for element in waiting[0]]
    assert all(buffer.kind == BufferKind.ACK for buffer in buffers)
    return [decode(buffer.payload) for buffer in buffers]


def test_every_subtask_answers_once_whatever_the_levels_widths() -> None:
    made = program()
    acks = run(made, Worker())
    expected = [(stage.id, i) for stage in made.stages for i in range(stage.parallelism)]
    assert sorted((ack.stage, ack.subtask) for ack in acks) == sorted(expected)
    assert all(ack.failure is None for ack in acks), [ack.failure for ack in acks]


def test_subtasks_stay_until_they_are_forgotten() -> None:
    worker = Worker("w")
    made = program()
    run(made, worker)
    kept = len(worker._subtasks)
    assert kept == sum(stage.parallelism for stage in made.stages)
    worker.forget("another run")
    assert len(worker._subtasks) == kept
    worker.forget("run")
    assert not worker._subtasks


def test_over_the_cap_those_go_that_have_run_and_say_so() -> None:
    worker = Worker()
    acks = run(program(memory_cap=1), worker)
    assert len(worker._subtasks) == 1
    kept = {key[1:] for key in worker._subtasks}
    assert {(ack.stage, ack.subtask) for ack in acks if not ack.state.evicted} == kept
    worker.forget("run")
    assert not worker._subtasks


def test_over_the_cap_other_jobs_subtasks_and_those_that_run_no_more_here_go_first() -> None:
    worker = Worker()
    other = program()
    run(other, worker)
    for key in list(worker._subtasks):
        worker._subtasks["other run", *key[1:]] = worker._subtasks.pop(key)
    run(program(), worker)
    capped = program(memory_cap=1)
    plan = replace(plan_of(capped), epoch=7)
    for _ in worker.run_level(capped, 0, 0, plan, 1, [], load):
        pass
    assert list(worker._subtasks) == [("run", 0, 0)]


def test_resident_bytes_are_of_this_process() -> None:
    assert resident_bytes() > 1_000_000


def test_a_task_carries_several_subtasks_and_every_one_answers_once() -> None:
    for tasks in (1, 2):
        made = program(tasks=tasks)
        acks = run(made, Worker())
        expected = [(stage.id, i) for stage in made.stages for i in range(stage.parallelism)]
        assert sorted((ack.stage, ack.subtask) for ack in acks) == sorted(expected)
        assert all(ack.failure is None for ack in acks), [ack.failure for ack in acks]


def test_subtasks_with_one_index_share_a_task_at_all_levels() -> None:
    made = program(tasks=2)
    task_of = {
        (stage.id, index): task
        for stage in made.stages
        for task in range(made.width(stage.level))
        for index in made.subtasks_of(stage, task)
    }
    assert len(task_of) == sum(stage.parallelism for stage in made.stages)
    assert all(task == index % 2 for (_, index), task in task_of.items())


def test_with_another_number_of_tasks_a_worker_drops_what_others_carry() -> None:
    worker = Worker()
    run(program(tasks=1), worker)
    everything = set(worker._subtasks)
    wider = program(tasks=3)
    for _ in worker.run_level(wider, 1, 1, plan_of(wider), 1, [], load):
        pass
    assert {key for key in everything if key[2] % 3 == 1} == set(worker._subtasks)


def test_only_subtasks_whose_input_has_ended_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others have on this host may be gone on with."""
    closed: list[Subtask] = []

    def close(subtask: Subtask) -> None:
        closed.append(subtask)

    monkeypatch.setattr(Subtask, "close", close)
    worker = Worker()
    run(program(), worker)
    kept = [held.subtask for held in worker._subtasks.values()]
    assert not any(subtask.ended for subtask in kept)
    kept[0].ended = True
    worker.close_ended()
    assert closed == kept[:1]
