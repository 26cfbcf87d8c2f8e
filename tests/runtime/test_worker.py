from __future__ import annotations

from millrace.datastream import StreamExecutionEnvironment
from millrace.plan.stages import build_job_graph
from millrace.runtime.buffer import Buffer, BufferKind
from millrace.runtime.epoch import Ack, EpochPlan, SubtaskPlan
from millrace.runtime.program import Program
from millrace.runtime.worker import Worker, resident_bytes
from millrace.state.layer import Layer
from millrace.state.serialization.payload import decode


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


def load(layer: Layer) -> bytes:
    raise AssertionError(layer)


def run(program: Program, worker: Worker) -> list[Ack]:
    subtasks = {(s.id, i): SubtaskPlan("") for s in program.stages for i in range(s.parallelism)}
    plan = EpochPlan(0, 0, 0, None, False, subtasks)
    waiting: list[list[bytes]] = [[] for _ in range(program.partitions(0))]
    for level in range(program.levels):
        last = level + 1 == program.levels
        following: list[list[bytes]] = [
            [] for _ in range(1 if last else program.partitions(level + 1))
        ]
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


def test_over_the_cap_the_least_recently_used_go() -> None:
    worker = Worker()
    run(program(memory_cap=1), worker)
    assert len(worker._subtasks) == 1
    worker.forget("run")
    assert not worker._subtasks


def test_resident_bytes_are_of_this_process() -> None:
    assert resident_bytes() > 1_000_000
