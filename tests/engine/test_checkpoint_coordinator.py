"""What a run may go on from: its own job's state, in a shape that fits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import CheckpointError, JobCancelledError, LeaseError
from millrace.datastream import DataStream, StreamExecutionEnvironment
from millrace.engine.embedded_job_client import EmbeddedJobClient
from millrace.testing import run_local

Build = Callable[[DataStream], DataStream]


def sums(stream: DataStream) -> DataStream:
    return stream.key_by(lambda v: v % 3).sum().uid("sums")


def run(
    directory: Path, build: Build = sums, *, resume: bool = False, parallelism: int = 2,
    stop_after: int = 2, **settings: Any,
) -> list[Any]:  # fmt: skip
    """Runs a job over 20 numbers, two per epoch, and stops it; returns what it gave."""
    with run_local(epoch_records=2, checkpoint_dir=str(directory), resume=resume) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment().enable_checkpointing(0)
        env.set_parallelism(parallelism)
        env.set_max_parallelism(settings.get("max_parallelism", 128))
        started: Future[EmbeddedJobClient] = Future()
        cluster.listeners.append(
            lambda p: started.result(60).stop() if p.epochs == stop_after else None
        )
        results = build(env.from_collection(range(20))).execute_and_collect("job")
        assert results._client is not None
        started.set_result(results._client)
        got: list[Any] = []
        with suppress(JobCancelledError):
            got.extend(results)
        return got


def test_it_goes_on(tmp_path) -> None:
    first = run(tmp_path)
    assert len(first) == 4
    assert len(run(tmp_path, resume=True, stop_after=99)) == 16


def test_without_anything_to_resume_it_starts_afresh(tmp_path) -> None:
    assert len(run(tmp_path, resume=True, stop_after=99)) == 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"max_parallelism": 64},
            "max parallelism 128, but the job has 64.*set pipeline.max-parallelism to 128",
        ),
        (
            {"build": lambda s: s.key_by(lambda v: v).sum().uid("other")},
            r"state of 'Sum' \(uid sums\).*does not have.*--allow-non-restored-state",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_the_way_out(tmp_path, change, message) -> None:
    run(tmp_path)
    with pytest.raises(CheckpointError, match=message):
        run(tmp_path, resume=True, **change)
    assert run(tmp_path, resume=True), "the checkpoint is still there"


@pytest.mark.parametrize("parallelism", [1, 3, 5])
def test_it_goes_on_with_another_parallelism(tmp_path, parallelism) -> None:
    first = run(tmp_path)
    second = run(tmp_path, resume=True, stop_after=99, parallelism=parallelism)
    running = [sum(range(value % 3, value + 1, 3)) for value in range(20)]
    assert sorted(first + second) == sorted(running)


def test_a_job_may_grow(tmp_path) -> None:
    """New operators may be added where no uid depends on them."""
    first = run(tmp_path)

    def grown(stream: DataStream) -> DataStream:
        stream.filter(lambda v: v % 2 == 0).print()
        return sums(stream)

    second = run(tmp_path, grown, resume=True, stop_after=99)
    running = [sum(range(value % 3, value + 1, 3)) for value in range(20)]
    assert sorted(first + second) == sorted(running)


def test_two_runs_of_one_job_do_not_meet(tmp_path) -> None:
    with run_local(checkpoint_dir=str(tmp_path)) as cluster:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).print()
        refused: list[Exception] = []

        def second(progress: Any) -> None:
            other = StreamExecutionEnvironment.get_execution_environment()
            other.from_collection([1]).print()
            client = other.build_client("job")
            client.run()
            refused.append(client.get_job_execution_result().exception())  # type: ignore[arg-type]

        cluster.listeners.append(second)
        env.execute("job")
    assert isinstance(refused[0], LeaseError)


def test_a_job_without_a_checkpoint_directory_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with run_local():
        env = StreamExecutionEnvironment.get_execution_environment()
        assert list(env.from_collection([1]).execute_and_collect()) == [1]
    assert [path for root in tmp_path.iterdir() for path in root.iterdir()] == []
