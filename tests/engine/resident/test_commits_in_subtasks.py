"""Commits that need the writer's own connection, on resident tasks, where epochs overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from millrace.common import Configuration, WatermarkStrategy
from millrace.common.sink import (
    CommitMode,
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from millrace.common.types.batch import RowBatch
from millrace.datastream import StreamExecutionEnvironment
from millrace.datastream.job_launcher import JobLauncher
from millrace.engine.resident.tasks import ResidentSettings
from millrace.testing.allowance import Allowance, AllowedNumbers
from millrace.testing.resident_tasks import local_resident_executor

EPOCHS = 6


@pytest.fixture(autouse=True)
def resident() -> Iterator[None]:
    before = JobLauncher.current()
    settings = ResidentSettings(barrier_interval=5)
    JobLauncher.install(JobLauncher(executor=lambda *_: local_resident_executor(1, settings)))
    yield
    JobLauncher.install(before)


class Connection(SinkWriter[int]):
    """A connection with one open transaction, whose end commits all that was written."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def write(self, batch: RowBatch[int]) -> None:
        self.rows += batch.values

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return [max(self.rows)] if self.rows else []


class Transactions(Sink[int]):
    commit_mode = CommitMode.IN_SUBTASK

    def create_writer(self, context: WriterContext, state: Any) -> SinkWriter[Any]:
        return Connection()

    def create_committer(self, context: CommitterContext) -> Committer:
        assert isinstance(context.writer, Connection)
        return Ends(context.writer)


class Ends(Committer):
    committed: ClassVar[list[tuple[int, list[int]]]] = []

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def commit(self, requests: Sequence[CommitRequest[Any]]) -> None:
        [request] = requests
        self.committed.append((request.committable, self._connection.rows))
        self._connection.rows = []


def test_an_epoch_begins_with_the_commits_of_the_checkpoint_before_it(tmp_path: Path) -> None:
    """A row that was written before them would be committed too early."""
    Ends.committed = []
    allowance = Allowance(tmp_path / "allowed", 10)
    configuration = Configuration({"execution.runtime-mode": "STREAMING"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1).enable_checkpointing(0)
    env.launcher.listeners.append(allowance.grow_until(lambda: len(Ends.committed) >= EPOCHS))
    numbers = env.from_source(
        AllowedNumbers(allowance), WatermarkStrategy.no_watermarks(), "numbers"
    )
    numbers.sink_to(Transactions())
    env.execute("transactions")
    assert len(Ends.committed) >= EPOCHS
    assert [last for last, rows in Ends.committed if rows[-1:] != [last]] == []
    assert [n for _, rows in Ends.committed for n in rows] == list(range(allowance.count))
