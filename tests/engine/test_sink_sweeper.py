"""What failed attempts of sinks left behind goes, when it is old and nobody else's."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from millrace.common.errors import JobCancelledError
from millrace.common.serialization import Encoder
from millrace.common.sink import Committer, Sink, SupportsOrphanSweep
from millrace.connectors.file_sink import FileSink
from millrace.connectors.rolling_policy import RollingPolicy
from millrace.datastream import StreamExecutionEnvironment
from millrace.engine.sink_coordinator import SinkCoordinator
from millrace.engine.sink_sweeper import SinkSweeper
from millrace.job_graph.job_graph import SinkNode
from millrace.runtime.epoch import Ack, CommitReport
from millrace.state.checkpoint.retention import SWEEP_EVERY
from millrace.state.serialization.payload import encode
from millrace.testing import run_local


class Known(Sink[Any], Committer, SupportsOrphanSweep):
    """Notes what it may delete."""

    def __init__(self) -> None:
        self.swept: list[set[str]] = []

    def create_writer(self, context, state):
        raise AssertionError("writers live in subtasks")

    def create_committer(self, context) -> Committer:
        return self

    def commit(self, requests) -> None:
        pass

    def sweep(self, in_use, run_ids, older_than) -> None:
        self.swept.append(set(in_use))


def told(subtask: int, *files: str) -> Ack:
    return Ack(0, subtask, 0, committing=CommitReport(work_files={"s": files}))


def sinks(sink: Sink[Any], parallelism: int = 2) -> SinkCoordinator:
    return SinkCoordinator([SinkNode("s", "sink", sink, 0, parallelism)])


def test_not_before_all_have_told_what_they_use() -> None:
    """And what was told last counts."""
    sink, sweeper = Known(), SinkSweeper()
    coordinator = sinks(sink)
    for ack in (told(0, "a"), told(0, "b")):
        coordinator.accept(ack)
        sweeper.committed(coordinator, ["r1"])
        sweeper.close()
    assert sink.swept == []
    coordinator.accept(told(1))
    sweeper.committed(coordinator, ["r1"])
    sweeper.close()
    assert sink.swept == [{"b"}]


def test_not_while_something_waits_to_be_committed() -> None:
    """It names files, too."""
    sink = Known()
    coordinator = sinks(sink, 1)
    coordinator.accept(told(0))
    coordinator.accept(Ack(0, 0, 0, committing=CommitReport({"s": [encode("part")]})))
    assert coordinator.sweeps(["r1"], 0) is None
    coordinator.commit(1)
    assert len(coordinator.sweeps(["r1"], 0) or []) == 1


def test_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    """Not with each checkpoint; a failure is only logged."""

    class Full(Known):
        def sweep(self, in_use, run_ids, older_than) -> None:
            super().sweep(in_use, run_ids, older_than)
            raise OSError("no such luck")

    sink, sweeper = Full(), SinkSweeper()
    coordinator = sinks(sink, 1)
    coordinator.accept(told(0))
    for _ in range(SWEEP_EVERY + 1):
        sweeper.committed(coordinator, ["r1"])
        sweeper.close()
    assert len(sink.swept) == 2
    assert "no such luck" in caplog.text


def test_a_sink_whose_files_are_not_known_is_left_alone() -> None:
    """The default."""

    class Unknown(Sink[Any]):
        create_writer = Known.create_writer

    assert sinks(Unknown()).sweeps(["r1"], 0) == []


class Files:
    """Runs of one job that writes numbers to files whose parts stay open for long."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.output = root / "out"

    def run(self, stop_at: int | None) -> None:
        encoder = Encoder.simple_string_encoder()
        policy = RollingPolicy.default_rolling_policy(rollover_interval=10**9)
        sink = FileSink.for_row_format(self.output, encoder).with_rolling_policy(policy)
        sink = sink.with_bucket_assigner(lambda value, context: "")
        with run_local(checkpoint_dir=self.root / "ck", epoch_records=2, resume=True) as cluster:
            env = StreamExecutionEnvironment.get_execution_environment()
            env.set_parallelism(2).enable_checkpointing(0)
            env.from_collection(range(30)).uid("n").rebalance().sink_to(sink.build()).uid("s")
            client = env.build_client("files")
            cluster.listeners.append(lambda p: client.stop() if p.epochs == stop_at else None)
            client.run()
        client.result()

    def work_files(self) -> list[Path]:
        return [path for path in self.output.rglob(".*") if path.is_file()]

    def lines(self) -> list[int]:
        parts = [path for path in self.output.rglob("part-*") if path.is_file()]
        return sorted(int(line) for path in parts for line in path.read_text().splitlines())


def test_a_later_run_deletes_what_an_earlier_one_left(tmp_path: Path) -> None:
    """But nothing that is in use, is young, or was made by another job."""
    job = Files(tmp_path)
    with pytest.raises(JobCancelledError):
        job.run(stop_at=4)
    in_use = job.work_files()
    run_id = in_use[0].name.split(".")[3].split("-")[0]
    directory = in_use[0].parent
    old = directory / f".part-0-99.inprogress.{run_id}-3-0-7-1-0"
    foreign = directory / ".part-0-99.inprogress.0123456789ab-3-0-7-1-0"
    young = directory / f".part-0-98.inprogress.{run_id}-3-0-7-1-0"
    for path in (old, foreign, young):
        path.write_text("garbage")
    for path in (*in_use, old, foreign):
        os.utime(path, (0, 0))
    with pytest.raises(JobCancelledError):
        job.run(stop_at=2)
    assert not old.exists()
    assert foreign.exists()
    assert young.exists()
    job.run(stop_at=None)
    assert job.lines() == list(range(30))
