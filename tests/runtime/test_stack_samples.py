"""Stacks of running subtasks are sampled on request, and only then."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from millrace.datastream import StreamExecutionEnvironment
from millrace.runtime import stack_samples, worker
from millrace.runtime.stack_samples import (
    SampledPlace,
    SampleRequest,
    StackSampler,
    WorkerSamples,
    samples_in,
    write_request,
)
from millrace.runtime.watchdog import REPORTS, Watchdog, clear_reports
from millrace.testing import run_local

HERE = os.path.basename(__file__)
PLACE = SampledPlace("run-1", 3, 1)
PATIENCE = 180.0


def sampler(running: Callable[[], dict[int, SampledPlace]], **options: Any) -> StackSampler:
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
