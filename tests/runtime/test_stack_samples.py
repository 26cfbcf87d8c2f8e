"""Stacks of running subtasks are sampled on request, and only then."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime import stack_samples, worker
from millrace.runtime.stack_samples import (
    RunningSubtask,
    SampleRequest,
    StackSampler,
    WorkerSamples,
    samples_in,
    write_request,
)
from millrace.runtime.watchdog import REPORTS, Watchdog, clear_reports
from millrace.server.resources.flame_graphs import FlameNode, flame_graph
from millrace.testing import run_local

HERE = os.path.basename(__file__)
PLACE = RunningSubtask("run-1", 3, 1)
PATIENCE = 180.0


def sampler(running: Callable[[], dict[int, RunningSubtask]], **options: Any) -> StackSampler:
    request = SampleRequest("r1", until=10.0)
    root = options.pop("root", "test_stack_samples_has_no_root")
    return StackSampler(request, "host:7", running, lambda path: path.endswith(root), **options)


def names_of(samples: WorkerSamples) -> list[list[str]]:
    """The calls of each stack by their functions."""
    return [
        [samples.frames[number].split(" ")[0] for number in stack.frames]
        for subtask in samples.subtasks
        for stack in subtask.stacks
    ]


def test_equal_stacks_are_counted() -> None:
    sampling = sampler(lambda: {threading.get_ident(): PLACE})

    def work(times: int) -> None:
        for _ in range(times):
            sampling.sample()

    work(5)
    samples = sampling.result()
    [subtask] = samples.subtasks
    assert (subtask.run_id, subtask.stage, subtask.subtask) == PLACE
    [stack] = subtask.stacks
    assert (samples.ticks, stack.on_cpu + stack.off_cpu) == (5, 5)
    [names] = names_of(samples)
    assert names[-2:] == ["test_equal_stacks_are_counted.<locals>.work", "StackSampler.sample"]
    assert any(f"{HERE}:" in frame for frame in samples.frames)


def test_a_thread_that_waits_is_off_the_processor(monkeypatch) -> None:
    """By the processor's time of the thread: 0 of it since the sample before."""
    times = iter([100, 100, 100])
    monkeypatch.setattr(stack_samples, "_processor_time", lambda native: next(times))
    sampling = sampler(lambda: {threading.get_ident(): PLACE})
    for _ in range(3):
        sampling.sample()
    [stack] = sampling.result().subtasks[0].stacks
    assert (stack.on_cpu, stack.off_cpu) == (1, 2)  # of the first sample nothing is known


def test_calls_outside_of_the_worker_are_left_out() -> None:
    sampling = sampler(lambda: {threading.get_ident(): PLACE}, root=HERE)
    sampling.sample()
    assert names_of(sampling.result()) == [["StackSampler.sample"]]


def test_a_file_with_an_odd_name_can_be_written() -> None:
    code = compile("", "/jobs/a\udc80b.py", "exec")
    assert stack_samples._frame_name(code, 3) == "<module> (/jobs/a\\udc80b.py:3)"


