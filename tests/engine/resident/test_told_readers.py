"""Readers that discard what a complete checkpoint covers discard nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.source import (
    AssignedSplit,
    Boundedness,
    ReaderContext,
    Source,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
    SplitRecords,
    StaticEnumerator,
)
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.deployment import Deployment
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.resident_tasks import local_resident_executor

ENOUGH = 10
"""Complete checkpoints after which the source ends."""


class Queue(Source[int]):
    """Always has a further number, until its reader has heard of enough checkpoints."""

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def requires_checkpoints(self) -> bool:
        return True

    def create_enumerator(self) -> SplitEnumerator:
        return StaticEnumerator([SourceSplit("queue")])

    def create_reader(self, context: ReaderContext) -> QueueReader:
        return QueueReader()


class QueueReader(SourceReader[int]):
    discarded: ClassVar[dict[int, int]] = {}
    """Numbers that were read when the reader heard of a checkpoint, by checkpoint."""

    def __init__(self) -> None:
        self._read = 0

    def add_splits(self, splits: Sequence[AssignedSplit]) -> None:
        self._read = splits[0].position or 0

    def poll(self, max_records: int) -> Sequence[SplitRecords[int]]:
        self._read += 1
        is_last = len(self.discarded) >= ENOUGH
        return [SplitRecords("queue", RowBatch([self._read]), finished=is_last)]

    def snapshot_state(self) -> Mapping[str, Any]:
        return {"queue": self._read}

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.discarded[checkpoint_id] = self._read


def test_what_no_complete_checkpoint_covers_is_not_discarded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The next epoch had begun before the checkpoint of the last one was complete: its readers
    heard of the checkpoint before that, and discarded the records of both epochs. If the driver
    died then, the records of the last one were lost."""
    monkeypatch.setattr(QueueReader, "discarded", {})
    covered: dict[int, int] = {}
    notify = Deployment.notify_checkpoint_complete

    def noting(deployment: Deployment, checkpoint: int) -> None:
        for assigned in deployment.sources[0]._assigned.values():
            covered[checkpoint] = assigned.position
        notify(deployment, checkpoint)

    monkeypatch.setattr(Deployment, "notify_checkpoint_complete", noting)
    settings = {
        "execution.checkpointing.dir": str(tmp_path),
        "execution.checkpointing.interval": "1 ms",
    }
    often = ResidentSettings(barrier_interval=5)
    before = JobLauncher.current()
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(1, often)))
    try:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration(settings))
        numbers = env.set_parallelism(1).from_source(
            Queue(), WatermarkStrategy.no_watermarks(), "queue"
        )
        numbers.filter(lambda _: False).print()
        env.execute("queue")
    finally:
        JobLauncher.install(before)
    assert len(QueueReader.discarded) >= ENOUGH
    assert QueueReader.discarded.items() <= covered.items()