def test_no_subtask_has_its_turn() -> None:
    clock = iter([0.0, 5.0, 10.0, 10.0])
    sampling = sampler(dict, clock=lambda: next(clock), sleep=lambda seconds: None)
    sampling.run()
    samples = sampling.result()
    assert (samples.ticks, samples.subtasks) == (2, ())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_a_thread_that_waits_in_a_forked_process_is_off_the_processor() -> None:
    """Workers of Spark are forked. Python keeps the number of the forking thread there."""
    program = textwrap.dedent(
        """
        import os, sys, threading, time
        from millrace.runtime.stack_samples import RunningSubtask, SampleRequest, StackSampler

        def sample():
            running = lambda: {threading.main_thread().ident: RunningSubtask("r", 0, 0)}
            request = SampleRequest("s", until=0.0)
            sampler = StackSampler(request, "worker", running, lambda file: False)
            for _ in range(5):
                sampler.sample()
                time.sleep(0.02)
            [subtask] = sampler.result().subtasks
            print(sum(stack.off_cpu for stack in subtask.stacks), flush=True)
            os._exit(0)

        if os.fork() == 0:
            threading.Thread(target=sample).start()
            threading.Event().wait()
        os.wait()
        """
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert int(ended.stdout) == 4  # of the first sample nothing is known


def test_python_switches_threads_soon_while_samples_are_taken() -> None:
    """Else the sampler gets Python's lock when turns end, and sees nothing of short ones."""
    before = sys.getswitchinterval()
    during: list[float] = []

    def sleep(seconds: float) -> None:
        during.append(sys.getswitchinterval())

    def run(until: float, pause: Callable[[float], None]) -> None:
        clock = iter([0.0, until, 10.0])
        sampler(dict, clock=lambda: next(clock), sleep=pause).run()

    run(5.0, lambda seconds: run(10.0, sleep))  # one within another
    run(5.0, sleep)
    assert during
    assert all(each < 0.001 <= before for each in during)
    assert sys.getswitchinterval() == before


def test_the_interval_is_restored_after_an_error() -> None:
    before = sys.getswitchinterval()

    def fail(seconds: float) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        sampler(dict, clock=lambda: 0.0, sleep=fail).run()
    assert sys.getswitchinterval() == before


class SimulatedWork:
    """Functions whose work is a number of milliseconds of a simulated clock. The sampler looks
    whenever its period has passed, as if it were a thread of its own."""

    def __init__(self) -> None:
        self.now = 0
        self.looks_at = 0
        self.sampling = sampler(lambda: {threading.get_ident(): PLACE})

    def spend(self, milliseconds: int) -> None:
        for _ in range(milliseconds):
            self.now += 1
            if self.now >= self.looks_at:
                self.looks_at = self.now + 20
                self.sampling.sample()

    def parse(self) -> None:
        self.spend(3)

    def score(self) -> None:
        self.spend(5)
        self.look_up()

    def look_up(self) -> None:
        self.spend(2)

    def turn(self) -> None:
        self.parse()
        self.score()
        self.spend(1)


def test_shares_are_those_of_the_work() -> None:
    work = SimulatedWork()
    for _ in range(2_000):
        work.turn()  # of 11 ms, and samples come every 20 ms
    graph = flame_graph([work.sampling.result()], PLACE.stage)
    assert graph.data is not None

    def share(name: str) -> float:
        return times_seen(graph.data, f"SimulatedWork.{name}") / graph.data.value

    wanted = {"turn": 1.0, "parse": 3 / 11, "score": 7 / 11, "look_up": 2 / 11}
    assert {name: share(name) for name in wanted} == pytest.approx(wanted, abs=0.01)


def burn(steps: int) -> int:
    total = 0
    for step in range(steps):
        total += step
    return total


def heavy() -> None:
    burn(90_000)


def light() -> None:
    burn(30_000)


@pytest.mark.alone
def test_a_thread_of_short_turns_is_seen_as_it_is() -> None:
    """Turns of a few milliseconds with a pause after each, as those of resident tasks. Shares are
    compared with the processor time that the functions have used. If other processes hold the
    processors, the sampling thread wakes up milliseconds late, and misses the short function."""
    running: dict[int, RunningSubtask] = {}
    used = {"heavy": 0, "light": 0}
    has_seen_enough = threading.Event()

    def turns() -> None:
        while not has_seen_enough.is_set():
            running[threading.get_ident()] = PLACE
            for work in (light, heavy):
                before = time.thread_time_ns()
                work()
                used[work.__name__] += time.thread_time_ns() - before
            running.clear()
            time.sleep(0.001)

    deadline = time.monotonic() + PATIENCE
    sampling = sampler(lambda: dict(running), clock=lambda: 0.0 if wanted() else 10.0)

    def wanted() -> bool:
        assert time.monotonic() < deadline
        return sum(sampling._seen.values()) < 200

    thread = threading.Thread(target=turns)
    thread.start()
    try:
        sampling.run()
    finally:
        has_seen_enough.set()
        thread.join()
    graph = flame_graph([sampling.result()], PLACE.stage)
    assert graph.data is not None
    seen = {name: times_seen(graph.data, name) for name in used}
    share = used["heavy"] / sum(used.values())
    assert seen["heavy"] / sum(seen.values()) == pytest.approx(share, abs=0.12)


def times_seen(node: FlameNode, name: str) -> int:
    """Samples in which a function was running."""
    if node.name.partition(" (")[0] == name:
        return node.value
    return sum(times_seen(child, name) for child in node.children)


def test_a_worker_samples_what_it_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(worker, "_watchdog", Watchdog("host:7", first=1e9, period=0.01))
    seen: list[WorkerSamples] = []
    monkeypatch.setattr("builtins.seen_samples", seen, raising=False)
    monkeypatch.setattr("builtins.sampled_directory", tmp_path, raising=False)

    def busy(value: int) -> int:
        import builtins

        [job_dir] = builtins.sampled_directory.iterdir()  # type: ignore[attr-defined]
        reports = str(job_dir / REPORTS)
        request = SampleRequest("r1", time.time() + 0.1, period=0.001)
        write_request(reports, request)
        deadline = time.monotonic() + PATIENCE
        while not (found := list(samples_in(reports, request))):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        builtins.seen_samples.extend(found)  # type: ignore[attr-defined]
        return value

    with run_local(checkpoint_dir=str(tmp_path)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(busy).print()
        env.execute()
    [samples] = seen
    assert samples.worker == "host:7"
    assert any(
        "test_a_worker_samples_what_it_runs.<locals>.busy" in each for each in samples.frames
    )
    assert not any("worker.py" in frame for frame in samples.frames)
    [job_dir] = tmp_path.iterdir()
    assert not (job_dir / REPORTS).exists()


def test_samples_of_other_requests_and_broken_files_do_not_count(tmp_path: Path) -> None:
    reports = tmp_path / REPORTS
    write_request(str(reports), SampleRequest("new", 1.0))
    (reports / "a.samples").write_text("{")
    (reports / "b.samples").write_text(
        '{"id": "old", "worker": "w", "ended": 1, "ticks": 1, "frames": [], "subtasks": []}'
    )
    assert list(samples_in(str(reports), SampleRequest("new", 1.0))) == []
    assert [each.id for each in samples_in(str(reports), SampleRequest("old", 1.0))] == ["old"]
    clear_reports(str(tmp_path))
    assert not reports.exists()
